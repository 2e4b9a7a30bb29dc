"""Algorithm 2 for the built-in policies, without Python: ask for a row's arms, and learn from it if they agree.

``ask_chances`` asks how probable arms are, for values from data that a policy collected (``values/asked.py``).

Rows are n finished units: ``features`` (n, M, D), NaN where a context is not whole; ``arms`` (n, M), −1 where none was
given; ``outcome`` (n,), NaN where a unit dropped out; ``roots`` (n,), those of the copies of the tree that have what is
feasible for each. ``unit`` is the round's number less one, ``drawn`` (T, M) are the
uniform numbers of its decisions.

A decision at a later stage looks at the estimates of that stage, and at what the unit itself was given. Its own
earlier rows cannot have changed those estimates: a row of stage m teaches stage m and the stages before it, and it
counts only on arrival at stage m + 1. So to ask for a row's later arms it is enough to suppose the earlier ones, and
to take that back afterwards. (LSVI-UCB with rare switching is the exception from three stages on: see
``looks_only_back``.)
"""

from __future__ import annotations

import math

import numpy as np

from dtrbandit.estimators.observed import ARRIVED, COMPLETED, GIVEN, LEFT
from dtrbandit.kernels.arrays import Floats, Integers, Mask, Matrix, Truth, Vector, Whole
from dtrbandit.kernels.borrowed import Table
from dtrbandit.kernels.compile import kernel
from dtrbandit.policies.builtin import OpenState, decide, open_state, retract, suppose, take
from dtrbandit.policies.sheet import FORCED, PROPENSITY

ROWS = "float64[:, :, ::1], int8[:, ::1], float64[::1], int64[::1], float64[:, ::1]"  # with roots, and drawn


@kernel(entry=f"int64, int64[::1], int64, {ROWS}, int32[::1], table")
def play_rows(
    kind: Whole,
    order: Integers, unit: Whole, features: Floats, arms: Integers, outcome: Vector, roots: Integers, drawn: Matrix,
    accepted: Integers, table: Table,
) -> tuple[Whole, Whole]:  # fmt: skip
    """Offer rows in order, and write those that agree into ``accepted`` (T,) from place ``unit`` on.

    Return the next round's place, and how many rows were offered: fewer than all once T are accepted.
    """
    state = open_state(table)
    sheet, forced = np.empty((4, state.observed.child.shape[1])), np.empty(arms.shape[1])
    offered = np.int64(0)
    while offered < order.shape[0] and unit < accepted.shape[0]:
        row = np.int64(order[offered])
        offered += 1
        if agrees(kind, row, unit, features, arms, outcome, roots, drawn, sheet, forced, state):
            accept(kind, row, unit, features, arms, outcome, roots, forced, state)
            accepted[unit] = row
            unit += 1
    return unit, offered


@kernel(entry=f"int64, int64, {ROWS}, boolean[::1], table")
def ask_all(
    kind: Whole,
    unit: Whole, features: Floats, arms: Integers, outcome: Vector, roots: Integers, drawn: Matrix,
    agreeing: Mask, table: Table,
) -> None:  # fmt: skip
    """Set ``agreeing`` (n,) to whether the policy would give each row its arms in this round; learn nothing."""
    state = open_state(table)
    sheet, forced = np.empty((4, state.observed.child.shape[1])), np.empty(arms.shape[1])
    for row in range(agreeing.shape[0]):
        agreeing[row] = agrees(kind, row, unit, features, arms, outcome, roots, drawn, sheet, forced, state)


@kernel(entry="int64, int64, float64[:, :, ::1], int8[:, ::1], float64[:, :, ::1], table")
def ask_chances(
    kind: Whole, unit: Whole, features: Floats, arms: Integers, chances: Floats, table: Table
) -> None:  # fmt: skip
    """Fill ``chances`` (n, M, K): how probable each arm is for a row in this free round, after its own earlier arms.

    Stages at which a row had no arm are left as they are. The policy learns nothing.
    """
    state = open_state(table)
    sheet = np.empty((4, state.observed.child.shape[1]))
    for row in range(arms.shape[0]):
        node, m = np.int64(0), 0
        while m < arms.shape[1] and arms[row, m] >= 0:
            decide(kind, state, unit, m, node, features[row, m], 0.5, sheet)
            for a in range(chances.shape[2]):
                chances[row, m, a] = sheet[PROPENSITY, a]
            arm = np.int64(arms[row, m])
            state.observed.arms[unit, m] = arm
            suppose(kind, state, unit, m, arm, np.bool_(False))
            node = np.int64(state.observed.child[node, arm])
            m += 1
        for k in range(m):
            state.observed.arms[unit, k] = -1
            retract(kind, state, unit, k)


@kernel
def agrees(
    kind: Whole, row: Whole, unit: Whole, features: Floats, arms: Integers, outcome: Vector, roots: Integers,
    drawn: Matrix, sheet: Matrix, forced: Vector, state: OpenState,
) -> Truth:  # fmt: skip
    """Say whether a policy would give a row its arms at all stages it entered (Algorithm 2, line 7).

    Fills ``forced`` (M,) with whether each was scheduled. A unit that dropped out never agrees.
    """
    node, m, agreed = np.int64(roots[row]), 0, not math.isnan(outcome[row])
    number = unit + state.observed.taught[0]
    while agreed and m < arms.shape[1] and arms[row, m] >= 0:
        arm, reason = decide(kind, state, number, m, node, features[row, m], drawn[unit, m], sheet)
        agreed = arm == arms[row, m]
        if agreed:
            forced[m] = 1.0 if reason == FORCED else 0.0
            state.observed.arms[number, m] = arm
            suppose(kind, state, number, m, arm, reason == FORCED)
            node = np.int64(state.observed.child[node, arm])
            m += 1
    for k in range(m):
        state.observed.arms[number, k] = -1
        retract(kind, state, number, k)
    return agreed


@kernel
def accept(
    kind: Whole, row: Whole, unit: Whole, features: Floats, arms: Integers, outcome: Vector, roots: Integers,
    forced: Vector, state: OpenState,
) -> None:  # fmt: skip
    """Let a policy learn what happened to a row, fact by fact (Algorithm 2, line 8)."""
    stages, treated, node = arms.shape[1], 0, np.int64(roots[row])
    while treated < stages and arms[row, treated] >= 0:
        treated += 1
    facts, number = 2 * treated + (1 if treated == stages else 2), unit + state.observed.taught[0]
    for place in range(facts):  # one place that learns: each would be compiled
        m, fact, index, value = place // 2, COMPLETED, np.int64(0), outcome[row]
        if place == facts - 1:
            m = treated - 1
        elif m == treated:
            fact, index, value = LEFT, np.int64(-1) if math.isnan(features[row, m, 0]) else node, 0.0
        elif place % 2 == 0:
            fact, index, value = ARRIVED, node, 0.0
        else:
            fact, index, value = GIVEN, np.int64(arms[row, m]), forced[m]
            node = np.int64(state.observed.child[node, index])
        take(kind, state, fact, number, m, index, value, features[row, m], np.bool_(True))
