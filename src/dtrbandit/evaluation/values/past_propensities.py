"""Past propensities: how probable the arms of past units would have been under the policy of a later time.

The policy of a log learns again from its events. Just before some of the units enroll, it says with which probability
it would give each arm to units that had ended by then. So what it says was settled before that unit came. It learns
nothing from the questions.

=============  =============================================================================================
notation       meaning
=============  =============================================================================================
e_t(a | s)     the probability with which the policy of time t gives arm a to past unit s
h_t            the weight of unit t: v_t^(−1/2)
v_t            about how much the score of unit t varies, up to a factor
=============  =============================================================================================

v_t is the mean over past units s of Π_f 1 / e_t,f(d | s), the product over the choices that a unit has under the regime
d. For one stage that is what Zhan et al. (2021) have. At a later choice s is one of those whom d would have led there.
Units stand for these by the recorded propensities of the arms before. That is our extension. Any h_t that is settled
before unit t comes leaves the estimator without bias; a good one makes it vary less. In a permuted forced block e_t is
the schedule's, and h_t is settled before the block begins.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dtrbandit.belief import Belief, believed
from dtrbandit.design.feasibility import sets_of
from dtrbandit.errors import DesignError, LogError
from dtrbandit.evaluation.cohort.cohort import Cohort
from dtrbandit.evaluation.cohort.origin import CERTAIN, recorded_of
from dtrbandit.evaluation.replay.kernel import Rows
from dtrbandit.evaluation.replay.players import CohortArrays, arrays_of, masks_of
from dtrbandit.evaluation.values.adherence import Arms
from dtrbandit.evaluation.values.permuted_blocks import permuted_blocks, scheduled_probabilities
from dtrbandit.kernels.arrays import Vector
from dtrbandit.policies.lsvi_ucb import looks_only_back
from dtrbandit.policies.registry import is_builtin
from dtrbandit.record.events import Event

MOST = 100  # past units, the latest: enough for a mean
GROWTH = 0.05  # by which known outcomes grow until outcome models are fitted again
CANNOT = "the policy of this log cannot be asked again ({why})"


class PastPropensities(NamedTuple):
    """What the policy of one time would have given to some past units.

    Attributes
    ----------
    units
        The units that were about to enroll, whose weights rest on this, as numbers.
    past
        The past units, as numbers, (S,).
    propensities
        The probability of each arm for the past units, after their own earlier arms, (S, M, K).
    """

    units: NDArray[np.int64]
    past: NDArray[np.int64]
    propensities: NDArray[np.float64]


class PropensitiesByLevel(NamedTuple):
    """Past propensities for each level of units; none, and ``why``, if they cannot be computed."""

    levels: tuple[PastPropensities, ...]
    why: str = ""


def levels(cohort: Cohort) -> NDArray[np.int64]:
    """Return how many ended units the outcome models and the weight of each unit rest on, (n,).

    These are nearly all that had ended when the unit enrolled: models are fitted again when they have grown by one in
    twenty. So what a unit's models rest on is settled before it comes. For a permuted forced block it is settled before
    the block begins.
    """
    _, recorded = recorded_of(cohort)
    known = np.searchsorted(np.sort(recorded.ended), permuted_blocks(cohort).start)
    level, latest = np.zeros(len(known), dtype=np.int64), 0
    for i in np.argsort(recorded.enrolled).tolist():
        if known[i] > latest * (1 + GROWTH):
            latest = int(known[i])
        level[i] = latest
    return level


def past_propensities(cohort: Cohort) -> PropensitiesByLevel:
    """Compute past propensities by the policy of a cohort's log, before the first free unit of each level enrolls.

    Units of one level share them.
    """
    origin, _ = recorded_of(cohort)
    assert origin.log is not None  # what is recorded comes from a log
    try:
        belief = believed(origin.log[:1], cohort.design, None)
        if not (is_builtin(belief.policy) and looks_only_back(belief.policy, len(cohort.design.stages))):
            return PropensitiesByLevel((), CANNOT.format(why=f"{belief.policy!r} decides in Python"))
        return PropensitiesByLevel(tuple(_by_level(cohort, belief, origin.log)))
    except (DesignError, LogError) as error:  # of another release, or of a policy that a log cannot hold
        return PropensitiesByLevel((), CANNOT.format(why=error))


def weights_at_enrolment(cohort: Cohort, decided: Arms, past: PropensitiesByLevel) -> Vector:
    """Return h of each unit for a regime, (n,); 1 for all if there are no past propensities."""
    weights = np.ones(len(cohort))
    for level in past.levels:
        weights[level.units] = _score_variance(cohort, decided, level) ** -0.5
    return weights


def _by_level(cohort: Cohort, belief: Belief, log: Sequence[Event]) -> Iterator[PastPropensities]:
    _, recorded = recorded_of(cohort)
    level, units, in_block = levels(cohort), arrays_of(cohort), permuted_blocks(cohort).scored
    free, ended = ~recorded.forced.any(axis=1), np.sort(recorded.ended)
    for known in np.unique(level[(free | in_block) & (level > 0)]).tolist():
        past = np.flatnonzero(recorded.ended <= ended[known - 1])[-MOST:]
        own = np.flatnonzero(free & (level == known))
        if len(own):
            belief.fold(log[belief.version : recorded.enrolled[own[0]]])
            yield PastPropensities(own, past, _propensities(belief, units, past))
        own = np.flatnonzero(in_block & (level == known))
        if len(own):
            yield PastPropensities(own, past, _of_schedule(cohort, past))


def _propensities(belief: Belief, units: CohortArrays, past: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return what the policy would give to past units, were they the next to enroll, (S, M, K).

    Units with the same infeasible arms are taken together: a question to the state has one copy of the tree.
    """
    state = belief.state
    next_unit = state.taught + len(belief.histories)  # behind the units of an earlier trial
    state.reserve(next_unit + 1)
    propensities = np.full((len(past), units.arms.shape[1], state.width), np.nan)
    nothing = np.zeros((0, units.arms.shape[1]))
    barring, sets = sets_of(masks_of(units.excluded[past], state.design), len(past))
    for number, excluded in enumerate(sets):
        (own,) = np.nonzero(barring == number)
        rows, found = past[own], propensities[own]
        roots = np.full(len(own), state.root_to_decide(excluded), dtype=np.int64)
        offered = Rows(state, units.features[rows], units.arms[rows], units.outcome[rows], roots, nothing)
        offered.fill_propensities(next_unit, found)
        state.clear_spare_copy()
        propensities[own] = found
    return propensities


