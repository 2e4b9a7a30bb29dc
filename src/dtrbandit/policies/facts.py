"""Where facts become kernel calls: what a fact or a question does to the state of a built-in policy.

Kernels trust what they are told. So each call is checked here against what there is: a unit and a stage that exist, a
node where the unit stands, an arm that is feasible there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from dtrbandit.errors import ProtocolError
from dtrbandit.kernels import constants as c
from dtrbandit.kernels.arrays import Vector
from dtrbandit.policies.policy import Choice
from dtrbandit.policies.state import PolicyState
from dtrbandit.policies.teaching import Call, lessons_of, teach
from dtrbandit.record.events import (
    AMENDMENTS,
    ArmClosed,
    Assigned,
    Completed,
    Decision,
    Fact,
    Responded,
    Taught,
    Voided,
    Withdrawn,
)
from dtrbandit.record.histories import History

CallWithFeatures = tuple[Call, Vector | None]


def decide_for(state: PolicyState, history: History, u: float) -> Decision:
    """Return a policy's decision for a unit that has arrived, in labels."""
    unit, t, node, features, given, _, _, excluded = history
    m, arms_to = len(given), state.arms_to
    short = len(features) <= m or (excluded and len(excluded) <= m)
    if t < 1 or not 0 <= node < len(arms_to) or arms_to[node] != given or short:
        raise _misfit(state, history, "a decision")
    if features[m] is not state.at_hand:
        _lay_out(state, history, m, features[m])
    here = node + state.root_to_decide(excluded[m]) if excluded else node
    arm = state.ask(state.observed.taught + t - 1, m, here, u)
    if excluded:
        state.clear_spare_copy()
    if arm < 0:
        raise _misfit(state, history, "a decision")
    return state.decision(unit, t, m, arm)


def choose(state: PolicyState, history: History, u: float) -> Choice:
    """Return the same decision as a choice, in numbers: for policies that hold a built-in one."""
    decision = decide_for(state, history, u)
    labels = state.design.stages[len(history.arms)].arms
    propensities = tuple(np.asarray(state.sheet)[c.PROPENSITY, : len(labels)].tolist())
    contenders = tuple(labels.index(label) for label in decision.contenders)
    return Choice(
        labels.index(decision.arm), decision.reason, propensities, decision.q_tilde, decision.q_hat, contenders
    )


def update(state: PolicyState, history: History, event: Fact) -> PolicyState:
    """Let a policy learn from a fact, in place.

    An arrival is not learnt by itself. The next fact is its decision, and one kernel call learns both.
    """
    if history.feasible:
        return state
    call_of = CALLS.get(type(event))
    if call_of is None:
        _take_lesson_or_amendment(state, history, event)
        return state
    try:
        call, features = call_of(state, history, event)
    except IndexError:
        raise _misfit(state, history, type(event).__name__) from None
    if state.taught + history.round > state.capacity:
        state.reserve(state.taught + history.round)
    fact, unit, m, index, arm, value = call
    if features is not None and features is not state.at_hand:  # an arrival is decided, then learnt
        _lay_out(state, history, m, features)
    if not state.take_if_it_fits(fact, unit, m, index, arm, value):
        raise _misfit(state, history, type(event).__name__)
    return state


def _take_lesson(state: PolicyState, history: History) -> None:
    """Let a policy learn from a unit of an earlier trial, which comes before all who enrol."""
    m, dimensions = len(history.arms), state.design.dimensions
    whole = [len(psi) for psi in history.features] == list(dimensions[: len(history.features)])
    ends = history.outcome is None or m > 0
    known = m <= len(history.features) <= m + 1
    if state.observed.units > state.taught or _after(state, history) != history.node or not (whole and ends and known):
        raise _misfit(state, history, "a lesson")
    teach(state, lessons_of(state.design, [history]))


def _lay_out(state: PolicyState, history: History, m: int, features: Vector) -> None:
    """Copy the features of stage ``m`` into the buffer that kernels read, and remember which these are."""
    try:
        state.psi_bytes[: state.dimensions[m]] = features
    except (IndexError, TypeError, ValueError):  # there is no such stage, it has other features, or they are no floats
        if features.shape != state.design.dimensions[m : m + 1]:
            raise _misfit(state, history, f"what is known at stage {m + 1}") from None
        np.asarray(state.observed.psi)[: len(features)] = features
    state.at_hand = features


# a fact as a kernel takes it, and the features that go with it


def _number(state: PolicyState, history: History) -> int:
    """Return the number of a unit that has enrolled: those of an earlier trial come first."""
    return state.taught + history.round - 1


def _arrived(state: PolicyState, history: History, event: Assigned) -> CallWithFeatures:
    _, t, node, features, arms, _, _, excluded = history
    m = len(arms) - 1
    forced = 1.0 if event.decision.reason == "forced" else 0.0
    before = state.parents[node]
    if excluded:
        before += state.root_for(excluded[m])
    return (c.ARRIVED, state.taught + t - 1, m, before, arms[m], forced), features[m]


