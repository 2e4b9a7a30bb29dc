"""Optimistic ridge regression by backward induction (Jin et al. 2019, Algorithm 1, lines 3 to 9).

The bonus of every row changes with every new one. So the right-hand side of an earlier stage needs all rows, every
time: a sweep over the units, O(t), in one loop. Rows whose target is an outcome are summed once. The others lie in
blocks, feature by feature, and all rows of a block are at the same node of the next stage. A compiler turns such
loops into vector code. What is kept: ``optimistic_layout.py``.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from dtrbandit.design.spec import Design
from dtrbandit.estimators.estimates import Estimates, per_stage
from dtrbandit.estimators.estimator import Estimator
from dtrbandit.estimators.observed import ARRIVED, COMPLETED, Observed
from dtrbandit.estimators.optimistic_layout import (
    BLOCK,
    BONUS,
    CLIP,
    FILL,
    IN_USE,
    MOMENT,
    NEXT,
    NODE,
    NOW,
    OBSERVED,
    OWN,
    RARE,
    RIDGE,
    WEIGHTS,
    Beliefs,
    create,
    grow,
)
from dtrbandit.estimators.ridge import doubled, invert, optimistic, publish, rotate_in, solve, value_rows
from dtrbandit.kernels.arrays import Integers, Matrix, Vector, Whole
from dtrbandit.kernels.compile import kernel

ALL = -1  # of the arms


def prepared(design: Design, numbers: NDArray[np.float64]) -> Beliefs:
    """Return the beliefs of a policy with these numbers before the first unit."""
    beliefs = create(design)._replace(numbers=numbers)
    start(np.array(list(zip(design.arm_counts, design.dimensions, strict=True))), beliefs)
    return beliefs


# --- what a policy asks ---------------------------------------------------------------


@kernel
def divide(shape: Integers, numbers: Vector, m: Whole, psi: Vector, phi: Vector) -> None:
    """Divide features as asked: ``phi = psi / divisors[m]``."""
    most = (numbers.size - CLIP) // shape.shape[0] - 1
    for j in range(shape[m, 1]):
        phi[j] = psi[j] / numbers[CLIP + shape.shape[0] + m * most + j]


# --- one fact -------------------------------------------------------------------------


@kernel
def learn(observed: Observed, beliefs: Beliefs, fact: Whole, unit: Whole, m: Whole) -> None:
    """Learn from a fact that is written down: an arrival completes the row of the stage before it."""
    if fact == ARRIVED and m > 0:
        count(observed, beliefs, unit, np.int64(m - 1))
    elif fact == COMPLETED:
        count(observed, beliefs, unit, np.int64(m))


@kernel
def count(observed: Observed, beliefs: Beliefs, unit: Whole, m: Whole) -> None:
    """Count a unit's row of stage ``m`` and refit what it changes: its arm, and all earlier stages."""
    ridge, a, d = beliefs.ridge, np.int64(observed.arms[unit, m]), observed.shape[m, 1]
    target, phi = add_row(observed, beliefs, unit, m)
    if beliefs.numbers[RARE] > 0.0:
        if doubled(observed.shape, ridge):
            refit(observed, beliefs)
        return
    for j in range(d):
        ridge[IN_USE, m, a, ridge.shape[4] + MOMENT, j] += phi[j] * target
    publish(observed.shape, ridge)
    solve(ridge, m, a, d)
    changed: Whole = a
    for k in range(m - 1, -1, -1):
        sweep(observed, beliefs, k, changed)
        changed = ALL


@kernel
def add_row(observed: Observed, beliefs: Beliefs, unit: Whole, m: Whole) -> tuple[float, Vector]:
    """Add a unit's row of stage ``m`` to Λ as it is now and to what is swept; return its target and features."""
    a, phi = np.int64(observed.arms[unit, m]), np.empty(observed.shape[m, 1])
    divide(observed.shape, beliefs.numbers, m, observed.features[unit, m], phi)
    rotate_in(beliefs.ridge[NOW, m, a], phi.copy())
    node = next_node(observed, beliefs.numbers[OBSERVED], unit, m)
    if node < 0:
        for j in range(phi.size):
            beliefs.fixed[m, a, j] += phi[j] * observed.outcome[unit]
        return observed.outcome[unit], phi
    later = np.empty(observed.shape[m + 1, 1])
    divide(observed.shape, beliefs.numbers, m + 1, observed.features[unit, m + 1], later)
    store(beliefs, m, node, phi, later)
    return imputed(observed, beliefs, m, node, later), phi


