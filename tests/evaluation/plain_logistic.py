"""Logistic models by a plain Newton iteration: the oracle of the tests."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dtrbandit.kernels.arrays import Array


def newton(x: Array, y: Array, weights: Array | None = None, *, ridge: Array | float = 0.0) -> Array:
    """Return β of P(y = 1 | x) = expit(xᵀβ), less ½ Σ ridge_j β_j² in the log-likelihood."""
    w = np.ones(len(y)) if weights is None else weights
    beta, penalty = np.zeros(x.shape[1]), np.zeros(x.shape[1]) + ridge
    for _ in range(60):
        p = 1 / (1 + np.exp(-x @ beta))
        gradient = x.T @ (w * (y - p)) - penalty * beta
        beta = beta + np.linalg.solve(x.T @ (x * (w * p * (1 - p))[:, None]) + np.diag(penalty), gradient)
    return beta


def fitted(x: Array, y: Array, weights: Array | None = None) -> Array:
    """Return P(y = 1 | x) at the maximum."""
    return np.asarray(1 / (1 + np.exp(-x @ newton(x, y, weights))))


def multinomial(x: Array, k: NDArray[np.int64], ridge: float = 0.0) -> Array:
    """Return P(k | x), (n, K), by Newton on the K − 1 contrasts; ridge is on the symmetric form, not on column 0."""
    d, options = x.shape[1], int(k.max()) + 1
    free = options - 1
    y = np.eye(options)[k][:, 1:]
    # Σ_k ‖β_k − mean‖² of contrasts c_1, …, c_{K−1} against outcome 0 is cᵀ (I − 11ᵀ/K) c
    norm = np.kron(np.eye(free) - 1 / options, np.diag([0.0] + [ridge] * (d - 1)))
    beta = np.zeros(free * d)
    for _ in range(60):
        odds = np.exp(x @ beta.reshape(free, d).T)
        p = odds / (1 + odds.sum(axis=1, keepdims=True))
        gradient = ((y - p).T @ x).ravel() - norm @ beta
        blocks = [[x.T @ (x * (p[:, a] * ((a == b) - p[:, b]))[:, None]) for b in range(free)] for a in range(free)]
        beta = beta + np.linalg.solve(np.block(blocks) + norm, gradient)
    return np.column_stack([1 - p.sum(axis=1), p])
