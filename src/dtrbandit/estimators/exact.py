"""Exact online backward induction: coefficients of a refit, at a cost that does not grow.

After every event ``pages[m, a, BETA]`` are the least-squares coefficients of arm ``a`` of
stage ``m`` over its counted rows (paper, section 3.1). The right-hand side of a stage
before the last is kept through the labels,

    Σ_{j: A_jm = a} ψ_m Ŷ_j  =  Σ_k X[a, k] β_{k,m+1}  +  Σ_{fixed} ψ_m Y_j ,

and X[a, k], a small matrix, changes only when a row arrives or a label flips
(``levels.py``). What is kept, and the notation: ``exact_layout.py``.

``learn`` is what one fact does; ``rebuild`` learns everything again.
"""

from __future__ import annotations

import numpy as np

from dtrbandit.design.spec import Design
from dtrbandit.estimators import by_columns
from dtrbandit.estimators.coefficients import refresh
from dtrbandit.estimators.estimates import Coefficients, Estimates, rows_by_arm
from dtrbandit.estimators.estimator import Estimator
from dtrbandit.estimators.exact_layout import HELD, LEVELS, LIMIT, ROWS, Beliefs, create, grow
from dtrbandit.estimators.labels import add_cross, arm_of, clear_cross, label_of
from dtrbandit.estimators.levels import clear_levels, place, scan
from dtrbandit.estimators.metric import measure, whiten
from dtrbandit.estimators.observed import ARRIVED, COMPLETED, Observed
from dtrbandit.kernels import triangular
from dtrbandit.kernels.arrays import Truth, Vector, Whole
from dtrbandit.kernels.compile import kernel
from dtrbandit.kernels.triangular import BETA, MOMENT

FIRST_LIMIT = 16  # units in levels before the radii are first set from data


# --- one fact -------------------------------------------------------------------------


@kernel
def learn(observed: Observed, beliefs: Beliefs, fact: Whole, unit: Whole, m: Whole) -> None:
    """Learn from a fact of a unit at stage ``m`` that is written down.

    ARRIVED: the row of stage m - 1 counts, unless none of the unit's feasible arms has a Q-hat. COMPLETED: the row of
    stage ``m`` counts, with the outcome as its target.
    """
    first: Truth
    stage, counted, first = np.int64(m), False, False
    if fact == ARRIVED and m > 0:
        stage = np.int64(m - 1)
        counted, first = count_imputed(observed, beliefs, unit, stage)
    elif fact == COMPLETED:
        counted, first = True, count_fixed(observed, beliefs, unit, stage)
    if counted:
        propagate(observed, beliefs, stage, arm_of(observed, unit, stage), first)


@kernel
def rebuild(observed: Observed, beliefs: Beliefs) -> None:
    """Learn everything again from what was observed, after an amendment to a unit whose rows already count."""
    clear(observed, beliefs)
    for m in range(observed.shape.shape[0] - 1, -1, -1):
        recount(observed, beliefs, m)


# --- rows -----------------------------------------------------------------------------


@kernel
def add_row(observed: Observed, beliefs: Beliefs, unit: Whole, m: Whole, target: float) -> Truth:
    """Rotate a row into its arm's factor; tell whether it is the arm's first."""
    a = arm_of(observed, unit, m)
    triangular.add_row(beliefs.pages[m, a], observed.shape[m, 1], observed.features[unit, m], target)
    beliefs.counted[unit, m] = True
    beliefs.tallies[m, a, ROWS] += 1
    first: Truth = beliefs.tallies[m, a, ROWS] == 1
    return first


@kernel
def count_fixed(observed: Observed, beliefs: Beliefs, unit: Whole, m: Whole) -> Truth:
    """Add a row whose target is the outcome; tell whether it is its arm's first."""
    pages, a, outcome = beliefs.pages, arm_of(observed, unit, m), observed.outcome[unit]
    for j in range(observed.shape[m, 1]):
        pages[m, a, MOMENT, j] += observed.features[unit, m, j] * outcome
    return add_row(observed, beliefs, unit, m, outcome)


@kernel
def count_imputed(observed: Observed, beliefs: Beliefs, unit: Whole, m: Whole) -> tuple[bool, Truth]:
    """Label a row, and add it if new; tell whether it counts and is its arm's first."""
    node, psi = np.int64(observed.nodes[unit, m + 1]), observed.features[unit, m + 1]
    pages, shape = beliefs.pages, observed.shape
    label, lead, contenders = label_of(pages, beliefs.tallies, observed.child, shape, m + 1, node, psi)
    if label < 0:
        return False, False
    first: Truth = False
    if not beliefs.counted[unit, m]:
        first = add_row(observed, beliefs, unit, m, 0.0)
    add_cross(pages[m, observed.arms[unit, m]], shape, m, label, observed.features[unit, m], psi)
    if contenders > 1:
        place(observed, beliefs, m, unit, node, label, lead, psi)
    return True, first


