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
def clear_ridge(learner: Learner, ridge: Array, numbers: Array) -> None:
    """Start from Λ = λI, no rows."""
    ridge.fill(0.0)
    for m in range(learner.shape.shape[0]):
        for a in range(learner.shape[m, 0]):
            for j in range(learner.shape[m, 1]):
                ridge[NOW, m, a, j, j] = math.sqrt(numbers[RIDGE])
    publish(learner, ridge)


@kernel
def publish(learner: Learner, ridge: Array) -> None:
    """Put the factors as they are now into use."""
    d = ridge.shape[4]
    for m in range(learner.shape.shape[0]):
        for a in range(learner.shape[m, 0]):
            for j in range(learner.shape[m, 1]):
                for k in range(learner.shape[m, 1]):
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
    stages, below, first = learner.shape.shape[0], ridge.shape[4], m * learner.pages.shape[3]
    for a in range(learner.shape[m, 0]):
        for j in range(learner.shape[m, 1]):
            ridge[IN_USE, m, a, below + MOMENT, j] = 0.0
    work = workspace(learner, m)
    for unit in range(learner.sizes[UNITS]):
        if learner.marks[unit, 2 * stages + m] == 1:
            a = np.int64(learner.marks[unit, stages + m])
            target = target_of(learner, ridge, numbers, unit, m, work)
            for j in range(learner.shape[m, 1]):
                ridge[IN_USE, m, a, below + MOMENT, j] += learner.rows[unit, first + j] * target
    for a in range(learner.shape[m, 0]):
        solve(ridge, m, a, learner.shape[m, 1])


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


@kernel(inline=True)
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
    publish(learner, ridge)
    solve(ridge, m, a, learner.shape[m, 1])
    for k in range(m - 1, -1, -1):
        sweep(learner, ridge, numbers, k)


@kernel
def refit(learner: Learner, ridge: Array, numbers: Array) -> None:
    """Put everything as it is now into use."""
    publish(learner, ridge)
    for m in range(learner.shape.shape[0] - 1, -1, -1):
        sweep(learner, ridge, numbers, m)


@kernel
def recount(learner: Learner, ridge: Array, numbers: Array) -> None:
    """Learn everything again from the units' rows: after a correction or a late override."""
    stages = learner.shape.shape[0]
    clear_ridge(learner, ridge, numbers)
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
