"""Where facts become kernel calls: what a fact or a question does to the state of a built-in policy.

Kernels trust what they are told. So each call is checked here against what there is: a unit and a stage that exist, a
node where the unit stands, an arm that is feasible there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from dtrbandit.design.formula import Vector
from dtrbandit.design.spec import Design
from dtrbandit.errors import DesignError, ProtocolError
from dtrbandit.estimators.observed import (
    AMENDED,
    ARRIVED,
    CLOSED,
    COMPLETED,
    LEFT,
    LOST,
    STAYED,
    VOIDED,
    erase,
    same_place,
    stands_at,
)
from dtrbandit.kernels import supply
from dtrbandit.kernels.arrays import Truth, Whole
from dtrbandit.kernels.borrowed import Table
from dtrbandit.kernels.compile import kernel
from dtrbandit.policies import builtin
from dtrbandit.policies.backlog import AT_ONCE, Call, work_off
from dtrbandit.policies.builtin import decide, explain, note, open_state, take_fitting
from dtrbandit.policies.compiled_policy import CompiledPolicy, CompiledState
from dtrbandit.policies.policy import Choice
from dtrbandit.policies.sheet import FORCED, PROPENSITY, Q_HAT, Q_TILDE, REASON_NAMES, ArmAndReason
from dtrbandit.policies.teaching import teach_one
from dtrbandit.record.events import (
    ArmClosed,
    Assigned,
    Completed,
    Decision,
    Fact,
    Responded,
    Taught,
    Voided,
    Withdrawn,
    new,
)
from dtrbandit.record.histories import History
from dtrbandit.record.values import Values

Told = tuple[Call, Vector | None]


# -- entries: kernels that Python calls ----------------------------------------------------------------------


@kernel(entry="int64, int64, int64, int64, float64, boolean, table")
def call_decide(kind: Whole, unit: Whole, m: Whole, node: Whole, u: float, told: Truth, table: Table) -> ArmAndReason:
    """Decide for features on the desk; what the sheet holds is finite, or NaN.

    An arm of −1: the policy should have been ``told`` how the unit came to this node, and was not.
    """
    state = open_state(table)
    sheet = state.desk.sheet
    if told and not same_place(state.observed, stands_at(state.observed, unit, m), node):
        return np.int64(-1), np.int64(0)
    arm, reason = decide(kind, state, unit, m, node, state.desk.psi, u, sheet)
    if reason == FORCED:
        explain(kind, state, unit, m, state.desk.psi, sheet)
    for row in (Q_TILDE, Q_HAT):
        for a in range(sheet.shape[1]):
            if not np.isfinite(sheet[row, a]):
                sheet[row, a] = np.nan
    return arm, reason


@kernel(entry="int64, int64, int64, int64, int64, int64, float64, boolean, table")
def call_take(
    kind: Whole,
    fact: Whole, unit: Whole, m: Whole, index: Whole, arm: Whole, value: float, learning: Truth, table: Table,
) -> bool:  # fmt: skip
    """Take a fact with the features on the desk, on arrival the arm as well; False if it does not fit."""
    state = open_state(table)
    return take_fitting(kind, state, fact, unit, m, index, arm, value, state.desk.psi, learning)


@kernel(entry="int64, int64, int64, table")
def call_amended(kind: Whole, fact: Whole, unit: Whole, table: Table) -> None:
    """Note that a unit was amended, or is void."""
    note(kind, open_state(table), fact, unit, np.int64(0), 0.0)


@kernel(entry="int64, table")
def call_begin_anew(kind: Whole, table: Table) -> None:
    """Learn everything again from what is written down."""
    builtin.begin_anew(kind, open_state(table))


@kernel(entry="int64, table")
def call_settle(kind: Whole, table: Table) -> None:
    """Do what was put off until the next reading."""
    builtin.settle(kind, open_state(table))


# -- from Python ---------------------------------------------------------------------------------------------


def start(policy: CompiledPolicy, design: Design) -> CompiledState:
    """Return the state of a policy before the first unit."""
    rule = policy.compiled_rule
    if rule is None:
        raise DesignError(f"{policy!r} holds a Python function: it has no compiled state")
    if rule.name not in builtin.KINDS:
        raise DesignError(
            f"{policy!r}: its rule {rule.name!r} is not among RULES in policies/builtin.py; add it there, or write "
            "init, update and decide in Python (CONTRIBUTING.md, Add a policy)"
        )
    supply.begin(first=(call_take, call_decide))  # what verbs call
    return CompiledState(policy, rule, design)


def decide_for(state: CompiledState, history: History, u: float) -> Decision:
    """Return a policy's decision for a unit that has arrived, in labels."""
    unit, t, node, features, given, _, _, excluded = history
    m, arms_to = len(given), state.arms_to
    short = len(features) <= m or (excluded and len(excluded) <= m)
    if t < 1 or not 0 <= node < len(arms_to) or arms_to[node] != given or short:
        raise _misfit(state, history, "a decision")
    if features[m] is not state.at_hand:
        _lay_out(state, history, m, features[m])
    here = node + state.root_to_ask_for(excluded[m]) if excluded else node
    arm, reason = call_decide.call(state.kind, state.taught + t - 1, m, here, u, state.knows_units, state.table)
    if excluded:
        state.forget_question()
    if arm < 0:
        raise _misfit(state, history, "a decision")
    stage, labels, read, said = state.forms[m]
    tilde, hat, chances = read(state.sheet)
    propensities, contenders = said(chances)
    label, why, chance = labels[arm], REASON_NAMES[reason], propensities[arm]
    q_tilde: Values[float | None] = Values(labels, tilde)
    q_hat: Values[float | None] = Values(labels, hat)
    return new(Decision, (unit, t, stage, label, why, chance, q_tilde, q_hat, contenders, ()))


