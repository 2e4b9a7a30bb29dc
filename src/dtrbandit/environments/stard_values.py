"""The true Q-functions of the simulated STAR*D: tables of finite sums, computed once.

A slope is a difference of scores over one of six numbers of weeks, so there are finitely many histories:
33,048 that differ at stage 2, 13,200 at stage 1, arms included. Axes are scores from their lowest on, numbers of weeks,
and preferences and arms with +1 first.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from dtrbandit.environments.stard_law import (
    ARMS,
    BASELINE,
    BASELINE_MEAN,
    BASELINE_SD,
    END2_SD,
    END_SD,
    LAST,
    PREFERENCES,
    REMISSION,
    START,
    START2_SD,
    START_SD,
    WEEKS,
    WEEKS_BEFORE,
    WEEKS_FIRST,
    end2_mean,
    end_mean,
    expected,
    first_preference,
    probabilities,
    second_preference,
    start2_mean,
    start_mean,
)
from dtrbandit.kernels.arrays import Array

SCORES = np.arange(LAST + 1.0)
STARTS = np.arange(START[0], START[1] + 1.0)
BASELINES = np.arange(BASELINE[0], BASELINE[1] + 1.0)
LEAST_CHANGE = -LAST  # of end₁ − start₁
CHANGES = np.arange(LEAST_CHANGE, LAST - START[0] + 1.0)


@cache
def end2() -> Array:
    """Return E end₂, by end₁ − start₁, weeks, start₂, pref₂, a₂."""
    change, weeks, start, preference, arm = np.ix_(CHANGES, WEEKS, SCORES, PREFERENCES, ARMS)
    return _kept(expected(end2_mean(start, change / weeks, preference, arm), END2_SD))


@cache
def second() -> Array:
    """Return E[max Q₂ or, in remission, Y | start₁, pref₁, a₁, end₁], by these; the max over a₂ feasible after a₁."""
    start, preference, end, weeks = np.ix_(STARTS, PREFERENCES, SCORES, WEEKS)
    change = (SCORES - STARTS[:, None] - LEAST_CHANGE).astype(np.int64)  # (start₁, end₁)
    best = np.stack([end2().min(axis=-1), end2()[..., 1]])[:, change]  # a₁, start₁, end₁, weeks, start₂, pref₂
    starts = probabilities(start2_mean(SCORES), START2_SD)  # end₁, start₂
    later = np.einsum("asewtr,et->asewr", best, starts)
    augment = second_preference(preference, (end - start) / weeks)
    weights = np.stack([augment, 1 - augment], axis=-1) * WEEKS_FIRST[:, None]  # start₁, pref₁, end₁, weeks, pref₂
    value = -(SCORES + np.einsum("asewr,spewr->spae", later, weights)) / 2
    return _kept(np.where(SCORES <= REMISSION, -SCORES, value))


@cache
def first() -> Array:
    """Return Q₁, by start₁, the score before level 1, weeks, pref₁, a₁."""
    start, baseline, weeks, preference, arm = np.ix_(STARTS, BASELINES, WEEKS, PREFERENCES, ARMS)
    ends = probabilities(end_mean(start, (start - baseline) / weeks, preference, arm), END_SD)
    return _kept(np.einsum("sbwpae,spae->sbwpa", ends, second()))


@cache
def optimal() -> float:
    """Return E max Q₁, the mean outcome of the best regime."""
    start, baseline, weeks = np.ix_(STARTS, BASELINES, WEEKS)
    baselines = probabilities(BASELINE_MEAN, BASELINE_SD, *BASELINE)  # baseline
    starts = probabilities(start_mean(BASELINES), START_SD, *START)  # baseline, start₁
    augment = first_preference(start, (start - baseline) / weeks)
    weights = np.stack([augment, 1 - augment], axis=-1)
    best = first().max(axis=-1)
    return float(np.einsum("sbwp,sbwp,b,bs,w->", best, weights, baselines, starts, WEEKS_BEFORE))


def _kept(table: Array) -> Array:
    table.flags.writeable = False
    return table
