"""Means over paths: their intervals, and how the paths themselves spread.

Regret is skewed by rare bad paths, and few paths say nothing of them. So the number of paths decides what is printed,
and the paths' own look does not. Below ``FEWEST`` paths a mean has no interval and no standard error. From there on it
has a bootstrap-t interval, which is called "about 90 %" below ``ENOUGH`` paths and "95 %" from then on, after what was
measured (docs/studies.md). The spread of the paths stands beside every mean.

Average outcomes of replay carry the outcomes' own noise, and are far less skewed. For them Student's interval holds,
and ``REPLAY`` has the same two numbers (docs/replay.md). Paths through one cohort differ by the luck of draws alone.
Cohorts differ by whom they hold, and usually by more. The interval over cohorts is found from P paths through the
cohort itself, and B resamples of its units with P′ paths each:

    σ² = max(0, Var_b(v̄_b) − mean_b(s_b²/P′)) + s²/P

v̄_b is the mean over the paths through resample b, s_b² their variance, s² that of the P paths. The interval is the
value ± 1.96σ. Resampled cohorts repeat units, so replay is a little higher on them: they give the spread, not the
centre.
"""

from __future__ import annotations

import math
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dtrbandit.kernels.arrays import Array
from dtrbandit.resampling import resampled_counts

LEVEL = 0.95
REACH = 1.959963984540054  # of a 95 % interval of the normal law, in standard errors
FEWEST, ENOUGH = 200, 500  # paths for an interval of about 90 %, and for one of 95 %
REPLAY = 20, 60  # the same for average outcomes of replay
PATHS, COHORTS = "over paths through this cohort", "over cohorts"
TOO_FEW, ABOUT, FULL = "too few paths for an interval", "about 90 %", "95 %"
RESAMPLES = 2_000
AT_ONCE = 4_000_000  # paths of resamples that are held in memory together
STREAM = 7  # of the seed: resamples do not depend on what else the seed drew
NOTHING = 1e-12  # of the largest squared distance from the mean: a smaller variance is a rounding error of 0


class Interval(NamedTuple):
    """Estimates with standard errors and intervals, which are NaN where there is none.

    ``level`` says what the intervals are worth: "95 %", "about 90 %" or "too few paths for an interval".
    """

    estimate: Array
    std_error: Array
    low: Array
    high: Array
    level: str = FULL


class Spread(NamedTuple):
    """The paths themselves, over the first axis: their median, and the values below which 5 % and 95 % of them are."""

    median: Array
    path_5: Array
    path_95: Array


class Band(NamedTuple):
    """What surrounds a mean in a picture, and the words for it."""

    low: Array
    high: Array
    words: str


def level_of(paths: int, needed: tuple[int, int] = (FEWEST, ENOUGH)) -> str:
    """Say what an interval for a mean over so many paths is worth, by the numbers needed for either level.

    Examples
    --------
    >>> [level_of(paths) for paths in (40, 200, 500)]
    ['too few paths for an interval', 'about 90 %', '95 %']
    """
    fewest, enough = needed
    return TOO_FEW if paths < fewest else ABOUT if paths < enough else FULL


def mean_over_paths(values: Array, *, seed: int, level: float = LEVEL) -> Interval:
    """Return the mean over paths, the first axis, with a bootstrap-t interval if there are enough of them.

    A higher ``level`` is for intervals that are to hold together.

    Examples
    --------
    >>> few = mean_over_paths(np.array([1.0, 2.0, 3.0]), seed=0)
    >>> few.estimate, few.low, few.level
    (np.float64(2.0), np.float64(nan), 'too few paths for an interval')
    """
    worth = level_of(len(values))
    if worth == TOO_FEW:
        return no_interval(values.mean(axis=0))
    low, high = bootstrap_t(values, seed=seed, level=level)
    return Interval(values.mean(axis=0), _std_error(values), low, high, worth)


def no_interval(estimate: Array) -> Interval:
    """Return estimates over too few paths."""
    unknown = np.full_like(estimate, np.nan)[()]
    return Interval(estimate, unknown, unknown, unknown, TOO_FEW)


def spread_of_paths(values: Array) -> Spread:
    """Return how the paths, the first axis, spread."""
    low, median, high = np.quantile(values, [0.05, 0.5, 0.95], axis=0)
    return Spread(median, low, high)


def band(values: Array, *, seed: int) -> Band:
    """Return what surrounds the mean over paths in a picture: its interval, or with too few paths their spread."""
    found = mean_over_paths(values, seed=seed)
    if found.level != TOO_FEW:
        return Band(found.low, found.high, f"mean, {found.level} band")
    return spread_band(values)


def spread_band(values: Array) -> Band:
    """Return the spread of paths as what surrounds their mean in a picture."""
    _, low, high = spread_of_paths(values)
    return Band(low, high, "mean; band: 5 to 95 % of paths" if len(values) > 1 else "")


def no_band(values: Array) -> Band:
    """Return a band of no width around the mean over paths, for a picture in which every path is drawn."""
    mean = values.mean(axis=0)
    return Band(mean, mean, "mean and each path" if len(values) > 1 else "")


