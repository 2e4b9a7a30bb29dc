"""The policies that come with the package: their names, and the only switch between their rules."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, lru_cache, partial
from struct import Struct
from typing import Any

import numpy as np

from dtrbandit.design.spec import Design
from dtrbandit.estimators import exact, optimistic
from dtrbandit.estimators.exact import ARRIVED, COMPLETED, GIVEN
from dtrbandit.estimators.optimistic import LEFT
from dtrbandit.kernels.compile import kernel
from dtrbandit.policies import dtr_bandit, epsilon_greedy, fixed_regime, lsvi_ucb, uniform_random
from dtrbandit.policies.compiled_policy import CompiledPolicy, CompiledState, open_desk, open_learner, open_memory
from dtrbandit.policies.dtr_bandit import DTRBandit
from dtrbandit.policies.epsilon_greedy import EpsilonGreedy, Greedy
from dtrbandit.policies.fixed_regime import FixedRegime
from dtrbandit.policies.lsvi_ucb import LSVIUCB
from dtrbandit.policies.memory import (
    DTR_BANDIT,
    EPSILON_GREEDY,
    FIXED_REGIME,
    LSVI_UCB,
    Q_HAT,
    Q_TILDE,
    REASON_NAMES,
    create_memory,
)
from dtrbandit.policies.policy import Choice, Policy
from dtrbandit.policies.uniform_random import UniformRandom
from dtrbandit.record.events import Assigned, Completed, Fact, Responded, Withdrawn
from dtrbandit.record.histories import History
from dtrbandit.record.values import Values, unpacked

BUILTIN: Mapping[str, type[Policy[Any]]] = {
    kind.__name__: kind for kind in (DTRBandit, EpsilonGreedy, Greedy, LSVIUCB, FixedRegime, UniformRandom)
}

LEARNING = (DTR_BANDIT, EPSILON_GREEDY, LSVI_UCB)  # kinds of policy that learn
new_choice = partial(tuple.__new__, Choice)  # from a tuple, in half the time
LOST = 4  # a fact beside those of the learners


# -- the switch ----------------------------------------------------------------------------------------------


@kernel
def decide(kind, unit, m, node, psi, u, shown, learner, memory):
    """Return the arm that a policy chooses for a unit arriving at stage ``m``, and the number of the reason.

    Fills ``shown`` (4, K) with Q̃, Q̂, propensities and contenders; changes nothing else.
    """
    if kind == DTR_BANDIT:
        arm, reason = dtr_bandit.decide(learner, memory, unit, m, node, psi, u, shown)
    elif kind == EPSILON_GREEDY:
        arm, reason = epsilon_greedy.decide(learner, memory, unit, m, node, psi, u, shown)
    elif kind == LSVI_UCB:
        arm, reason = lsvi_ucb.decide(learner.child, learner.shape, memory.ridge, memory.numbers, m, node, psi, shown)
    elif kind == FIXED_REGIME:
        arm, reason = fixed_regime.decide(learner, memory, m, node, psi, shown)
    else:
        arm, reason = uniform_random.decide(learner.child, node, u, shown)
    return arm, reason


@kernel
def learn(kind, fact, unit, m, index, value, psi, learner, memory):
    """Learn from a fact.

    ARRIVED at stage ``m`` (``index`` the node); GIVEN an arm at stage ``m`` (``index`` the arm, ``value`` 1 if it was
    scheduled); LEFT before stage ``m`` (``index`` the node, −1 if its features are not known); COMPLETED after stage
    ``m`` with outcome ``value``; LOST after ``m`` arms.
    """
    if kind == LSVI_UCB:
        optimistic.learn(learner, memory.ridge, memory.numbers, fact, unit, m, index, value, psi)
    else:
        learn_exactly(kind, fact, unit, m, index, value, psi, learner, memory)


@kernel
def learn_exactly(kind, fact, unit, m, index, value, psi, learner, memory):
    """Learn as those policies do that keep Q̂; the others learn nothing."""
    if kind in (DTR_BANDIT, EPSILON_GREEDY):
        if fact <= COMPLETED:
            exact.learn(learner, fact, unit, m, index, value, psi)
        keep_account(kind, fact, unit, m, index, value, learner, memory)


@kernel
def keep_account(kind, fact, unit, m, index, value, learner, memory):
    """Keep Q̃ and the schedule of DTRBandit, or the initial pulls of ε-Greedy, up to date."""
    if kind == DTR_BANDIT:
        if fact == GIVEN:
            dtr_bandit.note_assignment(learner, memory, unit, m, index, value > 0.0)
        elif fact == COMPLETED or (fact == ARRIVED and m > 0):
            dtr_bandit.learn_forced(learner, memory, unit, m if fact == COMPLETED else m - 1)
    elif kind == EPSILON_GREEDY:
        if fact == GIVEN and m == 0:
            epsilon_greedy.note_pull(memory.pulls, memory.pulled, memory.tally, unit)
        elif fact == LEFT or (fact == LOST and m < memory.plans.shape[1]):
            epsilon_greedy.owe_pull(memory.pulls, memory.pulled, memory.tally, unit)


@kernel
def begin_anew(kind, unit, learner, memory):
    """Learn everything again, after what is known of a unit that has taught was written anew."""
    if kind == LSVI_UCB:
        optimistic.recount(learner, memory.ridge, memory.numbers)
    else:
        exact.rebuild(learner)
        if kind == DTR_BANDIT:
            dtr_bandit.learn_forced(learner, memory, unit, learner.shape.shape[0] - 1)


# -- the same, called from Python: a state is a table of its arrays' addresses ----------------------------------


@kernel(entry=True)
def call_decide(kind, unit, m, node, u, table):
    """Call ``decide``; what is shown is finite, or NaN."""
    learner, memory, desk = open_learner(table), open_memory(table), open_desk(table)
    shown = desk.shown
    arm, reason = decide(kind, unit, m, node, desk.psi, u, shown, learner, memory)
    for row in (Q_TILDE, Q_HAT):
        for a in range(shown.shape[1]):
            if not np.isfinite(shown[row, a]):
                shown[row, a] = np.nan
    return arm, reason


@kernel(entry=True)
def call_learn_exactly(kind, fact, unit, m, index, arm, value, table):
    """Call ``learn`` for policies that keep Q̂ (half the compilation); on arrival twice, for the arm given then."""
    learner, memory, desk = open_learner(table), open_memory(table), open_desk(table)
    while True:
        learn_exactly(kind, fact, unit, m, index, value, desk.psi, learner, memory)
        if fact != ARRIVED:
            break
        fact, index = GIVEN, arm


@kernel(entry=True)
def call_learn_optimistically(kind, fact, unit, m, index, arm, value, table):  # noqa: ARG001  # one signature
    """Call ``learn`` for LSVI-UCB, likewise."""
    learner, memory, desk = open_learner(table), open_memory(table), open_desk(table)
    while True:
        optimistic.learn(learner, memory.ridge, memory.numbers, fact, unit, m, index, value, desk.psi)
        if fact != ARRIVED:
            break
        fact, index = GIVEN, arm


@kernel(entry=True)
def call_learn_forced(unit, table):
    """Call ``dtr_bandit.learn_forced``."""
    learner, memory = open_learner(table), open_memory(table)
    dtr_bandit.learn_forced(learner, memory, unit, learner.shape.shape[0] - 1)


@kernel(entry=True)
def call_begin_anew(kind, unit, table):
    """Call ``begin_anew``."""
    learner, memory = open_learner(table), open_memory(table)
    begin_anew(kind, unit, learner, memory)


def start(policy: CompiledPolicy, design: Design) -> CompiledState:
    """Return the state of a policy before the first unit."""
    assert policy.kind is not None
    memory = create_memory(design, policy.kind, policy.numbers(design), scores=policy.scores(design))
    state = CompiledState(design, policy.kind, memory)
    if policy.kind == LSVI_UCB:
        optimistic.clear_ridge(state.learner.shape, memory.ridge, memory.numbers)
    return state


def choose(state: CompiledState, history: History, u: float) -> Choice:
    """Return a policy's choice for a unit that has arrived."""
    _, t, node, features, given, feasible, _ = history
    m, count = len(given), len(feasible)
    state.lay_out(features[-1])
    arm, reason = call_decide(state.kind, t - 1, m, node, u, state.table)
    labels, shown = state.design.stages[m].arms, state.desk.shown
    tilde, hat, propensities, contenders = _rows(count, shown.shape[1]).unpack(shown)
    return new_choice(
        (
            arm,
            REASON_NAMES[reason],
            _numbers(propensities),
            Values(labels, tilde),
            Values(labels, hat),
            _positive(contenders),
        )
    )