def _of_schedule(cohort: Cohort, past: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return what a permuted forced block would give to past units, (S, M, K)."""
    counts = cohort.design.arm_counts
    found = np.full((len(past), len(counts), max(counts)), np.nan)
    for m, count in enumerate(counts):
        reached = cohort.arms[past, m] >= 0
        found[reached, m, :count] = scheduled_probabilities(cohort.design, cohort.arms[past[reached], :m])
    return found


def _score_variance(cohort: Cohort, decided: Arms, level: PastPropensities) -> float:
    """Return v: the mean of Π 1/e_t over past units, weighted to those whom the regime leads to their last choice."""
    past, found = level.past, 1.0
    _, recorded = recorded_of(cohort)
    led, inverse = np.ones(len(past)), np.ones(len(past))
    for m in range(cohort.arms.shape[1]):
        at, wanted = cohort.arms[past, m] >= 0, decided[past, m]
        propensities = level.propensities[at, m, wanted[at]]
        still_open = propensities > CERTAIN  # an arm that is closed by then is no choice any more
        inverse[at] /= np.where(still_open, propensities, 1.0)
        if not led.any():
            break
        found = float((led * inverse).sum() / led.sum())
        followed = cohort.arms[past, m] == wanted
        led = np.where(at, np.where(followed, led / recorded.propensity[past, m], 0.0), led)
    return found
