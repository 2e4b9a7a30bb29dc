"""The rank of rows, judged on their singular values with every column scaled to unit length (docs/readings.md, 7)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dtrbandit.kernels.arrays import Array
from dtrbandit.kernels.constants import RANK_TOLERANCE


class ScaledRows(NamedTuple):
    """The singular value decomposition of rows (n, d) whose columns were scaled to unit length.

    Attributes
    ----------
    scale
        (d,), the length of each column, 1 where it is 0: rows = left · diag(singular) · right · diag(scale).
    left, singular, right
        ``right`` is (d, d): its rows from ``rank`` on span the directions that the rows say nothing about.
    rank
        How many singular values are above 1e-10 of the largest.
    """

    scale: Array
    left: Array
    singular: Array
    right: Array
    rank: int

    @property
    def determined(self) -> tuple[bool, ...]:
        """For each column, whether the rows determine its coefficient."""
        unknown = np.abs(self.right[self.rank :]).max(axis=0, initial=0.0)
        return tuple((unknown < np.sqrt(RANK_TOLERANCE)).tolist())


def scaled_rows(rows: Array) -> ScaledRows:
    """Decompose rows (n, d), of which there may be none.

    Examples
    --------
    >>> fit = scaled_rows(np.array([[1.0, 1e9, 0.0], [1.0, 2e9, 0.0]]))
    >>> fit.rank, fit.determined
    (2, (True, True, False))
    """
    n, d = rows.shape
    scale = np.sqrt(np.einsum("ij,ij->j", rows, rows))
    scale[scale == 0] = 1.0
    left, singular, right = np.linalg.svd(rows / scale, full_matrices=n < d)
    rank = int(np.sum(singular > RANK_TOLERANCE * singular.max(initial=0.0)))
    return ScaledRows(scale, left, singular, right, rank)


def unit_determinant(gram: Array) -> Array:
    """Return the determinant of Gram matrices (B, d, d) with a diagonal of ones; NaN where a column is zero.

    Examples
    --------
    >>> unit_determinant(np.array([[[4.0, 0.0], [0.0, 9.0]], [[4.0, 6.0], [6.0, 9.0]]]))
    array([1., 0.])
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        scale = np.sqrt(np.einsum("bii->bi", gram))
        determinant: Array = np.linalg.det(gram / (scale[:, :, None] * scale[:, None, :]))
    return determinant
