"""Optimistic ridge regression by backward induction (Jin et al. 2019, Algorithm 1, lines 3 to 9).

The bonus of every row changes with every new one, so that nothing short of all rows gives the right-hand side of an
earlier stage: a sweep over the units, O(t), in one loop.

``ridge[0]`` is in use, ``ridge[1]`` is as it is now. Of each (stage, arm) there is a small table with D columns:
D rows with the triangular factor R of Λ = λI + Σ φφᵀ, then the rows below.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from dtrbandit.estimators.exact import ARRIVED, COMPLETED, GIVEN, observe_features, observe_outcome
from dtrbandit.estimators.layout import UNITS, Learner
from dtrbandit.kernels.compile import kernel
from dtrbandit.kernels.triangular import rotation

INVERSE, MOMENT, WEIGHTS = 0, 1, 2  # rows below R: reciprocals of its diagonal, Σ φ·target, and w
IN_USE, NOW = 0, 1
BATCH = 256  # rows bounded at a time
UNIT, ARM, NODE = 0, 1, 2  # rows of a batch
LEFT = 3  # a fact beside those of the exact learner
BONUS, RIDGE, OBSERVED, RARE, CLIP = range(5)  # places among the numbers; clips of all stages, then divisors

Array = NDArray[np.float64]


@kernel
def optimistic(ridge: Array, numbers: Array, m: int, a: int, table: Array, line: int, first: int, work: Array) -> float:
    """Return min(wᵀφ + β‖φ‖_{Λ⁻¹}, clip) for the features ``table[line, first:]`` (line 6); ``work`` is (d,)."""
    below = ridge.shape[4]
    mean, square = 0.0, 0.0
    for j in range(work.size):
        value = table[line, first + j]
        mean += ridge[IN_USE, m, a, below + WEIGHTS, j] * value
        for k in range(j):
            value -= ridge[IN_USE, m, a, k, j] * work[k]
        value *= ridge[IN_USE, m, a, below + INVERSE, j]
        work[j] = value
        square += value * value
    return min(mean + numbers[BONUS] * math.sqrt(square), numbers[CLIP + m])


@kernel(entry=True)
def scale(shape, numbers, m, most, psi, scaled):
    """Divide features as asked: ``scaled = psi / divisors[m]``."""
    for j in range(shape[m, 1]):
        scaled[j] = psi[j] / numbers[CLIP + shape.shape[0] + m * most + j]


@kernel(entry=True)
def clear_ridge(shape: NDArray[np.int64], ridge: Array, numbers: Array) -> None:
    """Start from Λ = λI, no rows."""
    ridge.fill(0.0)
    for m in range(shape.shape[0]):
        for a in range(shape[m, 0]):
            for j in range(shape[m, 1]):
                ridge[NOW, m, a, j, j] = math.sqrt(numbers[RIDGE])
    publish(shape, ridge)


@kernel
def publish(shape: NDArray[np.int64], ridge: Array) -> None:
    """Put the factors as they are now into use."""
    d = ridge.shape[4]
    for m in range(shape.shape[0]):
        for a in range(shape[m, 0]):
            for j in range(shape[m, 1]):
                for k in range(shape[m, 1]):
                    ridge[IN_USE, m, a, j, k] = ridge[NOW, m, a, j, k]
                ridge[IN_USE, m, a, d + INVERSE, j] = 1.0 / ridge[NOW, m, a, j, j]


@kernel
def add_row(learner: Learner, ridge: Array, unit: int, m: int, a: int) -> None:
    """Add φφᵀ of a unit at stage ``m`` to Λ as it is now."""
    d, first, work = learner.shape[m, 1], m * learner.pages.shape[3], np.empty(learner.shape[m, 1])
    for j in range(d):
        work[j] = learner.rows[unit, first + j]
    for j in range(d):
        if work[j] != 0.0:
            cosine, sine, length = rotation(ridge[NOW, m, a, j, j], work[j])
            ridge[NOW, m, a, j, j] = length
            for k in range(j + 1, d):
                upper, lower = ridge[NOW, m, a, j, k], work[k]
                ridge[NOW, m, a, j, k] = cosine * upper + sine * lower
                work[k] = cosine * lower - sine * upper
    learner.marks[unit, 2 * learner.shape.shape[0] + m] = 1


@kernel
def target_of(learner: Learner, ridge: Array, numbers: Array, unit: int, m: int, work: Array) -> float:
    """Return the target of a counted row: the outcome, or the optimistic value of the next stage; ``work`` as above."""
    stages, most = learner.shape.shape[0], learner.pages.shape[3]
    if learner.marks[unit, 3 * stages] == m and (
        m == stages - 1 or numbers[OBSERVED] > 0.0 or learner.marks[unit, m + 1] < 0
    ):
        return learner.rows[unit, stages * most]
    node, highest = np.int64(learner.marks[unit, m + 1]), -math.inf
    for k in range(learner.shape[m + 1, 0]):
        if learner.child[node, k] >= 0:
            highest = max(highest, optimistic(ridge, numbers, m + 1, k, learner.rows, unit, (m + 1) * most, work))
    return highest


@kernel
def workspace(learner: Learner, m: int) -> Array:
    """Return room for the features of the stage after ``m``, if there is one."""
    return np.empty(learner.shape[m + 1, 1] if m + 1 < learner.shape.shape[0] else 0)


@kernel
def sweep(learner: Learner, ridge: Array, numbers: Array, m: int) -> None:
    """Refit the weights of stage ``m`` on all its rows."""
    below = ridge.shape[4]
    for a in range(learner.shape[m, 0]):
        for j in range(learner.shape[m, 1]):
            ridge[IN_USE, m, a, below + MOMENT, j] = 0.0
    if m + 1 < learner.shape.shape[0]:
        units, moments = learner.sizes[UNITS], ridge[IN_USE, m, :, below + MOMENT]
        add_imputed(
            learner.rows, learner.marks, learner.child, learner.shape, ridge[IN_USE, m + 1], numbers, m, units, moments
        )
    else:
        add_observed(learner, ridge, m)
    for a in range(learner.shape[m, 0]):
        solve(ridge, m, a, learner.shape[m, 1])


@kernel
def add_observed(learner: Learner, ridge: Array, m: int) -> None:
    """Add Σ φ·outcome over the rows of the last stage."""
    stages, below, first = learner.shape.shape[0], ridge.shape[4], m * learner.pages.shape[3]
    for unit in range(learner.sizes[UNITS]):
        if learner.marks[unit, 2 * stages + m] == 1:
            a = np.int64(learner.marks[unit, stages + m])
            for j in range(learner.shape[m, 1]):
                moment = learner.rows[unit, first + j] * learner.rows[unit, stages * below]
                ridge[IN_USE, m, a, below + MOMENT, j] += moment


@kernel
def add_imputed(rows, marks, child, shape, later, numbers, m, units, moments):
    """Add Σ φ·target over the rows of stage ``m``, many rows at a time: this is where the time goes."""
    below, arms, d = later.shape[2], shape[m + 1, 0], shape[m + 1, 1]
    tables, batch = np.zeros((arms, d + 1, d)), np.empty((3, BATCH), np.int64)
    columns, bounds, targets = np.empty((d, BATCH)), np.empty((3, BATCH)), np.empty(BATCH)
    for k in range(arms):
        invert(later[k], tables[k], d)
    for start in range(0, units, BATCH):
        stop = min(start + BATCH, units)
        count = take(rows, marks, shape, m, below, numbers[OBSERVED], start, stop, batch, columns, targets)
        for k in range(arms):
            bound_all(tables[k], columns, count, numbers[BONUS], bounds)
            for i in range(count):
                if batch[NODE, i] >= 0 and child[batch[NODE, i], k] >= 0:
                    targets[i] = max(targets[i], min(bounds[0, i], numbers[CLIP + m + 1]))
        for i in range(count):
            for j in range(shape[m, 1]):
                moments[batch[ARM, i], j] += rows[batch[UNIT, i], m * below + j] * targets[i]


@kernel
def take(rows, marks, shape, m, below, observed, start, stop, batch, columns, targets):
    """Gather the counted rows of units ``start`` to ``stop``; those whose target is the outcome have node −1."""
    stages, count = shape.shape[0], 0
    for unit in range(start, stop):
        if marks[unit, 2 * stages + m] == 1:
            batch[UNIT, count], batch[ARM, count] = unit, marks[unit, stages + m]
            batch[NODE, count], targets[count] = marks[unit, m + 1], -math.inf
            if marks[unit, 3 * stages] == m and (observed > 0.0 or marks[unit, m + 1] < 0):
                batch[NODE, count], targets[count] = -1, rows[unit, stages * below]
            for j in range(shape[m + 1, 1]):
                columns[j, count] = rows[unit, (m + 1) * below + j]
            count += 1
    return count


@kernel
def bound_all(table, columns, count, bonus, bounds):
    """Set ``bounds[0]`` to wᵀφ + β‖R⁻ᵀφ‖ of many rows, given as columns: loops that a compiler can vectorise."""
    value, mean, square = bounds[0], bounds[1], bounds[2]
    d = columns.shape[0]
    for i in range(count):
        mean[i] = 0.0
        square[i] = 0.0
    for j in range(d):
        weight, column = table[d, j], columns[j]
        for i in range(count):
            value[i] = 0.0
        for k in range(j + 1):
            entry, other = table[j, k], columns[k]
            for i in range(count):
                value[i] += entry * other[i]
        for i in range(count):
            mean[i] += weight * column[i]
            square[i] += value[i] * value[i]
    for i in range(count):
        value[i] = mean[i] + bonus * math.sqrt(square[i])


@kernel
def invert(page, table, d):
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
def solve(ridge: Array, m: int, a: int, d: int) -> None:
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


@kernel
def learn(learner, ridge, numbers, fact, unit, m, index, value, psi):
    """Learn from a fact, as the exact learner does; LEFT stores features that a leaver's context carries."""
    first = m * learner.pages.shape[3]
    if fact == ARRIVED or (fact == LEFT and index >= 0):
        observe_features(learner, unit, m, index, psi)
        scale(learner.shape, numbers, m, learner.pages.shape[3], psi, learner.rows[unit, first:])
        if fact == ARRIVED and m > 0:
            count(learner, ridge, numbers, unit, np.int64(m - 1))
    elif fact == GIVEN:
        learner.marks[unit, learner.shape.shape[0] + m] = index
    elif fact == COMPLETED:
        observe_outcome(learner, unit, m, value)
        count(learner, ridge, numbers, unit, np.int64(m))


