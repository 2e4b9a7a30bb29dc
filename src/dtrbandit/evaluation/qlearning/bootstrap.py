"""The m-out-of-n bootstrap of Q-learning (Chakraborty, Laber & Zhao 2013), for stages before the last.

Before the last stage targets hold a maximum. Where two arms are about equally good for a share p of
the units, estimates are not asymptotically normal. Then neither the sandwich nor the usual bootstrap
has its level. Resamples of m < n units do:

    m = ⌊ n^((1 + ξ(1 − p̂)) / (1 + ξ)) ⌋

p̂ = 0 gives n. ξ is a fixed constant, or the double bootstrap chooses it (``double.py``). The interval of
a coefficient θ is [θ̂ − u, θ̂ − l], where l and u are quantiles of θ̂* − θ̂ over resamples.

Resamples are refitted in batches, as products of matrices (``docs/adr/0012-resamples-in-batches.md``). Each batch has
a stream of its own, so that the result does not depend on how many processes share them.
"""

from __future__ import annotations

from functools import partial
from typing import NoReturn

import numpy as np

from dtrbandit.errors import NotEstimable
from dtrbandit.evaluation.qlearning.induction import Sample
from dtrbandit.kernels.arrays import Array, Mask
from dtrbandit.parallel import map_unordered
from dtrbandit.rank import scaled_rows
from dtrbandit.resampling import resampled_counts

LOW, HIGH = 0.025, 0.975
MOST_REDRAWN = 0.05
SINGULAR = 1e-10  # a smaller determinant is none; features are orthonormal in the whole sample, where it is 1
AT_A_TIME = 500_000  # counts in a batch: a few megabytes, which a processor keeps near


def resample_size(n: int, share: float, xi: float) -> int:
    """Return m for n units of which a share p̂ is near a boundary.

    Examples
    --------
    >>> [resample_size(300, 0.5, xi) for xi in (0.05, 0.1, 0.2)], resample_size(300, 0.0, 0.1)
    ([261, 231, 186], 300)
    """
    return int(n ** ((1 + xi * (1 - share)) / (1 + xi)) + 1e-9)


