"""Least squares on the triangular factor of the rows: one page, one arm.

Rank is judged on R with its columns scaled to unit length, whose singular values are
those of the scaled rows; never on a Gram matrix. Computing them takes a Jacobi sweep,
but rows only ever arrive, and then

    σ_min(X D⁻¹)  ≥  σ_min(X_then D_then⁻¹) · min_j D_then,j / D_j

so one computation vouches for the rank until the columns have grown a great deal: an
O(d) test after each row, and a handful of decompositions in the life of an arm.
"""

from __future__ import annotations

import math

import numpy as np

from dtrbandit.kernels.arrays import Matrix, Truth, Vector, Whole
from dtrbandit.kernels.compile import kernel

# Rows of a page: everything kept for one arm of one stage.
BETA = 0  # the coefficients
WHITE = 1  # the coefficients in the whitened metric of link m - 1
MOMENT = 2  # stages before the last: Σ ψ y over the rows with fixed targets
CARRIED = 3  # Qᵀy, carried through the rotations that made the factor
LENGTH = 4  # squared length of each column of the rows
PROOF = 5  # length times smallest singular value, when the rank was last computed
WORK = 6  # the row being rotated in; a right-hand side being solved
GAP = 7  # two arms only: difference of the next stage's coefficients
FACTOR = 8

RANK_TOLERANCE = 1e-10  # of the largest singular value of the rows at unit column length
NORMAL_TOLERANCE = 1e-4  # beyond this, normal equations lose more than half the digits
SWEEPS = 40


@kernel
def rotation(upper: float, lower: float) -> tuple[float, float, float]:
    """Return cosine, sine and length of the rotation that sends (upper, lower) to (length, 0)."""
    if abs(lower) > abs(upper):
        ratio = upper / lower
        root = math.sqrt(1.0 + ratio * ratio)
        sine = math.copysign(1.0 / root, lower)
        cosine = sine * ratio
        length = abs(lower) * root
    else:
        ratio = lower / upper
        root = math.sqrt(1.0 + ratio * ratio)
        cosine = math.copysign(1.0 / root, upper)
        sine = cosine * ratio
        length = abs(upper) * root
    return cosine, sine, length


@kernel
def add_row(page: Matrix, d: Whole, row: Vector, target: float) -> None:
    """Add a row and its target to a page: to the lengths of the columns, and to the factor."""
    for j in range(d):
        page[WORK, j] = row[j]
        page[LENGTH, j] += row[j] * row[j]
    rotate_in(page, d, target)


@kernel
def rotate_in(page: Matrix, d: Whole, value: float) -> None:
    """Rotate the row in ``page[WORK]`` into the factor, and its target into ``CARRIED``."""
    for j in range(d):
        if page[WORK, j] == 0.0:
            continue
        cosine, sine, length = rotation(page[FACTOR + j, j], page[WORK, j])
        page[FACTOR + j, j] = length
        for k in range(j + 1, d):
            upper = page[FACTOR + j, k]
            lower = page[WORK, k]
            page[FACTOR + j, k] = cosine * upper + sine * lower
            page[WORK, k] = cosine * lower - sine * upper
        carried = page[CARRIED, j]
        page[CARRIED, j] = cosine * carried + sine * value
        value = cosine * value - sine * carried


@kernel
def proven(page: Matrix, d: Whole, tolerance: float) -> Truth:
    """Tell whether the last computation still shows σ_min / σ_max above ``tolerance``."""
    smallest = math.inf
    for j in range(d):
        if page[PROOF, j] == 0.0:
            return False
        smallest = min(smallest, page[PROOF, j] / math.sqrt(page[LENGTH, j]))
    # σ_max is at most √d: the columns have length 1.
    return smallest > tolerance * math.sqrt(d)


@kernel
def back_substitute(page: Matrix, d: Whole, source: Whole) -> None:
    """Set the coefficients to R⁻¹ times row ``source``."""
    for j in range(d - 1, -1, -1):
        total = page[source, j]
        for k in range(j + 1, d):
            total -= page[FACTOR + j, k] * page[BETA, k]
        page[BETA, j] = total / page[FACTOR + j, j]


@kernel
def solve_normal(page: Matrix, d: Whole) -> None:
    """Set the coefficients to (RᵀR)⁻¹ times ``WORK``, which becomes R⁻ᵀ times itself."""
    for j in range(d):
        value = page[WORK, j] / page[FACTOR + j, j]
        page[WORK, j] = value
        for k in range(j + 1, d):
            page[WORK, k] -= page[FACTOR + j, k] * value
    back_substitute(page, d, WORK)


@kernel
def apply_operator(page: Matrix, d: Whole, source: Whole) -> None:
    """Set the coefficients to the minimum-norm operator times row ``source``."""
    first = FACTOR + page.shape[1]
    for j in range(d):
        total = 0.0
        for k in range(d):
            total += page[first + j, k] * page[source, k]
        page[BETA, j] = total


@kernel
def jacobi(turned: Matrix, basis: Matrix) -> None:
    """Turn the rows of ``turned`` orthogonal, accumulating the rotations in ``basis``.

    One-sided Jacobi in a fixed order: given Aᵀ it leaves (A V)ᵀ = (U S)ᵀ and Vᵀ.
    """
    d = turned.shape[0]
    for _ in range(SWEEPS):
        settled = True
        for p in range(d - 1):
            for q in range(p + 1, d):
                if orthogonalise(turned, basis, p, q):
                    settled = False
        if settled:
            return