@cache
def _rows(count: int, width: int) -> Struct:
    """Return what reads, as bytes, the first ``count`` columns of each row of what is shown."""
    return Struct(f"{8 * count}s{8 * (width - count)}x" * 4)


_numbers = lru_cache(maxsize=1024)(unpacked)


@lru_cache(maxsize=1024)
def _positive(packed: bytes) -> tuple[int, ...]:
    return tuple([place for place, number in enumerate(unpacked(packed)) if number > 0])


def update(state: CompiledState, history: History, event: Fact) -> CompiledState:
    """Let a policy learn from a fact, in place.

    An arrival is learnt together with the decision that it leads to, which is the next fact: one call in place of two.
    """
    _, t, node, features, arms, feasible, _ = history
    unit, m = t - 1, len(arms)
    if feasible or state.kind not in LEARNING:
        return state
    if isinstance(event, Assigned):  # a match statement takes a microsecond
        if unit >= state.capacity:
            state.reserve(unit + 1)
        forced = 1.0 if event.decision.reason == "forced" else 0.0
        state.lay_out(features[m - 1])
        call = (ARRIVED, unit, m - 1, state.design.tree.parents[node], arms[-1], forced)
    elif isinstance(event, Completed):
        call = (COMPLETED, unit, m - 1, -1, -1, event.outcome)
    elif isinstance(event, Responded):
        state.lay_out(features[-1])
        call = (LEFT, unit, m, node if len(features) > m else -1, -1, 0.0)
    elif isinstance(event, Withdrawn):
        call = (LOST, unit, m, -1, -1, 0.0)
    else:
        amend(state, history)
        return state
    learn_from = call_learn_optimistically if state.kind == LSVI_UCB else call_learn_exactly
    learn_from(state.kind, *call, state.table)
    return state


def amend(state: CompiledState, history: History) -> None:
    """Let a policy learn that an arm was overridden or a value corrected."""
    rewrite(state, history)
    if has_taught(history):
        call_begin_anew(state.kind, history.round - 1, state.table)


def has_taught(history: History) -> bool:
    """Say whether a unit has rows that count: then an amendment makes the learner begin anew."""
    return len(history.arms) > 1 or history.outcome is not None


def rewrite(state: CompiledState, history: History) -> None:
    """Write what is known of a unit anew, as its history has it now."""
    learner, unit = state.learner, history.round - 1
    stages, most = len(state.design.stages), learner.pages.shape[3]
    for m, features in enumerate(history.features):
        row = learner.rows[unit, m * most : m * most + len(features)]
        if state.kind == LSVI_UCB:
            state.lay_out(features)
            optimistic.scale(learner.shape, state.memory.numbers, m, most, state.desk.psi, row)
        elif m == len(history.arms):
            break  # a stage that the unit did not enter
        else:
            row[:] = features
        learner.marks[unit, m] = state.design.tree.after(history.arms[:m])
    learner.marks[unit, stages : stages + len(history.arms)] = history.arms
    if history.outcome is not None:
        learner.rows[unit, stages * most] = history.outcome
