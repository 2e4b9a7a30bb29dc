"""The m-out-of-n bootstrap of Q-learning (Chakraborty, Laber & Zhao 2013), for stages before the last.

Before the last stage targets hold a maximum. A unit is *near* a boundary if a feasible arm cannot be told from the best
one at some later stage that it entered: gap² ≤ 10.83 · Var(gap), the 99.9 % quantile of χ²₁. For it the maximum has a
kink. If units are near, estimates are not asymptotically normal. Then neither the sandwich nor the usual bootstrap has
its level. Resamples of m < n units have it, where p̂ is the share of these units by weight:

    m = ⌊ n^((1 + ξ(1 − p̂)) / (1 + ξ)) ⌋

p̂ = 0 gives n. The interval of a coefficient θ is [θ̂ − u, θ̂ − l], where l and u are quantiles of θ̂* − θ̂ over
resamples. Resamples are refitted in batches, as products of matrices (``docs/adr/0012-resamples-in-batches.md``). Each
batch has a stream of its own, so that the result does not depend on how many processes share them.

ξ is a fixed constant, or the double bootstrap chooses it. Each of B₁ resamples of n units is taken for the data, and B₂
resamples of its own make an interval. c(ξ) is the share of these intervals that hold θ̂. The first ξ of a grid with
c(ξ) ≥ 95 % is taken; the same B₁ resamples serve for every ξ. ξ is chosen once for a stage, for each *part*: a
coefficient, or the difference between two arms' coefficients of one term. Any other combination takes the largest ξ of
the parts that it is made of, and so the smallest m.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import combinations
from statistics import NormalDist
from typing import NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from dtrbandit.errors import NotEstimable
from dtrbandit.evaluation.induction.induction import Sample, StageFit, backward_induction
from dtrbandit.evaluation.induction.influence import influences, root_of
from dtrbandit.kernels.arrays import Array, Mask
from dtrbandit.parallel import map_unordered
from dtrbandit.resampling import resampled_counts, resampled_rows

LOW, HIGH = 0.025, 0.975
MOST_REDRAWN = 0.05
AT_A_TIME = 500_000  # counts in a batch: a few megabytes, which a processor keeps near
NEAR = NormalDist().inv_cdf(1 - 0.001 / 2) ** 2
XIS = tuple(step / 40 for step in range(1, 21))  # 0.025 to 0.5
TOGETHER = 4  # values of ξ that are tried on a resample while it is at hand
LEVEL = 0.95


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
    coefficients = np.empty((len(own_weights), sample.rows[m].shape[1], sample.features[m].shape[1]))
    for a in range(coefficients.shape[1]):
        rows = sample.rows[m][:, a]
        features, weights = sample.features[m][rows], sample.weights[rows]
        found = sample.regression.refit(features, targets[:, rows], weights, own_weights[:, rows])
        coefficients[:, a] = found.coefficients
        whole &= found.determined
    return coefficients


def _largest(sample: Sample, m: int, coefficients: Array) -> Array:
    """Return the largest Q of each resample and unit over the arms feasible for the unit, (B, n)."""
    features, largest = sample.features[m], np.full((len(coefficients), len(sample.outcome)), -np.inf)
    for a in range(coefficients.shape[1]):
        q = coefficients[:, a] @ features.T
        largest = np.maximum(largest, np.where(sample.feasible[m][:, a], q, -np.inf))
    return largest


class Regularity(NamedTuple):
    """Whether the maximum in the targets of a stage is smooth for the units that count there.

    Attributes
    ----------
    units, near
        How many units count at the stage, and how many of them are near a boundary at a later one.
    share
        p̂, the share of these by weight.
    """

    units: int
    near: int
    share: float


def regularity(sample: Sample, stages: Sequence[StageFit], m: int) -> Regularity:
    """Return how many units that count at stage ``m`` are near a boundary later on."""
    counted = sample.rows[m].any(axis=1)
    near = np.zeros_like(counted)
    for k, phi in enumerate(influences(stages[m + 1 :]), m + 1):
        near |= counted & near_boundary(stages[k], sample.feasible[k], phi)
    share = float(sample.weights[near].sum() / sample.weights[counted].sum())
    return Regularity(int(counted.sum()), int(near.sum()), share)


def near_boundary(stage: StageFit, feasible: Mask, phi: NDArray[np.float64]) -> Mask:
    """Say for which units some feasible arm cannot be told from the best one: gap² ≤ 10.83 · Var(gap), (n,).

    A unit that did not enter, or had no choice, is not near. An arm whose variance nobody knows is.
    """
    root = root_of(phi)
    q = stage.features @ stage.coefficients.T
    near = np.zeros(len(q), dtype=np.bool_)
    for b in range(q.shape[1]):
        for c in range(q.shape[1]):
            compared = (stage.best == b) & feasible[:, c] & (b != c)
            psi, gap = stage.features[compared], q[compared, b] - q[compared, c]
            near[compared] |= ~(gap**2 > NEAR * ((psi @ (root[:, b] - root[:, c]).T) ** 2).sum(axis=1))
    return near


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


def chosen_for(chosen: Chosen, wanted: Array) -> Chosen:
    """Return ξ for combinations (L, K, d), the largest of the parts that each is made of, and their least c(ξ)."""
    arms = wanted.shape[1]
    used = wanted != 0
    made_of = [used.reshape(len(wanted), -1)]
    difference = np.zeros(len(wanted), dtype=np.bool_)
    for a, b in combinations(range(arms), 2):
        others = np.delete(used, [a, b], axis=1).any(axis=(1, 2))
        own = (wanted[:, a] == -wanted[:, b]).all(axis=1) & ~others
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
