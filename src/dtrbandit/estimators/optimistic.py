"""Optimistic ridge regression by backward induction (Jin et al. 2019, Algorithm 1, lines 3 to 9).

The bonus of every row changes with every new one, so that nothing short of all rows gives the right-hand side of an
earlier stage: a sweep over the units, O(t), in one loop. Rows whose target is an outcome are summed once. The others
lie in blocks, all rows of a block at the same node of the next stage, feature by feature: a compiler makes vectors
of such loops.

``ridge[IN_USE]`` is in use, ``ridge[NOW]`` is as it is now. Of each (stage, arm) there is a small table with D columns:
D rows with the triangular factor R of Λ = λI + Σ φφᵀ, then the rows below.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dtrbandit.design.spec import Design
from dtrbandit.estimators.estimates import Estimates, per_stage
from dtrbandit.estimators.estimator import Estimator
from dtrbandit.estimators.observed import ARRIVED, COMPLETED, Observed
from dtrbandit.kernels.arrays import Floats, Integers, Matrix, Vector, Whole
from dtrbandit.kernels.compile import kernel
from dtrbandit.kernels.triangular import rotation

INVERSE, MOMENT, WEIGHTS = 0, 1, 2  # rows below R: reciprocals of its diagonal, Σ φ·target, and w
IN_USE, NOW = 0, 1
OWN, NEXT = 0, 1  # of a block: the features of the stage itself, and of the next
NODE, FILL = 0, 1  # columns of owners: the node that a block belongs to, and its rows
BLOCK = 128  # rows of a block
TWICE = 2.0 * (1.0 - 1e-12)  # a determinant that has doubled exactly counts, whatever the roots were rounded to
BONUS, RIDGE, OBSERVED, RARE, CLIP = range(5)  # places among the numbers; clips of all stages, then divisors


class Beliefs(NamedTuple):
    """What is believed, and the rows behind it; features are divided as the policy asks."""

    numbers: NDArray[np.float64]  # β, λ, two options, the clip of each stage, the divisors of each stage's features
    ridge: NDArray[np.float64]  # (2, M, K, D + 3, D)
    fixed: NDArray[np.float64]  # (M, K, D): Σ φ·outcome over the rows whose target is the outcome
    latest: NDArray[np.int64]  # (M - 1, nodes): the block that a node's rows go to, −1 before the first
    used: NDArray[np.int64]  # (M - 1,): how many blocks there are
    owners: NDArray[np.int64]  # (M - 1, blocks, 2): NODE, FILL
    blocks: NDArray[np.float64]  # (M - 1, blocks, 2, D, BLOCK): OWN, NEXT


def create(design: Design) -> Beliefs:
    """Return beliefs before the first unit; ``prepared`` puts the numbers of a policy in."""
    stages, arms, features = len(design.stages), max(design.arm_counts), max(design.dimensions)
    nodes = len(design.tree.child)
    return Beliefs(
        numbers=np.zeros(0),
        ridge=np.zeros((2, stages, arms, features + 3, features)),
        fixed=np.zeros((stages, arms, features)),
        latest=np.full((stages - 1, nodes), -1, dtype=np.int64),
        used=np.zeros(stages - 1, dtype=np.int64),
        owners=np.zeros((stages - 1, 0, 2), dtype=np.int64),
        blocks=np.zeros((stages - 1, 0, 2, features, BLOCK)),
    )


def prepared(design: Design, numbers: NDArray[np.float64]) -> Beliefs:
    """Return the beliefs of a policy with these numbers before the first unit."""
    beliefs = create(design)._replace(numbers=numbers)
    start(np.array(list(zip(design.arm_counts, design.dimensions, strict=True))), beliefs)
    return beliefs


def grow(beliefs: Beliefs, capacity: int) -> Beliefs:
    """Return the beliefs with room for ``capacity`` units: every node may have one block partly filled."""
    links, nodes = beliefs.latest.shape
    count, held = -(-capacity // BLOCK) + nodes, beliefs.owners.shape[1]
    owners = np.zeros((links, count, 2), dtype=np.int64)
    blocks = np.zeros((links, count, *beliefs.blocks.shape[2:]))
    owners[:, :held], blocks[:, :held] = beliefs.owners, beliefs.blocks
    return beliefs._replace(owners=owners, blocks=blocks)


# --- what a policy asks ---------------------------------------------------------------


@kernel
def optimistic(ridge: Floats, numbers: Vector, m: Whole, a: Whole, phi: Vector, work: Vector) -> float:
    """Return min(wᵀφ + β‖φ‖_{Λ⁻¹}, clip) for divided features (line 6); ``work`` is (d,)."""
    page, below = ridge[IN_USE, m, a], ridge.shape[4]
    mean, square = 0.0, 0.0
    for j in range(work.size):
        value = phi[j]
        mean += page[below + WEIGHTS, j] * value
        for k in range(j):
            value -= page[k, j] * work[k]
        value *= page[below + INVERSE, j]
        work[j] = value
        square += value * value
    clipped: float = min(mean + numbers[BONUS] * math.sqrt(square), numbers[CLIP + m])
    return clipped


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
    for k in range(m - 1, -1, -1):
        sweep(observed, beliefs, k)


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


@kernel
def rotate_in(page: Matrix, work: Vector) -> None:
    """Add φφᵀ to Λ; ``work`` holds φ and is used up."""
    for j in range(work.size):
        if work[j] != 0.0:
            cosine, sine, length = rotation(page[j, j], work[j])
            page[j, j] = length
            for k in range(j + 1, work.size):
                upper, lower = page[j, k], work[k]
                page[j, k] = cosine * upper + sine * lower
                work[k] = cosine * lower - sine * upper


# --- all rows -------------------------------------------------------------------------


@kernel
def sweep(observed: Observed, beliefs: Beliefs, m: Whole) -> None:
    """Refit the weights of stage ``m`` on all its rows: this is where the time goes."""
    shape, ridge, below = observed.shape, beliefs.ridge, beliefs.ridge.shape[4]
    for a in range(shape[m, 0]):
        for j in range(shape[m, 1]):
            ridge[IN_USE, m, a, below + MOMENT, j] = beliefs.fixed[m, a, j]
    if m + 1 < shape.shape[0] and beliefs.used[m] > 0:
        add_imputed(observed, beliefs, m)
    for a in range(shape[m, 0]):
        solve(ridge, m, a, shape[m, 1])


@kernel
def add_imputed(observed: Observed, beliefs: Beliefs, m: Whole) -> None:
    """Add Σ φ·target over the blocks of stage ``m``, place by place within a block, then over the places."""
    ridge, numbers, owners, child = beliefs.ridge, beliefs.numbers, beliefs.owners, observed.child
    arms, own, d = observed.shape[m + 1, 0], observed.shape[m, 1], observed.shape[m + 1, 1]
    tables, sums = np.zeros((arms, d + 1, d)), np.zeros((observed.shape[m, 0], own, BLOCK))
    targets, work = np.empty(BLOCK), np.empty((3, BLOCK))
    for k in range(arms):
        invert(ridge[IN_USE, m + 1, k], tables[k], d)
    for block in range(beliefs.used[m]):
        node, fill, columns = owners[m, block, NODE], owners[m, block, FILL], beliefs.blocks[m, block]
        for i in range(fill):
            targets[i] = -math.inf
        for k in range(arms):
            if child[node, k] >= 0:
                raise_targets(tables[k], columns[NEXT], fill, numbers[BONUS], numbers[CLIP + m + 1], work, targets)
        add_products(columns[OWN], targets, fill, sums[arm_before(child, node)], own)
    for a in range(observed.shape[m, 0]):
        for j in range(own):
            for i in range(BLOCK):
                ridge[IN_USE, m, a, ridge.shape[4] + MOMENT, j] += sums[a, j, i]


@kernel
def arm_before(child: Integers, node: Whole) -> int:
    """Return the arm that leads to a node."""
    for parent in range(node):
        for a in range(child.shape[1]):
            if child[parent, a] == node:
                return a
    return 0


@kernel
def raise_targets(
    table: Matrix, columns: Matrix, fill: Whole, bonus: float, clip: float, work: Matrix, targets: Vector
) -> None:
    """Raise targets to min(wᵀφ + β‖R⁻ᵀφ‖, clip) of an arm, for many rows at a time."""
    value, mean, square = work[0], work[1], work[2]
    d = table.shape[1]
    for i in range(fill):
        mean[i] = 0.0
        square[i] = 0.0
    for j in range(d):
        weight, column = table[d, j], columns[j]
        for i in range(fill):
            value[i] = 0.0
        for k in range(j + 1):
            entry, other = table[j, k], columns[k]
            for i in range(fill):
                value[i] += entry * other[i]
        for i in range(fill):
            mean[i] += weight * column[i]
            square[i] += value[i] * value[i]
    for i in range(fill):
        targets[i] = max(targets[i], min(mean[i] + bonus * math.sqrt(square[i]), clip))


@kernel
def add_products(columns: Matrix, targets: Vector, fill: Whole, sums: Matrix, own: Whole) -> None:
    """Add φ·target to the sums, each place to its own."""
    for j in range(own):
        column, total = columns[j], sums[j]
        for i in range(fill):
            total[i] += column[i] * targets[i]


@kernel
def invert(page: Matrix, table: Matrix, d: Whole) -> None:
    """Write R⁻ᵀ, lower triangular, and below it the weights."""
    below = page.shape[1]
    for j in range(d):
        for i in range(j + 1):
            total = 1.0 if i == j else 0.0
            for k in range(i, j):
                total -= page[k, j] * table[k, i]
            table[j, i] = total * page[below + INVERSE, j]
        table[d, j] = page[below + WEIGHTS, j]


@kernel
def solve(ridge: Floats, m: Whole, a: Whole, d: Whole) -> None:
    """Set w = Λ⁻¹ Σ φ·target by two triangular solves (line 5)."""
    page, below = ridge[IN_USE, m, a], ridge.shape[4]
    for j in range(d):
        value = page[below + MOMENT, j]
        for k in range(j):
            value -= page[k, j] * page[below + WEIGHTS, k]
        page[below + WEIGHTS, j] = value * page[below + INVERSE, j]
    for j in range(d - 1, -1, -1):
        value = page[below + WEIGHTS, j]
        for k in range(j + 1, d):
            value -= page[j, k] * page[below + WEIGHTS, k]
        page[below + WEIGHTS, j] = value * page[below + INVERSE, j]


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
    for m in range(shape.shape[0]):
        for a in range(shape[m, 0]):
            for j in range(shape[m, 1]):
                beliefs.ridge[NOW, m, a, j, j] = math.sqrt(beliefs.numbers[RIDGE])
    publish(shape, beliefs.ridge)


@kernel
def publish(shape: Integers, ridge: Floats) -> None:
    """Put the factors as they are now into use."""
    d = ridge.shape[4]
    for m in range(shape.shape[0]):
        for a in range(shape[m, 0]):
            for j in range(shape[m, 1]):
                for k in range(shape[m, 1]):
                    ridge[IN_USE, m, a, j, k] = ridge[NOW, m, a, j, k]
                ridge[IN_USE, m, a, d + INVERSE, j] = 1.0 / ridge[NOW, m, a, j, j]


@kernel
def refit(observed: Observed, beliefs: Beliefs) -> None:
    """Put everything as it is now into use."""
    publish(observed.shape, beliefs.ridge)
    for m in range(observed.shape.shape[0] - 1, -1, -1):
        sweep(observed, beliefs, m)


@kernel
def recount(observed: Observed, beliefs: Beliefs) -> None:
    """Learn everything again from what was observed: after a correction or a late override."""
    start(observed.shape, beliefs)
    stages = observed.shape.shape[0]
    for m in range(stages):
        for unit in range(observed.units[0]):
            went_on = m + 1 < stages and observed.nodes[unit, m + 1] >= 0
            if observed.arms[unit, m] >= 0 and (went_on or observed.last[unit] == m):
                add_row(observed, beliefs, unit, m)
    refit(observed, beliefs)


@kernel
def doubled(shape: Integers, ridge: Floats) -> bool:
    """Say whether det Λ of a stage, over all its arms, is at least twice what is in use: no factor ever shrinks."""
    for m in range(shape.shape[0]):
        gain = 1.0
        for a in range(shape[m, 0]):
            for j in range(shape[m, 1]):
                ratio = ridge[NOW, m, a, j, j] / ridge[IN_USE, m, a, j, j]
                gain *= ratio * ratio
                if gain >= TWICE:
                    return True
    return False


def estimates(design: Design, observed: Observed, beliefs: Beliefs) -> Estimates:  # as all have it
    """Return the weights w, on the scale of the features as given."""
    ridge, stages = beliefs.ridge, len(design.stages)
    divisors = beliefs.numbers[CLIP + stages :].reshape(stages, 1, -1)
    return Estimates(per_stage(design, ridge[IN_USE, :, :, ridge.shape[4] + WEIGHTS, :] / divisors))


OPTIMISTIC_RIDGE = Estimator("optimistic", create, grow, learn, recount, estimates)
