"""Values of regimes by all estimators that are for them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from dtrbandit.design.values import shown, whole
from dtrbandit.errors import DesignError, NotEstimable
from dtrbandit.evaluation.cohort.cohort import Cohort
from dtrbandit.evaluation.cohort.origin import assumptions
from dtrbandit.evaluation.cohort.summary import arms_given
from dtrbandit.evaluation.induction.induction import LearnedRegime
from dtrbandit.evaluation.values.adherence import known_propensities
from dtrbandit.evaluation.values.augmented import OutcomeModel
from dtrbandit.evaluation.values.estimate import Estimate, Problem, Sample
from dtrbandit.evaluation.values.registry import ESTIMATORS
from dtrbandit.evaluation.values.result import Values
from dtrbandit.policies.fixed_regime import FixedRegime


def evaluate(
    cohort: Cohort,
    regimes: Mapping[str, FixedRegime | LearnedRegime],
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
    sample = Sample(cohort, model, whole(seed, "evaluate: seed", low=0))
    estimates = tuple(each for name, regime in regimes.items() for each in _estimates(Problem(name, regime, sample)))
    return Values(
        estimates,
        len(cohort),
        int(cohort.dropped_out.sum()),
        sample.seed,
        origin=tuple(assumptions(cohort)),
        given=arms_given(cohort),
        origin_stated=cohort.origin is not None,
    )


def _estimates(problem: Problem) -> Iterator[Estimate]:
    """Give the value of a regime by each estimator that is for it."""
    for estimator in ESTIMATORS.values():
        found = estimator.valued(problem)
        if found is not None:
            yield found


def _weighable(cohort: Cohort) -> Cohort:
    """Return a cohort with its propensities; with the arms decided, where these are the recorded ones."""
    if cohort.collected_by is None:
        return cohort if cohort.propensities else replace(cohort, propensities=known_propensities(cohort))
    if cohort.dropped_out.any():
        raise NotEstimable(
            f"{cohort.dropped_out.sum():,} of {len(cohort):,} units dropped out, and {cohort.collected_by} chose the "
            "arms by what earlier units had taught it: no estimator for both is built. Possible are the forced rounds "
            "alone, dtr.evaluate(cohort.forced(), ...), which has a model of staying; another is named by "
            "cohort.forced().with_propensities(PropensityModel(choice=..., staying=...)), choice being 'shares'"
        )
    return cohort.as_scheduled()


def _require_usable(cohort: object, regimes: object, model: object) -> None:
    if not isinstance(cohort, Cohort):
        raise DesignError(f"evaluate needs a Cohort, such as Cohort.from_frame gives; found {shown(cohort)}")
    if not isinstance(model, OutcomeModel):
        raise DesignError(f"outcome_model must be an OutcomeModel, found {shown(model)}")
    model.require_places(cohort)
    if not isinstance(regimes, Mapping) or not regimes:
        raise DesignError(f"regimes must map names to regimes, {{'name': FixedRegime(...)}}; found {shown(regimes)}")
    for name, regime in regimes.items():
        if not isinstance(regime, FixedRegime | LearnedRegime):
            raise DesignError(f"regime {name!r}: needed is a FixedRegime or a fitted QLearning, found {shown(regime)}")
        if isinstance(regime, LearnedRegime) and regime.design != cohort.design:
            raise DesignError(f"regime {name!r} was learned with another design than the cohort's; fit it to this one")
