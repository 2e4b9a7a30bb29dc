"""Bounds for fitted probabilities: none comes close to 0 or 1, and those of all options still sum to 1."""

from __future__ import annotations

import numpy as np

from dtrbandit.design.values import as_float, shown
from dtrbandit.errors import DesignError
from dtrbandit.kernels.arrays import Matrix

Bounds = tuple[float, float]


def as_bounds(clip: object) -> Bounds:
    """Return the two numbers, 0 < low < high < 1, or refuse what is none."""
    if isinstance(clip, tuple | list) and len(clip) == 2:
        low, high = (as_float(bound) for bound in clip)
        if 0 < low < high < 1:
            return low, high
    raise DesignError(f"clip must be two numbers, 0 < low < high < 1, or None; found {shown(clip)}")


def least(clip: Bounds, options: int, *, where: str) -> float:
    """Return λ, the least that each of K ``options`` may have, so that none is above ``high`` either.

    If K − 1 of them have λ, the last has 1 − (K − 1)λ. So λ is the larger of ``low`` and (1 − high) / (K − 1).
    """
    low, high = clip
    if not low < 1 / options < high:
        raise DesignError(
            f"{where}: probabilities of {options} options between clip={clip} cannot differ and sum to 1; low must be "
            f"below 1/{options}, and high above it"
        )
    return max(low, (1 - high) / (options - 1))


def bounded(probabilities: Matrix, least: float) -> Matrix:
    """Return probabilities of at least λ that sum to 1 in each row, (r, K).

    Of two options, one that has less is raised to λ, and the other falls to 1 − λ. With more options the others could
    not all keep theirs, so p → λ + (1 − Kλ)p.

    Examples
    --------
    >>> bounded(np.array([[0.02, 0.98], [0.4, 0.6]]), 0.1).tolist()
    [[0.1, 0.9], [0.4, 0.6]]
    >>> bounded(np.array([[0.0, 0.2, 0.8]]), 0.1).round(3).tolist()
    [[0.1, 0.24, 0.66]]
    """
    options = probabilities.shape[1]
    if options == 2:
        return np.clip(probabilities, least, 1 - least)
    mixed: Matrix = least + (1 - options * least) * probabilities
    return mixed
