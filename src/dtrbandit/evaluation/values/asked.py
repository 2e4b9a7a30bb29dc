"""How probable the arms of past units would have been, had they come when a later unit came.

The policy of a log is led through its events again. Now and then, just before a unit enrolls, it is asked about units
that had ended by then, after the arms that they had. So what it says was settled before that unit came. It learns
nothing from being asked.

=============  =============================================================================================
notation       meaning
=============  =============================================================================================
e_t(a | s)     the probability with which the policy of time t gives arm a to past unit s
h_t            the weight of unit t: v_t^(−1/2)
v_t            about how much the score of unit t varies, up to a factor
=============  =============================================================================================

One stage: v_t = mean_s 1 / e_t(d | s) (Zhan et al. 2021). For several stages, v_t is the sum over forks f of the means
of Π_{g≤f} 1 / e_t,g(d | s), over the units that the regime d would have led to f. Units stand for these by the
recorded propensities of the arms before f. That is our extension. Any h_t that is settled before unit t comes leaves
the estimator without bias; a good one makes it vary less.
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
from dtrbandit.evaluation.values.decisions import Arms
from dtrbandit.kernels.arrays import Vector
from dtrbandit.policies.lsvi_ucb import looks_only_back
from dtrbandit.policies.registry import is_builtin
from dtrbandit.record.events import Event

MOST = 100  # past units that are asked about, the latest: enough for a mean
CANNOT = "the policy of this log cannot be asked again ({why})"


class Moment(NamedTuple):
    """What the policy would have given to some past units, when a unit came.

    Attributes
    ----------
    units
        The units that were about to come, whose weights rest on this, as numbers.
    past
        The units that the policy was asked about, as numbers, (S,).
    chances
        The probability of each arm for these, after their own earlier arms, (S, M, K).
    """

    units: NDArray[np.int64]
    past: NDArray[np.int64]
    chances: NDArray[np.float64]


class Asked(NamedTuple):
    """What a policy said at some moments of its log; none, and ``why``, if it cannot be asked."""

    moments: tuple[Moment, ...]
    why: str = ""


def ask(cohort: Cohort, level: NDArray[np.int64]) -> Asked:
    """Ask the policy of a cohort's log before the first free unit of each level comes.

    ``level`` (n,) is how many ended units each unit may rest on; units of one level share what is asked.
    """
    origin, _ = recorded_of(cohort)
    assert origin.log is not None  # what is recorded comes from a log
    try:
        belief = believed(origin.log[:1], cohort.design, None)
        if not (is_builtin(belief.policy) and looks_only_back(belief.policy, len(cohort.design.stages))):
            return Asked((), CANNOT.format(why=f"{belief.policy!r} decides in Python"))
        return Asked(tuple(_moments(cohort, level, belief, origin.log)))
    except (DesignError, LogError) as error:  # of another release, or of a policy that a log cannot hold
        return Asked((), CANNOT.format(why=error))


def weights_at_enrolment(cohort: Cohort, decided: Arms, asked: Asked) -> Vector:
    """Return h of each unit for a regime, (n,); 1 for all if the policy cannot be asked."""
    weights = np.ones(len(cohort))
    for moment in asked.moments:
        weights[moment.units] = _spread(cohort, decided, moment) ** -0.5
    return weights


def _moments(cohort: Cohort, level: NDArray[np.int64], belief: Belief, log: Sequence[Event]) -> Iterator[Moment]:
    _, recorded = recorded_of(cohort)
    free, ended, units = ~recorded.forced.any(axis=1), np.sort(recorded.ended), arrays_of(cohort)
    for known in np.unique(level[free & (level > 0)]).tolist():
        own = np.flatnonzero(free & (level == known))
        belief.fold(log[belief.version : recorded.enrolled[own[0]]])
        past = np.flatnonzero(recorded.ended <= ended[known - 1])[-MOST:]
        yield Moment(own, past, _chances(belief, units, past))


def _chances(belief: Belief, units: CohortArrays, past: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return what the policy would give to past units, were they the next to enroll, (S, M, K).

    Those who could not have the same arms are asked about together: a question has one copy of the tree.
    """
    state = belief.state
    next_unit = state.taught + len(belief.histories)  # behind the units of an earlier trial
    state.reserve(next_unit + 1)
    chances = np.full((len(past), units.arms.shape[1], state.width), np.nan)
    nothing = np.zeros((0, units.arms.shape[1]))
    barring, sets = sets_of(masks_of(units.excluded[past], state.design), len(past))
    for number, excluded in enumerate(sets):
        (own,) = np.nonzero(barring == number)
        asked, found = past[own], chances[own]
        roots = np.full(len(own), state.root_to_decide(excluded), dtype=np.int64)
        rows = Rows(state, units.features[asked], units.arms[asked], units.outcome[asked], roots, nothing)
        rows.ask_chances(next_unit, found)
        state.clear_spare_copy()
        chances[own] = found
    return chances


def _spread(cohort: Cohort, decided: Arms, moment: Moment) -> float:
    """Return v: the sum over stages of the mean of Π 1/e_t over past units, weighted to those whom the regime leads."""
    past = moment.past
    _, recorded = recorded_of(cohort)
    led, inverse, total = np.ones(len(past)), np.ones(len(past)), 0.0
    for m in range(cohort.arms.shape[1]):
        at, wanted = cohort.arms[past, m] >= 0, decided[past, m]
        chances = moment.chances[at, m, wanted[at]]
        inverse[at] /= np.where(chances > CERTAIN, chances, 1.0)  # an arm that is closed by then is no choice any more
        if not led.any():
            break
        total += float((led * inverse)[at].sum() / led.sum())
        followed = cohort.arms[past, m] == wanted
        led = np.where(at, np.where(followed, led / recorded.propensity[past, m], 0.0), led)
    return total
