"""Values of regimes: by weighting, by both weighting and regression, and by regression alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from dtrbandit.design.values import shown, whole
from dtrbandit.errors import DesignError, NotEstimable
from dtrbandit.evaluation.cohort.cohort import Cohort
from dtrbandit.evaluation.qlearning.qlearning import QLearning
from dtrbandit.evaluation.values.adaptive import adaptive_value, levels
from dtrbandit.evaluation.values.asked import Asked, ask
from dtrbandit.evaluation.values.augmented import OutcomeModel, augmented, augmented_scores
from dtrbandit.evaluation.values.decisions import decisions, decisions_by
from dtrbandit.evaluation.values.estimate import (
    ADAPTIVE,
    AUGMENTED,
    REGRESSION,
    WEIGHTED,
    Estimate,
    Support,
    of_influence,
    without_interval,
)
from dtrbandit.evaluation.values.forks import forks, inverse_weights, known_propensities
from dtrbandit.evaluation.values.hajek import hajek, projected
from dtrbandit.evaluation.values.learned import Learner, learned_value
from dtrbandit.evaluation.values.regression import regression_value
from dtrbandit.evaluation.values.result import Values
from dtrbandit.evaluation.weights import effective_sample_size, largest_weight
from dtrbandit.kernels.arrays import Vector
from dtrbandit.policies.fixed_regime import FixedRegime
from dtrbandit.words import counted

FEWEST = 5
FLATTERS = "It flatters, since the units that value the regime have chosen it; so there is no interval."


def evaluate(
    cohort: Cohort,
    regimes: Mapping[str, FixedRegime | QLearning],
    *,
    outcome_model: OutcomeModel | None = None,
    seed: int = 0,
) -> Values:
    """Estimate what units would have earned, had all been treated by a regime.

    Parameters
    ----------
    cohort
        With propensities, ``cohort.with_propensities(...)``. Units whose arms a policy chose by what earlier ones had
        taught it need none: the recorded ones are used, and the arms that were decided count.
    regimes
        By name: a ``FixedRegime`` that was settled before these units were seen; or a fitted ``QLearning``, whose
        regime these units suggested. ``docs/inference.md`` says which interval each gets.
    outcome_model
        The terms of the augmented estimator's regressions; by default those of the design.
    seed
        Of the order in which units teach a learned regime, and of draws for several regimes together.

    Raises
    ------
    DesignError
        The cohort has no propensities, or a regime is not one for its design.
    NotEstimable
        Fewer than five units with an outcome followed a fixed regime; or a policy that learnt gave arms for certain,
        lost units, or is to value a regime that its own units suggested.

    Examples
    --------
    >>> import pandas as pd
    >>> from dtrbandit import Design, PropensityModel, Stage
    >>> design = Design([Stage("diet", ("plain", "rich"), "1")])
    >>> frame = pd.DataFrame({"A": ["plain", "rich"] * 5, "Y": [1.0, 5, 2, 6, 3, 7, 2, 6, 2, 6]})
    >>> cohort = Cohort.from_frame(frame, design, arms=["A"], outcome="Y")
    >>> cohort = cohort.with_propensities(PropensityModel(choice={"diet": "uniform"}))
    >>> evaluate(cohort, {"always rich": FixedRegime(rule={"diet": "rich"})}).to_frame()["value"].round(9).tolist()
    [6.0, 6.0, 6.0]
    """
    model = OutcomeModel() if outcome_model is None else outcome_model
    _require_usable(cohort, regimes, model)
    cohort = _weighable(cohort)
    estimates: list[Estimate] = []
    seed = whole(seed, "evaluate: seed", low=0)
    asked = None if cohort.collected_by is None else ask(cohort, levels(cohort))
    for name, regime in regimes.items():
        if asked is not None:
            estimates.append(_collected(name, regime, cohort, model, asked))
        elif isinstance(regime, QLearning):
            estimates += _learned(name, regime, Learner(cohort, regime.dropouts, model), seed)
        else:
            estimates += _fixed(name, regime, cohort, model)
    origin = () if cohort.origin is None else tuple(cohort.origin.in_words(len(cohort)))
    return Values(tuple(estimates), len(cohort), int(cohort.dropped_out.sum()), seed, origin)


def _weighable(cohort: Cohort) -> Cohort:
    """Return a cohort with its propensities; with the arms decided, where these are the recorded ones."""
    if cohort.collected_by is None:
        return cohort if cohort.propensities else replace(cohort, propensities=known_propensities(cohort))
    if cohort.dropped_out.any():
        raise NotEstimable(
            f"{cohort.dropped_out.sum():,} of {len(cohort):,} units dropped out, and {cohort.collected_by} chose the "
            "arms by what earlier units had taught it: no estimator for both is built. Possible are the forced rounds "
            "alone, dtr.evaluate(cohort.forced(), ...)"
        )
    return cohort.as_scheduled()


def _fixed(name: str, regime: FixedRegime, cohort: Cohort, model: OutcomeModel) -> Iterator[Estimate]:
    """Yield the estimates of a regime that was fixed beforehand."""
    decided = decisions(cohort, regime)
    passed = forks(cohort, decided)
    weights = inverse_weights(cohort, passed)
    support = _enough(name, _support(weights), len(cohort))
    value, influence = hajek(cohort, weights)
    own = value, projected(influence, known_propensities(cohort), cohort.weights)
    yield of_influence(name, WEIGHTED, own, support)
    yield of_influence(name, AUGMENTED, augmented(cohort, augmented_scores(cohort, passed, model)), support)
    nobody = support._replace(effective_sample_size=np.nan, largest_weight=np.nan)
    try:
        yield of_influence(name, REGRESSION, regression_value(cohort, decided), nobody)
    except NotEstimable as error:
        yield without_interval(name, REGRESSION, np.nan, nobody, f"There is none: {error}.")


def _collected(
    name: str, regime: FixedRegime | QLearning, cohort: Cohort, model: OutcomeModel, asked: Asked
) -> Estimate:
    """Return the estimate of a regime from units whose arms a policy chose by what earlier ones had taught it."""
    if isinstance(regime, QLearning):
        raise NotEstimable(
            f"regime {name!r} was learned from units whose arms {cohort.collected_by} chose by what earlier ones had "
            "taught it: neither cross-fitting nor an interval is valid there. Give a FixedRegime that was settled "
            "beforehand; or learn and evaluate on the forced rounds alone, cohort.forced()"
        )
    found = adaptive_value(cohort, decisions(cohort, regime), model, asked)
    support = _enough(name, _support(found.weights), len(cohort))
    return of_influence(name, ADAPTIVE, (found.value, found.influence), support)._replace(note=found.note)


def _learned(name: str, fit: QLearning, learner: Learner, seed: int) -> Iterator[Estimate]:
    """Yield the estimates of a regime that these units suggested."""
    cohort = learner.cohort
    weights = inverse_weights(cohort, forks(cohort, decisions_by(cohort, fit.coefficients_)))
    support = _support(weights)._replace(effective_sample_size=np.nan, largest_weight=np.nan)
    yield without_interval(name, REGRESSION, fit.value_, support, FLATTERS)
    yield learned_value(name, learner, seed=seed)


def _support(weights: Vector) -> Support:
    followed = weights[weights > 0]
    if not len(followed):
        return Support(0, np.nan, np.nan)
    return Support(len(followed), effective_sample_size(followed), largest_weight(followed))


def _enough(name: str, support: Support, units: int) -> Support:
    if support.units < FEWEST:
        raise NotEstimable(
            f"regime {name!r}: {support.units} of {counted(units, 'unit')} followed it to an outcome, and at least "
            f"{FEWEST} are needed; leave it out, or use more data"
        )
    return support


def _require_usable(cohort: object, regimes: object, model: object) -> None:
    if not isinstance(cohort, Cohort):
        raise DesignError(f"evaluate needs a Cohort, such as Cohort.from_frame gives; found {shown(cohort)}")
    if not isinstance(model, OutcomeModel):
        raise DesignError(f"outcome_model must be an OutcomeModel, found {shown(model)}")
    model.require_places(cohort)
    if not isinstance(regimes, Mapping) or not regimes:
        raise DesignError(f"regimes must map names to regimes, {{'name': FixedRegime(...)}}; found {shown(regimes)}")
    for name, regime in regimes.items():
        if not isinstance(regime, FixedRegime | QLearning):
            raise DesignError(f"regime {name!r}: needed is a FixedRegime or a fitted QLearning, found {shown(regime)}")
        if isinstance(regime, QLearning) and regime.design != cohort.design:
            raise DesignError(f"regime {name!r} was learned with another design than the cohort's; fit it to this one")
