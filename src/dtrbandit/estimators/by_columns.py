"""What the loops over all units do, by whole columns: it runs in their place until machine code is there.

The bits are those of the loops. Products and sums of columns are rounded as those of numbers are. A sum over units
takes them in their order, as ``np.add.accumulate`` does; ``np.sum`` would add them in pairs.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dtrbandit.estimators.exact_layout import (
    BLOCK,
    DEPTH,
    FILL,
    HEAD,
    HELD,
    LABEL,
    LEVELS,
    NODE,
    RADIUS,
    ROWS,
    SLACK,
    TAIL,
    UNIT,
    USED,
    Beliefs,
)
from dtrbandit.estimators.observed import Observed
from dtrbandit.kernels.arrays import Floats, Matrix, Truth, Vector, Whole
from dtrbandit.kernels.triangular import BETA, CARRIED, FACTOR, LENGTH, MOMENT, WHITE, WORK, rotation

Numbers = NDArray[np.int64]


class Labelled(NamedTuple):
    """Units by number, and their labels: the best arm of the next stage, its lead, and how many arms contend."""

    units: Numbers
    label: Numbers
    lead: Vector
    contenders: Numbers

    def those(self, which: Any) -> Labelled:
        """Return some of them."""
        return Labelled(*(column[which] for column in self))


# -- in the place of loops ---------------------------------------------------------------------------------------


def add_products(observed: Observed, gram: Floats, m: Whole) -> int:
    """Add products of features of stage m + 1 to the upper triangle of ``gram[m]``; return how many units have any.

    In the place of the loop in ``metric.py``.
    """
    d, count = observed.shape[m + 1, 1], observed.units[0]
    units = np.flatnonzero(observed.nodes[:count, m + 1] >= 0)
    psi = observed.features[units, m + 1, :d]
    totals = _added(gram[m, :d, :d], psi[:, :, None] * psi[:, None, :])
    gram[m, :d, :d] = np.where(np.tri(d, dtype=np.bool_).T, totals, gram[m, :d, :d])
    return len(units)


def count_all_fixed(observed: Observed, beliefs: Beliefs, m: Whole) -> None:
    """Add all rows of stage ``m`` whose target is the outcome. In the place of the loop in ``exact.py``."""
    d, units = observed.shape[m, 1], np.flatnonzero(observed.last[: observed.units[0]] == m)
    for a in range(observed.shape[m, 0]):
        own = units[observed.arms[units, m] == a]
        if len(own):
            outcome, moment = observed.outcome[own], beliefs.pages[m, a, MOMENT, :d]
            moment[:] = _added(moment, observed.features[own, m, :d] * outcome[:, None])
            _add_rows(observed, beliefs, m, a, own, outcome)


def count_all_imputed(observed: Observed, beliefs: Beliefs, m: Whole) -> Truth:
    """Label all rows of stage ``m``, whose levels and cross moments are empty; count those that waited for a Q-hat.

    In the place of the loop in ``exact.py``. Tells whether a row was its arm's first.
    """
    count = observed.units[0]
    went_on = np.flatnonzero((observed.nodes[:count, m + 1] >= 0) & (observed.arms[:count, m] >= 0))
    labelled = _labels_of(observed, beliefs, m + 1, went_on)
    labelled = labelled.those(labelled.label >= 0)
    contending = labelled.those(labelled.contenders > 1)
    waited = labelled.units[~beliefs.counted[labelled.units, m]]
    any_first: Truth = False
    for a in range(observed.shape[m, 0]):
        own = waited[observed.arms[waited, m] == a]
        if len(own):
            any_first = any_first or beliefs.tallies[m, a, ROWS] == 0
            _add_rows(observed, beliefs, m, a, own, np.zeros(len(own)))
        _add_crosses(observed, beliefs, m, a, labelled.those(observed.arms[labelled.units, m] == a))
    if len(contending.units):
        work = beliefs.pages[m, 0, WORK]
        rotated, waited = work.copy(), waited[observed.arms[waited, m] == 0]
        _place_all(observed, beliefs, m, contending)
        if len(waited) and waited[-1] > contending.units[-1]:  # the loop would have left this row there
            work[: observed.shape[m, 1]] = rotated[: observed.shape[m, 1]]
    return any_first


# -- steps of these ----------------------------------------------------------------------------------------------


def _added(start: Floats, terms: Floats) -> Floats:
    """Return ``start`` with all terms added, one after the other along the first axis."""
    total: Floats = np.add.accumulate(np.concatenate((start[None], terms)), axis=0)[-1]
    return total


def _labels_of(observed: Observed, beliefs: Beliefs, m: Whole, units: Numbers) -> Labelled:
    """Return what ``label_of`` says of each unit at stage ``m``."""
    child, psi = observed.child[observed.nodes[units, m]], observed.features[units, m]
    label, contenders = np.full(len(units), -1), np.zeros(len(units), dtype=np.int64)
    best, second = np.full(len(units), -np.inf), np.full(len(units), -np.inf)
    for a in range(observed.shape[m, 0]):
        if beliefs.tallies[m, a, ROWS] > 0:
            contends, value = child[:, a] >= 0, np.zeros(len(units))
            for j in range(observed.shape[m, 1]):
                value += beliefs.pages[m, a, BETA, j] * psi[:, j]
            leads, follows = contends & (value > best), contends & (value > second)
            second = np.where(leads, best, np.where(follows, value, second))
            best, label = np.where(leads, value, best), np.where(leads, a, label)
            contenders += contends
    return Labelled(units, label, best - second, contenders)


def _add_rows(observed: Observed, beliefs: Beliefs, m: Whole, a: Whole, units: Numbers, targets: Vector) -> None:
    """Rotate the rows of units into the factor of arm ``a``, one after the other."""
    d = int(observed.shape[m, 1])
    page, rows = beliefs.pages[m, a], observed.features[units, m, :d]
    page[LENGTH, :d] = _added(page[LENGTH, :d], rows * rows)
    rotate_in_all(page, d, rows, targets)
    beliefs.counted[units, m] = True
    beliefs.tallies[m, a, ROWS] += len(units)


def rotate_in_all(page: Matrix, d: int, rows: Matrix, targets: Vector) -> None:
    """Do what ``rotate_in`` does, for each of some rows: on lists, where Python finds numbers far sooner."""
    factor, carried = page[FACTOR : FACTOR + d, :d].tolist(), page[CARRIED, :d].tolist()
    work: list[float] = []
    for work, value in zip(rows.tolist(), targets.tolist(), strict=True):
        for j in range(d):
            if work[j] == 0.0:
                continue
            own = factor[j]
            cosine, sine, own[j] = rotation(own[j], work[j])
            for k in range(j + 1, d):
                upper, lower = own[k], work[k]
                own[k] = cosine * upper + sine * lower
                work[k] = cosine * lower - sine * upper
            upper = carried[j]
            carried[j] = cosine * upper + sine * value
            value = cosine * value - sine * upper
    page[FACTOR : FACTOR + d, :d], page[CARRIED, :d], page[WORK, :d] = factor, carried, work


def _add_crosses(observed: Observed, beliefs: Beliefs, m: Whole, a: Whole, labelled: Labelled) -> None:
    """Add ψ_m ψ_{m+1}ᵀ of the units that were given arm ``a`` to its cross moments, by label."""
    page, d, later = beliefs.pages[m, a], observed.shape[m, 1], observed.shape[m + 1, 1]
    for label in range(observed.shape[m + 1, 0]):
        units = labelled.units[labelled.label == label]
        top = FACTOR + (2 + label) * page.shape[1]
        cross, psi = page[top : top + later, :d], observed.features[units]
        cross[:] = _added(cross, psi[:, m + 1, :later, None] * psi[:, m, None, :d])


def _place_all(observed: Observed, beliefs: Beliefs, m: Whole, labelled: Labelled) -> None:
    """Put units into levels, which are empty: what ``place`` does, for each."""
    d, gauges, depth = observed.shape[m + 1, 1], beliefs.gauges[m], beliefs.chains[m, LEVELS, DEPTH]
    psi = observed.features[labelled.units, m + 1, :d]
    length = _lengths(beliefs, m, psi)
    long = np.flatnonzero(length > 0.0)
    units, label, lead, _ = labelled.those(long)
    psi, length = psi[long], length[long]
    bounds = 2.0 * gauges[RADIUS, : depth - 1] - gauges[SLACK, : depth - 1]
    fits = np.ones((len(units), depth), dtype=np.bool_)
    fits[:, :-1] = ~((lead / length)[:, None] < bounds)
    slot = _slots(observed, beliefs, m, fits.argmax(axis=1))
    beliefs.cells[m, slot, :d] = psi / length[:, None]
    beliefs.tags[m, slot, UNIT] = units
    beliefs.tags[m, slot, NODE] = observed.nodes[units, m + 1]
    beliefs.tags[m, slot, LABEL] = label


def _lengths(beliefs: Beliefs, m: Whole, psi: Matrix) -> Vector:
    """Return ‖C⁻ᵀψ‖ of features of stage m + 1."""
    whitener, total = beliefs.whitener[m], np.zeros(len(psi))
    whitened: list[Vector] = []
    for j in range(psi.shape[1]):
        value = psi[:, j].copy()
        for k in range(j):
            value -= whitener[k, j] * whitened[k]
        value /= whitener[j, j]
        whitened.append(value)
        total += value * value
    beliefs.pages[m, 0, WORK, : psi.shape[1]] = [value[-1] for value in whitened]
    return np.sqrt(total)


def _slots(observed: Observed, beliefs: Beliefs, m: Whole, level: Numbers) -> Numbers:
    """Open blocks for units that come to these levels, one after the other; return the slot of each."""
    chains, shape, count = beliefs.chains[m], observed.shape, len(level)
    order = np.argsort(level, kind="stable")
    first = np.searchsorted(level[order], level[order])  # where the units of a level begin, in this order
    fill = np.arange(count) - first
    opens = fill % BLOCK == 0
    numbers = np.zeros(count, dtype=np.int64)  # of blocks, which are opened as units come
    numbers[order] = opens
    block = (np.cumsum(numbers) - 1)[order][np.maximum.accumulate(np.where(opens, np.arange(count), 0))]
    continued = np.flatnonzero(opens & (fill > 0))
    beliefs.follows[m, block[continued - 1]] = block[continued]
    for start in np.unique(first).tolist():
        own, held = level[order[start]], int((first == start).sum())
        chains[own, [HEAD, TAIL, FILL]] = block[start], block[start + held - 1], held
        beliefs.references[m, own, : shape[m + 1, 0], : shape[m + 1, 1]] = beliefs.pages[
            m + 1, : shape[m + 1, 0], WHITE, : shape[m + 1, 1]
        ]
    chains[LEVELS, USED] += opens.sum()
    chains[LEVELS, HELD] += count
    slot = np.empty(count, dtype=np.int64)
    slot[order] = block * BLOCK + fill % BLOCK
    return slot
