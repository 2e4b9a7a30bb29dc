"""Algorithm 2 for the built-in policies, without Python: ask for a row's arms, and learn from it if they agree.

Rows are n finished units: ``features`` (n, M, D), NaN where a context is not whole; ``arms`` (n, M), −1 where none was
given; ``outcome`` (n,), NaN where a unit dropped out. ``unit`` is the round's number less one, ``drawn`` (T, M) are the
uniform numbers of its decisions.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from dtrbandit.estimators.exact import ARRIVED, COMPLETED, GIVEN
from dtrbandit.estimators.optimistic import LEFT
from dtrbandit.kernels.compile import kernel
from dtrbandit.policies.builtin import decide, learn
from dtrbandit.policies.compiled_policy import open_learner, open_memory
from dtrbandit.policies.memory import FORCED
from dtrbandit.policies.supposed import retract, suppose

Array = NDArray[np.float64]
Arms = NDArray[np.int8]
Rows = NDArray[np.int32]
Integers = NDArray[np.int64]
Mask = NDArray[np.bool_]


@kernel(entry=True)
def play_rows(
    kind: int, order: Integers, unit: int, features: Array, arms: Arms, outcome: Array, drawn: Array,
    accepted: Rows, table: Integers,
) -> tuple[int, int]:  # fmt: skip
    """Offer rows in order, and write those that agree into ``accepted`` (T,) from place ``unit`` on.

    Return the next round's place, and how many rows were offered: fewer than all once T are accepted.
    """
    learner, memory = open_learner(table), open_memory(table)
    shown, forced = np.empty((4, learner.child.shape[1])), np.empty(learner.shape.shape[0])
    offered = 0
    while offered < order.shape[0] and unit < accepted.shape[0]:
        row = np.int64(order[offered])
        offered += 1
        if agrees(kind, row, unit, features, arms, outcome, drawn, shown, forced, learner, memory):
            accept(kind, row, unit, features, arms, outcome, forced, learner, memory)
            accepted[unit] = row
            unit += 1
    return unit, offered


@kernel(entry=True)
def ask_all(
    kind: int, unit: int, features: Array, arms: Arms, outcome: Array, drawn: Array, agreeing: Mask, table: Integers
) -> None:  # fmt: skip
    """Set ``agreeing`` (n,) to whether the policy would give each row its arms in this round; learn nothing."""
    learner, memory = open_learner(table), open_memory(table)
    shown, forced = np.empty((4, learner.child.shape[1])), np.empty(learner.shape.shape[0])
    for row in range(agreeing.shape[0]):
        agreeing[row] = agrees(kind, row, unit, features, arms, outcome, drawn, shown, forced, learner, memory)


@kernel
def agrees(kind, row, unit, features, arms, outcome, drawn, shown, forced, learner, memory):
    """Say whether a policy would give a row its arms at all stages it entered (Algorithm 2, line 7).

    Fills ``forced`` (M,) with whether each was scheduled. A unit that dropped out never agrees.
    """
    node, m, agreed = np.int64(0), 0, not math.isnan(outcome[row])
    while agreed and m < arms.shape[1] and arms[row, m] >= 0:
        arm, reason = decide(kind, unit, m, node, features[row, m], drawn[unit, m], shown, learner, memory)
        agreed = arm == arms[row, m]
        if agreed:
            forced[m] = 1.0 if reason == FORCED else 0.0
            suppose(kind, unit, m, arm, reason == FORCED, learner, memory)
            node = np.int64(learner.child[node, arm])
            m += 1
    retract(kind, unit, m, learner, memory)
    return agreed


@kernel
def accept(kind, row, unit, features, arms, outcome, forced, learner, memory):
    """Let a policy learn what happened to a row, fact by fact (Algorithm 2, line 8)."""
    stages, treated, node = arms.shape[1], 0, np.int64(0)
    while treated < stages and arms[row, treated] >= 0:
        treated += 1
    facts = 2 * treated + (1 if treated == stages else 2)
    for number in range(facts):  # one place that learns: each would be compiled
        m, fact, index, value = number // 2, COMPLETED, np.int64(0), outcome[row]
        if number == facts - 1:
            m = treated - 1
        elif m == treated:
            fact, index, value = LEFT, np.int64(-1) if math.isnan(features[row, m, 0]) else node, 0.0
        elif number % 2 == 0:
            fact, index, value = ARRIVED, node, 0.0
        else:
            fact, index, value = GIVEN, np.int64(arms[row, m]), forced[m]
            node = np.int64(learner.child[node, index])
        learn(kind, fact, unit, m, index, value, features[row, m], learner, memory)
