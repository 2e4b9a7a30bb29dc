"""Means over paths with standard errors and Student's t-intervals."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

LEVEL = 0.95


class Interval(NamedTuple):
    """Means over the first axis with standard errors and 95 % intervals, which are NaN for a single path."""

    mean: Array
    std_error: Array
    low: Array
    high: Array


def interval(values: Array) -> Interval:
    """Return the mean over paths, the first axis, and its 95 % t-interval.

    Examples
    --------
    >>> interval(np.array([1.0, 2.0, 3.0])).low.round(3)
    np.float64(-0.484)
    """
    paths = len(values)
    mean = values.mean(axis=0)
    std_error = values.std(axis=0, ddof=1) / math.sqrt(paths) if paths > 1 else np.full_like(mean, np.nan)
    reach = student_quantile(paths - 1) * std_error if paths > 1 else std_error
    return Interval(mean, std_error, mean - reach, mean + reach)


@lru_cache(maxsize=64)
def student_quantile(freedom: int, level: float = LEVEL) -> float:
    """Return t with P(|T| ≤ t) = ``level`` for a whole number of degrees of freedom, by bisection.

    The probability is a finite sum in the angle arctan(t / √ν) (Abramowitz & Stegun, 26.7.3 and 26.7.4).

    Examples
    --------
    >>> round(student_quantile(1), 3), round(student_quantile(10), 3)
    (12.706, 2.228)
    """
    odd = freedom % 2
    i = np.arange(1, (freedom - odd) // 2)
    weights = np.cumprod(np.concatenate([[1.0], 2 * i / (2 * i + 1) if odd else (2 * i - 1) / (2 * i)]))
    powers = 2 * np.arange(len(weights)) + odd
    low, high = 0.0, math.pi / 2
    for _ in range(60):
        angle = (low + high) / 2
        total = math.sin(angle) * float(weights @ math.cos(angle) ** powers) if freedom > 1 else 0.0
        low, high = (angle, high) if ((angle + total) * 2 / math.pi if odd else total) < level else (low, angle)
    return math.sqrt(freedom) * math.tan(angle)
