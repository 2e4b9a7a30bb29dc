"""Resamples with replacement, for every bootstrap of the package.

A resample is drawn either as the numbers of its rows, or as how often it has each row. Statistics that are sums over
rows need the counts alone: many resamples are then one product of matrices.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dtrbandit.kernels.arrays import Array


def resampled_rows(rng: np.random.Generator, n: int) -> NDArray[np.int64]:
    """Return the rows of a resample of n rows, (n,)."""
    return rng.integers(n, size=n)


def resampled_counts(rng: np.random.Generator, n: int, *, resamples: int, size: int | None = None) -> Array:
    """Return how often each resample has each of n rows, (resamples, n); each draws ``size`` rows, by default n.

    Examples
    --------
    >>> resampled_counts(np.random.default_rng(0), 4, resamples=2, size=3).sum(axis=1)
    array([3., 3.])
    """
    rows = rng.integers(n, size=(resamples, n if size is None else size))
    cells = rows + n * np.arange(resamples)[:, None]
    return np.bincount(cells.ravel(), minlength=resamples * n).reshape(resamples, n).astype(np.float64)
