"""Kernels that the rules of several policies share."""

from __future__ import annotations

import numpy as np

from dtrbandit.design.formula import Matrix, Vector
from dtrbandit.estimators.layout import ROWS, Learner
from dtrbandit.kernels.compile import kernel
from dtrbandit.kernels.triangular import BETA
from dtrbandit.policies.memory import CONTENDER, PROPENSITY, Q_HAT, Q_TILDE, Memory


@kernel(inline=True)
def show_nothing(learner: Learner, node: int, shown: Matrix) -> int:
    """Clear what is shown, mark the feasible arms as contenders, and return how many there are."""
    feasible = 0
    for a in range(shown.shape[1]):
        shown[Q_TILDE, a] = np.nan
        shown[Q_HAT, a] = np.nan
        shown[PROPENSITY, a] = 0.0
        shown[CONTENDER, a] = 0.0
        if learner.child[node, a] >= 0:
            shown[CONTENDER, a] = 1.0
            feasible += 1
    return feasible


@kernel(inline=True)
def show_hat(learner: Learner, m: int, psi: Vector, shown: Matrix) -> None:
    """Show Q̂_m(h, a) = β̂_{a,m}ᵀ ψ_m(h) of each arm that has an estimate."""
    for a in range(learner.shape[m, 0]):
        if learner.tallies[m, a, ROWS] > 0:
            total = 0.0
            for j in range(learner.shape[m, 1]):
                total += learner.pages[m, a, BETA, j] * psi[j]
            shown[Q_HAT, a] = total


@kernel(inline=True)
def show_tilde(learner: Learner, memory: Memory, page: int, m: int, psi: Vector, shown: Matrix) -> None:
    """Show Q̃_m(h, a) = β̃_{a,m}ᵀ ψ_m(h) of each arm, from a page of the forced estimates."""
    for a in range(learner.shape[m, 0]):
        total = 0.0
        for j in range(learner.shape[m, 1]):
            total += memory.tilde[page, m, a, j] * psi[j]
        shown[Q_TILDE, a] = total


@kernel(inline=True)
def best(shown: Vector, row: int) -> int:
    """Return the contender with the largest value: the lowest of equals, and of all if none has a value."""
    chosen = -1
    for a in range(shown.shape[1]):
        if shown[CONTENDER, a] > 0.0:
            value = shown[row, a]
            if chosen < 0 or value > shown[row, chosen] or (np.isnan(shown[row, chosen]) and not np.isnan(value)):
                chosen = a
    return chosen


@kernel(inline=True)
def show_only(shown: Matrix, arm: int) -> None:
    """Show that one arm was prescribed."""
    for a in range(shown.shape[1]):
        shown[CONTENDER, a] = 1.0 if a == arm else 0.0
        shown[PROPENSITY, a] = shown[CONTENDER, a]


@kernel
def next_of_plan(learner: Learner, memory: Memory, plan: int, unit: int, m: int) -> int:
    """Return the arm that a plan prescribes at stage ``m``, or −1 once overrides have made it infeasible.

    An override that leaves the rest of the plan feasible changes nothing; after one that does not, all later
    stages are free (docs/readings.md, 6).
    """
    stages = memory.plans.shape[1]
    for given in range(m + 1):
        node = np.int64(0)
        for k in range(stages):
            arm = np.int64(learner.marks[unit, stages + k]) if k < given else memory.plans[plan, k]
            node = np.int64(learner.child[node, arm])
            if node < 0:
                return -1
    return memory.plans[plan, m]
