"""Which rounds of a path to look at, and sums up to them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dtrbandit.design.values import shown
from dtrbandit.errors import DesignError
from dtrbandit.kernels.arrays import Array

POINTS = 200
Times = Literal["all"] | Sequence[int] | NDArray[np.int64] | None


def times(horizon: int, at: Times) -> NDArray[np.int64]:
    """Return the rounds to look at: given ones, all, or by default some 200 evenly spaced in log t."""
    if at is None:
        spaced = np.geomspace(1, horizon, POINTS).round().astype(np.int64)
        return np.unique(np.append(spaced, horizon))
    if isinstance(at, str):
        if at != "all":
            raise DesignError(f"at must be rounds, 'all' or None, found {at!r}")
        return np.arange(1, horizon + 1)
    rounds = np.asarray(at)
    if rounds.ndim != 1 or not rounds.size or rounds.dtype.kind not in "iu":
        raise DesignError(f"at must be a list of whole numbers, 'all' or None, found {shown(at)}")
    if not ((rounds >= 1) & (rounds <= horizon)).all():
        raise DesignError(f"at must be rounds from 1 to the horizon, {horizon}, found {shown(at)}")
    return rounds.astype(np.int64)


def cumulative(values: Array, rounds: NDArray[np.int64]) -> Array:
    """Return sums over the second axis up to each of ``rounds``; path by path, which saves memory."""
    sums = np.empty((len(values), len(rounds), *values.shape[2:]))
    for path, own in enumerate(values):
        sums[path] = np.cumsum(own, axis=0)[rounds - 1]
    return sums
