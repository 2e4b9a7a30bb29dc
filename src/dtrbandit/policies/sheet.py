"""What a rule shows of a decision: a table with a column for each arm, and the number of a reason."""

from __future__ import annotations

import numpy as np

from dtrbandit.kernels.arrays import Floats, Integers, Matrix, Vector, Whole
from dtrbandit.kernels.compile import kernel

# reasons, by number
REASON_NAMES = ("forced", "clear", "close", "greedy", "explore", "optimistic", "uniform", "rule", "only_feasible")
FORCED, CLEAR, CLOSE, GREEDY, EXPLORE, OPTIMISTIC, UNIFORM, RULE, ONLY_FEASIBLE = range(9)

ArmAndReason = tuple[Whole, Whole]  # what a rule decides; the reason by its number

# rows of what is shown
Q_TILDE, Q_HAT, PROPENSITY, CONTENDER = range(4)


@kernel
def show_nothing(child: Integers, node: Whole, shown: Matrix) -> int:
    """Clear what is shown, mark the feasible arms as contenders, and return how many there are."""
    feasible = 0
    for a in range(shown.shape[1]):
        shown[Q_TILDE, a] = np.nan
        shown[Q_HAT, a] = np.nan
        shown[PROPENSITY, a] = 0.0
        shown[CONTENDER, a] = 0.0
        if child[node, a] >= 0:
            shown[CONTENDER, a] = 1.0
            feasible += 1
    return feasible


@kernel
def show_tilde(coefficients: Floats, shape: Integers, m: Whole, psi: Vector, shown: Matrix) -> None:
    """Show Q̃_m(h, a) = β̃_{a,m}ᵀ ψ_m(h) of each arm, from coefficients (M, K, D)."""
    for a in range(shape[m, 0]):
        total = 0.0
        for j in range(shape[m, 1]):
            total += coefficients[m, a, j] * psi[j]
        shown[Q_TILDE, a] = total


@kernel
def best(shown: Matrix, row: Whole) -> np.int64:
    """Return the contender with the largest value: the lowest of equals, and of all if none has a value."""
    chosen = np.int64(-1)
    for a in range(shown.shape[1]):
        if shown[CONTENDER, a] > 0.0:
            value = shown[row, a]
            if chosen < 0 or value > shown[row, chosen] or (np.isnan(shown[row, chosen]) and not np.isnan(value)):
                chosen = np.int64(a)
    return chosen


@kernel
def show_only(shown: Matrix, arm: Whole) -> None:
    """Show that one arm was prescribed."""
    for a in range(shown.shape[1]):
        shown[CONTENDER, a] = 1.0 if a == arm else 0.0
        shown[PROPENSITY, a] = shown[CONTENDER, a]
