"""The best next arm of each unit: its label, by how much it leads, and the cross moments of the rows with a label.

The label of a row is the best arm of the next stage at its unit's features. Leads are measured in a whitened metric, so
that features on unlike scales count alike: |Δ·ψ| ≤ ‖CΔ‖ ‖C⁻ᵀψ‖, with CᵀC the pooled Gram matrix of ψ.

Notation, here, in ``levels.py`` and in ``exact.py``
----------------------------------------------------
==============  ===========================================================================
``m``           stage, from 0; *link* m joins stage m to stage m + 1
``a``, ``k``    an arm of stage m, an arm of stage m + 1 (the *label* of a row)
``p``           the number of an arm among those of all stages: that of its least squares
``d``           features of an arm; ``D``, ``K`` the most of any (arrays are padded)
row             the features of one unit at one stage; *fixed* if its target is the
                outcome, else its target is the best of the next stage's Q-hat
counted         a row that takes part in the fit; an arm with no counted row has no Q-hat
lead            best minus second best Q-hat of a unit at stage m + 1, over the length of
                its features in the whitened metric
level           units with about the same lead, checked together
==============  ===========================================================================
"""

from __future__ import annotations

import math

import numpy as np

from dtrbandit.estimators.observed import Observed
from dtrbandit.kernels import constants as c
from dtrbandit.kernels.triangular import LeastSquares

BUILT_FROM = c.BUILT_FROM


class Labels:
    """What labels are found from, and what is kept of the rows that have one.

    Attributes
    ----------
    fits, problem
        The least squares of all arms, and which of them is that of arm a of stage m, (M, K).
    rows
        (M, K): how many rows count.
    cross
        (P, K, D, D): the cross moments X[a, k]ᵀ = Σ ψ_{m+1} ψ_mᵀ of the rows with label k.
    whitener
        (M − 1, D, D): C, upper triangular, CᵀC the pooled Gram matrix.
    white
        (P, D): the coefficients in the whitened metric of link m − 1.
    flips
        How many labels have changed.
    psi
        (D,): the features at hand.
    """

    def __init__(self, observed: Observed) -> None:
        stages, links, arms, most = observed.stages, observed.stages - 1, observed.width, observed.most
        self.observed = observed
        self.problem = np.arange(stages * arms, dtype=np.int64).reshape(stages, arms)
        self.fits = LeastSquares(stages * arms, most)
        self.rows = np.zeros((stages, arms), dtype=np.int64)
        self.cross = np.zeros((stages * arms, arms, most, most))
        self.whitener = np.zeros((links, most, most))
        self.white = np.zeros((stages * arms, most))
        self.flips = 0
        self.psi, self.whitened = np.zeros(most), np.zeros(most)

    def forget_labels(self) -> None:
        """Forget all rows and labels, and the metric."""
        self.rows[:, :] = 0
        self.cross[:, :, :, :] = 0.0
        self.whitener[:, :, :] = 0.0
        self.white[:, :] = 0.0
        self.flips = 0

    # -- labels ----------------------------------------------------------------------------------------------

    def label_of(self, m: int, node: int) -> tuple[int, float, int]:
        """Return the best arm of stage m at the features ``psi``, its lead, and the contenders.

        Contenders are the arms feasible at ``node`` that have a Q-hat; ties go to the lowest.
        """
        label, contenders = -1, 0
        best, second = -c.INFINITY, -c.INFINITY
        for a in range(self.observed.arm_count[m]):
            if self.observed.child[node, a] >= 0 and self.rows[m, a] > 0:
                contenders += 1
                p, value = self.problem[m, a], 0.0
                for j in range(self.observed.dimension[m, a]):
                    value += self.fits.beta[p, j] * self.psi[j]
                if value > best:
                    label, best, second = a, value, best
                elif value > second:
                    second = value
        return label, best - second, contenders

    def add_cross(self, unit: int, m: int, label: int) -> None:
        """Add ψ_m ψ_{m+1}ᵀ of a unit, the latter at hand, to the cross moments of its arm and its label."""
        a = self.observed.arms[unit, m]
        p = self.problem[m, a]
        for j in range(self.observed.dimension[m + 1, label]):
            weight = self.psi[j]
            for k in range(self.observed.dimension[m, a]):
                self.cross[p, label, j, k] += weight * self.observed.features[unit, m, k]

    def flip(self, m: int, unit: int, old: int, label: int) -> None:
        """Move a unit's ψ_m ψ_{m+1}ᵀ from its old label to its new one."""
        a = self.observed.arms[unit, m]
        p = self.problem[m, a]
        for j in range(self.observed.dimension[m + 1, label]):
            weight = self.observed.features[unit, m + 1, j]
            for k in range(self.observed.dimension[m, a]):
                product = weight * self.observed.features[unit, m, k]
                self.cross[p, old, j, k] -= product
                self.cross[p, label, j, k] += product
        self.flips += 1

    def clear_cross(self, m: int) -> None:
        """Zero the cross moments of stage ``m``."""
        for a in range(self.observed.width):
            p = self.problem[m, a]
            for label in range(self.observed.width):
                for j in range(self.observed.most):
                    for k in range(self.observed.most):
                        self.cross[p, label, j, k] = 0.0

    # -- metric ----------------------------------------------------------------------------------------------

    def measure(self, m: int) -> None:
        """Set the whitener of link ``m`` from the features of stage m + 1 seen so far."""
        d, seen = self.observed.widest[m + 1], 0
        for j in range(d):
            for k in range(d):
                self.whitener[m, j, k] = 0.0
        for unit in range(self.observed.units):
            if self.observed.nodes[unit, m + 1] >= 0:
                seen += 1
                for j in range(d):
                    value = self.observed.features[unit, m + 1, j]
                    for k in range(j, d):
                        self.whitener[m, j, k] += value * self.observed.features[unit, m + 1, k]
        for j in range(d):
            for k in range(j, d):
                self.whitener[m, j, k] /= max(seen, 1)
            self.whitener[m, j, j] *= 1.0 + c.RIDGE
            if self.whitener[m, j, j] == 0.0:
                self.whitener[m, j, j] = 1.0
        self.factorise(m, d)

    def factorise(self, m: int, d: int) -> None:
        """Replace the upper triangle of the whitener by its Cholesky factor."""
        for j in range(d):
            root = math.sqrt(self.whitener[m, j, j])
            for k in range(j, d):
                self.whitener[m, j, k] /= root
            for i in range(j + 1, d):
                for k in range(i, d):
                    self.whitener[m, i, k] -= self.whitener[m, j, i] * self.whitener[m, j, k]

    def whiten(self, m: int, a: int) -> None:
        """Refresh the whitened coefficients of arm ``a`` of stage ``m``, at link m - 1."""
        p, d = self.problem[m, a], self.observed.dimension[m, a]
        for j in range(d):
            total = 0.0
            for k in range(j, d):
                total += self.whitener[m - 1, j, k] * self.fits.beta[p, k]
            self.white[p, j] = total

    def whitened_length(self, m: int) -> float:
        """Return ‖C⁻ᵀψ‖ of features of stage m + 1."""
        length = 0.0
        for j in range(self.observed.widest[m + 1]):
            value = self.psi[j]
            for k in range(j):
                value -= self.whitener[m, k, j] * self.whitened[k]
            value /= self.whitener[m, j, j]
            self.whitened[j] = value
            length += value * value
        return math.sqrt(length)
