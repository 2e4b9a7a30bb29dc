"""The same fold as a Session's, over arrays of arrivals: studies, replay evaluation, and long logs.

One compiled loop takes events in order: a unit arrives at a stage, its outcome comes, it is lost. Arms that are not
given beforehand are decided by the switch of ``policies/builtin.py``, and everything is learnt by the same kernels
that serve one event at a time, in the same order, so that arms and estimates agree bit for bit.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dtrbandit.design.spec import Design
from dtrbandit.environments.potential_outcomes import PotentialOutcomes, along, observed
from dtrbandit.errors import DesignError
from dtrbandit.estimators import optimistic
from dtrbandit.estimators.exact import ARRIVED, COMPLETED, GIVEN, observe_features, observe_outcome
from dtrbandit.estimators.optimistic import LEFT
from dtrbandit.kernels.compile import kernel
from dtrbandit.kernels.stream import ROUNDS, uniforms
from dtrbandit.policies.builtin import (
    LEARNING,
    LOST,
    call_begin_anew,
    call_learn_forced,
    decide,
    has_taught,
    keep_account,
    learn,
    rewrite,
    start,
)
from dtrbandit.policies.compiled_policy import CompiledPolicy, CompiledState, open_learner, open_memory
from dtrbandit.policies.memory import DTR_BANDIT, FORCED, LSVI_UCB
from dtrbandit.record.events import Assigned, Completed, Enrolled, Fact, Responded, Withdrawn
from dtrbandit.record.histories import History

NOT_YET, DECIDE = -1, -1  # of an arm: not given, not given beforehand


class Arrivals(NamedTuple):
    """What happens to n units, and in which order.

    Attributes
    ----------
    events
        (E, 2): m and a unit that arrives at stage m; M and a unit whose outcome comes; M + 1 and one that is lost.
        What comes after a unit has left or ended is passed over.
    features, enters
        (n, C, D) and (n, C): what is found on arrival, and whether the unit enters; ``column[node]`` says in which
        column.
    outcome
        (n, L), in column ``leaf[node]`` for a unit that ends at that node.
    assigned, scheduled, given
        (n, M): the arm that was decided, or −1 to decide it now; whether it was scheduled; the arm really given.
    """

    events: NDArray[np.int32]
    column: NDArray[np.int64]
    features: NDArray[np.float64]
    enters: NDArray[np.bool_]
    leaf: NDArray[np.int64]
    outcome: NDArray[np.float64]
    assigned: NDArray[np.int8]
    scheduled: NDArray[np.bool_]
    given: NDArray[np.int8]


class Played(NamedTuple):
    """The arms (n, M) and the numbers of their reasons (n, M), −1 where a stage was not entered, and the state."""

    arms: NDArray[np.int8]
    reasons: NDArray[np.int8]
    state: CompiledState


def play(policy: CompiledPolicy, units: Arrivals, design: Design, *, seed: int = 0) -> Played:
    """Let a policy decide for units as they arrive, from the beginning."""
    if policy.kind is None:
        raise DesignError(f"{policy!r} holds a Python function and plays through a Session only")
    _require_fit(units, design)
    state = start(policy, design)
    arms, reasons, nodes = _blank(len(units.features), len(design.stages))
    run(state, units, arms, reasons, nodes, seed=seed)
    return Played(arms, reasons, state)


def _require_fit(units: Arrivals, design: Design) -> None:
    """Refuse arrivals of another design, and events of units that are not there: kernels would read beyond them."""
    (n, columns, most), stages = units.features.shape, len(design.stages)
    shapes = len(units.column), most, len(units.leaf), *units.assigned.shape, *units.given.shape
    own = len(design.tree.child), max(design.dimensions), len(design.tree.feasible), n, stages, n, stages
    if shapes != own or units.column.max() >= columns or units.leaf.max() >= units.outcome.shape[1]:
        raise DesignError("these arrivals are of another design; potential_arrivals(units, design=design) fits it")
    if not ((units.events >= 0) & (units.events < [stages + 2, n])).all():
        raise DesignError(f"events must be pairs of 0 to {stages + 1} and a unit below {n}")


def run(
    state: CompiledState,
    units: Arrivals,
    arms: NDArray[np.int8],
    reasons: NDArray[np.int8],
    nodes: NDArray[np.int64],
    *,
    seed: int = 0,
    loading: bool = False,
) -> None:
    """Fold events into a state; ``loading`` stores what will be learnt anew afterwards."""
    n, stages = arms.shape
    state.reserve(n)
    drawn = np.concatenate([uniforms(seed, block, stages) for block in range(max(1, -(-n // ROUNDS)))])
    fold(state.kind, loading, *units, drawn, arms, reasons, nodes, state.table)


def at_once(n: int, stages: int) -> NDArray[np.int32]:
    """Return the events of n units without delay: each is through before the next comes."""
    what = np.tile(np.arange(stages + 1, dtype=np.int32), n)
    return np.column_stack([what, np.repeat(np.arange(n, dtype=np.int32), stages + 1)])


def potential_arrivals(
    units: PotentialOutcomes, *, design: Design | None = None, events: NDArray[np.int32] | None = None
) -> Arrivals:
    """Return units with their features at every node; ``design`` is the learner's, by default the units' own."""
    design = design or units.design
    child, n, stages = design.tree.child, len(units.outcome), len(design.stages)
    inner = len(child)
    features = np.full((n, inner, max(design.dimensions)), np.nan)
    enters, leaf = np.ones((n, inner), dtype=np.bool_), np.zeros(inner + len(design.arm_plans), dtype=np.int64)
    outcome = np.column_stack([along(units.outcome, plan) for plan in design.arm_plans])
    for m in range(stages):
        for node in [node for node in range(inner) if len(design.tree.paths[node]) == m]:
            path = design.tree.paths[node]
            columns = observed(units, path)
            given = {design.stages[k].name: np.full(n, arm) for k, arm in enumerate(path)}
            arrival = design.arrivals[m]
            features[:, node, : design.dimensions[m]] = arrival.features.matrix(columns, given, n)
            if arrival.condition is not None:
                enters[:, node] = arrival.condition.mask(columns)
                for name in arrival.columns:  # a leaver whose context is not whole has no features
                    features[np.isnan(columns[name]), node] = np.nan
            leaf[node] = next(p for p, plan in enumerate(design.arm_plans) if plan[:m] == path)
    leaf[inner:] = np.arange(len(design.arm_plans))
    open_arms = np.full((n, stages), DECIDE, dtype=np.int8)
    order = at_once(n, stages) if events is None else np.ascontiguousarray(events, dtype=np.int32)
    column = np.arange(inner)
    return Arrivals(
        order, column, features, enters, leaf, outcome, open_arms, np.zeros((n, stages), np.bool_), open_arms
    )


def _blank(n: int, stages: int) -> tuple[NDArray[np.int8], NDArray[np.int8], NDArray[np.int64]]:
    arms = np.full((n, stages), NOT_YET, dtype=np.int8)
    return arms, arms.copy(), np.zeros(n, dtype=np.int64)


# -- the loop ------------------------------------------------------------------------------------------------


@kernel(entry=True)
def fold(
    kind, loading, events, column, features, enters, leaf, outcome, assigned, scheduled, given, drawn,
    arms, reasons, nodes, table,
):  # fmt: skip
    """Take events in order; ``nodes`` (n,) says where each unit stands: −1 ended, −2 − node left at a node."""
    learner, memory = open_learner(table), open_memory(table)
    stages, shown = learner.shape.shape[0], np.empty((4, learner.child.shape[1]))
    for e in range(events.shape[0]):
        what, unit = np.int64(events[e, 0]), np.int64(events[e, 1])
        node, arm, reason = nodes[unit], np.int64(-1), np.int64(-1)
        fact, m, index, value = read_event(what, unit, node, stages, column, features, enters, leaf, outcome, arms)
        if fact < 0:
            continue
        psi = features[unit, column[node] if fact in (ARRIVED, LEFT) else 0]
        if fact == ARRIVED:
            arm, reason = np.int64(assigned[unit, m]), np.int64(FORCED if scheduled[unit, m] else -1)
            if arm < 0:
                arm, reason = decide(kind, unit, m, node, psi, drawn[unit, m], shown, learner, memory)
        while True:  # twice on arrival: the arrival, then the arm
            if loading:
                remember(kind, fact, unit, m, index, value, psi, learner, memory)
            else:
                learn(kind, fact, unit, m, index, value, psi, learner, memory)
            if fact != ARRIVED:
                break
            fact, index, value = GIVEN, arm, 1.0 if reason == FORCED else 0.0
        nodes[unit] = -2 - node if fact == LEFT else -1
        if fact == GIVEN:
            if given[unit, m] >= 0 and given[unit, m] != arm:
                arm = np.int64(given[unit, m])
                learner.marks[unit, stages + m] = arm
            arms[unit, m], reasons[unit, m] = arm, reason
            nodes[unit] = learner.child[node, arm]


@kernel
def read_event(what, unit, node, stages, column, features, enters, leaf, outcome, arms):
    """Return an event as a fact, with its stage, index and value; −1 if it comes after the unit's end."""
    if node == -1 or (node < 0 and what < stages):
        return -1, np.int64(0), np.int64(0), 0.0
    if what < stages:
        place = column[node]
        if what == 0 or enters[unit, place]:
            return ARRIVED, what, node, 0.0
        known = features[unit, place, 0] == features[unit, place, 0]
        return LEFT, what, node if known else np.int64(-1), 0.0
    treated = np.int64(0)
    while treated < stages and arms[unit, treated] >= 0:
        treated += 1
    if what > stages:
        return LOST, treated, np.int64(0), 0.0
    return COMPLETED, treated - 1, np.int64(0), outcome[unit, leaf[node if node >= 0 else -2 - node]]


