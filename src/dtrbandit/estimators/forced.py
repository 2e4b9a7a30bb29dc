"""Backward induction over few units, from scratch: for estimates that see only some of the rows."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dtrbandit.estimators.observed import Observed
from dtrbandit.estimators.soundness import forced_fault
from dtrbandit.kernels import constants as c
from dtrbandit.kernels.arrays import Named, grow, named, restore
from dtrbandit.kernels.triangular import LeastSquares

BUILT_FROM = c.BUILT_FROM
NAMES = ("count", "units", "scheduled", "beta")


class ForcedLearner:
    """Q̃, from the rows of some units whose arm is the one that was scheduled for them.

    Attributes
    ----------
    count, units
        The units, in order: the first ``count`` of (capacity,).
    scheduled
        (capacity, M): the arm scheduled in a forced round, −1 where none was.
    beta
        (M, K, D): the coefficients, NaN where there are none.
    """

    def __init__(self, observed: Observed) -> None:
        self.observed = observed
        self.fit = LeastSquares(1, observed.most)
        self.count = 0
        self.units = np.zeros(0, dtype=np.int32)
        self.scheduled = np.zeros((0, observed.stages), dtype=np.int8)
        self.beta = np.full((observed.stages, observed.width, observed.most), c.NAN)

    def reserve(self, capacity: int) -> None:
        """Make room for ``capacity`` units."""
        grow(self, {"units": 0, "scheduled": -1}, capacity)

    def arrays(self) -> Named:
        """Return what is known, by name."""
        return named(self, NAMES)

    def load(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Know what arrays say."""
        restore(self, NAMES, arrays)

    def fault(self) -> str:
        """Say what kernels could not rely on in arrays that were loaded; nothing if all is in order."""
        return forced_fault(self)

    def schedule(self, unit: int, m: int, arm: int) -> None:
        """Remember an arm that was scheduled, and the unit at its first stage."""
        if m == 0:
            self.units[self.count] = unit
            self.count += 1
        self.scheduled[unit, m] = arm

    def refit(self, first: int, last: int) -> None:
        """Refit stages ``last`` down to ``first``."""
        for m in range(last, first - 1, -1):
            for a in range(self.observed.arm_count[m]):
                self.solve(m, a, self.gather(m, a))

    def gather(self, m: int, a: int) -> int:
        """Rotate the rows of arm ``a`` of stage ``m`` into an empty factor; return how many there are."""
        d, rows = self.observed.dimension[m, a], 0
        self.fit.clear(0, d)
        for j in range(d):
            self.fit.length[0, j] = 0.0
        for i in range(self.count):
            unit = self.units[i]
            if self.scheduled[unit, m] == a and self.observed.arms[unit, m] == a:
                target = self.known_target(unit, m)
                if not math.isnan(target):
                    rows += 1
                    for j in range(d):
                        value = self.observed.features[unit, m, j]
                        self.fit.work[0, j] = value
                        self.fit.length[0, j] += value * value
                    self.fit.rotate_in(0, d, target)
        return rows

    def known_target(self, unit: int, m: int) -> float:
        """Return the outcome or the pseudo-outcome of a row, NaN while it is not known."""
        if self.observed.last[unit] == m:
            known: float = self.observed.outcome[unit]
            return known
        target = c.NAN
        if m + 1 < self.observed.stages and self.observed.nodes[unit, m + 1] >= 0:
            node = self.observed.nodes[unit, m + 1]
            for k in range(self.observed.arm_count[m + 1]):
                if self.observed.child[node, k] >= 0:
                    value = 0.0
                    for j in range(self.observed.dimension[m + 1, k]):
                        value += self.beta[m + 1, k, j] * self.observed.features[unit, m + 1, j]
                    if math.isnan(target) or value > target:
                        target = value
        return target

    def solve(self, m: int, a: int, rows: int) -> None:
        """Set the coefficients: least squares, minimum norm if the rows lack rank, NaN without rows."""
        d = self.observed.dimension[m, a]
        if rows > 0:
            _, rank = self.fit.examine_rank(0, d, True)
            if rank == d:
                self.fit.solve_carried(0, d)
            else:
                self.fit.apply_operator(0, d, True)
        for j in range(d):
            self.beta[m, a, j] = self.fit.beta[0, j] if rows > 0 else c.NAN
