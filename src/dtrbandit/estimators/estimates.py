"""What a learner believes, for people to read: each estimator reads it off its own arrays."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dtrbandit.design.spec import Design
from dtrbandit.estimators.observed import Observed
from dtrbandit.kernels.arrays import Integers, Mask, Matrix

Coefficients = tuple[Matrix, ...]  # per stage (K_m, d_m), NaN where an arm has no estimate


class Estimates(NamedTuple):
    """Coefficients of Q̂ and Q̃, and where rank matters, a factor R of the rows behind each arm of each stage.

    It has at most as many rows as columns, and the rows' own Gram matrix and rank: RᵀR = Σψψᵀ.
    """

    hat: Coefficients
    tilde: Coefficients | None = None
    hat_factors: tuple[tuple[Matrix, ...], ...] = ()
    tilde_factors: tuple[tuple[Matrix, ...], ...] = ()


def per_stage(design: Design, coefficients: NDArray[np.float64]) -> Coefficients:
    """Return padded coefficients (M, K, D) as one matrix per stage."""
    shapes = enumerate(zip(design.arm_counts, design.dimensions, strict=True))
    return tuple(coefficients[m, :arms, :d].copy() for m, (arms, d) in shapes)


def factors_by_arm(
    design: Design, observed: Observed, units: Integers, counted: Mask
) -> tuple[tuple[Matrix, ...], ...]:
    """Return a factor of the rows of each stage and arm; ``counted`` (units, M) says which rows of these units."""
    features, arms = np.asarray(observed.features)[units], np.asarray(observed.arms)[units]
    shapes = enumerate(zip(design.arm_counts, design.dimensions, strict=True))
    return tuple(
        tuple(_factor(features[counted[:, m] & (arms[:, m] == a), m, :d]) for a in range(count))
        for m, (count, d) in shapes
    )


def _factor(rows: Matrix) -> Matrix:
    if len(rows) <= rows.shape[1]:
        return rows
    factor: Any = np.linalg.qr(rows, mode="r")  # R alone, which mypy does not know
    return np.asarray(factor)
