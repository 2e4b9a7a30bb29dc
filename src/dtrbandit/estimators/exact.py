"""Exact online backward induction: coefficients of a refit, at a cost that does not grow.

After every event ``fits.beta`` are the least-squares coefficients of each arm of each
stage over its counted rows (paper, section 3.1). The right-hand side of a stage
before the last is kept through the labels,

    Σ_{j: A_jm = a} ψ_m Ŷ_j  =  Σ_k X[a, k] β_{k,m+1}  +  Σ_{fixed} ψ_m Y_j ,

and X[a, k], a small matrix, changes only when a row arrives or a label flips. Labels, and
the notation: ``labels.py``. When they are looked at again: ``levels.py``.

Rows of the last stage carry their targets through the rotations. Earlier stages solve normal equations, and gather the
right-hand side from the cross moments. Rows that are too ill-conditioned for that are factored anew.

``learn`` is what one fact does; ``relearn`` learns everything again.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dtrbandit.design.spec import Design
from dtrbandit.estimators.estimates import Coefficients, Estimates
from dtrbandit.estimators.levels import Levels
from dtrbandit.estimators.observed import Observed
from dtrbandit.estimators.soundness import exact_fault
from dtrbandit.kernels import constants as c
from dtrbandit.kernels.arrays import Named, grow, named, restore

BUILT_FROM = c.BUILT_FROM
NAMES = ("mode", "moment", "counted")


class ExactLearner(Levels):
    """The least-squares coefficients of all arms, kept up to date.

    Attributes
    ----------
    mode
        (M, K): how to solve for the coefficients of each arm: FULL, SHORT or ILL.
    moment
        (P, D): stages before the last: Σ ψ y over the rows with fixed targets.
    counted
        (capacity, M): which rows take part in the fit.
    """

    def __init__(self, observed: Observed) -> None:
        super().__init__(observed)
        self.mode = np.zeros((observed.stages, observed.width), dtype=np.int64)
        self.moment = np.zeros((observed.stages * observed.width, observed.most))
        self.counted = np.zeros((0, observed.stages), dtype=np.uint8)

    def reserve(self, capacity: int) -> None:
        """Make room for ``capacity`` units."""
        self.make_room(capacity)
        grow(self, {"counted": 0}, capacity)

    def arrays(self) -> Named:
        """Return what is known, by name."""
        return {**self.named(), **named(self, NAMES)}

    def load(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Know what arrays say."""
        self.load_named(arrays)
        restore(self, NAMES, arrays)

    def fault(self) -> str:
        """Say what kernels could not rely on in arrays that were loaded; nothing if all is in order."""
        return exact_fault(self)

    # -- facts -----------------------------------------------------------------------------------------------

    def learn(self, fact: int, unit: int, m: int) -> None:
        """Learn from a fact of a unit at stage ``m`` that is written down.

        ARRIVED: the row of stage m - 1 counts, unless none of the unit's feasible arms has a Q-hat. COMPLETED: the row
        of stage ``m`` counts, with the outcome as its target.
        """
        if fact == c.ARRIVED and m > 0:
            counted, first = self.count_imputed(unit, m - 1)
            if counted:
                self.propagate(m - 1, self.observed.arms[unit, m - 1], first)
        elif fact == c.COMPLETED:
            first = self.count_fixed(unit, m)
            self.propagate(m, self.observed.arms[unit, m], first)

    def relearn(self) -> None:
        """Learn everything again from what was observed, after an amendment to a unit whose rows already count."""
        self.clear()
        for m in range(self.observed.stages - 1, -1, -1):
            for unit in range(self.observed.units):
                if self.observed.last[unit] == m:
                    self.count_fixed(unit, m)
            if m < self.observed.stages - 1:
                self.relabel(m)
            self.refresh(m, True)

    def clear(self) -> None:
        """Forget all that was learned, so that what is learned next depends on what was observed alone."""
        self.forget()
        self.fits.forget()
        self.mode[:, :] = c.FULL
        self.moment[:, :] = 0.0
        self.counted[:, :] = 0

    # -- rows ------------------------------------------------------------------------------------------------

    def add_row(self, unit: int, m: int, target: float) -> bool:
        """Rotate a row into its arm's factor; tell whether it is the arm's first."""
        a = self.observed.arms[unit, m]
        p, d = self.problem[m, a], self.observed.dimension[m, a]
        for j in range(d):
            value = self.observed.features[unit, m, j]
            self.fits.work[p, j] = value
            self.fits.length[p, j] += value * value
        self.fits.rotate_in(p, d, target)
        self.counted[unit, m] = True
        self.rows[m, a] += 1
        first: bool = self.rows[m, a] == 1
        return first

    def count_fixed(self, unit: int, m: int) -> bool:
        """Add a row whose target is the outcome; tell whether it is its arm's first."""
        a, outcome = self.observed.arms[unit, m], self.observed.outcome[unit]
        p = self.problem[m, a]
        for j in range(self.observed.dimension[m, a]):
            self.moment[p, j] += self.observed.features[unit, m, j] * outcome
        return self.add_row(unit, m, outcome)

    def count_imputed(self, unit: int, m: int) -> tuple[bool, bool]:
        """Label a row, and add it if new; tell whether it counts and is its arm's first."""
        node = self.observed.nodes[unit, m + 1]
        for j in range(self.observed.widest[m + 1]):
            self.psi[j] = self.observed.features[unit, m + 1, j]
        label, lead, contenders = self.label_of(m + 1, node)
        if label < 0:
            return False, False
        first = False
        if not self.counted[unit, m]:
            first = self.add_row(unit, m, 0.0)
        self.add_cross(unit, m, label)
        if contenders > 1:
            self.insert(m, unit, node, label, lead)
        return True, first

    def relabel(self, m: int) -> bool:
        """Label all rows of stage ``m`` afresh: metric, levels and cross moments.

        Counts those that waited for a Q-hat; tells whether one was its arm's first.
        """
        self.measure(m)
        for a in range(self.observed.arm_count[m + 1]):
            self.whiten(m + 1, a)
        self.clear_levels(m)
        self.clear_cross(m)
        any_first = False
        for unit in range(self.observed.units):
            if self.observed.nodes[unit, m + 1] >= 0 and self.observed.arms[unit, m] >= 0:
                _, first = self.count_imputed(unit, m)
                any_first = any_first or first
        self.limit[m] = max(2 * self.held[m], c.FIRST_LIMIT)
        return any_first

    # -- coefficients ----------------------------------------------------------------------------------------

    def propagate(self, m: int, a: int, first: bool) -> None:
        """Refit arm ``a`` of stage ``m``, which has a new row, and carry it to earlier stages.

        ``first``: an arm got its first row, so that rows may begin to count and labels to
        compete; otherwise labels flip only where the levels say so.
        """
        if m < self.observed.stages - 1 and self.held[m] >= self.limit[m]:
            self.relabel(m)
        self.judge(m, a)
        self.solve(m, a)
        while m > 0:
            m -= 1
            renewed = first
            if first:
                first = self.relabel(m)
            else:
                self.scan(m)
            self.refresh(m, renewed)

    def refresh(self, m: int, renewed: bool) -> None:
        """Refit all arms of stage ``m``, judging ranks first if rows were added."""
        for a in range(self.observed.arm_count[m]):
            if self.rows[m, a] > 0:
                if renewed:
                    self.judge(m, a)
                self.solve(m, a)

    def judge(self, m: int, a: int) -> None:
        """Decide how an arm is to be solved now that it has new rows."""
        last, d, p = m == self.observed.stages - 1, self.observed.dimension[m, a], self.problem[m, a]
        mode = c.FULL
        if not self.fits.proven(p, d, c.RANK_TOLERANCE if last else c.NORMAL_TOLERANCE):
            quality, rank = self.fits.examine_rank(p, d, last)
            if rank < d:
                mode = c.SHORT
            if quality < c.NORMAL_TOLERANCE and not last:
                mode = c.ILL
        self.mode[m, a] = mode

    def solve(self, m: int, a: int) -> None:
        """Solve for the coefficients of arm ``a`` of stage ``m``."""
        last, d, p = m == self.observed.stages - 1, self.observed.dimension[m, a], self.problem[m, a]
        mode = self.mode[m, a]
        if mode == c.ILL:
            self.refit(m, a)
        elif not last:
            self.collect(m, a)
        if mode != c.FULL:
            self.fits.apply_operator(p, d, last or mode == c.ILL)
        elif last:
            self.fits.solve_carried(p, d)
        else:
            self.fits.solve_normal(p, d)
        if m > 0:
            self.whiten(m, a)

    def collect(self, m: int, a: int) -> None:
        """Gather the right-hand side Σ_k X[a, k] β_k + Σ_fixed ψ y in ``fits.work``."""
        p, d = self.problem[m, a], self.observed.dimension[m, a]
        for k in range(d):
            self.fits.work[p, k] = self.moment[p, k]
        for label in range(self.observed.arm_count[m + 1]):
            q = self.problem[m + 1, label]
            for j in range(self.observed.dimension[m + 1, label]):
                weight = self.fits.beta[q, j]
                for k in range(d):
                    self.fits.work[p, k] += self.cross[p, label, j, k] * weight

    def refit(self, m: int, a: int) -> None:
        """Factor an ill-conditioned arm's rows anew, targets carried: slow, but as exact as QR."""
        p, d = self.problem[m, a], self.observed.dimension[m, a]
        self.fits.clear(p, d)
        for unit in range(self.observed.units):
            if self.observed.arms[unit, m] == a and self.counted[unit, m]:
                for j in range(d):
                    self.fits.work[p, j] = self.observed.features[unit, m, j]
                self.fits.rotate_in(p, d, self.target_of(unit, m))
        self.fits.examine_rank(p, d, True)

    def target_of(self, unit: int, m: int) -> float:
        """Return the target of a counted row: the outcome, or the best next Q-hat."""
        if self.observed.last[unit] == m:
            known: float = self.observed.outcome[unit]
            return known
        for j in range(self.observed.widest[m + 1]):
            self.psi[j] = self.observed.features[unit, m + 1, j]
        label, _, _ = self.label_of(m + 1, self.observed.nodes[unit, m + 1])
        p, total = self.problem[m + 1, label], 0.0
        for j in range(self.observed.dimension[m + 1, label]):
            total += self.fits.beta[p, j] * self.psi[j]
        return total

    def q_hat(self, m: int, a: int) -> float:
        """Return Q̂_m(h, a) = β̂_{a,m}ᵀ ψ_m(h) for the features at hand; NaN if the arm has no estimate."""
        if self.rows[m, a] == 0:
            return c.NAN
        p, total = self.problem[m, a], 0.0
        for j in range(self.observed.dimension[m, a]):
            total += self.fits.beta[p, j] * self.observed.psi[j]
        return total

    # -- for people ------------------------------------------------------------------------------------------

    def estimates(self, design: Design) -> Estimates:
        """Return the coefficients of Q̂ and the factors of the rows behind them."""
        factors, most = np.asarray(self.fits.factor), self.observed.width
        shapes = enumerate(zip(design.arm_counts, design.dimensions, strict=True))
        known = tuple(tuple(factors[m * most + a, :d, :d].copy() for a in range(arms)) for m, (arms, d) in shapes)
        return Estimates(self._coefficients(design), hat_factors=known)

    def _coefficients(self, design: Design) -> Coefficients:
        beta, rows = np.asarray(self.fits.beta), np.asarray(self.rows)
        most = self.observed.width
        return tuple(
            np.where(rows[m, :arms, None] > 0, beta[m * most : m * most + arms, :d], np.nan)
            for m, (arms, d) in enumerate(zip(design.arm_counts, design.dimensions, strict=True))
        )
