"""The sheet that a rule fills when it decides: for each arm Q̃, Q̂, its propensity, and whether it contends.

The reason of a decision goes by its number.
"""

from __future__ import annotations

import numpy as np

from dtrbandit.kernels.arrays import Floats, Integers, Matrix, Vector, Whole
from dtrbandit.kernels.compile import kernel

# reasons, by number
REASON_NAMES = ("forced", "clear", "close", "greedy", "explore", "optimistic", "uniform", "rule", "only_feasible")
FORCED, CLEAR, CLOSE, GREEDY, EXPLORE, OPTIMISTIC, UNIFORM, RULE, ONLY_FEASIBLE = range(9)

ArmAndReason = tuple[Whole, Whole]  # what a rule decides; the reason by its number

# rows of a sheet
Q_TILDE, Q_HAT, PROPENSITY, CONTENDER = range(4)


@kernel
def clear_sheet(child: Integers, node: Whole, sheet: Matrix) -> int:
    """Clear a sheet, mark the feasible arms as contenders, and return how many there are."""
    feasible = 0
    for a in range(sheet.shape[1]):
        sheet[Q_TILDE, a] = np.nan
        sheet[Q_HAT, a] = np.nan
        sheet[PROPENSITY, a] = 0.0
        sheet[CONTENDER, a] = 0.0
        if child[node, a] >= 0:
            sheet[CONTENDER, a] = 1.0
            feasible += 1
    return feasible


@kernel
def write_tilde(coefficients: Floats, shape: Integers, m: Whole, psi: Vector, sheet: Matrix) -> None:
    """Write down Q̃_m(h, a) = β̃_{a,m}ᵀ ψ_m(h) of each arm, from coefficients (M, K, D)."""
    for a in range(shape[m, 0]):
        total = 0.0
        for j in range(shape[m, 1]):
            total += coefficients[m, a, j] * psi[j]
        sheet[Q_TILDE, a] = total


@kernel
def best(sheet: Matrix, row: Whole) -> np.int64:
    """Return the contender with the largest value: the lowest of equals, and of all if none has a value."""
    chosen = np.int64(-1)
    for a in range(sheet.shape[1]):
        if sheet[CONTENDER, a] > 0.0:
            value = sheet[row, a]
            if chosen < 0 or value > sheet[row, chosen] or (np.isnan(sheet[row, chosen]) and not np.isnan(value)):
                chosen = np.int64(a)
    return chosen


@kernel
def prescribe(sheet: Matrix, arm: Whole) -> None:
    """Write down that one arm was prescribed."""
    for a in range(sheet.shape[1]):
        sheet[CONTENDER, a] = 1.0 if a == arm else 0.0
        sheet[PROPENSITY, a] = sheet[CONTENDER, a]
