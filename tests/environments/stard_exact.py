"""The values of fixed rules under the law of the simulated STAR*D, summed over every course a patient can take.

Apart from the equations of the law this shares nothing with the package's own tables.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from math import erf, sqrt
from typing import NamedTuple

import numpy as np

from dtrbandit.environments import stard_law as law
from dtrbandit.kernels.arrays import Array

First = Callable[[Array, Array, Array], Array]  # start₁, slope₁, pref₁ → P(a₁ = +1)
Second = Callable[[Array, Array, Array], Array]  # start₂, slope₂, pref₂ → P(a₂ = +1) after an SSRI

SCORES = np.arange(27.0)


class Shares(NamedTuple):
    """Of all patients, those in remission, lost, in stage 2, and in stage 2 after an SSRI; and the mean of Y."""

    remitted: float
    lost: float
    second: float
    second_after_ssri: float
    value: float


def score_law(mean: Array, sd: float, low: int = 0, high: int = 26) -> Array:
    """Return P(score = k) for k = low, …, high in a last axis, by differences of the normal distribution function."""
    edges = np.concatenate([[-np.inf], np.arange(low, high) + 0.5, [np.inf]])
    below = np.frompyfunc(lambda x: 0.5 * (1 + erf(x / sqrt(2))), 1, 1)((edges - mean[..., None]) / sd)
    return np.diff(below.astype(float), axis=-1)


@cache
def follow(first: First, second: Second) -> Shares:
    """Sum over start₁, slope₁, pref₁, a₁, end₁, weeks, pref₂, start₂, a₂; drop-outs count in the value."""
    total = np.zeros(5)
    for start in np.arange(2.0, 27):
        for preference in (1.0, -1.0):
            slope, share = arrivals(start, preference)
            chance = first(np.full_like(slope, start), slope, np.full_like(slope, preference))
            for arm, given in ((1.0, share * chance), (-1.0, share * (1 - chance))):
                ends = given @ score_law(np.asarray(law.end_mean(start, slope, preference, arm)), 6.0)
                total += ends @ after(start, preference, arm, second)
    return Shares(*map(float, total))


def arrivals(start: float, preference: float) -> tuple[Array, Array]:
    """Return every slope₁ of those who start there with that preference, and their shares of all patients."""
    baseline = np.arange(6.0, 28)
    starts = score_law(np.asarray(law.start_mean(baseline)), 4.3, 2, 26)
    shares = score_law(np.array(16.5), 3.6, 6, 27) * starts[:, int(start) - 2]
    slope = ((start - baseline)[:, None] / law.WEEKS).ravel()
    shares = (shares[:, None] * [0.05, 0.09, 0.14, 0.19, 0.25, 0.28]).ravel()
    augment = law.first_preference(start, slope)
    return slope, shares * (augment if preference > 0 else 1 - augment)


def after(start: float, preference: float, arm: float, second: Second) -> Array:
    """Return the shares and the mean of Y for each end₁, (27, 5)."""
    rows = np.zeros((27, 5))
    rows[:6, 0], rows[:6, 4] = 1.0, -SCORES[:6]
    for end in range(6, 27):
        slope = (end - start) / law.WEEKS
        weeks = np.array([0.03, 0.07, 0.12, 0.20, 0.30, 0.28])
        lost = float(weeks @ law.dropout(np.array(end), slope, np.array(arm), np.array(preference)))
        rows[end, 1:4] = lost, 1 - lost, (1 - lost) * (arm > 0)
        rows[end, 4] = weeks @ [mean_outcome(end, each, preference, arm, second) for each in slope]
    return rows


def mean_outcome(end: float, slope: float, preference: float, arm: float, second: Second) -> float:
    """Return the mean of Y after end₁, slope₂, pref₁ and a₁."""
    augment = float(law.second_preference(preference, slope))
    starts, mean = start2_law(end), 0.0
    for pref, share in ((1.0, augment), (-1.0, 1 - augment)):
        chance = second(SCORES, np.full(27, slope), np.full(27, pref)) if arm > 0 else np.zeros(27)
        for arm2, given in ((1.0, chance), (-1.0, 1 - chance)):
            mean += share * float((starts * given) @ -(end + mean_end2(slope, pref, arm2))) / 2
    return mean


@cache
def start2_law(end: float) -> Array:
    """Return P(start₂ = k), (27,)."""
    return score_law(np.array(end + 0.45), 1.5)


@cache
def mean_end2(slope: float, preference: float, arm: float) -> Array:
    """Return E end₂ for each start₂, (27,)."""
    means: Array = score_law(np.asarray(law.end2_mean(SCORES, slope, preference, arm)), 5.3) @ SCORES
    return means
