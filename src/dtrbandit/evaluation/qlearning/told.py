"""Whether the best arm can be told from the others: for each of many histories, by the intervals that hold there."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dtrbandit.evaluation.qlearning.uncertainty import Uncertainty
from dtrbandit.kernels.arrays import Mask, Matrix

AT_A_TIME = 2_000  # comparisons, for memory


class Told(NamedTuple):
    """The best arm of each history, and whether it can be told from the others, (n,) each.

    Attributes
    ----------
    best
        The feasible arm with the largest Q̂, −1 where none is feasible.
    sure
        Whether the 95 % intervals of its lead over every other feasible arm, each alone, lie above 0.
    valid
        Whether all these intervals exist.
    """

    best: NDArray[np.int64]
    sure: Mask
    valid: Mask


def told_apart(known: Uncertainty, m: int, features: Matrix, feasible: Mask) -> Told:
    """Compare the best arm at stage ``m`` with every other one, for features (n, d) and feasible arms (n, K)."""
    q = np.where(feasible, features @ known.stages[m].coefficients.T, -np.inf)
    best = np.where(feasible.any(axis=1), q.argmax(axis=1), -1)
    sure, valid = np.ones(len(q), dtype=np.bool_), np.ones(len(q), dtype=np.bool_)
    for other in range(q.shape[1]):
        asked = np.flatnonzero(feasible[:, other] & (best != other))
        for rows in np.array_split(asked, len(asked) // AT_A_TIME + 1):
            low = known.intervals(m, leads(features[rows], best[rows], other, arms=q.shape[1])).low
            sure[rows] &= low > 0
            valid[rows] &= np.isfinite(low)
    return Told(best, sure & valid, valid)


def leads(features: Matrix, best: NDArray[np.int64], other: int, *, arms: int) -> NDArray[np.float64]:
    """Return as combinations of coefficients, (n, K, d), by how much Q̂ of ``best`` is above that of ``other``."""
    each = np.zeros((len(features), arms, features.shape[1]))
    each[np.arange(len(features)), best] += features
    each[:, other] -= features
    return each