@kernel
def orthogonalise(turned: Matrix, basis: Matrix, p: Whole, q: Whole) -> bool:
    """Rotate rows p and q against each other; tell whether they needed it."""
    d = turned.shape[0]
    length_p, length_q, product = 0.0, 0.0, 0.0
    for j in range(d):
        length_p += turned[p, j] * turned[p, j]
        length_q += turned[q, j] * turned[q, j]
        product += turned[p, j] * turned[q, j]
    if abs(product) <= 1e-15 * math.sqrt(length_p) * math.sqrt(length_q):
        return False
    zeta = (length_q - length_p) / (2.0 * product)
    tangent = math.copysign(1.0, zeta) / (abs(zeta) + math.sqrt(1.0 + zeta * zeta))
    cosine = 1.0 / math.sqrt(1.0 + tangent * tangent)
    sine = cosine * tangent
    for matrix in (turned, basis):
        for j in range(d):
            first, second = matrix[p, j], matrix[q, j]
            matrix[p, j] = cosine * first - sine * second
            matrix[q, j] = sine * first + cosine * second
    return True


@kernel
def decompose(page: Matrix, d: Whole) -> tuple[Matrix, Matrix, Vector, Vector]:
    """Return (U S)ᵀ, Vᵀ, the singular values and the column lengths of the scaled factor."""
    turned, basis = np.zeros((d, d)), np.zeros((d, d))
    singular, lengths = np.zeros(d), np.ones(d)
    for j in range(d):
        basis[j, j] = 1.0
        if page[LENGTH, j] > 0.0:
            lengths[j] = math.sqrt(page[LENGTH, j])
        for k in range(j + 1):
            turned[j, k] = page[FACTOR + k, j] / lengths[j]
    jacobi(turned, basis)
    for j in range(d):
        total = 0.0
        for k in range(d):
            total += turned[j, k] * turned[j, k]
        singular[j] = math.sqrt(total)
    return turned, basis, singular, lengths


@kernel
def examine_rank(page: Matrix, d: Whole, carried: Truth) -> tuple[float, Whole]:
    """Compute the rank; return smallest kept over largest singular value, and the rank.

    Leaves in the page the proof of full rank, or else the minimum-norm operator: on
    ``CARRIED`` if ``carried``, on Xᵀy otherwise.
    """
    turned, basis, singular, lengths = decompose(page, d)
    largest, smallest, rank = 0.0, math.inf, np.int64(0)
    for j in range(d):
        largest = max(largest, singular[j])
    for j in range(d):
        if singular[j] > RANK_TOLERANCE * largest:
            smallest = min(smallest, singular[j])
            if rank != j:
                keep(turned, basis, singular, rank, j)
            rank += 1
    for j in range(d):
        page[PROOF, j] = smallest * lengths[j] if rank == d else 0.0
    if rank == 0:
        smallest, largest = 1.0, 1.0  # only zero rows: the coefficients are zero
    if rank < d or carried:
        project(turned, basis, singular, lengths, rank, carried)
        write_operator(page, turned, basis, lengths, rank)
    return smallest / largest, rank


@kernel
def keep(turned: Matrix, basis: Matrix, singular: Vector, rank: Whole, j: Whole) -> None:
    """Move direction ``j`` up to place ``rank``."""
    singular[rank] = singular[j]
    for k in range(singular.size):
        turned[rank, k] = turned[j, k]
        basis[rank, k] = basis[j, k]


@kernel
def project(turned: Matrix, basis: Matrix, singular: Vector, lengths: Vector, rank: Whole, carried: Truth) -> None:
    """Replace (U S)ᵀ by what maps the right-hand side to coordinates along V.

    That is S⁻¹ Uᵀ on Qᵀy, and S⁻² Vᵀ D⁻¹ on Xᵀy.
    """
    for i in range(rank):
        for j in range(lengths.size):
            numerator = turned[i, j] if carried else basis[i, j] / lengths[j]
            turned[i, j] = numerator / singular[i] / singular[i]


@kernel
def write_operator(page: Matrix, coordinates: Matrix, basis: Matrix, lengths: Vector, rank: Whole) -> None:
    """Write the operator Q T⁻ᵀ · coordinates, where Q T is the QR of D V.

    Any b with Vᵀ D b = c fits as well; b = Q T⁻ᵀ c is the shortest.
    """
    d = lengths.size
    triangle = np.zeros((d, d))
    for i in range(rank):
        for j in range(d):
            basis[i, j] *= lengths[j]
        orthonormalise(basis, triangle, i)
        # Row i of T⁻ᵀ · coordinates, by forward substitution.
        for j in range(d):
            for k in range(i):
                coordinates[i, j] -= triangle[k, i] * coordinates[k, j]
            coordinates[i, j] /= triangle[i, i]
    for j in range(d):
        for k in range(d):
            total = 0.0
            for i in range(rank):
                total += basis[i, j] * coordinates[i, k]
            page[FACTOR + page.shape[1] + j, k] = total


@kernel
def orthonormalise(vectors: Matrix, triangle: Matrix, i: Whole) -> None:
    """Make row ``i`` orthonormal to those before it (Gram-Schmidt, twice)."""
    d = vectors.shape[1]
    for _ in range(2):
        for k in range(i):
            product = 0.0
            for j in range(d):
                product += vectors[k, j] * vectors[i, j]
            triangle[k, i] += product
            for j in range(d):
                vectors[i, j] -= product * vectors[k, j]
    total = 0.0
    for j in range(d):
        total += vectors[i, j] * vectors[i, j]
    triangle[i, i] = math.sqrt(total)
    for j in range(d):
        vectors[i, j] /= triangle[i, i]
