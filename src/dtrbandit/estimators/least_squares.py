"""Ordinary least squares that is defined for every number of rows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dtrbandit.design.formula import Matrix, Vector

TOLERANCE = 1e-10  # of the largest singular value of the scaled rows


class Fit(NamedTuple):
    """Coefficients (d,), the rank of the rows, and for each column whether the rows determine it."""

    coefficients: Vector
    rank: int
    determined: tuple[bool, ...]


def least_squares(rows: Matrix, targets: Vector) -> Fit:
    """Return the minimum-norm least-squares fit of ``targets`` (n,) on ``rows`` (n, d).

    The rank is judged on the singular values of the rows with columns scaled to unit length; the norm is
    that of the coefficients in original units (docs/readings.md, 7).

    Examples
    --------
    >>> least_squares(np.array([[1.0, 2.0]]), np.array([10.0])).coefficients
    array([2., 4.])
    """
    scale = np.sqrt(np.einsum("ij,ij->j", rows, rows))
    scale[scale == 0] = 1.0
    left, singular, right = np.linalg.svd(rows / scale, full_matrices=False)
    rank = int(np.sum(singular > TOLERANCE * singular[0])) if singular.size and singular[0] > 0 else 0
    left, singular, right = left[:, :rank], singular[:rank], right[:rank]
    # X_r = U_r S_r (V_rᵀ D): its pseudo-inverse, through the QR factors of D V_r.
    orthogonal, triangular = np.linalg.qr((right * scale).T)
    coefficients = orthogonal @ np.linalg.solve(triangular.T, (left.T @ targets) / singular)
    null = 1.0 - np.einsum("ij,ij->j", right, right)
    return Fit(coefficients, rank, tuple((null < np.sqrt(TOLERANCE)).tolist()))
