"""Fixed rules of the simulated STAR*D, and how near to a mean a sample must come."""

from __future__ import annotations

import numpy as np

from dtrbandit.kernels.arrays import Array

BAND = 5.0  # standard errors
POPULATION = 20_000_000  # rows behind the known values that are rounded to three digits


def always(start: Array, _slope: Array, _preference: Array) -> Array:
    return np.ones_like(start)


def never(start: Array, _slope: Array, _preference: Array) -> Array:
    return np.zeros_like(start)


def offline_first(start: Array, slope: Array, preference: Array) -> Array:
    return np.where(-0.73 + 0.01 * start + 0.01 * slope - 0.67 * preference > 1e-12, 1.0, 0.0)


def offline_second(start: Array, slope: Array, _preference: Array) -> Array:
    return np.where(-0.18 - 0.01 * start - 0.25 * slope > 1e-12, 1.0, 0.0)


def assert_mean(values: Array, expected: float) -> None:
    assert abs(values.mean() - expected) <= BAND * values.std() / np.sqrt(len(values))
