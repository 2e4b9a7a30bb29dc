"""Backward induction over few units, from scratch: for estimates that see only some of the rows."""

from __future__ import annotations

import math

import numpy as np

from dtrbandit.estimators.observed import Observed
from dtrbandit.kernels.arrays import Floats, Integers, Matrix, Whole
from dtrbandit.kernels.compile import kernel
from dtrbandit.kernels.triangular import (
    BETA,
    CARRIED,
    FACTOR,
    add_row,
    apply_operator,
    back_substitute,
    examine_rank,
)


@kernel
def forced_induction(
    observed: Observed, units: Integers, count: Whole, chosen: Integers, tilde: Floats, first: Whole, last: Whole
) -> None:
    """Refit ``tilde`` (M, K, D), stages ``last`` down to ``first``, on some rows.

    These are the rows of ``units[:count]`` whose arm is the one ``chosen`` (capacity, M) for them.
    """
    most = observed.features.shape[2]
    page = np.zeros((FACTOR + 2 * most, most))
    for m in range(last, first - 1, -1):
        for a in range(observed.shape[m, 0]):
            rows = gather(observed, units, count, chosen, tilde, page, m, a)
            fit(page, observed.shape[m, 1], rows)
            for j in range(observed.shape[m, 1]):
                tilde[m, a, j] = page[BETA, j]


@kernel
def gather(
    observed: Observed, units: Integers, count: Whole, chosen: Integers, tilde: Floats, page: Matrix, m: Whole, a: Whole
) -> int:
    """Rotate the rows of arm ``a`` of stage ``m`` into an empty page; return how many there are."""
    d, rows = observed.shape[m, 1], 0
    for i in range(page.shape[0]):
        for j in range(page.shape[1]):
            page[i, j] = 0.0
    for i in range(count):
        unit = np.int64(units[i])
        if chosen[unit, m] == a and observed.arms[unit, m] == a:
            target = known_target(observed, tilde, unit, m)
            if not math.isnan(target):
                rows += 1
                add_row(page, d, observed.features[unit, m], target)
    return rows


@kernel
def known_target(observed: Observed, tilde: Floats, unit: Whole, m: Whole) -> float:
    """Return the outcome or the pseudo-outcome of a row, NaN while it is not known."""
    if observed.last[unit] == m:
        known: float = observed.outcome[unit]
        return known
    target = np.nan
    if m + 1 < observed.shape.shape[0] and observed.nodes[unit, m + 1] >= 0:
        node, psi = np.int64(observed.nodes[unit, m + 1]), observed.features[unit, m + 1]
        for k in range(observed.shape[m + 1, 0]):
            if observed.child[node, k] >= 0:
                value = 0.0
                for j in range(observed.shape[m + 1, 1]):
                    value += tilde[m + 1, k, j] * psi[j]
                if math.isnan(target) or value > target:
                    target = value
    return target


@kernel
def fit(page: Matrix, d: Whole, rows: Whole) -> None:
    """Set the page's coefficients: least squares, minimum norm if the rows lack rank, NaN without rows."""
    if rows == 0:
        for j in range(d):
            page[BETA, j] = np.nan
        return
    _, rank = examine_rank(page, d, rows > 0)
    if rank == d:
        back_substitute(page, d, CARRIED)
    else:
        apply_operator(page, d, CARRIED)