@kernel
def relabel(observed: Observed, beliefs: Beliefs, m: Whole) -> Truth:
    """Label all rows of stage ``m`` afresh: metric, levels and cross moments.

    Counts those that waited for a Q-hat; tells whether one was its arm's first.
    """
    measure(observed, beliefs, m)
    for a in range(observed.shape[m + 1, 0]):
        whiten(beliefs.pages, beliefs.whitener, m + 1, a, observed.shape[m + 1, 1])
    clear_levels(observed, beliefs, m)
    clear_cross(beliefs.pages, m)
    any_first = count_all_imputed(observed, beliefs, m)
    beliefs.sizes[LIMIT + m] = max(2 * beliefs.chains[m, LEVELS, HELD], FIRST_LIMIT)
    return any_first


@kernel(meanwhile=by_columns.count_all_imputed)
def count_all_imputed(observed: Observed, beliefs: Beliefs, m: Whole) -> Truth:
    """Label all rows of stage ``m``, whose levels and cross moments are empty; count those that waited for a Q-hat."""
    any_first: Truth = False
    for unit in range(observed.units[0]):
        if observed.nodes[unit, m + 1] >= 0 and observed.arms[unit, m] >= 0:
            _, first = count_imputed(observed, beliefs, unit, m)
            any_first = any_first or first
    return any_first


@kernel(meanwhile=by_columns.count_all_fixed)
def count_all_fixed(observed: Observed, beliefs: Beliefs, m: Whole) -> None:
    """Add all rows of stage ``m`` whose target is the outcome."""
    for unit in range(observed.units[0]):
        if observed.last[unit] == m:
            count_fixed(observed, beliefs, unit, m)


@kernel
def recount(observed: Observed, beliefs: Beliefs, m: Whole) -> None:
    """Count all rows of stage ``m``, the stages after it being settled."""
    count_all_fixed(observed, beliefs, m)
    if m < observed.shape.shape[0] - 1:
        relabel(observed, beliefs, m)
    refresh(observed, beliefs, m, np.int64(0), observed.shape[m, 0], np.bool_(True))


@kernel
def clear(observed: Observed, beliefs: Beliefs) -> None:
    """Forget all that was learned."""
    beliefs.pages.fill(0.0)
    beliefs.tallies.fill(0)
    beliefs.gauges.fill(0.0)
    beliefs.references.fill(0.0)
    beliefs.chains.fill(0)
    beliefs.sizes.fill(0)
    beliefs.cells.fill(0.0)
    beliefs.tags.fill(0)
    beliefs.follows.fill(0)
    for unit in range(observed.units[0]):
        for m in range(observed.shape.shape[0]):
            beliefs.counted[unit, m] = False


# --- coefficients ---------------------------------------------------------------------


@kernel
def propagate(observed: Observed, beliefs: Beliefs, m: Whole, a: Whole, first: Truth) -> None:
    """Refit arm ``a`` of stage ``m``, which has a new row, and carry it to earlier stages.

    ``first``: an arm got its first row, so that rows may begin to count and labels to
    compete; otherwise labels flip only where the levels say so.
    """
    if m < observed.shape.shape[0] - 1 and beliefs.chains[m, LEVELS, HELD] >= beliefs.sizes[LIMIT + m]:
        relabel(observed, beliefs, m)
    renewed: Truth
    start, stop, renewed = a, a + 1, np.bool_(True)
    while True:
        refresh(observed, beliefs, m, start, stop, renewed)
        if m == 0:
            return
        m -= 1
        renewed = first
        if first:
            first = relabel(observed, beliefs, m)
        else:
            scan(observed, beliefs, m)
        start, stop = np.int64(0), observed.shape[m, 0]


# --- what is asked --------------------------------------------------------------------


@kernel
def q_hat(observed: Observed, beliefs: Beliefs, m: Whole, psi: Vector, values: Vector) -> None:
    """Write Q̂_m(h, a) = β̂_{a,m}ᵀ ψ_m(h) into ``values`` (K,), for each arm that has an estimate."""
    pages, tallies, shape = beliefs.pages, beliefs.tallies, observed.shape
    for a in range(shape[m, 0]):
        if tallies[m, a, ROWS] > 0:
            total = 0.0
            for j in range(shape[m, 1]):
                total += pages[m, a, BETA, j] * psi[j]
            values[a] = total


def hat_coefficients(design: Design, beliefs: Beliefs) -> Coefficients:
    """Return β̂ for each stage."""
    shapes = enumerate(zip(design.arm_counts, design.dimensions, strict=True))
    return tuple(
        np.where(beliefs.tallies[m, :arms, ROWS, None] > 0, beliefs.pages[m, :arms, BETA, :d], np.nan)
        for m, (arms, d) in shapes
    )


def estimates(design: Design, observed: Observed, beliefs: Beliefs) -> Estimates:
    """Return the coefficients of Q̂ and the rows behind them."""
    return Estimates(hat_coefficients(design, beliefs), hat_rows=rows_by_arm(design, observed, beliefs.counted))


EXACT = Estimator("exact", create, grow, learn, rebuild, estimates)
