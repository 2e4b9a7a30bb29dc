"""The whitened metric of a link, in which distances between coefficients are measured.

Lengths are such that |Δ·ψ| ≤ ‖CΔ‖ ‖C⁻ᵀψ‖, with CᵀC the pooled Gram matrix of the features ψ of the later stage.
"""

from __future__ import annotations

import math

from dtrbandit.estimators import by_columns
from dtrbandit.estimators.exact_layout import Beliefs
from dtrbandit.estimators.observed import Observed
from dtrbandit.kernels.arrays import Floats, Vector, Whole
from dtrbandit.kernels.compile import kernel
from dtrbandit.kernels.triangular import BETA, WHITE, WORK

RIDGE = 1e-6  # of each feature's own mean square: a direction may not have varied yet


@kernel
def measure(observed: Observed, beliefs: Beliefs, m: Whole) -> None:
    """Set the whitener of link ``m`` from the features of stage m + 1 seen so far."""
    d, gram = observed.shape[m + 1, 1], beliefs.whitener
    for j in range(d):
        for k in range(d):
            gram[m, j, k] = 0.0
    seen = add_products(observed, gram, m)
    for j in range(d):
        for k in range(j, d):
            gram[m, j, k] /= seen
        gram[m, j, j] *= 1.0 + RIDGE
        if gram[m, j, j] == 0.0:
            gram[m, j, j] = 1.0
    factorise(gram, m, d)


@kernel(meanwhile=by_columns.add_products)
def add_products(observed: Observed, gram: Floats, m: Whole) -> int:
    """Add products of features of stage m + 1 to the upper triangle of ``gram[m]``; return how many units have any."""
    features, d, seen = observed.features, observed.shape[m + 1, 1], 0
    for unit in range(observed.units[0]):
        if observed.nodes[unit, m + 1] >= 0:
            seen += 1
            for j in range(d):
                for k in range(j, d):
                    gram[m, j, k] += features[unit, m + 1, j] * features[unit, m + 1, k]
    return seen


@kernel
def factorise(gram: Floats, m: Whole, d: Whole) -> None:
    """Replace the upper triangle of ``gram[m]`` by its Cholesky factor."""
    for j in range(d):
        root = math.sqrt(gram[m, j, j])
        for k in range(j, d):
            gram[m, j, k] /= root
        for i in range(j + 1, d):
            for k in range(i, d):
                gram[m, i, k] -= gram[m, j, i] * gram[m, j, k]


@kernel
def whiten(pages: Floats, whitener: Floats, m: Whole, a: Whole, d: Whole) -> None:
    """Refresh the whitened coefficients of arm ``a`` of stage ``m``, at link m - 1."""
    for j in range(d):
        total = 0.0
        for k in range(j, d):
            total += whitener[m - 1, j, k] * pages[m, a, BETA, k]
        pages[m, a, WHITE, j] = total


@kernel
def whitened_length(pages: Floats, whitener: Floats, psi: Vector, m: Whole, d: Whole) -> float:
    """Return ‖C⁻ᵀψ‖ of features of stage m + 1."""
    length = 0.0
    for j in range(d):
        value = psi[j]
        for k in range(j):
            value -= whitener[m, k, j] * pages[m, 0, WORK, k]
        value /= whitener[m, j, j]
        pages[m, 0, WORK, j] = value
        length += value * value
    return math.sqrt(length)
