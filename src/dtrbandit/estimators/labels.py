"""The label of a row: the best arm of the next stage at its unit's features, and the cross moments by label."""

from __future__ import annotations

import math

import numpy as np

from dtrbandit.estimators.exact_layout import ROWS
from dtrbandit.estimators.observed import Observed
from dtrbandit.kernels.arrays import Floats, Integers, Matrix, Vector, Whole
from dtrbandit.kernels.compile import kernel
from dtrbandit.kernels.triangular import BETA, FACTOR


@kernel
def label_of(
    pages: Floats, tallies: Integers, child: Integers, shape: Integers, m: Whole, node: Whole, psi: Vector
) -> tuple[int, float, int]:
    """Return the best arm of stage m at the features ``psi``, its lead, and the contenders.

    Contenders are the arms feasible at ``node`` that have a Q-hat; ties go to the lowest.
    """
    label, contenders = -1, 0
    best, second = -math.inf, -math.inf
    for a in range(shape[m, 0]):
        if child[node, a] >= 0 and tallies[m, a, ROWS] > 0:
            contenders += 1
            value = 0.0
            for j in range(shape[m, 1]):
                value += pages[m, a, BETA, j] * psi[j]
            if value > best:
                label, best, second = a, value, best
            elif value > second:
                second = value
    return label, best - second, contenders


@kernel
def arm_of(observed: Observed, unit: Whole, m: Whole) -> np.int64:
    """Return the arm given to a unit at stage ``m``."""
    # One integer type throughout: a kernel is compiled again for each.
    return np.int64(observed.arms[unit, m])


@kernel
def add_cross(page: Matrix, shape: Integers, m: Whole, label: Whole, psi: Vector, later: Vector) -> None:
    """Add ψ_m ψ_{m+1}ᵀ of a unit, ``psi`` and ``later``, to the cross moments of its arm's page and its label."""
    top, d = FACTOR + (2 + label) * page.shape[1], shape[m, 1]
    for j in range(shape[m + 1, 1]):
        weight = later[j]
        for k in range(d):
            page[top + j, k] += weight * psi[k]


@kernel
def flip(
    pages: Floats, features: Floats, shape: Integers, m: Whole, a: Whole, unit: Whole, old: Whole, label: Whole
) -> None:
    """Move a unit's ψ_m ψ_{m+1}ᵀ from its old label to its new one."""
    most = pages.shape[3]
    source, goal = FACTOR + (2 + old) * most, FACTOR + (2 + label) * most
    for j in range(shape[m + 1, 1]):
        weight = features[unit, m + 1, j]
        for k in range(shape[m, 1]):
            product = weight * features[unit, m, k]
            pages[m, a, source + j, k] -= product
            pages[m, a, goal + j, k] += product


@kernel
def clear_cross(pages: Floats, m: Whole) -> None:
    """Zero the cross moments of stage ``m``."""
    for a in range(pages.shape[1]):
        for j in range(FACTOR + 2 * pages.shape[3], pages.shape[2]):
            for k in range(pages.shape[3]):
                pages[m, a, j, k] = 0.0
