"""The coefficients of an arm, from the triangular factor of its rows: by the cheapest way that is exact enough.

Rows of the last stage carry their targets through the rotations. Earlier stages solve normal equations, and gather the
right-hand side from the cross moments. Rows that are too ill-conditioned for that are factored anew.
"""

from __future__ import annotations

import numpy as np

from dtrbandit.estimators.exact_layout import FULL, ILL, MODE, ROWS, SHORT, Beliefs
from dtrbandit.estimators.labels import label_of
from dtrbandit.estimators.metric import whiten
from dtrbandit.estimators.observed import Observed
from dtrbandit.kernels.arrays import Floats, Integers, Truth, Whole
from dtrbandit.kernels.compile import kernel
from dtrbandit.kernels.triangular import (
    BETA,
    CARRIED,
    FACTOR,
    MOMENT,
    NORMAL_TOLERANCE,
    RANK_TOLERANCE,
    WORK,
    apply_operator,
    back_substitute,
    examine_rank,
    proven,
    rotate_in,
    solve_normal,
)


@kernel
def refresh(observed: Observed, beliefs: Beliefs, m: Whole, start: Whole, stop: Whole, renewed: Truth) -> None:
    """Refit arms ``start`` to ``stop`` of stage ``m``, judging ranks first if rows were added."""
    for a in range(start, stop):
        if beliefs.tallies[m, a, ROWS] > 0:
            if renewed:
                judge(observed, beliefs, m, a)
            solve(observed, beliefs, m, a)


@kernel
def judge(observed: Observed, beliefs: Beliefs, m: Whole, a: Whole) -> None:
    """Decide how an arm is to be solved now that it has new rows."""
    last, d = m == observed.shape.shape[0] - 1, observed.shape[m, 1]
    page = beliefs.pages[m, a]
    mode = FULL
    if not proven(page, d, RANK_TOLERANCE if last else NORMAL_TOLERANCE):
        quality, rank = examine_rank(page, d, last)
        if rank < d:
            mode = SHORT
        if quality < NORMAL_TOLERANCE and not last:
            mode = ILL
    beliefs.tallies[m, a, MODE] = mode


@kernel
def solve(observed: Observed, beliefs: Beliefs, m: Whole, a: Whole) -> None:
    """Solve for the coefficients of arm ``a`` of stage ``m``."""
    last, d = m == observed.shape.shape[0] - 1, observed.shape[m, 1]
    page, mode = beliefs.pages[m, a], beliefs.tallies[m, a, MODE]
    source = CARRIED
    if mode == ILL:
        refit(observed, beliefs, m, a)
    elif not last:
        collect(beliefs.pages, observed.shape, m, a)
        source = WORK
    if mode != FULL:
        apply_operator(page, d, source)
    elif last:
        back_substitute(page, d, CARRIED)
    else:
        solve_normal(page, d)
    if m > 0:
        whiten(beliefs.pages, beliefs.whitener, m, a, d)


@kernel
def collect(pages: Floats, shape: Integers, m: Whole, a: Whole) -> None:
    """Gather the right-hand side Σ_k X[a, k] β_k + Σ_fixed ψ y in the page's ``WORK``."""
    most = pages.shape[3]
    for k in range(shape[m, 1]):
        pages[m, a, WORK, k] = pages[m, a, MOMENT, k]
    for label in range(shape[m + 1, 0]):
        top = FACTOR + (2 + label) * most
        for j in range(shape[m + 1, 1]):
            weight = pages[m + 1, label, BETA, j]
            for k in range(shape[m, 1]):
                pages[m, a, WORK, k] += pages[m, a, top + j, k] * weight


@kernel
def refit(observed: Observed, beliefs: Beliefs, m: Whole, a: Whole) -> None:
    """Factor an ill-conditioned arm's rows anew, targets carried: slow, but as exact as QR."""
    page, d = beliefs.pages[m, a], observed.shape[m, 1]
    for j in range(d):
        page[CARRIED, j] = 0.0
        for k in range(d):
            page[FACTOR + j, k] = 0.0
    for unit in range(observed.units[0]):
        if observed.arms[unit, m] == a and beliefs.counted[unit, m]:
            for j in range(d):
                page[WORK, j] = observed.features[unit, m, j]
            rotate_in(page, d, target_of(observed, beliefs, unit, m))
    examine_rank(page, d, d > 0)


@kernel
def target_of(observed: Observed, beliefs: Beliefs, unit: Whole, m: Whole) -> float:
    """Return the target of a counted row: the outcome, or the best next Q-hat."""
    if observed.last[unit] == m:
        known: float = observed.outcome[unit]
        return known
    pages, shape = beliefs.pages, observed.shape
    node, psi = np.int64(observed.nodes[unit, m + 1]), observed.features[unit, m + 1]
    label, _, _ = label_of(pages, beliefs.tallies, observed.child, shape, m + 1, node, psi)
    total = 0.0
    for j in range(shape[m + 1, 1]):
        total += pages[m + 1, label, BETA, j] * psi[j]
    return total