@kernel
def remember(kind, fact, unit, m, index, value, psi, learner, memory):
    """Store a fact without learning from it: the learner will begin anew."""
    if fact == ARRIVED or (kind == LSVI_UCB and fact == LEFT and index >= 0):
        observe_features(learner, unit, m, index, psi)
        if kind == LSVI_UCB:
            most = learner.pages.shape[3]
            optimistic.scale(learner.shape, memory.numbers, m, most, psi, learner.rows[unit, m * most :])
    elif fact == GIVEN:
        learner.marks[unit, learner.shape.shape[0] + m] = index
    elif fact == COMPLETED:
        observe_outcome(learner, unit, m, value)
    if kind != LSVI_UCB:
        keep_account(kind, fact, unit, m, index, value, learner, memory)


# -- a log whose arms are given ------------------------------------------------------------------------------


class LogFold:
    """Collects the facts of a log and folds them in one go.

    An amendment of a unit that has taught makes the learner begin anew, from what is stored alone; so what was
    learnt before the last of them need not be learnt at all.
    """

    def __init__(self, state: CompiledState, units: int) -> None:
        design = state.design
        stages, tree = len(design.stages), design.tree
        self._state = state
        self._events: list[tuple[int, int]] = []
        self._arms, self._reasons, self._nodes = _blank(units, stages)
        self._begin_anew: int | None = None
        stage_of_node = [len(path) for path in tree.paths[: len(tree.child)]]
        self._units = Arrivals(
            events=np.zeros((0, 2), dtype=np.int32),
            column=np.array(stage_of_node, dtype=np.int64),
            features=np.full((units, stages, max(design.dimensions)), np.nan),
            enters=np.zeros((units, stages), dtype=np.bool_),
            leaf=np.zeros(len(tree.feasible), dtype=np.int64),
            outcome=np.full((units, 1), np.nan),
            assigned=np.full((units, stages), DECIDE, dtype=np.int8),
            scheduled=np.zeros((units, stages), dtype=np.bool_),
            given=np.full((units, stages), DECIDE, dtype=np.int8),
        )

    def add(self, fact: Fact, history: History) -> None:
        """Take the next fact of the log, with the history it leads to."""
        unit, m, stages = history.round - 1, len(history.arms), len(self._state.design.stages)
        if isinstance(fact, Assigned):
            self._units.assigned[unit, m - 1] = self._units.given[unit, m - 1] = history.arms[-1]
            self._units.scheduled[unit, m - 1] = fact.decision.reason == "forced"
        elif isinstance(fact, Enrolled | Responded):
            self._store_features(unit, history)
            self._units.enters[unit, m] = bool(history.feasible)
            self._events.append((m, unit))
        elif isinstance(fact, Completed):
            self._units.outcome[unit, 0] = fact.outcome
            self._events.append((stages, unit))
        elif isinstance(fact, Withdrawn):
            self._events.append((stages + 1, unit))
        else:
            self._amend(history)

    def finish(self) -> CompiledState:
        """Fold what is left, and return the state."""
        if self._begin_anew is not None and self._state.kind in LEARNING:
            call_begin_anew(self._state.kind, self._begin_anew, self._state.table)
        self._flush(loading=False)
        return self._state

    def _amend(self, history: History) -> None:
        unit = history.round - 1
        if has_taught(history):
            self._flush(loading=True)
            self._begin_anew = unit
        if self._arms[unit, 0] >= 0:  # folded already
            rewrite(self._state, history)
            self._arms[unit, : len(history.arms)] = history.arms
            if self._nodes[unit] >= 0:
                self._nodes[unit] = history.node
            if has_taught(history) and self._state.kind == DTR_BANDIT:
                call_learn_forced(unit, self._state.table)
        self._store_features(unit, history)
        self._units.given[unit, : len(history.arms)] = history.arms

    def _store_features(self, unit: int, history: History) -> None:
        for m, features in enumerate(history.features):
            self._units.features[unit, m, : len(features)] = features

    def _flush(self, *, loading: bool) -> None:
        events = np.array(self._events, dtype=np.int32).reshape(-1, 2)
        self._events.clear()
        units = self._units._replace(events=events)
        run(self._state, units, self._arms, self._reasons, self._nodes, loading=loading)
