"""Backward induction over few units, from scratch: for estimates that see only some of the rows."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from dtrbandit.estimators.layout import Learner
from dtrbandit.kernels.compile import kernel
from dtrbandit.kernels.triangular import (
    BETA,
    CARRIED,
    FACTOR,
    LENGTH,
    WORK,
    apply_operator,
    back_substitute,
    examine_rank,
    rotate_in,
)


@kernel
def forced_induction(
    learner: Learner,
    units: NDArray[np.int32],
    count: int,
    chosen: NDArray[np.int8],
    tilde: NDArray[np.float64],
    last: int,
) -> None:
    """Refit ``tilde[0]`` (M, K, D) on the rows of ``units[:count]`` whose arm is the one ``chosen`` for them.

    Only stages up to ``last``, whose rows have changed, are refitted.
    """
    most = learner.pages.shape[3]
    page = np.zeros((FACTOR + 2 * most, most))
    for m in range(last, -1, -1):
        for a in range(learner.shape[m, 0]):
            rows = gather(learner, units, count, chosen, tilde, page, m, a)
            fit(page, learner.shape[m, 1], rows)
            for j in range(learner.shape[m, 1]):
                tilde[0, m, a, j] = page[BETA, j]


@kernel
def gather(
    learner: Learner,
    units: NDArray[np.int32],
    count: int,
    chosen: NDArray[np.int8],
    tilde: NDArray[np.float64],
    page: NDArray[np.float64],
    m: int,
    a: int,
) -> int:
    """Rotate the rows of arm ``a`` of stage ``m`` into an empty page; return how many there are."""
    stages, d, first, rows = learner.shape.shape[0], learner.shape[m, 1], m * learner.pages.shape[3], 0
    for i in range(page.shape[0]):
        for j in range(page.shape[1]):
            page[i, j] = 0.0
    for i in range(count):
        unit = np.int64(units[i])
        if chosen[unit, m] == a and learner.marks[unit, stages + m] == a:
            target = known_target(learner, tilde, unit, m)
            if not math.isnan(target):
                rows += 1
                for j in range(d):
                    value = learner.rows[unit, first + j]
                    page[WORK, j] = value
                    page[LENGTH, j] += value * value
                rotate_in(page, d, target)
    return rows


@kernel
def known_target(learner: Learner, tilde: NDArray[np.float64], unit: int, m: int) -> float:
    """Return the outcome or the pseudo-outcome of a row, NaN while it is not known."""
    stages, most = learner.shape.shape[0], learner.pages.shape[3]
    if learner.marks[unit, 3 * stages] == m:
        return learner.rows[unit, stages * most]
    target = np.nan
    if m + 1 < stages and learner.marks[unit, m + 1] >= 0:
        node = np.int64(learner.marks[unit, m + 1])
        for k in range(learner.shape[m + 1, 0]):
            if learner.child[node, k] >= 0:
                value = 0.0
                for j in range(learner.shape[m + 1, 1]):
                    value += tilde[0, m + 1, k, j] * learner.rows[unit, (m + 1) * most + j]
                if math.isnan(target) or value > target:
                    target = value
    return target


@kernel
def fit(page: NDArray[np.float64], d: int, rows: int) -> None:
    """Set the page's coefficients: least squares, minimum norm if the rows lack rank, NaN without rows."""
    if rows == 0:
        for j in range(d):
            page[BETA, j] = np.nan
        return
    _, rank = examine_rank(page, d, rows > 0)
    if rank == d:
        back_substitute(page, d)
    else:
        apply_operator(page, d, CARRIED)
