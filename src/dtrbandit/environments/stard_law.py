"""The law of the simulated STAR*D: who comes, how scores move, who is given what, who drops out.

Fitted to published aggregates of the trial and rounded; ``docs/stard.md`` says which. Arms and preferences are ±1
here: a = +1 an SSRI, pref = +1 augment or none. Scores are rounded and clipped, so every expectation is a finite sum.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np
from numpy.typing import NDArray

from dtrbandit.kernels.arrays import Array

Numbers = Array | float
Indices = NDArray[np.int64]

LAST = 26  # the worst score of a stage; the best is 0
REMISSION = 5  # the worst score in remission
ARMS = np.array([1.0, -1.0])  # in the order of the design: an SSRI, another
PREFERENCES = np.array([1.0, -1.0])

BASELINE = 6, 27  # the first and last score before level 1
START = 2, LAST  # at the start of stage 1
WEEKS = np.array([2.0, 4.0, 6.0, 9.0, 12.0, 14.0])
WEEKS_BEFORE = np.array([0.05, 0.09, 0.14, 0.19, 0.25, 0.28])  # their probabilities in the level before stage 1
WEEKS_FIRST = np.array([0.03, 0.07, 0.12, 0.20, 0.30, 0.28])  # and in stage 1

BASELINE_MEAN, BASELINE_SD = 16.5, 3.6
START_SD, END_SD, START2_SD, END2_SD = 4.3, 6.0, 1.5, 5.3


def start_mean(baseline: Numbers) -> Numbers:
    """Return the mean of start₁ before rounding."""
    return 12.9 + 0.45 * (baseline - 16.5)


def first_preference(start: Numbers, slope: Numbers) -> Array:
    """Return P(pref₁ = +1)."""
    return expit(-0.37 - 0.25 * (start - 13.5) / 5 - 0.30 * slope)


def end_mean(start: Numbers, slope: Numbers, preference: Numbers, arm: Numbers) -> Numbers:
    """Return the mean of end₁ before rounding."""
    effect = 0.59 - 0.04 * (start - 13.5) - 0.04 * (slope + 0.4) + 0.52 * preference
    return 7.90 + 0.77 * (start - 13.5) + 1.20 * (slope + 0.4) - 0.58 * preference + arm * effect


def second_preference(preference: Numbers, slope: Numbers) -> Array:
    """Return P(pref₂ = +1), given pref₁ and slope₂."""
    return expit(-0.52 + 0.16 * preference - 0.20 * (slope + 0.3))


def start2_mean(end: Numbers) -> Numbers:
    """Return the mean of start₂ before rounding."""
    return end + 0.45


def end2_mean(start: Numbers, slope: Numbers, preference: Numbers, arm: Numbers) -> Numbers:
    """Return the mean of end₂ before rounding."""
    effect = 0.13 + 0.01 * (start - 13) + 0.26 * (slope + 0.1) + 0.03 * preference
    return 12.75 + 0.68 * (start - 13) + 0.60 * (slope + 0.1) - 0.20 * preference + arm * effect


# -- what happened in the trial ---------------------------------------------------------------------------------


def logged_first(preference: Array) -> Array:
    """Return the probability that the trial gave an SSRI at stage 1."""
    return np.where(preference > 0, 0.948, 0.305)


def logged_second(preference: Array, arm: Array) -> Array:
    """Return the probability that the trial gave an SSRI at stage 2: none after another first drug."""
    return np.where(arm > 0, np.where(preference > 0, 0.885, 0.060), 0.0)


def dropout(end: Array, slope: Array, arm: Array, preference: Array) -> Array:
    """Return the probability that one who is not in remission dropped out before stage 2."""
    return expit(0.35 - 0.61 * (end - 12) / 5 - 0.43 * (slope + 0.1) - 0.03 * arm + 0.05 * preference)


# -- rounded and clipped normal scores --------------------------------------------------------------------------


def expit(x: Numbers) -> Array:
    """Return 1 / (1 + e^−x)."""
    return 1 / (1 + np.exp(-np.asarray(x, dtype=np.float64)))


def rounded(x: Numbers, low: int = 0, high: int = LAST) -> Array:
    """Return x as a score."""
    scores: Array = np.clip(np.rint(x), low, high)
    return scores


def tails(mean: Numbers, sd: float, low: int = 0, high: int = LAST) -> Array:
    """Return P(score ≥ k) for k = low, …, high, (…, high − low + 1), of a score around a normal mean."""
    beyond = (np.asarray(mean)[..., None] - np.arange(low + 1, high + 1) + 0.5) / sd
    above = 0.5 + 0.5 * _erf(beyond / math.sqrt(2)).astype(np.float64)
    return np.concatenate([np.ones((*above.shape[:-1], 1)), above], axis=-1)


def probabilities(mean: Numbers, sd: float, low: int = 0, high: int = LAST) -> Array:
    """Return P(score = k) for k = low, …, high, (…, high − low + 1)."""
    return -np.diff(tails(mean, sd, low, high), axis=-1, append=0.0)


def expected(mean: Numbers, sd: float) -> Array:
    """Return the mean of a score between 0 and LAST: Σ P(score ≥ k) over k ≥ 1."""
    total: Array = tails(mean, sd)[..., 1:].sum(axis=-1)
    return total


_erf = np.frompyfunc(math.erf, 1, 1)


# -- the true Q-functions: tables of finite sums, computed once ---------------------------------------------------

# A slope is a difference of scores over one of six numbers of weeks, so there are finitely many histories: 33,048 that
# differ at stage 2, 13,200 at stage 1, arms included. Axes are scores from their lowest on, numbers of weeks, and
# preferences and arms with +1 first.
SCORES = np.arange(LAST + 1.0)
STARTS = np.arange(START[0], START[1] + 1.0)
BASELINES = np.arange(BASELINE[0], BASELINE[1] + 1.0)
LEAST_CHANGE = -LAST  # of end₁ − start₁
CHANGES = np.arange(LEAST_CHANGE, LAST - START[0] + 1.0)


@cache
def end2_table() -> Array:
    """Return E end₂, by end₁ − start₁, weeks, start₂, pref₂, a₂."""
    change, weeks, start, preference, arm = np.ix_(CHANGES, WEEKS, SCORES, PREFERENCES, ARMS)
    return _kept(expected(end2_mean(start, change / weeks, preference, arm), END2_SD))


@cache
def later_table() -> Array:
    """Return E[max Q₂ or, in remission, Y | start₁, pref₁, a₁, end₁], by these; the max over a₂ feasible after a₁."""
    start, preference, end, weeks = np.ix_(STARTS, PREFERENCES, SCORES, WEEKS)
    change = (SCORES - STARTS[:, None] - LEAST_CHANGE).astype(np.int64)  # (start₁, end₁)
    end2 = end2_table()
    best = np.stack([end2.min(axis=-1), end2[..., 1]])[:, change]  # a₁, start₁, end₁, weeks, start₂, pref₂
    starts = probabilities(start2_mean(SCORES), START2_SD)  # end₁, start₂
    later = np.einsum("asewtr,et->asewr", best, starts)
    augment = second_preference(preference, (end - start) / weeks)
    weights = np.stack([augment, 1 - augment], axis=-1) * WEEKS_FIRST[:, None]  # start₁, pref₁, end₁, weeks, pref₂
    value = -(SCORES + np.einsum("asewr,spewr->spae", later, weights)) / 2
    return _kept(np.where(SCORES <= REMISSION, -SCORES, value))


@cache
def first_table() -> Array:
    """Return Q₁, by start₁, the score before level 1, weeks, pref₁, a₁."""
    start, baseline, weeks, preference, arm = np.ix_(STARTS, BASELINES, WEEKS, PREFERENCES, ARMS)
    ends = probabilities(end_mean(start, (start - baseline) / weeks, preference, arm), END_SD)
    return _kept(np.einsum("sbwpae,spae->sbwpa", ends, later_table()))


@cache
def optimal_value() -> float:
    """Return E max Q₁, the mean outcome of the best regime."""
    start, baseline, weeks = np.ix_(STARTS, BASELINES, WEEKS)
    baselines = probabilities(BASELINE_MEAN, BASELINE_SD, *BASELINE)  # baseline
    starts = probabilities(start_mean(BASELINES), START_SD, *START)  # baseline, start₁
    augment = first_preference(start, (start - baseline) / weeks)
    weights = np.stack([augment, 1 - augment], axis=-1)
    best = first_table().max(axis=-1)
    return float(np.einsum("sbwp,sbwp,b,bs,w->", best, weights, baselines, starts, WEEKS_BEFORE))


def _kept(table: Array) -> Array:
    table.flags.writeable = False
    return table