@kernel
def next_node(observed: Observed, leavers_observed: float, unit: Whole, m: Whole) -> np.int64:
    """Return where a row's target is looked up at stage m + 1, −1 if its target is the outcome."""
    if m + 1 == observed.shape.shape[0] or (observed.last[unit] == m and leavers_observed > 0.0):
        return np.int64(-1)
    if observed.last[unit] != m:
        return np.int64(observed.nodes[unit, m + 1])
    return np.int64(observed.left[unit])


@kernel
def imputed(observed: Observed, beliefs: Beliefs, m: Whole, node: Whole, later: Vector) -> float:
    """Return the optimistic value of stage m + 1 at a node, over its feasible arms."""
    highest, work = -math.inf, np.empty(later.size)
    for k in range(observed.shape[m + 1, 0]):
        if observed.child[node, k] >= 0:
            highest = max(highest, optimistic(beliefs.ridge, beliefs.numbers, m + 1, k, later, work))
    return highest


@kernel
def store(beliefs: Beliefs, m: Whole, node: Whole, phi: Vector, later: Vector) -> None:
    """Put a row into the latest block of its node, or a new one."""
    block = beliefs.latest[m, node]
    if block < 0 or beliefs.owners[m, block, FILL] == BLOCK:
        block = beliefs.used[m]
        beliefs.used[m] += 1
        beliefs.latest[m, node] = block
        beliefs.owners[m, block, NODE] = node
        beliefs.owners[m, block, FILL] = 0
    place = beliefs.owners[m, block, FILL]
    beliefs.owners[m, block, FILL] = place + 1
    for j in range(phi.size):
        beliefs.blocks[m, block, OWN, j, place] = phi[j]
    for j in range(later.size):
        beliefs.blocks[m, block, NEXT, j, place] = later[j]


# --- all rows -------------------------------------------------------------------------


@kernel
def sweep(observed: Observed, beliefs: Beliefs, m: Whole, changed: Whole) -> None:
    """Refit the weights of stage ``m`` on all its rows: this is where the time goes.

    ``changed`` is the arm of stage m + 1 that has changed since the last time, or ALL.
    """
    shape, ridge, below = observed.shape, beliefs.ridge, beliefs.ridge.shape[4]
    for a in range(shape[m, 0]):
        for j in range(shape[m, 1]):
            ridge[IN_USE, m, a, below + MOMENT, j] = beliefs.fixed[m, a, j]
    if m + 1 < shape.shape[0] and beliefs.used[m] > 0:
        add_imputed(observed, beliefs, m, changed)
    for a in range(shape[m, 0]):
        solve(ridge, m, a, shape[m, 1])


@kernel
def add_imputed(observed: Observed, beliefs: Beliefs, m: Whole, changed: Whole) -> None:
    """Add Σ φ·target over the blocks of stage ``m``, place by place within a block, then over the places."""
    ridge, owners, following = beliefs.ridge, beliefs.owners, observed.following
    arms, own, d = observed.shape[m + 1, 0], observed.shape[m, 1], observed.shape[m + 1, 1]
    tables, sums = np.zeros((arms, d + 1, d)), np.zeros((observed.shape[m, 0], own, BLOCK))
    targets, work = np.empty((2, BLOCK)), np.empty((3, BLOCK))
    for k in range(arms):
        invert(ridge[IN_USE, m + 1, k], tables[k], d)
    for block in range(beliefs.used[m]):
        node, fill, latest = owners[m, block, NODE], owners[m, block, FILL], 0
        for i in range(fill):
            targets[latest, i] = -math.inf
        for k in range(arms):
            if k == changed or changed == ALL:
                beliefs.valued[m, block, k] = 0
            if observed.child[node, k] >= 0:
                value_block(beliefs, m, block, k, tables[k], work)
                raise_targets(beliefs.values[m, block, k], fill, targets[latest], targets[1 - latest])
                latest = 1 - latest
        add_products(beliefs.blocks[m, block, OWN], targets[latest], fill, sums[arm_before(following, node)], own)
    for a in range(observed.shape[m, 0]):
        for j in range(own):
            total = ridge[IN_USE, m, a, ridge.shape[4] + MOMENT, j]
            for i in range(BLOCK):
                total += sums[a, j, i]
            ridge[IN_USE, m, a, ridge.shape[4] + MOMENT, j] = total