def resampled(
    sample: Sample,
    first: int,
    *,
    size: int,
    resamples: int,
    seed: tuple[int, ...],
    n_jobs: int | None = 1,
    progress: bool = False,
) -> tuple[Array, int]:
    """Return the coefficients of stage ``first`` in resamples of ``size`` units, (B, K, d), and how many were redrawn.

    A resample in which an arm cannot be fitted is redrawn. Too many of these are refused.
    """
    each = min(max(AT_A_TIME // len(sample.outcome), 1), resamples)
    sizes = [min(each, resamples - done) for done in range(0, resamples, each)]
    work = partial(_batch, sample, first, size, seed, MOST_REDRAWN * resamples + 1)
    named = f"batches of {each} resamples" if progress else None
    batches = list(enumerate(sizes))
    found = map_unordered(work, batches, n_jobs=n_jobs, progress=named) if len(sizes) > 1 else map(work, batches)
    _, coefficients, redrawn = zip(*sorted(found, key=lambda batch: batch[0]), strict=True)
    if sum(redrawn) > MOST_REDRAWN * resamples + 1:
        _refuse(sum(redrawn), resamples, size)
    return np.concatenate(coefficients), sum(redrawn)


def _batch(
    sample: Sample, first: int, size: int, seed: tuple[int, ...], most: float, batch: tuple[int, int]
) -> tuple[int, Array, int]:
    """Return the number of a batch, its coefficients, and how many of its resamples were redrawn."""
    number, resamples = batch
    rng = np.random.default_rng([*seed, number])
    found, redrawn, missing = [], 0, resamples
    while missing:
        counts = resampled_counts(rng, len(sample.outcome), resamples=missing, size=size)
        coefficients, whole = refitted(sample, counts, first)
        found.append(coefficients[whole])
        missing -= int(whole.sum())
        redrawn += int((~whole).sum())
        if redrawn > most:
            _refuse(redrawn, resamples - missing, size)
    return number, np.concatenate(found), redrawn


def _refuse(redrawn: int, fitted: int, size: int) -> NoReturn:
    raise NotEstimable(
        f"in {redrawn} of {redrawn + fitted} resamples of {size} units some arm cannot be fitted; "
        "the bootstrap needs more units, or fewer features"
    )


def reflected(estimates: Array, resampled: Array) -> tuple[Array, Array]:
    """Return the limits [θ̂ − u, θ̂ − l] of estimates (L,) from those of resamples, (B, L)."""
    low, high = np.quantile(resampled - estimates, [LOW, HIGH], axis=0)
    return estimates - high, estimates - low


def refitted(sample: Sample, counts: Array, first: int) -> tuple[Array, Mask]:
    """Return the coefficients of stage ``first``, (B, K, d), and which resamples determine those and all later ones.

    Everything is fitted anew, the models of staying too.
    """
    weights, whole = resampled_weights(sample, counts)
    targets: Array = sample.outcome[None]
    m = len(sample.features) - 1
    while True:
        coefficients = _fit_arms(sample, m, weights, targets, whole)
        if m == first:
            return coefficients, whole
        targets = np.where(sample.entered[:, m], _largest(sample, m, coefficients), sample.outcome)
        m -= 1


def resampled_weights(sample: Sample, counts: Array) -> tuple[Array, Mask]:
    """Return the weight that each resample gives each unit, (B, n), and which resamples determine it."""
    if sample.staying is None:
        return counts * sample.weights, np.ones(len(counts), dtype=np.bool_)
    weights, whole = sample.staying.weights(counts)
    return counts * weights, whole


def _fit_arms(sample: Sample, m: int, own_weights: Array, targets: Array, whole: Mask) -> Array:
    """Return the coefficients of a stage, (B, K, d), and note in ``whole`` which resamples do not determine them."""
    d = sample.features[m].shape[1]
    coefficients = np.empty((len(own_weights), sample.rows[m].shape[1], d))
    for a in range(coefficients.shape[1]):
        rows = sample.rows[m][:, a]
        features, weights = sample.features[m][rows], sample.weights[rows]
        features, back = _orthonormal(features, weights / weights.mean())
        products = (features[:, :, None] * features[:, None, :]).reshape(-1, d * d)
        own = own_weights[:, rows] / weights.mean()
        gram = (own @ products).reshape(-1, d, d)
        moment = (own * targets[:, rows]) @ features
        determined = _volume(gram) > SINGULAR
        gram[~determined] = np.eye(d)
        coefficients[:, a] = np.linalg.solve(gram, moment[:, :, None])[:, :, 0] @ back.T
        whole &= determined
    return coefficients


def _orthonormal(features: Array, weights: Array) -> tuple[Array, Array]:
    """Return features as combinations that are orthonormal under the weights, and the way back for coefficients.

    Columns far from 0, such as heights, are nearly parallel; these are not. Zeros where the rank is not full.
    """
    scale, _, singular, right, rank = scaled_rows(features * np.sqrt(weights)[:, None])
    if rank < len(scale):
        return np.zeros_like(features), np.zeros((len(scale), len(scale)))
    back: Array = right.T / singular / scale[:, None]
    return features @ back, back


def _volume(gram: Array) -> Array:
    """Return the determinant of Gram matrices with columns scaled to unit length; NaN where a column is zero."""
    with np.errstate(invalid="ignore", divide="ignore"):
        scale = np.sqrt(np.einsum("bii->bi", gram))
        volume: Array = np.linalg.det(gram / (scale[:, :, None] * scale[:, None, :]))
    return volume


def _largest(sample: Sample, m: int, coefficients: Array) -> Array:
    """Return the largest Q of each resample and unit over the arms feasible for the unit, (B, n)."""
    features, largest = sample.features[m], np.full((len(coefficients), len(sample.outcome)), -np.inf)
    for a in range(coefficients.shape[1]):
        q = coefficients[:, a] @ features.T
        largest = np.maximum(largest, np.where(sample.feasible[m][:, a], q, -np.inf))
    return largest
