"""Exact online backward induction: coefficients of a refit, at a cost that does not grow.

After every event ``pages[m, a, BETA]`` are the least-squares coefficients of arm ``a`` of
stage ``m`` over its counted rows (paper, section 3.1). The right-hand side of a stage
before the last is kept through the labels,

    Σ_{j: A_jm = a} ψ_m Ŷ_j  =  Σ_k X[a, k] β_{k,m+1}  +  Σ_{fixed} ψ_m Y_j ,

and X[a, k], a small matrix, changes only when a row arrives or a label flips
(``levels.py``). What is kept, and the notation: ``layout.py``.

``learn`` is what one event does; ``rebuild`` learns everything again.
"""

import numpy as np

from dtrbandit.estimators.layout import FULL, HELD, ILL, LEVELS, LIMIT, MODE, ROWS, SHORT, UNITS
from dtrbandit.estimators.levels import add_cross, arm_of, clear_levels, label_of, measure, place, scan, whiten
from dtrbandit.kernels.compile import kernel
from dtrbandit.kernels.triangular import (
    BETA,
    CARRIED,
    FACTOR,
    LENGTH,
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

ARRIVED, GIVEN, COMPLETED = range(3)  # kinds of event
FIRST_LIMIT = 16  # units in levels before the radii are first set from data


# --- one event ------------------------------------------------------------------------


@kernel
def learn(learner, event, unit, m, index, outcome, psi):
    """Learn from an event of a unit at stage ``m``.

    ``ARRIVED`` with features ``psi`` at node ``index``: the row of stage m - 1 counts, unless none of the unit's
    feasible arms has a Q-hat. ``GIVEN`` arm ``index``. ``COMPLETED``: the row of stage ``m`` counts, with the outcome
    as its target.
    """
    stage, counted, first = np.int64(m), False, False
    if event == ARRIVED:
        observe_features(learner, unit, m, index, psi)
        if m > 0:
            stage = np.int64(m - 1)
            counted, first = count_imputed(learner, unit, stage)
    elif event == GIVEN:
        learner.marks[unit, learner.shape.shape[0] + m] = index
    else:
        observe_outcome(learner, unit, stage, outcome)
        counted, first = True, count_fixed(learner, unit, stage)
    if counted:
        propagate(learner, stage, arm_of(learner, unit, stage), first)


@kernel
def observe_features(learner, unit, m, node, psi):
    """Store what was seen before stage ``m``."""
    first = m * learner.pages.shape[3]
    for j in range(learner.shape[m, 1]):
        learner.rows[unit, first + j] = psi[j]
    learner.marks[unit, m] = node
    if unit >= learner.sizes[UNITS]:
        learner.sizes[UNITS] = unit + 1


@kernel
def observe_outcome(learner, unit, last, outcome):
    """Store the outcome of a unit that went as far as stage ``last``."""
    stages = learner.shape.shape[0]
    learner.rows[unit, stages * learner.pages.shape[3]] = outcome
    learner.marks[unit, 3 * stages] = last


@kernel
def rebuild(learner):
    """Learn everything again from ``rows`` and ``marks`` alone: after a correction or late override."""
    clear(learner)
    for m in range(learner.shape.shape[0] - 1, -1, -1):
        recount(learner, m)


# --- rows -----------------------------------------------------------------------------


@kernel
def add_row(learner, unit, m, target):
    """Rotate a row into its arm's factor; tell whether it is the arm's first."""
    rows, a = learner.rows, arm_of(learner, unit, m)
    page, d, first = learner.pages[m, a], learner.shape[m, 1], m * learner.pages.shape[3]
    for j in range(d):
        value = rows[unit, first + j]
        page[WORK, j] = value
        page[LENGTH, j] += value * value
    rotate_in(page, d, target)
    learner.marks[unit, 2 * learner.shape.shape[0] + m] = 1
    learner.tallies[m, a, ROWS] += 1
    return learner.tallies[m, a, ROWS] == 1


@kernel
def count_fixed(learner, unit, m):
    """Add a row whose target is the outcome; tell whether it is its arm's first."""
    pages, rows, a = learner.pages, learner.rows, arm_of(learner, unit, m)
    first, outcome = m * pages.shape[3], rows[unit, rows.shape[1] - 1]
    for j in range(learner.shape[m, 1]):
        pages[m, a, MOMENT, j] += rows[unit, first + j] * outcome
    return add_row(learner, unit, m, outcome)


@kernel
def count_imputed(learner, unit, m):
    """Label a row, and add it if new; tell whether it counts and is its arm's first."""
    node, start = np.int64(learner.marks[unit, m + 1]), (m + 1) * learner.pages.shape[3]
    pages, tallies, child, shape = learner.pages, learner.tallies, learner.child, learner.shape
    label, lead, contenders = label_of(pages, tallies, child, shape, m + 1, node, learner.rows, unit, start)
    if label < 0:
        return False, False
    first = False
    if learner.marks[unit, 2 * learner.shape.shape[0] + m] != 1:
        first = add_row(learner, unit, m, 0.0)
    add_cross(pages, learner.rows, shape, m, arm_of(learner, unit, m), unit, label)
    if contenders > 1:
        place(learner, m, unit, label, lead)
    return True, first


@kernel
def relabel(learner, m):
    """Label all rows of stage ``m`` afresh: metric, levels and cross moments.

    Counts those that waited for a Q-hat; tells whether one was its arm's first.
    """
    stages, marks = learner.shape.shape[0], learner.marks
    measure(learner, m)
    for a in range(learner.shape[m + 1, 0]):
        whiten(learner.pages, learner.whitener, m + 1, a, learner.shape[m + 1, 1])
    clear_levels(learner, m)
    clear_cross(learner, m)
    any_first = False
    for unit in range(learner.sizes[UNITS]):
        if marks[unit, m + 1] >= 0 and marks[unit, stages + m] >= 0:
            _, first = count_imputed(learner, unit, m)
            any_first = any_first or first
    learner.sizes[LIMIT + m] = max(2 * learner.chains[m, LEVELS, HELD], FIRST_LIMIT)
    return any_first


@kernel
def recount(learner, m):
    """Count all rows of stage ``m``, the stages after it being settled."""
    last_of = 3 * learner.shape.shape[0]
    for unit in range(learner.sizes[UNITS]):
        if learner.marks[unit, last_of] == m:
            count_fixed(learner, unit, m)
    if m < learner.shape.shape[0] - 1:
        relabel(learner, m)
    refresh(learner, m, np.int64(0), learner.shape[m, 0], np.bool_(True))


@kernel
def clear(learner):
    """Forget all that was learned; keep what was observed."""
    stages, marks = learner.shape.shape[0], learner.marks
    learner.pages.fill(0.0)
    learner.tallies.fill(0)
    learner.gauges.fill(0.0)
    for unit in range(learner.sizes[UNITS]):
        for m in range(stages):
            marks[unit, 2 * stages + m] = -1


@kernel
def clear_cross(learner, m):
    """Zero the cross moments of stage ``m``."""
    pages = learner.pages
    for a in range(pages.shape[1]):
        for j in range(FACTOR + 2 * pages.shape[3], pages.shape[2]):
            for k in range(pages.shape[3]):
                pages[m, a, j, k] = 0.0


# --- coefficients ---------------------------------------------------------------------


@kernel
def propagate(learner, m, a, first):
    """Refit arm ``a`` of stage ``m``, which has a new row, and carry it to earlier stages.

    ``first``: an arm got its first row, so that rows may begin to count and labels to
    compete; otherwise labels flip only where the levels say so.
    """
    if m < learner.shape.shape[0] - 1 and learner.chains[m, LEVELS, HELD] >= learner.sizes[LIMIT + m]:
        relabel(learner, m)
    start, stop, renewed = a, a + 1, np.bool_(True)
    while True:
        refresh(learner, m, start, stop, renewed)
        if m == 0:
            return
        m -= 1
        renewed = first
        if first:
            first = relabel(learner, m)
        else:
            scan(learner, m)
        start, stop = np.int64(0), learner.shape[m, 0]


@kernel
def refresh(learner, m, start, stop, renewed):
    """Refit arms ``start`` to ``stop`` of stage ``m``, judging ranks first if rows were added."""
    for a in range(start, stop):
        if learner.tallies[m, a, ROWS] > 0:
            if renewed:
                judge(learner, m, a)
            solve(learner, m, a)


@kernel
def judge(learner, m, a):
    """Decide how an arm is to be solved now that it has new rows."""
    last, d = m == learner.shape.shape[0] - 1, learner.shape[m, 1]
    page = learner.pages[m, a]
    mode = FULL
    if not proven(page, d, RANK_TOLERANCE if last else NORMAL_TOLERANCE):
        quality, rank = examine_rank(page, d, last)
        if rank < d:
            mode = SHORT
        if quality < NORMAL_TOLERANCE and not last:
            mode = ILL
    learner.tallies[m, a, MODE] = mode


@kernel
def solve(learner, m, a):
    """Solve for the coefficients of arm ``a`` of stage ``m``."""
    last, d = m == learner.shape.shape[0] - 1, learner.shape[m, 1]
    page, mode = learner.pages[m, a], learner.tallies[m, a, MODE]
    source = CARRIED
    if mode == ILL:
        refit(learner, m, a)
    elif not last:
        collect(learner.pages, learner.shape, m, a)
        source = WORK
    if mode != FULL:
        apply_operator(page, d, source)
    elif last:
        back_substitute(page, d)
    else:
        solve_normal(page, d)
    if m > 0:
        whiten(learner.pages, learner.whitener, m, a, d)


@kernel
def collect(pages, shape, m, a):
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
def refit(learner, m, a):
    """Factor an ill-conditioned arm's rows anew, targets carried: slow, but as exact as QR."""
    stages, marks, rows = learner.shape.shape[0], learner.marks, learner.rows
    page, d, first = learner.pages[m, a], learner.shape[m, 1], m * learner.pages.shape[3]
    for j in range(d):
        page[CARRIED, j] = 0.0
        for k in range(d):
            page[FACTOR + j, k] = 0.0
    for unit in range(learner.sizes[UNITS]):
        if marks[unit, stages + m] == a and marks[unit, 2 * stages + m] == 1:
            for j in range(d):
                page[WORK, j] = rows[unit, first + j]
            rotate_in(page, d, target_of(learner, unit, m))
    examine_rank(page, d, d > 0)


@kernel
def target_of(learner, unit, m):
    """Return the target of a counted row: the outcome, or the best next Q-hat."""
    pages, rows, marks = learner.pages, learner.rows, learner.marks
    if marks[unit, 3 * learner.shape.shape[0]] == m:
        return rows[unit, rows.shape[1] - 1]
    first, node = (m + 1) * pages.shape[3], np.int64(marks[unit, m + 1])
    label, _, _ = label_of(pages, learner.tallies, learner.child, learner.shape, m + 1, node, rows, unit, first)
    total = 0.0
    for j in range(learner.shape[m + 1, 1]):
        total += pages[m + 1, label, BETA, j] * rows[unit, first + j]
    return total
