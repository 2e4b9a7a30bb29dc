"""The learned rule of a stage in words, such as ``ssri if 0.3000·start - 1.200·slope >= 4.000; otherwise other``."""

from __future__ import annotations

import numpy as np

from dtrbandit.kernels.arrays import Vector
from dtrbandit.words import short_number

INTERCEPT = "1"
TINY = 1e-4
ROUNDING = 1e-12  # of two coefficients, their difference is none


def rule_in_words(arms: tuple[str, ...], terms: tuple[str, ...], coefficients: np.ndarray) -> str:
    """Return which arm the largest Q̂ is, as a comparison of the terms.

    With two arms it is one comparison. With more, an arm's score is what its Q̂ has beyond that of the first arm.

    Examples
    --------
    >>> rule_in_words(("ssri", "other"), ("1", "start"), np.array([[1.0, 0.3], [5.0, 0.0]]))
    'ssri if 0.3000·start >= 4.000; otherwise other'
    >>> print(rule_in_words(("a", "b", "c"), ("1", "x"), np.array([[1.0, 2.0], [0.0, 3.0], [2.0, 2.0]])))
    the arm with the largest score: a: 0; b: -1.000 + 1.000·x; c: 1.000
    """
    if len(arms) == 1:
        return f"{arms[0]} always"
    if len(arms) > 2:
        scores = [
            f"{arm}: {_sum(terms, _less(own, coefficients[0]))}" for arm, own in zip(arms, coefficients, strict=True)
        ]
        return f"the arm with the largest score: {'; '.join(scores)}"
    lead = _less(coefficients[0], coefficients[1])
    threshold = -sum(c for term, c in zip(terms, lead, strict=True) if term == INTERCEPT)
    rest = np.array([0.0 if term == INTERCEPT else c for term, c in zip(terms, lead, strict=True)])
    if not rest.any():
        return f"{arms[0] if threshold <= 0 else arms[1]} always"
    return f"{arms[0]} if {_sum(terms, rest)} >= {_number(float(threshold))}; otherwise {arms[1]}"


def _less(own: Vector, other: Vector) -> Vector:
    """Return the difference of two arms' coefficients, 0 where it is rounding."""
    difference = own - other
    return np.where(np.abs(difference) <= ROUNDING * (np.abs(own) + np.abs(other)), 0.0, difference)


def _number(value: float) -> str:
    """Return a number in words; a small coefficient belongs to a column of large numbers, and is not 0."""
    return f"{value:.3e}" if 0 < abs(value) < TINY else short_number(value)


def _sum(terms: tuple[str, ...], coefficients: Vector) -> str:
    """Return a sum of terms in words, 0 if there is none."""
    words = ""
    for term, coefficient in zip(terms, coefficients.tolist(), strict=True):
        if coefficient:
            size = _number(abs(coefficient)) + ("" if term == INTERCEPT else f"·{term}")
            sign = ("-" if coefficient < 0 else "") if not words else (" - " if coefficient < 0 else " + ")
            words += f"{sign}{size}"
    return words or "0"
