"""What a learner believes, for people to read: each estimator reads it off its own arrays."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dtrbandit.design.formula import Matrix
from dtrbandit.design.spec import Design
from dtrbandit.estimators.observed import Observed
from dtrbandit.kernels.triangular import RANK_TOLERANCE

Coefficients = tuple[Matrix, ...]  # per stage (K_m, d_m), NaN where an arm has no estimate


class Rank(NamedTuple):
    """How far an arm's rows determine its coefficients: their rank, and for each feature whether it is determined."""

    rank: int
    determined: tuple[bool, ...]


class Estimates(NamedTuple):
    """Coefficients of Q̂ and Q̃, and the rows (n, d) behind each arm of each stage, where rank matters."""

    hat: Coefficients
    tilde: Coefficients | None = None
    hat_rows: tuple[tuple[Matrix, ...], ...] = ()
    tilde_rows: tuple[tuple[Matrix, ...], ...] = ()


def per_stage(design: Design, coefficients: NDArray[np.float64]) -> Coefficients:
    """Return padded coefficients (M, K, D) as one matrix per stage."""
    shapes = enumerate(zip(design.arm_counts, design.dimensions, strict=True))
    return tuple(coefficients[m, :arms, :d].copy() for m, (arms, d) in shapes)


def rows_by_arm(design: Design, observed: Observed, counted: NDArray[np.bool_]) -> tuple[tuple[Matrix, ...], ...]:
    """Return the features of the rows of each stage and arm; ``counted`` (n, M) says which to look at."""
    return tuple(
        tuple(observed.features[counted[:, m] & (observed.arms[:, m] == a), m, :d] for a in range(arms))
        for m, (arms, d) in enumerate(zip(design.arm_counts, design.dimensions, strict=True))
    )


def rank_of(rows: Matrix) -> Rank:
    """Return how far rows (n, d) determine the coefficients, as the learner judges it."""
    n, d = rows.shape
    scale = np.sqrt((rows * rows).sum(axis=0))
    scale[scale == 0] = 1.0
    padded = np.vstack([rows / scale, np.zeros((max(d - n, 0), d))])
    _, singular, right = np.linalg.svd(padded, full_matrices=False)
    rank = int(np.sum(singular > RANK_TOLERANCE * singular[0])) if n else 0
    determined = np.abs(right[rank:]).max(axis=0, initial=0.0) < np.sqrt(RANK_TOLERANCE)
    return Rank(rank, tuple(determined.tolist()))
