"""Weights: how much they leave of a sample, and how much of them one unit carries."""

from __future__ import annotations

from dtrbandit.kernels.arrays import Vector


class ExtremeWeights(UserWarning):
    """One unit carries so much of the weight that means hang on it."""


def effective_sample_size(weights: Vector) -> float:
    """Return (Σw)² / Σw²: how many equal weights estimate a mean as well (Kish, 1965).

    Examples
    --------
    >>> import numpy as np
    >>> effective_sample_size(np.array([2.0, 2.0, 2.0])), effective_sample_size(np.array([1.0, 0.0]))
    (3.0, 1.0)
    """
    own = weights / weights.max()  # so that their squares neither overflow nor vanish
    return float(own.sum() ** 2 / (own**2).sum())


def largest_weight(weights: Vector) -> float:
    """Return max w / Σw: the share of the weight that one unit carries.

    Examples
    --------
    >>> import numpy as np
    >>> largest_weight(np.array([1.0, 1.0, 2.0]))
    0.5
    """
    return float(1 / (weights / weights.max()).sum())