def bootstrap_t(values: Array, *, seed: int, level: float = LEVEL) -> tuple[Array, Array]:
    """Return the ends of the bootstrap-t interval of the mean over paths, the first axis, at each point.

    t* = (x̄* − x̄)/se* over resamples of whole paths. The interval is x̄ − t*se at the 97.5 and the 2.5 % quantile of t*.
    Resamples in which all paths are equal have no t*. If none has one, all paths are equal, and so are the ends.
    """
    flat = values.reshape(len(values), -1)
    ordered = np.sort(resampled_t(flat, seed=seed), axis=0)  # NaN come last
    count = (~np.isnan(ordered)).sum(axis=0)
    tail = (1 - level) / 2
    low, high = (flat.mean(axis=0) - _quantile(ordered, count, share) * _std_error(flat) for share in (1 - tail, tail))
    shape = values.shape[1:]
    return low.reshape(shape)[()], high.reshape(shape)[()]


def all_pairs_reach(values: Array, *, seed: int) -> float:
    """Return c such that mean ± c·se holds for the differences between all columns, (paths, K), together.

    It is the 95 % quantile, over resamples of paths, of the largest |t*| of all pairs. So it stays valid for pairs that
    were chosen by looking at the means, such as each policy and the best.
    """
    pairs = list(combinations(range(values.shape[1]), 2))
    differences = np.stack([values[:, i] - values[:, j] for i, j in pairs], axis=1)
    largest = np.nanmax(np.abs(np.nan_to_num(resampled_t(differences, seed=seed))), axis=1)
    return float(np.quantile(largest, LEVEL))


def resampled_t(values: Array, *, seed: int) -> Array:
    """Return t* of resamples of paths, (resamples, points), of values (paths, points); NaN where all are equal."""
    n = len(values)
    distance = values - values.mean(axis=0)
    both = np.concatenate([distance, distance**2], axis=1)
    least = NOTHING * (distance**2).max(axis=0)
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(STREAM,)))
    found, size = [], max(1, AT_ONCE // n)
    for start in range(0, RESAMPLES, size):
        counts = resampled_counts(rng, n, resamples=min(size, RESAMPLES - start))
        mean, square = np.split(counts @ both / n, 2, axis=1)
        variance = square - mean**2
        with np.errstate(divide="ignore", invalid="ignore"):
            found.append(np.where(variance > least, mean / np.sqrt(variance / (n - 1)), np.nan))
    return np.concatenate(found)


def _quantile(ordered: Array, count: NDArray[np.int64], share: float) -> Array:
    """Return a quantile of the first ``count`` of each column, interpolated; 0 where there are none."""
    place = np.maximum(share * (count - 1), 0.0)
    below = place.astype(np.int64)
    above = np.minimum(below + 1, np.maximum(count - 1, 0))
    columns = np.arange(ordered.shape[1])
    low, high = ordered[below, columns], ordered[above, columns]
    return np.where(count > 0, low + (place - below) * (high - low), 0.0)


def _std_error(values: Array) -> Array:
    found: Array = values.std(axis=0, ddof=1) / math.sqrt(len(values))
    return found


def interval(values: Array, *, level: float = LEVEL) -> Interval:
    """Return the mean over paths or cohorts, the first axis, with Student's interval; NaN for a single one.

    Examples
    --------
    >>> interval(np.array([1.0, 2.0, 3.0])).low.round(3)
    np.float64(-0.484)
    """
    mean = values.mean(axis=0)
    if len(values) == 1:
        return no_interval(mean)
    std_error = _std_error(values)
    reach = student_quantile(len(values) - 1, level) * std_error
    return Interval(mean, std_error, mean - reach, mean + reach)


def student_quantile(freedom: float, level: float = LEVEL) -> float:
    """Return t with P(|T| ≤ t) = ``level`` for degrees of freedom that need not be a whole number."""
    from scipy.special import ndtri, stdtrit

    share = (1 + level) / 2
    return float(stdtrit(freedom, share) if np.isfinite(freedom) else ndtri(share))


# -- replay -----------------------------------------------------------------------------------------------------


def over_paths(values: Array, *, level: float = LEVEL) -> Interval:
    """Return the mean of values (P, …) with Student's interval over paths; NaN with too few of them."""
    worth = level_of(len(values), REPLAY)
    return no_interval(values.mean(axis=0)) if worth == TOO_FEW else interval(values, level=level)._replace(level=worth)


def mean_interval(values: Array, resampled: Array | None) -> Interval:
    """Return the mean of values (P, …) with its interval: over paths, or over cohorts where some were resampled.

    ``resampled`` is (B, P′, …), NaN for cohorts that could not be played.
    """
    if resampled is None:
        return over_paths(values)
    played = ~np.isnan(resampled.reshape(len(resampled), -1)).any(axis=1)
    return over_cohorts(values, resampled[played])


def over_cohorts(values: Array, resampled: Array) -> Interval:
    """Return the mean of values (P, …) with its interval over cohorts, from those of resampled cohorts (B, P′, …).

    Examples
    --------
    >>> found = over_cohorts(np.array([1.0, 1.0]), np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]]))
    >>> found.estimate, found.std_error
    (np.float64(1.0), np.float64(1.0))
    """
    within = resampled.var(axis=1, ddof=1).mean(axis=0) / resampled.shape[1]
    between = np.maximum(resampled.mean(axis=1).var(axis=0, ddof=1) - within, 0.0)
    mean = values.mean(axis=0)
    std_error = np.sqrt(between + values.var(axis=0, ddof=1) / len(values))
    return Interval(mean, std_error, mean - REACH * std_error, mean + REACH * std_error)
