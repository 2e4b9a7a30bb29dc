"""How fast regret grows: what the last doubling of the rounds costs, in units of the doubling before.

===========  ======================================
regret       R(T) − R(T/2) over R(T/2) − R(T/4)
===========  ======================================
a + b log t  1
a + b t^γ    2^γ: 1.23 at γ = 0.3, 1.41 at γ = 0.5
===========  ======================================

No data show a logarithm. What they can show is that regret is consistent with one, and that √t or t^0.3 is excluded.
What is paid before T/4 does not count. It must not: the slope of log R on log t is 0.2 for 100 + √t at T = 2,000.

*Typical* is the median over paths, and can be told at the paper's 40 paths. It says nothing of rare bad paths: on a
typical path Greedy learns. *Mean* regret is what theorems bound; rare bad paths decide it, so it needs 1,000 paths.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dtrbandit.design.schedule import place
from dtrbandit.intervals import LEVEL
from dtrbandit.kernels.arrays import Array
from dtrbandit.reproduce.claims import (
    Claim,
    Measured,
    Whose,
    each_of,
    highest,
    judged,
    median,
    ratio_of_means,
    together,
)
from dtrbandit.reproduce.reproduction import DTRB, Setting, Studies
from dtrbandit.simulation.study import Study

Rounds = NDArray[np.int64]

ROOT, EXCLUDED = 1.41, 1.23  # the ratios of √t and of t^0.3, rounded down
LINEAR = 2**0.9, 2**1.1  # the ratios of t^0.9 and t^1.1
POINTS = 40


class Curve(NamedTuple):
    """Regret of each path up to the rounds T/4, T/2 and T of ``doublings``, (paths, 3); (paths, 0) if there are none.

    ``block`` is the length of a block of the schedule.
    """

    horizon: int
    block: int
    totals: Array

    @property
    def costs(self) -> tuple[Array, Array] | None:
        """What the last doubling but one costs on each path, and what the last does; None if paths are too short."""
        if not self.totals.size:
            return None
        before, after = np.diff(self.totals, axis=1).T
        return before, after


def curve(study: Study, policy: str, *, block: int = 1) -> Curve:
    """Return the regret of a policy over all stages."""
    return curve_of(partial(study.total_regret, policy), study.horizon, block)


def curves_by_setting(studies: Studies, settings: Mapping[str, Setting]) -> dict[str, Curve]:
    """Return the curve of each of these settings."""
    return {name: curve(studies[name], DTRB, block=setting.block) for name, setting in settings.items()}


def curve_of(total: Callable[[Rounds], Array], horizon: int, block: int) -> Curve:
    """Return the curve at the rounds that are looked at here."""
    rounds = doublings(horizon, block)
    return Curve(horizon, block, total(np.array([horizon]))[:, :0] if rounds is None else total(rounds))


def log_rounds(horizon: int, *, decades: float = 1) -> Rounds:
    """Return the rounds of the last ``decades``, evenly spaced in log t."""
    return np.unique(np.geomspace(max(horizon / 10**decades, 1), horizon, POINTS).round().astype(np.int64))


def doublings(horizon: int, block: int) -> Rounds | None:
    """Return T/4, T/2 and T for the last T = block · 2^k, in step with the schedule; None if there is none.

    Examples
    --------
    >>> doublings(10_000, 20)
    array([1280, 2560, 5120])
    """
    if horizon < 4 * block:
        return None
    last = block * 2 ** int(math.log2(horizon / block))
    return np.array([last // 4, last // 2, last])


def typical_ratio(of: Curve, *, level: float = LEVEL) -> Measured:
    """Return the median over paths of what the last doubling costs, in units of the one before.

    A path on which neither costs anything has the ratio 0.
    """
    if of.costs is None:
        return _too_short(of)
    before, after = of.costs
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.where(after > 0, after / before, 0.0)
    return median(ratios, level=level)


def mean_ratio(of: Curve, *, level: float = LEVEL) -> Measured:
    """Return what the last doubling costs on average, in units of the one before."""
    if of.costs is None:
        return _too_short(of)
    before, after = of.costs
    return ratio_of_means(after, before, level=level)


def _too_short(of: Curve) -> Measured:
    return Measured(math.nan, math.nan, math.nan, f"{of.horizon:,} rounds are fewer than four blocks of {of.block}")


class Words(NamedTuple):
    """How a measure of several curves is put into a claim."""

    before: str
    after: str
    allowed: str


Measure = Callable[..., Measured]
DOUBLING, AS_BEFORE = "the last doubling costs ", " times the one before"


def slower_than_root(sentence: str, curves: Mapping[str, Curve], *, whose: Whose = Whose.PAPER) -> Claim:
    """Claim that regret of each curve grows slower than √T on a typical path, by the last doubling."""
    words = Words(DOUBLING, AS_BEFORE, f"below {ROOT:.2f}, that of √t (log t: 1, t: 2)")
    return _all_below(f"On a typical path {sentence}", _measured(curves, typical_ratio), ROOT, words, whose)


def logarithmic(sentence: str, curves: Mapping[str, Curve], measure: Measure, *, whose: Whose = Whose.PAPER) -> Claim:
    """Claim that regret of each curve is consistent with a logarithm, and t^0.3 excluded, by the last doubling."""
    words = Words(DOUBLING, AS_BEFORE, f"below {EXCLUDED:.2f}, that of t^0.3 (log t: 1, √t: 1.41)")
    return _all_below(sentence, _measured(curves, measure), EXCLUDED, words, whose)


def linear(sentence: str, of: Curve, *, whose: Whose = Whose.PAPER) -> Claim:
    """Claim that regret is linear on a typical path, by the last doubling."""
    found, (low, high) = typical_ratio(of), LINEAR
    return Claim(
        sentence,
        f"{DOUBLING}{found:.2f}{AS_BEFORE} on a typical path",
        f"{low:.2f} to {high:.2f}, those of t^0.9 and t^1.1 (t: 2)",
        judged(found, above=low, below=high),
        whose,
    )


def sublinear(sentence: str, of: Curve, *, whose: Whose = Whose.PAPER) -> Claim:
    """Claim that regret is sublinear on a typical path, by the last doubling."""
    words = Words(DOUBLING, f"{AS_BEFORE} on a typical path", f"below {LINEAR[0]:.2f}, that of t^0.9 (√t: 1.41)")
    return _all_below(sentence, _measured({"": of}, typical_ratio), LINEAR[0], words, whose)


def _measured(curves: Mapping[str, Curve], measure: Measure) -> dict[str, Measured]:
    return {name: measure(of, level=each_of(len(curves))) for name, of in curves.items()}


def _all_below(sentence: str, found: Mapping[str, Measured], limit: float, words: Words, whose: Whose) -> Claim:
    """Claim that all are below a limit; show the highest."""
    name = highest(found)
    several = f" (highest limit: {name})" if len(found) > 1 else ""
    verdict = together(judged(each, below=limit) for each in found.values())
    return Claim(sentence, f"{words.before}{found[name]:.2f}{words.after}{several}", words.allowed, verdict, whose)


def forced_rounds(horizon: int, setting: Setting) -> NDArray[np.bool_]:
    """Say which rounds the schedule forces, (horizon,)."""
    return _forced(horizon, setting.block // setting.policy.q, setting.policy.q)


@lru_cache(maxsize=16)
def _forced(horizon: int, plans: int, q: int) -> NDArray[np.bool_]:
    forced = np.array([place(t, plans, q)[0] for t in range(1, horizon + 1)])
    forced.flags.writeable = False
    return forced


def free_regret(study: Study, setting: Setting) -> Array:
    """Return the regret of each round, (paths, horizon), 0 where it was forced."""
    assert study.stage_regret is not None
    return np.where(forced_rounds(study.horizon, setting), 0.0, study.stage_regret[DTRB].sum(axis=2))


ROOT_EXPONENT = 0.5  # of √T


def by_decade(study: Study, setting: Setting) -> Array:
    """Return the mean regret of a free round in the last but one decade and ten times that in the last, (paths, 2)."""
    regret, free, end = free_regret(study, setting), ~forced_rounds(study.horizon, setting), study.horizon
    spans = slice(end // 100, end // 10), slice(end // 10, end)
    first, second = (regret[:, span].sum(axis=1) / max(free[span].sum(), 1) for span in spans)
    return np.stack([first, 10 * second], axis=1)


def exponents(study: Study, setting: Setting) -> Array:
    """Return the exponent of each path, (paths,); −∞ where the last decade costs nothing, ∞ where only it does."""
    first, second = by_decade(study, setting).T
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(second > 0, np.log10(second / first), -np.inf)


def free_rounds_slower_than_root(studies: Studies, settings: Mapping[str, Setting]) -> Claim:
    """Claim of these settings that free rounds add up to less than √T on a typical path."""
    level = each_of(len(settings))
    found = {name: median(exponents(studies[name], setting), level=level) for name, setting in settings.items()}
    name = highest(found)
    several = f" (highest limit: {name})" if len(found) > 1 else ""
    return Claim(
        "On a typical path free rounds alone grow slower than √T: it is not the schedule that makes regret logarithmic",
        f"exponent by decade {found[name]:.2f}{several}",
        f"below {ROOT_EXPONENT}, that of √T (log T: 0, T: 1)",
        together(judged(each, below=ROOT_EXPONENT) for each in found.values()),
        Whose.OURS,
    )
