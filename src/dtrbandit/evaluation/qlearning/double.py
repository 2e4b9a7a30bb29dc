"""ξ by the double bootstrap: the smallest with which resamples of the data cover what the data say.

From B₁ resamples of n units, each taken for the data, intervals are made by B₂ resamples of its own. c(ξ) is
the share of them that hold θ̂. The first ξ of a grid with c(ξ) ≥ 95 % is taken; the same B₁ resamples serve
for every ξ.

ξ is chosen once for a stage, for each *part*: a coefficient, or the difference between two arms' coefficients of one
term. Any other combination takes the largest ξ of the parts that it is made of, and so the smallest m.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dtrbandit.evaluation.qlearning.bootstrap import reflected, resample_size, resampled, resampled_weights
from dtrbandit.evaluation.qlearning.induction import Sample, backward_induction
from dtrbandit.evaluation.qlearning.regularity import regularity
from dtrbandit.kernels.arrays import Array
from dtrbandit.parallel import map_unordered
from dtrbandit.resampling import resampled_rows

XIS = tuple(step / 40 for step in range(1, 21))  # 0.025 to 0.5
TOGETHER = 4  # values of ξ that are tried on a resample while it is at hand
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
    for start in range(0, len(XIS), TOGETHER):
        steps = range(start, start + TOGETHER)
        named = f"resamples at ξ = {XIS[start]} to {XIS[steps[-1]]}" if progress else None
        held = map_unordered(partial(_holds, double, steps), range(outer), n_jobs=n_jobs, progress=named)
        for step, reached in zip(steps, np.mean(list(held), axis=0), strict=True):
            share[waiting] = reached[waiting]
            found = waiting & (reached >= LEVEL)
            xi[found] = XIS[step]
            waiting &= ~found
        if not waiting.any():
            break
    return Chosen(xi, share)


def parts_of(arms: int, terms: int) -> Array:
    """Return the parts of a stage as combinations, (L, K, d): coefficients first, then differences of arms a < b."""
    coefficients = np.eye(arms * terms).reshape(-1, arms, terms)
    each = coefficients.reshape(arms, terms, arms, terms)
    return np.concatenate([coefficients, *(each[b] - each[a] for a, b in combinations(range(arms), 2))])


def chosen_for(chosen: Chosen, asked: Array) -> Chosen:
    """Return ξ for combinations (L, K, d), the largest of the parts that each is made of, and their least c(ξ)."""
    arms = asked.shape[1]
    used = asked != 0
    made_of = [used.reshape(len(asked), -1)]
    difference = np.zeros(len(asked), dtype=np.bool_)
    for a, b in combinations(range(arms), 2):
        others = np.delete(used, [a, b], axis=1).any(axis=(1, 2))
        own = (asked[:, a] == -asked[:, b]).all(axis=1) & ~others
        made_of.append(used[:, a] & own[:, None])
        difference |= own
    made_of[0] &= ~difference[:, None]
    parts = np.hstack(made_of)
    nothing = ~parts.any(axis=1)
    parts[nothing] = True  # a combination of nothing is 0 by any ξ
    return Chosen(np.where(parts, chosen.xi, -np.inf).max(axis=1), np.where(parts, chosen.share, np.inf).min(axis=1))


def _drawn(sample: Sample, rng: np.random.Generator) -> Sample:
    """Return a resample that has a row for each arm, with weights as it fits them itself."""
    n = len(sample.outcome)
    while True:
        own = sample.of(resampled_rows(rng, n))
        (weights,), whole = resampled_weights(own, np.ones((1, n)))
        if whole.all() and all(rows.any(axis=0).all() for rows in own.rows):
            return own._replace(weights=weights)


def _holds(double: Double, steps: Sequence[int], number: int) -> NDArray[np.bool_]:
    """Say which intervals of one resample, taken for the data, hold the estimates, at some values of ξ, (steps, L)."""
    sample, m, n = double.sample, double.m, len(double.sample.outcome)
    own = _drawn(sample, np.random.default_rng([double.seed, number]))
    stages = backward_induction(own)
    share = regularity(own, stages, m).share
    estimates = np.einsum("lad,ad->l", double.combinations, stages[m].coefficients)
    held = []
    for step in steps:
        size, seed = resample_size(n, share, XIS[step]), (double.seed, number, step)
        drawn, _ = resampled(own, m, size=size, resamples=double.inner, seed=seed)
        low, high = reflected(estimates, np.einsum("lad,bad->bl", double.combinations, drawn))
        held.append((low <= double.estimates) & (double.estimates <= high))
    return np.array(held)