def choose(state: CompiledState, history: History, u: float) -> Choice:
    """Return the same decision as a choice, in numbers: for policies that hold a built-in one."""
    decision = decide_for(state, history, u)
    labels = state.design.stages[len(history.arms)].arms
    propensities = tuple(state.desk.sheet[PROPENSITY, : len(labels)].tolist())
    contenders = tuple(labels.index(label) for label in decision.contenders)
    return Choice(
        labels.index(decision.arm), decision.reason, propensities, decision.q_tilde, decision.q_hat, contenders
    )


def update(state: CompiledState, history: History, event: Fact) -> CompiledState:
    """Let a policy learn from a fact, in place.

    An arrival is learnt together with the decision that it leads to, which is the next fact: one call in place of two.
    """
    if history.feasible:
        return state
    call_of = CALLS.get(type(event))
    if call_of is None:
        _take_unusual(state, history, event)
        return state
    try:
        call, features = call_of(state, history, event)
    except IndexError:
        raise _misfit(state, history, type(event).__name__) from None
    if state.taught + history.round > state.capacity:
        state.reserve(state.taught + history.round)
    if state.backlog is not None:
        if state.backlog.put(call, features) == AT_ONCE:
            work_off(state)
        return state
    fact, unit, m, index, arm, value = call
    if features is not None and features is not state.at_hand:  # an arrival is decided, then learnt
        _lay_out(state, history, m, features)
    if not call_take.call(state.kind, fact, unit, m, index, arm, value, state.learning, state.table):
        raise _misfit(state, history, type(event).__name__)
    return state


def _take_lesson(state: CompiledState, history: History) -> None:
    """Let a policy learn from a unit of an earlier trial, which comes before all who enrol."""
    m, dimensions = len(history.arms), state.design.dimensions
    whole = [len(psi) for psi in history.features] == list(dimensions[: len(history.features)])
    ends = history.outcome is None or m > 0
    known = m <= len(history.features) <= m + 1
    if (
        state.observed.units[0] > state.taught
        or _after(state, history) != history.node
        or not (whole and ends and known)
    ):
        raise _misfit(state, history, "a lesson")
    teach_one(state, history)


def _lay_out(state: CompiledState, history: History, m: int, features: Vector) -> None:
    """Lay the features of stage ``m`` on the desk."""
    try:
        state.psi[: state.dimensions[m]] = features
    except (IndexError, TypeError, ValueError):  # there is no such stage, it has other features, or they are no floats
        if features.shape != state.design.dimensions[m : m + 1]:
            raise _misfit(state, history, f"what is known at stage {m + 1}") from None
        state.desk.psi[: len(features)] = features
    state.at_hand = features


# a fact as a kernel takes it, and the features that go with it


def _number(state: CompiledState, history: History) -> int:
    """Return the number of a unit that has enrolled: those of an earlier trial come first."""
    return state.taught + history.round - 1


def _arrived(state: CompiledState, history: History, event: Assigned) -> Told:
    _, t, node, features, arms, _, _, excluded = history
    m = len(arms) - 1
    forced = 1.0 if event.decision.reason == "forced" else 0.0
    before = state.parents[node]
    if excluded:
        before += state.root_for(excluded[m])
    return (ARRIVED, state.taught + t - 1, m, before, arms[m], forced), features[m]


def _completed(state: CompiledState, history: History, event: Completed) -> Told:
    return (COMPLETED, state.taught + history.round - 1, len(history.arms) - 1, -1, -1, event.outcome), None


