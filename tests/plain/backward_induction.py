"""Q-learning by backward induction: least squares at the last stage, then pseudo-outcomes for the one before.

========================  =====================  =======================================================
paper                     here                   meaning
========================  =====================  =======================================================
β̂_{a,m}, β̃_{a,m}          ``coefficients[m][a]`` least-squares coefficients, NaN while arm a has no row
Ŷ_j, Ỹ_j                  ``pseudo_outcomes``    max over feasible arms of the next stage's estimate
Q̂_m(h, a), Q̃_m(h, a)      ``q_values``           β_{a,m}ᵀ ψ_m(h)
S_{a,m}(t), T_{a,m}(t)    ``mask[:, m]``         which rows count: all, or those of forced pulls
========================  =====================  =======================================================
"""

from __future__ import annotations

import numpy as np

from dtrbandit.design.spec import Design
from dtrbandit.kernels.arrays import Mask, Matrix, Vector
from plain.least_squares import Fit, least_squares
from plain.samples import Samples

Coefficients = tuple[Matrix, ...]  # per stage (K_m, d_m), NaN where an arm has no estimate
Fits = tuple[tuple[Fit | None, ...], ...]  # per stage and arm


def backward_induction(design: Design, samples: Samples, mask: Mask | None = None) -> Fits:
    """Return β_{a,m} for every stage and arm (paper, section 3.1).

    ``mask`` (n, M) says which rows count, by default all. A row counts once its target is known: the outcome
    at a unit's last stage, otherwise the pseudo-outcome, as soon as the next stage is entered.
    """
    fits: list[tuple[Fit | None, ...]] = []
    later: Coefficients = ()
    for m in reversed(range(len(design.stages))):
        targets = pseudo_outcomes(samples, m, later[0] if later else None)
        rows = np.isfinite(targets) & (samples.arm[:, m] >= 0)
        rows &= True if mask is None else mask[:, m]
        fits.insert(0, tuple(_fit(samples, m, arm, rows, targets) for arm in range(design.arm_counts[m])))
        later = (_stack(fits[0], design.dimensions[m]), *later)
    return tuple(fits)


def pseudo_outcomes(samples: Samples, m: int, later: Matrix | None) -> Vector:
    """Return the targets of stage ``m``, (n,), given the coefficients of the next stage; NaN while unknown.

    A unit that entered the next stage has max over its feasible arms of Q_{m+1}; a unit that ended here, at
    the last stage or because it left early, has its outcome (docs/readings.md, 1 and 2).
    """
    if later is None:
        return samples.outcome
    went_on = samples.entered[:, m + 1]
    q = np.einsum("nd,kd->nk", samples.features[m + 1], later)
    q[~samples.feasible[m + 1]] = np.nan
    return np.where(went_on, np.fmax.reduce(q, axis=1), samples.outcome)


def q_values(coefficients: Matrix, features: Vector) -> Vector:
    """Return Q(h, a) for every arm, (K,), NaN where an arm has no estimate."""
    return np.asarray((coefficients * features).sum(axis=1), dtype=np.float64)


def coefficients_of(fits: Fits, design: Design) -> Coefficients:
    """Return the coefficients of a fit as one matrix per stage."""
    return tuple(_stack(stage, d) for stage, d in zip(fits, design.dimensions, strict=True))


def _fit(samples: Samples, m: int, arm: int, rows: Mask, targets: Vector) -> Fit | None:
    own = rows & (samples.arm[:, m] == arm)
    return least_squares(samples.features[m][own], targets[own]) if own.any() else None


def _stack(fits: tuple[Fit | None, ...], dimension: int) -> Matrix:
    none = np.full(dimension, np.nan)
    return np.array([none if fit is None else fit.coefficients for fit in fits])
