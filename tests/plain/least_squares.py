"""Ordinary least squares that is defined for every number of rows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dtrbandit.kernels.arrays import Matrix, Vector

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
    n, d = rows.shape
    scale = np.sqrt(np.einsum("ij,ij->j", rows, rows))
    scale[scale == 0] = 1.0
    padded = np.vstack([rows / scale, np.zeros((max(d - n, 0), d))])  # so that V is complete
    left, singular, right = np.linalg.svd(padded, full_matrices=False)
    rank = int(np.sum(singular > TOLERANCE * singular[0]))
    shortest = right[:rank].T @ ((left[:n, :rank].T @ targets) / singular[:rank]) / scale
    null = right[rank:].T / scale[:, None]  # adding any combination of these changes no fitted value
    if rank < d:
        shortest -= null @ np.linalg.lstsq(null, shortest, rcond=None)[0]
    determined = np.abs(right[rank:]).max(axis=0, initial=0.0) < np.sqrt(TOLERANCE)
    return Fit(shortest, rank, tuple(determined.tolist()))