def _left(state: CompiledState, history: History, event: Responded) -> Told:
    m, node = len(history.arms), history.node
    if len(history.features) <= m:
        return (LEFT, _number(state, history), m, -1, -1, 0.0), None
    if history.excluded:
        node += state.root_for(history.excluded[m])
    return (LEFT, _number(state, history), m, node, -1, 0.0), history.features[m]


def _lost(state: CompiledState, history: History, event: Withdrawn) -> Told:
    return (LOST, _number(state, history), len(history.arms), -1, -1, 0.0), None


CALLS: Mapping[type, Callable[[CompiledState, History, Any], Told]] = {
    Assigned: _arrived,
    Completed: _completed,
    Responded: _left,
    Withdrawn: _lost,
}


def _misfit(state: CompiledState, history: History, what: str) -> ProtocolError:
    return ProtocolError(
        f"unit {history.unit!r}, round {history.round}: {what} does not fit what this policy was told before; "
        f"found arms {history.arms} and node {history.node}; a policy that holds a built-in one must pass on every "
        f"fact of a unit, in order, with histories of the same {len(state.design.stages)}-stage design"
    )


# -- amendments ----------------------------------------------------------------------------------------------


def _take_unusual(state: CompiledState, history: History, event: Fact) -> None:
    """Let a policy learn from a unit of an earlier trial, or what changes rows that may count already."""
    if type(event) is Taught:
        _take_lesson(state, history)
    elif type(event) is ArmClosed:
        close_arm(state, event)
    elif type(event) is Voided:
        void(state, history)
    else:
        amend(state, history)


def amend(state: CompiledState, history: History) -> None:
    """Let a policy learn that an arm was overridden or a value corrected."""
    work_off(state)
    rewrite(state, history)
    _take_amendment(state, history, AMENDED)


def void(state: CompiledState, history: History) -> None:
    """Let a policy forget a unit."""
    work_off(state)
    _require_known(state, history, "voiding")
    erase(state.observed, _number(state, history))
    _take_amendment(state, history, VOIDED)


def _take_amendment(state: CompiledState, history: History, fact: int) -> None:
    """Note an amendment that is written down, and learn everything again if rows that count have changed."""
    call_amended.call(state.kind, fact, _number(state, history), state.table)
    if state.learning and has_taught(history):
        call_begin_anew.call(state.kind, state.table)


def _require_known(state: CompiledState, history: History, what: str) -> None:
    """Refuse an amendment of a unit that has other arms here than its history."""
    unit = _number(state, history)
    if not state.taught <= unit < state.capacity or (state.observed.arms[unit] >= 0).sum() != len(history.arms):
        raise _misfit(state, history, what)


def has_taught(history: History) -> bool:
    """Say whether a unit has rows that count: then an amendment makes the learner begin anew."""
    return len(history.arms) > 1 or history.outcome is not None


def rewrite(state: CompiledState, history: History) -> None:
    """Write a unit down again, as its history has it now."""
    observed, unit, given = state.observed, _number(state, history), len(history.arms)
    whole = [len(features) for features in history.features] == list(state.design.dimensions[: len(history.features)])
    _require_known(state, history, "an amendment")
    if not whole:
        raise _misfit(state, history, "an amendment")
    most = given if observed.left[unit] == STAYED else given + 1
    if _after(state, history) != history.node or not given <= len(history.features) <= most:
        raise _misfit(state, history, "an amendment")
    for m, features in enumerate(history.features):
        observed.features[unit, m, : len(features)] = features
        node = state.design.tree.after(history.arms[:m])
        if history.excluded:
            node += state.root_for(history.excluded[m])
        if m < given:
            observed.nodes[unit, m] = node
        else:
            observed.left[unit] = node  # a stage that the unit did not enter
    observed.arms[unit, :given] = history.arms
    if history.outcome is not None:
        observed.outcome[unit] = history.outcome


# -- what concerns the trial as a whole --------------------------------------------------------------------------


def close_arm(state: CompiledState, event: ArmClosed) -> None:
    """Let a policy leave an arm out of every max, and learn everything again."""
    work_off(state)
    m = state.design.stage_number(event.stage)
    state.close_arm(m, state.design.stages[m].arms.index(event.arm))
    call_amended.call(state.kind, CLOSED, 0, state.table)
    if state.learning:
        call_begin_anew.call(state.kind, state.table)


def settle(state: CompiledState) -> None:
    """Do what was put off until the next reading."""
    call_settle.call(state.kind, state.table)


def _after(state: CompiledState, history: History) -> int:
    """Return the node that a unit's arms lead to, −1 if there are no such arms."""
    try:
        return state.design.tree.after(history.arms) if min(history.arms, default=0) >= 0 else -1
    except IndexError:
        return -1
