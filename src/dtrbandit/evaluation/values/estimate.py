"""An estimate of a regime's value, and how sure it is."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dtrbandit.kernels.arrays import Vector

REACH = 1.959964  # of the normal distribution, 95 % two-sided
WEIGHTED, AUGMENTED, REGRESSION, CROSS_FITTED = "weighted", "augmented", "q-learning", "cross-fitted"
ADAPTIVE = "adaptive"


class Support(NamedTuple):
    """How many units with an outcome followed a regime, and how far their weights can be trusted."""

    units: int
    effective_sample_size: float
    largest_weight: float


class Estimate(NamedTuple):
    """The value of a regime by one estimator.

    Attributes
    ----------
    std_error, low, high
        With the 95 % interval; NaN where there is none that is valid.
    influence
        φ, (n,): what each unit contributes, for comparisons; None where regimes cannot be compared by it.
    note
        What to keep in mind about this number alone.
    """

    regime: str
    estimator: str
    value: float
    std_error: float
    low: float
    high: float
    support: Support
    influence: Vector | None = None
    note: str = ""


def of_influence(regime: str, estimator: str, found: tuple[float, Vector], support: Support) -> Estimate:
    """Return a value with the standard error and interval that its influence tells."""
    value, influence = found
    error = float(np.sqrt((influence**2).sum()))
    own = influence if np.isfinite(error) else None
    return Estimate(regime, estimator, value, error, value - REACH * error, value + REACH * error, support, own)


def without_interval(regime: str, estimator: str, value: float, support: Support, note: str) -> Estimate:
    """Return a value of which nothing tells how sure it is, and why."""
    return Estimate(regime, estimator, value, np.nan, np.nan, np.nan, support, None, note)
