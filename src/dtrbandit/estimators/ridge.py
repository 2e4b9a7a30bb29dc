"""Ridge regression on the triangular factor of each arm: weights, and values with a bonus for what is uncertain.

The arrays are those of ``optimistic_layout.py``.
"""

from __future__ import annotations

import math

from dtrbandit.estimators.optimistic_layout import BONUS, CLIP, IN_USE, INVERSE, MOMENT, NOW, WEIGHTS
from dtrbandit.kernels.arrays import Floats, Integers, Matrix, Vector, Whole
from dtrbandit.kernels.compile import kernel
from dtrbandit.kernels.triangular import rotation

TWICE = 2.0 * (1.0 - 1e-12)  # a determinant that has doubled exactly counts, whatever the roots were rounded to


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
def value_rows(
    table: Matrix, columns: Matrix, fill: Whole, bonus: float, clip: float, work: Matrix, values: Vector
) -> None:
    """Write min(wᵀφ + β‖R⁻ᵀφ‖, clip) of an arm for many rows at a time."""
    part, mean, square, first = work[0], work[1], work[2], columns[0]
    d = table.shape[1]
    weight, entry = table[d, 0], table[0, 0]
    for i in range(fill):
        value = entry * first[i]
        mean[i] = weight * first[i]
        square[i] = value * value
    for j in range(1, d):
        entry = table[j, 0]
        for i in range(fill):
            part[i] = entry * first[i]
        for k in range(1, j):
            entry, column = table[j, k], columns[k]
            for i in range(fill):
                part[i] += entry * column[i]
        weight, entry, column = table[d, j], table[j, j], columns[j]
        for i in range(fill):
            value = part[i] + entry * column[i]
            mean[i] += weight * column[i]
            square[i] += value * value
    for i in range(fill):
        values[i] = min(mean[i] + bonus * math.sqrt(square[i]), clip)
