"""What each unit contributes to the coefficients of Q-learning: the estimating equations of all stages, stacked.

=================  =========================================================================================
notation           meaning
=================  =========================================================================================
β_ma               coefficients of arm a at stage m; ψ_mi the features of unit i there, w_i its weight
T_mi               its target: Y, or the largest Q̂ of the next stage, which arm ĉ_i attains
φ_mia (d_m,)       its influence: β̂_ma − β_ma ≈ Σ_i φ_mia
=================  =========================================================================================

A unit acts on β̂_ma in two ways. Its own row pulls by its residual. And it has a share in the later coefficients, which
are the targets of other rows:

    φ_mia = G⁻¹ w_i ψ_mi (T_mi − ψ_miᵀβ̂_ma)  +  Σ_c (∂β̂_ma / ∂β_{m+1,c}) φ_{m+1,i,c}

The first part is 0 for a unit without a row of arm a. In the second, ∂T_mj/∂β_{m+1,c} is ψ_{m+1,j} if ĉ_j = c, else 0.
So φ_i is w_i times the derivative of β̂ by w_i, exactly. For HC3 each residual is divided by 1 − h, h the leverage of
the row. Arms of one stage are correlated before the last stage, since they share the later fit.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dtrbandit.evaluation.induction.induction import StageFit
from dtrbandit.evaluation.induction.regression import Regression
from dtrbandit.kernels.arrays import Matrix

Rows = NDArray[np.int64]


def influences(stages: Sequence[StageFit]) -> tuple[NDArray[np.float64], ...]:
    """Return φ of each stage, (n, K_m, d_m): NaN for arms that the units do not determine, and what rests on them."""
    found: list[NDArray[np.float64]] = []
    later: tuple[StageFit, NDArray[np.float64]] | None = None
    for stage in reversed(stages):
        found.insert(0, _influence(stage, later))
        later = stage, found[0]
    return tuple(found)


def _influence(stage: StageFit, later: tuple[StageFit, NDArray[np.float64]] | None) -> NDArray[np.float64]:
    n, d = stage.features.shape
    phi = np.zeros((n, len(stage.rows), d))
    for a, (rows, fit) in enumerate(zip(stage.rows, stage.regressions, strict=True)):
        if not fit.varies:
            phi[:, a] = np.nan
            continue
        phi[rows, a] = fit.influence.T
        if later is not None:
            phi[:, a] += _through(rows, fit, *later)
    return phi


def _through(rows: Rows, fit: Regression, following: StageFit, phi: NDArray[np.float64]) -> Matrix:
    """Return how each unit moves a fit through the later coefficients, which are its targets, (n, d)."""
    moved = np.zeros((len(phi), len(fit.coefficients)))
    for c in range(phi.shape[1]):
        best = following.best[rows] == c
        if best.any():
            moved += phi[:, c] @ (fit.operator[:, best] @ following.features[rows[best]]).T
    return moved


def root_of(phi: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return R (r, K, d), small and with RᵀR = Σ_i φ_i φ_iᵀ; NaN for arms whose φ is.

    The variance of a combination c is |Rc|². It has no sum whose terms cancel, as cᵀRᵀRc has where columns are far from
    0, and is never negative.
    """
    flat = phi.reshape(len(phi), -1)
    unknown = np.isnan(flat).any(axis=0)
    root: NDArray[np.float64] = np.asarray(np.linalg.qr(np.where(unknown, 0.0, flat), mode="r"))
    root[:, unknown] = np.nan
    return root.reshape(-1, *phi.shape[1:])
