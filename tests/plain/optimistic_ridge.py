"""Optimistic ridge regression by backward induction: the estimator of LSVI-UCB (paper, section 5.1)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dtrbandit.design.spec import Design
from dtrbandit.kernels.arrays import Matrix, Vector
from plain.samples import Samples


class Optimism(NamedTuple):
    """What makes the estimates optimistic: bonus β, ridge λ, clip per stage, divisors per stage (d_m,)."""

    beta: float
    ridge: float
    clip: tuple[float, ...]
    divisors: tuple[Vector, ...]
    leavers_observed: bool


class Ridge(NamedTuple):
    """One stage's estimate: weights w_a (K, d) and Gram matrices Λ_a (K, d, d), one block per arm."""

    weights: Matrix
    gram: Matrix


def optimistic_induction(design: Design, samples: Samples, optimism: Optimism) -> tuple[Ridge, ...]:
    """Return w_h and Λ_h for every stage h (Jin et al. 2019, Algorithm 1, lines 3 to 9).

    Features are blocked by arm, so that Λ_h is block-diagonal and each arm has a ridge regression of its own.
    """
    fits: list[Ridge] = []
    for m in reversed(range(len(design.stages))):
        targets = _targets(samples, m, fits[0] if fits else None, optimism)
        rows = np.isfinite(targets) & (samples.arm[:, m] >= 0)
        features = samples.features[m] / optimism.divisors[m]
        arms = range(design.arm_counts[m])
        own = [rows & (samples.arm[:, m] == arm) for arm in arms]
        gram = np.array([features[o].T @ features[o] + optimism.ridge * np.eye(features.shape[1]) for o in own])
        weights = np.array([np.linalg.solve(gram[arm], features[own[arm]].T @ targets[own[arm]]) for arm in arms])
        fits.insert(0, Ridge(weights, gram))
    return tuple(fits)


def optimistic_values(fit: Ridge, features: Matrix, m: int, optimism: Optimism) -> Matrix:
    """Return min(w_aᵀφ + β √(φᵀ Λ_a⁻¹ φ), clip) for each row and arm, (n, K) (Jin et al., line 6)."""
    scaled = features / optimism.divisors[m]
    # Λ⁻¹φ for all arms and rows at once, (K, d, n)
    solved = np.linalg.solve(fit.gram, np.broadcast_to(scaled.T, (len(fit.gram), *scaled.T.shape)))
    width = np.sqrt(np.einsum("nd,kdn->nk", scaled, solved))
    q: Matrix = np.einsum("nd,kd->nk", scaled, fit.weights) + optimism.beta * width
    return np.minimum(q, optimism.clip[m])


def _targets(samples: Samples, m: int, later: Ridge | None, optimism: Optimism) -> Vector:
    if later is None:
        return samples.outcome
    q = optimistic_values(later, samples.features[m + 1], m + 1, optimism)
    value = np.where(samples.feasible[m + 1], q, -np.inf).max(axis=1)
    optimistic = samples.entered[:, m + 1].copy()
    if not optimism.leavers_observed:
        # a leaver, too, once it completes, where its context carries the next stage's features
        optimistic |= np.isfinite(samples.outcome) & np.isfinite(value)
    return np.where(optimistic, value, samples.outcome)
