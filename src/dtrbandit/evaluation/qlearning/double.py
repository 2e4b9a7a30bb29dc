"""ξ by the double bootstrap: the smallest with which resamples of the data cover what the data say.

From B₁ resamples of n units, each taken for the data, intervals are made by B₂ resamples of its own. c(ξ) is
the share of them that hold θ̂. The first ξ of a grid with c(ξ) ≥ 95 % is taken; the same B₁ resamples serve
for every ξ.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dtrbandit.evaluation.qlearning.bootstrap import Array, reflected, resample_size, resampled
from dtrbandit.evaluation.qlearning.induction import Sample, backward_induction
from dtrbandit.evaluation.qlearning.regularity import regularity
from dtrbandit.parallel import map_unordered

XIS = tuple(step / 40 for step in range(1, 21))  # 0.025 to 0.5
LEVEL = 0.95


class Chosen(NamedTuple):
    """ξ for each combination, (L,), and c(ξ), the share of intervals that held its estimate.

    c(ξ) is below the level only where even the largest ξ did not reach it.
    """

    xi: Array
    share: Array


class Double(NamedTuple):
    """What one of the B₁ resamples needs to know."""

    sample: Sample
    m: int
    combinations: Array  # (L, K_m, d_m)
    estimates: Array  # (L,)
    inner: int
    seed: int


def choose_xi(double: Double, *, outer: int, n_jobs: int | None = None, progress: bool = False) -> Chosen:
    """Return the first ξ at which intervals of resamples hold the estimates often enough, for each combination."""
    xi, share = np.full(len(double.estimates), XIS[-1]), np.zeros(len(double.estimates))
    waiting = np.ones(len(xi), dtype=np.bool_)
    for tried in XIS:
        named = f"resamples at ξ = {tried}" if progress else None
        held = map_unordered(partial(_holds, double, tried), range(outer), n_jobs=n_jobs, progress=named)
        reached = np.mean(list(held), axis=0)
        share[waiting] = reached[waiting]
        found = waiting & (reached >= LEVEL)
        xi[found] = tried
        waiting &= ~found
        if not waiting.any():
            break
    return Chosen(xi, share)


def _holds(double: Double, xi: float, number: int) -> NDArray[np.bool_]:
    """Say which intervals of one resample, taken for the data, hold the estimates."""
    sample, m, n = double.sample, double.m, len(double.sample.outcome)
    rng = np.random.default_rng([double.seed, number])
    own = sample.of(rng.integers(n, size=n))
    while not all(rows.any(axis=0).all() for rows in own.rows):
        own = sample.of(rng.integers(n, size=n))
    stages = backward_induction(own)
    size = resample_size(n, regularity(own, stages, m).share, xi)
    drawn, _ = resampled(own, m, size=size, resamples=double.inner, rng=rng)
    estimates = np.einsum("lad,ad->l", double.combinations, stages[m].coefficients)
    low, high = reflected(estimates, np.einsum("lad,bad->bl", double.combinations, drawn))
    return (low <= double.estimates) & (double.estimates <= high)