def _completed(state: PolicyState, history: History, event: Completed) -> CallWithFeatures:
    return (c.COMPLETED, state.taught + history.round - 1, len(history.arms) - 1, -1, -1, event.outcome), None


def _left(state: PolicyState, history: History, event: Responded) -> CallWithFeatures:
    m, node = len(history.arms), history.node
    if len(history.features) <= m:
        return (c.LEFT, _number(state, history), m, -1, -1, 0.0), None
    if history.excluded:
        node += state.root_for(history.excluded[m])
    return (c.LEFT, _number(state, history), m, node, -1, 0.0), history.features[m]


def _lost(state: PolicyState, history: History, event: Withdrawn) -> CallWithFeatures:
    return (c.LOST, _number(state, history), len(history.arms), -1, -1, 0.0), None


CALLS: Mapping[type, Callable[[PolicyState, History, Any], CallWithFeatures]] = {
    Assigned: _arrived,
    Completed: _completed,
    Responded: _left,
    Withdrawn: _lost,
}


def _misfit(state: PolicyState, history: History, what: str) -> ProtocolError:
    return ProtocolError(
        f"unit {history.unit!r}, round {history.round}: {what} does not fit what this policy was told before; "
        f"found arms {history.arms} and node {history.node}; a policy that holds a built-in one must pass on every "
        f"fact of a unit, in order, with histories of the same {len(state.design.stages)}-stage design"
    )


# -- amendments ----------------------------------------------------------------------------------------------


def _take_lesson_or_amendment(state: PolicyState, history: History, event: Fact) -> None:
    """Let a policy learn from a unit of an earlier trial, or from a fact that changes rows which may count already."""
    if type(event) is Taught:
        _take_lesson(state, history)
    elif type(event) is ArmClosed:
        close_arm(state, event)
    elif type(event) is Voided:
        void(state, history)
    elif type(event) in AMENDMENTS:
        amend(state, history)


def amend(state: PolicyState, history: History) -> None:
    """Let a policy learn that an arm was overridden or a value corrected."""
    rewrite(state, history)
    _take_amendment(state, history, c.AMENDED)


def void(state: PolicyState, history: History) -> None:
    """Let a policy forget a unit."""
    _require_known(state, history, "voiding")
    state.observed.erase(_number(state, history))
    _take_amendment(state, history, c.VOIDED)


def _take_amendment(state: PolicyState, history: History, fact: int) -> None:
    """Note an amendment that is written down, and learn everything again if rows that count have changed."""
    state.amend(fact, _number(state, history))
    if state.learning and has_taught(history):
        state.relearn()


def _require_known(state: PolicyState, history: History, what: str) -> None:
    """Refuse an amendment of a unit that has other arms here than its history."""
    unit, arms = _number(state, history), np.asarray(state.observed.arms)
    if not state.taught <= unit < state.capacity or (arms[unit] >= 0).sum() != len(history.arms):
        raise _misfit(state, history, what)


def has_taught(history: History) -> bool:
    """Say whether a unit has rows that count: then an amendment makes the learner begin anew."""
    return len(history.arms) > 1 or history.outcome is not None


def rewrite(state: PolicyState, history: History) -> None:
    """Write a unit down again, as its history has it now."""
    observed, unit, given = state.observed, _number(state, history), len(history.arms)
    whole = [len(features) for features in history.features] == list(state.design.dimensions[: len(history.features)])
    _require_known(state, history, "an amendment")
    if not whole:
        raise _misfit(state, history, "an amendment")
    most = given if observed.left[unit] == c.STAYED else given + 1
    if _after(state, history) != history.node or not given <= len(history.features) <= most:
        raise _misfit(state, history, "an amendment")
    for m, features in enumerate(history.features):
        np.asarray(observed.features)[unit, m, : len(features)] = features
        node = state.design.tree.after(history.arms[:m])
        if history.excluded:
            node += state.root_for(history.excluded[m])
        if m < given:
            observed.nodes[unit, m] = node
        else:
            observed.left[unit] = node  # a stage that the unit did not enter
    np.asarray(observed.arms)[unit, :given] = history.arms
    if history.outcome is not None:
        observed.outcome[unit] = history.outcome


# -- what concerns the trial as a whole --------------------------------------------------------------------------


def close_arm(state: PolicyState, event: ArmClosed) -> None:
    """Let a policy leave an arm out of every max, and learn everything again."""
    m = state.design.stage_number(event.stage)
    state.close_arm(m, state.design.stages[m].arms.index(event.arm))
    state.amend(c.CLOSED, 0)
    if state.learning:
        state.relearn()


def _after(state: PolicyState, history: History) -> int:
    """Return the node that a unit's arms lead to, −1 if there are no such arms."""
    try:
        return state.design.tree.after(history.arms) if min(history.arms, default=0) >= 0 else -1
    except IndexError:
        return -1
