"""Who followed a regime: what it gives to each unit, and where a unit could leave its path.

A unit leaves the path of a regime by another arm, or by dropping out.

=============  =============================================================================================
notation       meaning
=============  =============================================================================================
f              a risk set of the cohort's propensities, in order of time
D_f            1 if a unit did there what the regime wants: the regime's arm, or staying
π_f            the probability of what the regime wants, given what was known before
W              w Π_f D_f / π_f: the weight of a unit that followed the regime, 0 for the others
=============  =============================================================================================
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dtrbandit.errors import DesignError
from dtrbandit.evaluation.cohort.cohort import Cohort
from dtrbandit.evaluation.propensities.fitted import FittedModel, FittedPropensities
from dtrbandit.evaluation.propensities.model import ADAPTIVE, PropensityModel
from dtrbandit.evaluation.propensities.risk_sets import RiskSet
from dtrbandit.evaluation.replay.players import CohortFacts
from dtrbandit.kernels.arrays import Mask, Matrix, Vector
from dtrbandit.policies.fixed_regime import FixedRegime
from dtrbandit.record.histories import History

Arms = NDArray[np.int64]


class RegimeRiskSet(NamedTuple):
    """A risk set of the propensities, and what a regime wants of its units.

    Attributes
    ----------
    wanted
        Which of the options the regime wants, (r,).
    taken
        D, (r,): whether that happened.
    probability
        Of what happened, (r,): π where the wanted option was taken; it is not read elsewhere.
    chance
        π of the wanted option, (r,), whether it was taken or not; NaN where a log does not tell.
    """

    risk_set: RiskSet
    wanted: NDArray[np.int64]
    taken: Mask
    probability: Vector
    chance: Vector


RegimeRiskSets = Sequence[RegimeRiskSet]


def decisions(cohort: Cohort, regime: FixedRegime) -> Arms:
    """Return the arm of a fixed regime for each unit at each stage that it reached, (n, M), −1 elsewhere."""
    state = regime.init(cohort.design)  # which refuses a rule for another design
    if callable(regime.rule):
        return _decided_by_history(cohort, lambda history: regime.decide(state, history, 0.0).arm)
    scores, shapes = np.asarray(state.scores), zip(cohort.design.arm_counts, cohort.design.dimensions, strict=True)
    chosen = decisions_by(cohort, [scores[m, :arms, :d] for m, (arms, d) in enumerate(shapes)])
    for m, arm in enumerate(state.settled):
        if arm >= 0:
            chosen[(chosen[:, m] >= 0) & cohort.feasible[m][:, arm], m] = arm
    return chosen


def decisions_by(cohort: Cohort, coefficients: Sequence[Matrix]) -> Arms:
    """Return the feasible arm with the largest product of coefficients (K_m, d_m) and features, the lowest of equals.

    For each unit at each stage that it reached, (n, M), −1 elsewhere.
    """
    chosen = np.full(cohort.arms.shape, -1, dtype=np.int64)
    for m, own in enumerate(coefficients):
        scores = np.where(np.isfinite(cohort.features[m]), cohort.features[m], 0.0) @ own.T
        best = np.where(cohort.feasible[m], scores, -np.inf).argmax(axis=1)
        chosen[:, m] = np.where(_reached(cohort, m), best, -1)
    return chosen


def agrees(cohort: Cohort, regime: FixedRegime) -> Mask:
    """Say which units were given, at every stage they entered, what the regime gives after their own history."""
    same: Mask = ((cohort.arms < 0) | (cohort.arms == decisions(cohort, regime))).all(axis=1)
    return same


def _decided_by_history(cohort: Cohort, decide: Callable[[History], int]) -> Arms:
    facts, chosen = CohortFacts(cohort), np.full(cohort.arms.shape, -1, dtype=np.int64)
    for m in range(cohort.arms.shape[1]):
        for i in np.flatnonzero(_reached(cohort, m)).tolist():
            feasible = tuple(cohort.feasible[m][i].tolist())
            history = facts.history(i, i + 1, m, seen=m + 1, feasible=feasible)
            chosen[i, m] = decide(history._replace(unit=cohort.units[i]))
    return chosen


def _reached(cohort: Cohort, m: int) -> Mask:
    reached: Mask = cohort.entered[:, m] | (cohort.arms[:, m] >= 0)
    return reached


def regime_risk_sets(cohort: Cohort, decided: Arms, models: Iterable[FittedModel] | None = None) -> RegimeRiskSets:
    """Return the risk sets of a cohort, in order of time, for the arms (n, M) that a regime gives.

    The probabilities are those of ``models``, by default of the cohort's propensities.
    """
    own = known_propensities(cohort).models if models is None else models
    return tuple(_regime_risk_set(cohort, decided, model) for model in own)


def inverse_weights(cohort: Cohort, risk_sets: RegimeRiskSets) -> Vector:
    """Return W = w Π_f D_f / π_f, (n,): 0 for units that left the regime's path or dropped out."""
    weights = np.where(cohort.dropped_out, 0.0, cohort.weights)
    for at in risk_sets:
        weights[at.risk_set.rows] *= np.where(at.taken, 1.0 / at.probability, 0.0)
    return weights


def largest_possible_weight(cohort: Cohort, risk_sets: RegimeRiskSets) -> float:
    """Return the largest w Π_f 1 / π_f of any unit, as a share of all case weight.

    The product is over the risk sets that a unit met while it followed the regime, the one where it left included. So a
    unit counts that would have carried much of the weight, had it followed. Σ W is Σ w on average.
    """
    weights, follows = cohort.weights.copy(), np.ones(len(cohort), dtype=np.bool_)
    for at in risk_sets:
        rows = at.risk_set.rows
        known = follows[rows] & (at.chance > 0)
        weights[rows] = np.where(known, weights[rows] / np.where(known, at.chance, 1.0), weights[rows])
        follows[rows] &= at.taken
    return float(weights.max() / cohort.weights.sum())


def known_propensities(cohort: Cohort) -> FittedPropensities:
    """Return the propensities of a cohort, or say how to get them.

    Where a log says how probable each arm was, these are known.
    """
    if cohort.propensities is None and cohort.origin is not None and cohort.origin.known_choice is not None:
        stages = [stage.name for stage in cohort.design.stages]
        return PropensityModel(choice=dict.fromkeys(stages, cohort.origin.known_choice)).fit(cohort)
    if cohort.propensities is None and cohort.collected_by is not None:
        raise DesignError(ADAPTIVE.format(policy=cohort.collected_by))
    if cohort.propensities is None:
        raise DesignError(
            "the cohort has no propensities, which this mean is weighted by; "
            "use cohort.with_propensities(PropensityModel())"
        )
    return cohort.propensities


def _regime_risk_set(cohort: Cohort, decided: Arms, model: FittedModel) -> RegimeRiskSet:
    risk_set = model.risk_set
    if risk_set.kind == "staying":
        wanted = np.ones(len(risk_set.rows), dtype=np.int64)
    else:
        labels = cohort.design.stages[risk_set.m].arms
        arms = np.array([labels.index(option) for option in risk_set.options])
        wanted = np.searchsorted(arms, decided[risk_set.rows, risk_set.m])
    chance = model.probabilities[np.arange(len(wanted)), wanted]
    return RegimeRiskSet(risk_set, wanted, risk_set.happened == wanted, model.happened, chance)
