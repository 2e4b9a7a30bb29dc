"""Least squares on triangular factors of the rows: a number of problems, one for each arm of each stage.

Rank is judged on R with its columns scaled to unit length, whose singular values are
those of the scaled rows; never on a Gram matrix. Computing them takes a Jacobi sweep,
but rows only ever arrive, and then

    σ_min(X D⁻¹)  ≥  σ_min(X_then D_then⁻¹) · min_j D_then,j / D_j

so one computation vouches for the rank until the columns have grown a great deal: an
O(d) test after each row, and a handful of decompositions in the life of an arm.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dtrbandit.kernels import constants as c
from dtrbandit.kernels.arrays import Named, named, restore

BUILT_FROM = c.BUILT_FROM
NAMES = ("beta", "carried", "length", "proof", "factor", "operator")


def rotation(upper: float, lower: float) -> tuple[float, float, float]:
    """Return cosine, sine and length of the rotation that sends (upper, lower) to (length, 0)."""
    if abs(lower) > abs(upper):
        ratio = upper / lower
        root = math.sqrt(1.0 + ratio * ratio)
        sine = math.copysign(1.0 / root, lower)
        return sine * ratio, sine, abs(lower) * root
    ratio = lower / upper
    root = math.sqrt(1.0 + ratio * ratio)
    cosine = math.copysign(1.0 / root, upper)
    return cosine, cosine * ratio, abs(upper) * root


class LeastSquares:
    """So many problems with up to ``most`` coefficients each; arrays begin with the number p of a problem.

    Attributes
    ----------
    beta
        The coefficients.
    factor, carried
        R of the rows, and Qᵀy, carried through the rotations that made it.
    operator
        What leads from ``carried``, or from Xᵀy, to the shortest coefficients while the rows lack rank.
    length
        The squared length of each column of the rows.
    proof
        Length times smallest singular value, when the rank was last computed; 0 where it was not full.
    work
        The row being rotated in; a right-hand side being solved.
    """

    def __init__(self, problems: int, most: int) -> None:
        self.beta = np.zeros((problems, most))
        self.carried = np.zeros((problems, most))
        self.length = np.zeros((problems, most))
        self.proof = np.zeros((problems, most))
        self.factor = np.zeros((problems, most, most))
        self.operator = np.zeros((problems, most, most))
        self.work = np.zeros((problems, most))
        # of a decomposition: (U S)ᵀ, Vᵀ, a triangle, singular values and column lengths
        self.turned = np.zeros((most, most))
        self.basis = np.zeros((most, most))
        self.triangle = np.zeros((most, most))
        self.singular = np.zeros(most)
        self.lengths = np.zeros(most)

    def arrays(self) -> Named:
        """Return what is known, by name."""
        return named(self, NAMES)

    def load(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Know what arrays say."""
        restore(self, NAMES, arrays)

    # -- rows ------------------------------------------------------------------------------------------------

    def clear(self, p: int, d: int) -> None:
        """Forget the factor and what was carried."""
        for j in range(d):
            self.carried[p, j] = 0.0
            for k in range(d):
                self.factor[p, j, k] = 0.0

    def forget(self) -> None:
        """Forget all problems."""
        self.beta[:, :], self.carried[:, :], self.length[:, :], self.proof[:, :] = 0.0, 0.0, 0.0, 0.0
        self.factor[:, :, :], self.operator[:, :, :] = 0.0, 0.0

    def rotate_in(self, p: int, d: int, value: float) -> None:
        """Rotate the row in ``work`` into the factor, and its target into ``carried``."""
        for j in range(d):
            if self.work[p, j] == 0.0:
                continue
            cosine, sine, length = rotation(self.factor[p, j, j], self.work[p, j])
            self.factor[p, j, j] = length
            for k in range(j + 1, d):
                upper = self.factor[p, j, k]
                lower = self.work[p, k]
                self.factor[p, j, k] = cosine * upper + sine * lower
                self.work[p, k] = cosine * lower - sine * upper
            carried = self.carried[p, j]
            self.carried[p, j] = cosine * carried + sine * value
            value = cosine * value - sine * carried

    def proven(self, p: int, d: int, tolerance: float) -> bool:
        """Tell whether the last computation still shows σ_min / σ_max above ``tolerance``."""
        smallest = c.INFINITY
        for j in range(d):
            if self.proof[p, j] == 0.0:
                return False
            smallest = min(smallest, self.proof[p, j] / math.sqrt(self.length[p, j]))
        # σ_max is at most √d: the columns have length 1.
        return smallest > tolerance * math.sqrt(d)

    # -- coefficients ----------------------------------------------------------------------------------------

    def solve_carried(self, p: int, d: int) -> None:
        """Set the coefficients to R⁻¹ times ``carried``."""
        for j in range(d - 1, -1, -1):
            total = self.carried[p, j]
            for k in range(j + 1, d):
                total -= self.factor[p, j, k] * self.beta[p, k]
            self.beta[p, j] = total / self.factor[p, j, j]

    def solve_normal(self, p: int, d: int) -> None:
        """Set the coefficients to (RᵀR)⁻¹ times ``work``, which becomes R⁻ᵀ times itself."""
        for j in range(d):
            value = self.work[p, j] / self.factor[p, j, j]
            self.work[p, j] = value
            for k in range(j + 1, d):
                self.work[p, k] -= self.factor[p, j, k] * value
        for j in range(d - 1, -1, -1):
            total = self.work[p, j]
            for k in range(j + 1, d):
                total -= self.factor[p, j, k] * self.beta[p, k]
            self.beta[p, j] = total / self.factor[p, j, j]

    def apply_operator(self, p: int, d: int, carried: bool) -> None:
        """Set the coefficients to the operator times ``carried``, or ``work``."""
        for j in range(d):
            total = 0.0
            for k in range(d):
                total += self.operator[p, j, k] * (self.carried[p, k] if carried else self.work[p, k])
            self.beta[p, j] = total

    # -- rank ------------------------------------------------------------------------------------------------

    def examine_rank(self, p: int, d: int, carried: bool) -> tuple[float, int]:
        """Compute the rank; return smallest kept over largest singular value, and the rank.

        Leaves the proof of full rank, or else the minimum-norm operator: on ``carried`` if that is asked, on Xᵀy
        otherwise.
        """
        self.decompose(p, d)
        largest, smallest, rank = 0.0, c.INFINITY, 0
        for j in range(d):
            largest = max(largest, self.singular[j])
        for j in range(d):
            if self.singular[j] > c.RANK_TOLERANCE * largest:
                smallest = min(smallest, self.singular[j])
                if rank != j:
                    self.keep(d, rank, j)
                rank += 1
        for j in range(d):
            self.proof[p, j] = smallest * self.lengths[j] if rank == d else 0.0
        if rank == 0:
            smallest, largest = 1.0, 1.0  # only zero rows: the coefficients are zero
        if rank < d or carried:
            self.project(d, rank, carried)
            self.write_operator(p, d, rank)
        return smallest / largest, rank

    def decompose(self, p: int, d: int) -> None:
        """Find (U S)ᵀ, Vᵀ, the singular values and the column lengths of the scaled factor."""
        for j in range(d):
            self.lengths[j] = math.sqrt(self.length[p, j]) if self.length[p, j] > 0.0 else 1.0
            for k in range(d):
                self.basis[j, k] = 1.0 if j == k else 0.0
                self.turned[j, k] = self.factor[p, k, j] / self.lengths[j] if k <= j else 0.0
                self.triangle[j, k] = 0.0
        self.jacobi(d)
        for j in range(d):
            total = 0.0
            for k in range(d):
                total += self.turned[j, k] * self.turned[j, k]
            self.singular[j] = math.sqrt(total)

    def jacobi(self, d: int) -> None:
        """Turn the rows of ``turned`` orthogonal, accumulating the rotations in ``basis``.

        One-sided Jacobi in a fixed order: given Aᵀ it leaves (A V)ᵀ = (U S)ᵀ and Vᵀ.
        """
        for _ in range(c.SWEEPS):
            settled = True
            for i in range(d - 1):
                for j in range(i + 1, d):
                    if self.orthogonalise(d, i, j):
                        settled = False
            if settled:
                return

    def orthogonalise(self, d: int, p: int, q: int) -> bool:
        """Rotate rows p and q against each other; tell whether they needed it."""
        length_p, length_q, product = 0.0, 0.0, 0.0
        for j in range(d):
            length_p += self.turned[p, j] * self.turned[p, j]
            length_q += self.turned[q, j] * self.turned[q, j]
            product += self.turned[p, j] * self.turned[q, j]
        if abs(product) <= 1e-15 * math.sqrt(length_p) * math.sqrt(length_q):
            return False
        zeta = (length_q - length_p) / (2.0 * product)
        tangent = math.copysign(1.0, zeta) / (abs(zeta) + math.sqrt(1.0 + zeta * zeta))
        cosine = 1.0 / math.sqrt(1.0 + tangent * tangent)
        sine = cosine * tangent
        for j in range(d):
            first, second = self.turned[p, j], self.turned[q, j]
            self.turned[p, j] = cosine * first - sine * second
            self.turned[q, j] = sine * first + cosine * second
            first, second = self.basis[p, j], self.basis[q, j]
            self.basis[p, j] = cosine * first - sine * second
            self.basis[q, j] = sine * first + cosine * second
        return True

    def keep(self, d: int, rank: int, j: int) -> None:
        """Move direction ``j`` up to place ``rank``."""
        self.singular[rank] = self.singular[j]
        for k in range(d):
            self.turned[rank, k] = self.turned[j, k]
            self.basis[rank, k] = self.basis[j, k]

    def project(self, d: int, rank: int, carried: bool) -> None:
        """Replace (U S)ᵀ by what maps the right-hand side to coordinates along V.

        That is S⁻¹ Uᵀ on Qᵀy, and S⁻² Vᵀ D⁻¹ on Xᵀy.
        """
        for i in range(rank):
            for j in range(d):
                numerator = self.turned[i, j] if carried else self.basis[i, j] / self.lengths[j]
                self.turned[i, j] = numerator / self.singular[i] / self.singular[i]

    def write_operator(self, p: int, d: int, rank: int) -> None:
        """Write the operator Q T⁻ᵀ · coordinates, where Q T is the QR of D V.

        Any b with Vᵀ D b = c fits as well; b = Q T⁻ᵀ c is the shortest.
        """
        for i in range(rank):
            for j in range(d):
                self.basis[i, j] *= self.lengths[j]
            self.orthonormalise(d, i)
            # Row i of T⁻ᵀ · coordinates, by forward substitution.
            for j in range(d):
                for k in range(i):
                    self.turned[i, j] -= self.triangle[k, i] * self.turned[k, j]
                self.turned[i, j] /= self.triangle[i, i]
        for j in range(d):
            for k in range(d):
                total = 0.0
                for i in range(rank):
                    total += self.basis[i, j] * self.turned[i, k]
                self.operator[p, j, k] = total

    def orthonormalise(self, d: int, i: int) -> None:
        """Make row ``i`` of the basis orthonormal to those before it (Gram-Schmidt, twice)."""
        for _ in range(2):
            for k in range(i):
                product = 0.0
                for j in range(d):
                    product += self.basis[k, j] * self.basis[i, j]
                self.triangle[k, i] += product
                for j in range(d):
                    self.basis[i, j] -= product * self.basis[k, j]
        total = 0.0
        for j in range(d):
            total += self.basis[i, j] * self.basis[i, j]
        self.triangle[i, i] = math.sqrt(total)
        for j in range(d):
            self.basis[i, j] /= self.triangle[i, i]
