"""Ridge regression of each arm, by a triangular factor that rows are rotated into.

It is Λ = λI + Σ φφᵀ and w = Λ⁻¹ Σ φ·target (Jin et al. 2019, Algorithm 1, lines 4 and 5), with Λ = RᵀR. What is in use
may be older than the newest factor: whoever refits says when.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dtrbandit.estimators.observed import Observed
from dtrbandit.kernels import constants as c
from dtrbandit.kernels.arrays import Named, named, restore
from dtrbandit.kernels.triangular import rotation

BUILT_FROM = c.BUILT_FROM
NAMES = ("factor", "reciprocal", "moment", "weights", "newest")


class RidgeRegression:
    """The factor and the weights of every arm of every stage.

    Attributes
    ----------
    penalty
        λ.
    factor, reciprocal
        (M, K, D, D): the triangular factor R of Λ in use; (M, K, D): 1 over each entry of its diagonal.
    moment, weights
        (M, K, D): Σ φ·target and w in use.
    newest
        (M, K, D, D): R of all rows so far.
    inverse
        (K, D, D): R⁻ᵀ of those arms of one stage that were inverted last.
    work
        (D,): a row that is rotated in, and used up.
    """

    def __init__(self, observed: Observed, penalty: float) -> None:
        arms, most = observed.width, observed.most
        coefficients = observed.stages, arms, most
        self.observed, self.penalty = observed, penalty
        self.factor, self.newest = np.zeros((*coefficients, most)), np.zeros((*coefficients, most))
        self.reciprocal, self.moment, self.weights = (np.zeros(coefficients) for _ in range(3))
        self.inverse, self.work = np.zeros((arms, most, most)), np.zeros(most)

    def arrays(self) -> Named:
        """Return what is known, by name."""
        return named(self, NAMES)

    def load(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Know what arrays say."""
        restore(self, NAMES, arrays)

    def start(self) -> None:
        """Start from Λ = λI, no rows; weights stay until they are solved for again."""
        self.newest[...] = 0.0
        for m in range(self.observed.stages):
            for a in range(self.observed.arm_count[m]):
                for j in range(self.observed.dimension[m, a]):
                    self.newest[m, a, j, j] = math.sqrt(self.penalty)
                self.publish(m, a)

    def rotate_in(self, m: int, a: int) -> None:
        """Add φφᵀ to Λ; ``work`` holds φ and is used up."""
        d = self.observed.dimension[m, a]
        for j in range(d):
            if self.work[j] != 0.0:
                cosine, sine, length = rotation(self.newest[m, a, j, j], self.work[j])
                self.newest[m, a, j, j] = length
                for k in range(j + 1, d):
                    upper = self.newest[m, a, j, k]
                    lower = self.work[k]
                    self.newest[m, a, j, k] = cosine * upper + sine * lower
                    self.work[k] = cosine * lower - sine * upper

    def publish(self, m: int, a: int) -> None:
        """Put the newest factor into use."""
        d = self.observed.dimension[m, a]
        for j in range(d):
            for k in range(d):
                self.factor[m, a, j, k] = self.newest[m, a, j, k]
            self.reciprocal[m, a, j] = 1.0 / self.newest[m, a, j, j]

    def solve(self, m: int, a: int) -> None:
        """Set w = Λ⁻¹ Σ φ·target by two triangular solves (line 5)."""
        d = self.observed.dimension[m, a]
        for j in range(d):
            value = self.moment[m, a, j]
            for k in range(j):
                value -= self.factor[m, a, k, j] * self.weights[m, a, k]
            self.weights[m, a, j] = value * self.reciprocal[m, a, j]
        for j in range(d - 1, -1, -1):
            value = self.weights[m, a, j]
            for k in range(j + 1, d):
                value -= self.factor[m, a, j, k] * self.weights[m, a, k]
            self.weights[m, a, j] = value * self.reciprocal[m, a, j]

    def invert(self, m: int, a: int) -> None:
        """Write R⁻ᵀ of an arm, lower triangular."""
        for j in range(self.observed.dimension[m, a]):
            for i in range(j + 1):
                total = 1.0 if i == j else 0.0
                for k in range(i, j):
                    total -= self.factor[m, a, k, j] * self.inverse[a, k, i]
                self.inverse[a, j, i] = total * self.reciprocal[m, a, j]

    def doubled(self) -> bool:
        """Say whether det Λ of a stage, over all its arms, is at least twice what is in use: no factor ever shrinks."""
        for m in range(self.observed.stages):
            gain = 1.0
            for a in range(self.observed.arm_count[m]):
                for j in range(self.observed.dimension[m, a]):
                    ratio = self.newest[m, a, j, j] / self.factor[m, a, j, j]
                    gain *= ratio * ratio
                    if gain >= c.TWICE:
                        return True
        return False