@kernel
def value_block(beliefs: Beliefs, m: Whole, block: Whole, k: Whole, table: Matrix, work: Matrix) -> None:
    """Find the values of an arm of stage m + 1 for the rows of a block, unless those of the last time still hold."""
    fill, numbers = beliefs.owners[m, block, FILL], beliefs.numbers
    if beliefs.valued[m, block, k] < fill:
        columns, values = beliefs.blocks[m, block, NEXT], beliefs.values[m, block, k]
        value_rows(table, columns, fill, numbers[BONUS], numbers[CLIP + m + 1], work, values)
        beliefs.valued[m, block, k] = fill


@kernel
def raise_targets(values: Vector, fill: Whole, targets: Vector, raised: Vector) -> None:
    """Write targets raised to the values of an arm: elsewhere, since storing only those that rise is slow."""
    for i in range(fill):
        raised[i] = values[i] if values[i] > targets[i] else targets[i]


@kernel
def arm_before(following: Integers, node: Whole) -> int:
    """Return the arm that leads to a node, in whichever copy of the tree."""
    place = node % following.shape[0]
    for parent in range(place):
        for a in range(following.shape[1]):
            if following[parent, a] == place:
                return a
    return 0


@kernel
def add_products(columns: Matrix, targets: Vector, fill: Whole, sums: Matrix, own: Whole) -> None:
    """Add φ·target to the sums, each place to its own."""
    for j in range(own):
        column, total = columns[j], sums[j]
        for i in range(fill):
            total[i] += column[i] * targets[i]


# --- from the beginning ---------------------------------------------------------------


@kernel
def start(shape: Integers, beliefs: Beliefs) -> None:
    """Start from Λ = λI, no rows."""
    beliefs.ridge.fill(0.0)
    beliefs.fixed.fill(0.0)
    beliefs.latest.fill(-1)
    beliefs.used.fill(0)
    beliefs.owners.fill(0)
    beliefs.blocks.fill(0.0)
    beliefs.values.fill(0.0)
    beliefs.valued.fill(0)
    for m in range(shape.shape[0]):
        for a in range(shape[m, 0]):
            for j in range(shape[m, 1]):
                beliefs.ridge[NOW, m, a, j, j] = math.sqrt(beliefs.numbers[RIDGE])
    publish(shape, beliefs.ridge)


@kernel
def refit(observed: Observed, beliefs: Beliefs) -> None:
    """Put everything as it is now into use."""
    publish(observed.shape, beliefs.ridge)
    for m in range(observed.shape.shape[0] - 1, -1, -1):
        sweep(observed, beliefs, m, np.int64(ALL))  # a constant would be compiled apart


@kernel
def recount(observed: Observed, beliefs: Beliefs) -> None:
    """Learn everything again from what was observed, after an amendment to a unit whose rows already count."""
    start(observed.shape, beliefs)
    stages = observed.shape.shape[0]
    for m in range(stages):
        for unit in range(observed.units[0]):
            went_on = m + 1 < stages and observed.nodes[unit, m + 1] >= 0
            if observed.arms[unit, m] >= 0 and (went_on or observed.last[unit] == m):
                add_row(observed, beliefs, unit, m)
    refit(observed, beliefs)


def estimates(design: Design, observed: Observed, beliefs: Beliefs) -> Estimates:  # as all have it
    """Return the weights w, on the scale of the features as given."""
    ridge, stages = beliefs.ridge, len(design.stages)
    divisors = beliefs.numbers[CLIP + stages :].reshape(stages, 1, -1)
    return Estimates(per_stage(design, ridge[IN_USE, :, :, ridge.shape[4] + WEIGHTS, :] / divisors))


OPTIMISTIC_RIDGE = Estimator("optimistic", create, grow, learn, recount, estimates)
