"""Claims and their verdicts: a claim holds, is refuted, or cannot be told.

A verdict compares an interval with what is allowed. Wholly within: the claim holds, that is, it is shown. Wholly
outside: it is refuted. Otherwise, and where there is no valid interval, it cannot be told.

Intervals are over the paths of a study. Regret is skewed: one path in fifty, or in five hundred, has many times the
median. Medians and shares of paths have exact intervals at any number. A ratio of means has one from 1,000 paths on, by
bootstrap-t. Its coverage where a late cost is compared with an earlier one was measured on 500 or 1,000 real paths as
the truth, for seven settings:

=======  ==================
paths    coverage
=======  ==================
200      .33 – .96
500      .60 – .96
1,000    .88 – .97
2,000    .92 – .99
=======  ==================
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from enum import StrEnum
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dtrbandit.intervals import ABOUT, LEVEL, TOO_FEW, mean_over_paths
from dtrbandit.kernels.arrays import Array
from dtrbandit.resampling import resampled_counts
from dtrbandit.words import counted


class Verdict(StrEnum):
    """What the data say of a claim; only the first is a tick."""

    HOLDS = "holds"
    REFUTED = "refuted"
    OPEN = "cannot be told"

    @property
    def mark(self) -> str:
        """One character for tables."""
        return {Verdict.HOLDS: "✓", Verdict.REFUTED: "✗", Verdict.OPEN: "?"}[self]


class Whose(StrEnum):
    """Who says so."""

    PAPER = "the paper's"
    OURS = "ours"


class Claim(NamedTuple):
    """A sentence, what was measured, what is allowed, the verdict, and whether the paper says so or we do.

    Examples
    --------
    >>> ratio = Measured(1.05, 1.01, 1.09)
    >>> Claim("It learns", f"{ratio:.2f}", "below 1.23", judged(ratio, below=1.23)).holds
    True
    """

    claim: str
    measured: str
    allowed: str
    verdict: Verdict
    whose: Whose = Whose.PAPER

    @property
    def holds(self) -> bool:
        """Whether it is shown."""
        return self.verdict is Verdict.HOLDS

    @property
    def refuted(self) -> bool:
        """Whether its contrary is shown."""
        return self.verdict is Verdict.REFUTED

    def record(self) -> dict[str, object]:
        """Return it as an entry of a JSON document."""
        return {
            "claim": self.claim,
            "measured": self.measured,
            "allowed": self.allowed,
            "holds": self.holds,
            "verdict": str(self.verdict),
            "whose": str(self.whose),
        }


class Measured(NamedTuple):
    """A number with its interval; NaN limits where no interval is valid, and then ``remark`` says why.

    Examples
    --------
    >>> f"{Measured(0.25, 0.125, 0.5):.0%}", f"{Measured(2.0, math.nan, math.nan, 'two paths'):.1f}"
    ('25% (12% to 50%)', '2.0 (two paths)')
    """

    value: float
    low: float
    high: float
    remark: str = ""

    def __format__(self, form: str) -> str:
        known = [] if math.isnan(self.low) else [f"{self.low:{form}} to {self.high:{form}}"]
        inside = ", ".join([*known, *([self.remark] if self.remark else [])])
        return f"{self.value:{form}} ({inside})"


def judged(found: Measured, *, above: float = -math.inf, below: float = math.inf) -> Verdict:
    """Judge whether a number lies above one limit and below another, by its interval.

    Examples
    --------
    >>> [str(judged(Measured(0.4, 0.3, high), below=0.5)) for high in (0.45, 0.55, math.nan)]
    ['holds', 'cannot be told', 'cannot be told']
    >>> str(judged(Measured(0.7, 0.6, 0.8), below=0.5))
    'refuted'
    """
    if found.high < above or found.low > below:
        return Verdict.REFUTED
    clears_low = above == -math.inf or found.low > above
    clears_high = below == math.inf or found.high < below
    known = not (math.isnan(found.low) or math.isnan(found.high))
    return Verdict.HOLDS if known and clears_low and clears_high else Verdict.OPEN


def exactly(true: bool) -> Verdict:
    """Judge what has no uncertainty."""
    return Verdict.HOLDS if true else Verdict.REFUTED


def together(verdicts: Iterable[Verdict]) -> Verdict:
    """Judge a claim of several parts: it holds if all hold, and is refuted if one is.

    Each part needs the level of ``bonferroni_level``, or one in forty would be refuted by chance.
    """
    found = set(verdicts)
    return Verdict.REFUTED if Verdict.REFUTED in found else Verdict.OPEN if Verdict.OPEN in found else Verdict.HOLDS


def all_judged(found: Iterable[Measured], *, above: float = -math.inf, below: float = math.inf) -> Verdict:
    """Judge whether all of several numbers lie above one limit and below another."""
    return together(judged(each, above=above, below=below) for each in found)


def highest(found: Mapping[str, Measured]) -> tuple[Measured, str]:
    """Return the number with the highest upper limit, and which it is, in words, if there are several.

    Where there are no limits the highest number counts.

    Examples
    --------
    >>> highest({"a": Measured(1.0, 0.5, 1.5), "b": Measured(0.9, 0.1, 1.7)})[1]
    ' (highest limit: b)'
    """
    name = max(found, key=lambda each: found[each].value if math.isnan(found[each].high) else found[each].high)
    return found[name], f" (highest limit: {name})" if len(found) > 1 else ""


FEWEST, ENOUGH = 1_000, 2_000  # paths: for an interval of a ratio of means at all, and for one of 95 %
RESAMPLES = 2_000


def bonferroni_level(count: int) -> float:
    """Return the level of each of ``count`` intervals that hold together with 95 %."""
    return 1 - (1 - LEVEL) / count


def share(hits: NDArray[np.bool_], *, level: float = LEVEL) -> Measured:
    """Return on which share of paths something is so, with the exact binomial interval (Clopper & Pearson).

    Examples
    --------
    >>> f"{share(np.arange(40) < 27):.1%}"
    '67.5% (50.9% to 81.4%)'
    """
    from scipy.special import betaincinv

    paths, count, tail = len(hits), int(np.count_nonzero(hits)), (1 - level) / 2
    low = float(betaincinv(count, paths - count + 1, tail)) if count else 0.0
    high = float(betaincinv(count + 1, paths - count, 1 - tail)) if count < paths else 1.0
    return Measured(count / paths, low, high)


def median(values: Array, *, level: float = LEVEL) -> Measured:
    """Return the median over paths, with the exact interval between two order statistics.

    The numbers of paths below and above the true median are binomial with probability one half, whatever the law.
    Values may be infinite. With fewer than six paths there is no interval of 95 %.

    Examples
    --------
    >>> f"{median(np.arange(1.0, 41.0)):.1f}"
    '20.5 (14.0 to 27.0)'
    """
    ordered = np.sort(values)
    paths = len(ordered)
    outside = _outside(paths, level)
    with np.errstate(invalid="ignore"):  # between −∞ and ∞
        middle = float(np.median(ordered))
    if not outside:
        return Measured(middle, math.nan, math.nan, f"too few for an interval: {counted(paths, 'path')}")
    return Measured(middle, float(ordered[outside - 1]), float(ordered[paths - outside]))


@lru_cache(maxsize=64)
def _outside(paths: int, level: float) -> int:
    """Return the largest k such that the median lies between the k-th and the k-th last with this probability."""
    from scipy.special import bdtr

    return int(np.count_nonzero(bdtr(np.arange(paths, dtype=float), paths, 0.5) <= (1 - level) / 2))


def ratio_of_means(over: Array, under: Array, *, level: float = LEVEL) -> Measured:
    """Return how many times as large one mean over paths is as another, with its interval if there are paths enough.

    It is the bootstrap-t interval of the logarithm. Paths are resampled in pairs.
    """
    paths, mean_over, mean_under = len(over), float(over.mean()), float(under.mean())
    value = mean_over / mean_under if mean_under > 0 else math.nan
    if paths < FEWEST:
        return Measured(value, math.nan, math.nan, f"no interval: {paths:,} paths, means need {FEWEST:,}")
    if not value > 0:
        return Measured(value, math.nan, math.nan, "no interval: a mean of 0")
    _, error = _log_ratios(over, under, np.ones((1, paths)))
    if not error[0] > 0:
        return Measured(value, value, value)  # every path has the same ratio
    with np.errstate(divide="ignore", invalid="ignore"):
        resampled, errors = _log_ratios(over, under, _resamples(paths))
        t = (resampled - math.log(value)) / errors
    tail = (1 - level) / 2
    upper, lower = np.quantile(t[np.isfinite(t)], [1 - tail, tail])
    low, high = (value * math.exp(-float(quantile * error[0])) for quantile in (upper, lower))
    return Measured(value, low, high, "" if paths >= ENOUGH else "about 90 %")


def _log_ratios(over: Array, under: Array, counts: Array) -> tuple[Array, Array]:
    """Return the logarithm of the ratio of means in each resample, and its standard error, (resamples,) each.

    A path's influence is its part of the one mean less its part of the other; their squares are multiplied out.
    """
    one, other = counts @ over, counts @ under  # sums
    squares = counts @ over**2 / one**2 - 2 * (counts @ (over * under)) / (one * other) + counts @ under**2 / other**2
    rounding = 1e-12  # of terms near 1 / paths
    return np.log(one / other), np.sqrt(np.where(squares > rounding / len(over), squares, 0.0))


def mean_difference(differences: Array, *, level: float = LEVEL) -> Measured:
    """Return the mean of differences path by path, with its bootstrap-t interval if there are paths enough.

    Examples
    --------
    >>> f"{mean_difference(np.arange(40.0)):.1f}"
    '19.5 (too few paths for an interval: 40)'
    """
    found = mean_over_paths(differences, seed=0, level=level)
    remarks = {TOO_FEW: f"{TOO_FEW}: {len(differences):,}", ABOUT: ABOUT}
    return Measured(float(found.estimate), float(found.low), float(found.high), remarks.get(found.level, ""))


@lru_cache(maxsize=4)
def _resamples(paths: int) -> Array:
    """Return how often each path is drawn in each resample, (resamples, paths). They are the same for every claim."""
    counts = resampled_counts(np.random.default_rng(paths), paths, resamples=RESAMPLES)
    counts.flags.writeable = False
    return counts