@kernel
def count(learner: Learner, ridge: Array, numbers: Array, unit: int, m: int) -> None:
    """Count a unit's row of stage ``m`` and refit what it changes: its arm, and all earlier stages."""
    a = np.int64(learner.marks[unit, learner.shape.shape[0] + m])
    add_row(learner, ridge, unit, m, a)
    if numbers[RARE] > 0.0:
        if doubled(learner, ridge):
            refit(learner, ridge, numbers)
        return
    below, first = ridge.shape[4], m * learner.pages.shape[3]
    target = target_of(learner, ridge, numbers, unit, m, workspace(learner, m))
    for j in range(learner.shape[m, 1]):
        ridge[IN_USE, m, a, below + MOMENT, j] += learner.rows[unit, first + j] * target
    publish(learner.shape, ridge)
    solve(ridge, m, a, learner.shape[m, 1])
    for k in range(m - 1, -1, -1):
        sweep(learner, ridge, numbers, k)


@kernel
def refit(learner: Learner, ridge: Array, numbers: Array) -> None:
    """Put everything as it is now into use."""
    publish(learner.shape, ridge)
    for m in range(learner.shape.shape[0] - 1, -1, -1):
        sweep(learner, ridge, numbers, m)


@kernel
def recount(learner: Learner, ridge: Array, numbers: Array) -> None:
    """Learn everything again from the units' rows: after a correction or a late override."""
    stages = learner.shape.shape[0]
    clear_ridge(learner.shape, ridge, numbers)
    for m in range(stages):
        for unit in range(learner.sizes[UNITS]):
            a = np.int64(learner.marks[unit, stages + m])
            went_on = m + 1 < stages and learner.marks[unit, stages + m + 1] >= 0
            learner.marks[unit, 2 * stages + m] = -1
            if a >= 0 and (went_on or learner.marks[unit, 3 * stages] == m):
                add_row(learner, ridge, unit, m, a)
    refit(learner, ridge, numbers)


@kernel
def doubled(learner: Learner, ridge: Array) -> bool:
    """Say whether det Λ of a stage, over all its arms, is at least twice what is in use."""
    for m in range(learner.shape.shape[0]):
        gain = 0.0
        for a in range(learner.shape[m, 0]):
            for j in range(learner.shape[m, 1]):
                gain += 2.0 * math.log(ridge[NOW, m, a, j, j] / ridge[IN_USE, m, a, j, j])
        if gain >= math.log(2.0):
            return True
    return False
