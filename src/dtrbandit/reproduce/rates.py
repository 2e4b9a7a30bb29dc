"""How fast regret grows: what the last doubling of the rounds costs, in units of the doubling before.

A claim about a rate is a ``Limit`` on that ratio.

===========  ======================================
regret       R(T) − R(T/2) over R(T/2) − R(T/4)
===========  ======================================
a + b log t  1
a + b t^γ    2^γ: 1.23 at γ = 0.3, 1.41 at γ = 0.5
===========  ======================================

No data show a logarithm. What they can show is that regret is consistent with one, and that √t or t^0.3 is excluded.
What is paid before T/4 does not count. It must not: the slope of log R on log t is 0.2 for 100 + √t at T = 2,000.

*Typical* is the median over paths, and can often be told at the paper's 40 paths. It says nothing of rare bad paths: on
a typical path Greedy learns. *Mean* regret is what theorems bound; rare bad paths decide it, so it needs 1,000 paths.

Forced rounds cost log T by the schedule alone, so free rounds are measured by themselves too. Those of the last decade
cost so many times as much as those of the decade before. The logarithm of that factor to base 10 is the *exponent*: 0
for a logarithm, γ for t^γ. What is paid before round T/100 does not count.
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
    all_judged,
    bonferroni_level,
    highest,
    median,
    ratio_of_means,
)
from dtrbandit.reproduce.more_paths import Regret, Rounds, doubling_rounds
from dtrbandit.reproduce.reproduction import DTRB, Regrets, Setting, Studies, stage_regret
from dtrbandit.simulation.study import Study

Measure = Callable[..., Measured]  # of doublings, at a level
POINTS = 40
ROOT_EXPONENT = 0.5  # of √T


class Limit(NamedTuple):
    """What the last doubling may cost, in units of the one before, in words and in numbers."""

    allowed: str
    below: float
    above: float = -math.inf


ROOT, EXCLUDED = 1.41, 1.23  # the ratios of √t and of t^0.3, rounded down
LOW, HIGH = 2**0.9, 2**1.1  # those of t^0.9 and of t^1.1
SLOWER_THAN_ROOT = Limit(f"below {ROOT:.2f}, that of √t (log t: 1, t: 2)", ROOT)
LOGARITHMIC = Limit(f"below {EXCLUDED:.2f}, that of t^0.3 (log t: 1, √t: 1.41)", EXCLUDED)
SUBLINEAR = Limit(f"below {LOW:.2f}, that of t^0.9 (√t: 1.41)", LOW)
LINEAR = Limit(f"{LOW:.2f} to {HIGH:.2f}, those of t^0.9 and t^1.1 (t: 2)", HIGH, LOW)


class Doublings(NamedTuple):
    """Regret of each path up to T/4, T/2 and T, the rounds of ``doubling_rounds``, (paths, 3).

    Paths that are too short for these have totals of shape (paths, 0). ``block`` is how many rounds a block of the
    schedule has.
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


def doublings(regret: Regret, policy: str, *, block: int = 1) -> Doublings:
    """Return the regret of a policy over all stages."""
    return doublings_of(partial(regret.total_regret, policy), regret.horizon, block)


def doublings_by_setting(regrets: Regrets, settings: Mapping[str, Setting]) -> dict[str, Doublings]:
    """Return the doublings of each of these settings."""
    return {name: doublings(regrets[name], DTRB, block=setting.block) for name, setting in settings.items()}


def doublings_of(total: Callable[[Rounds], Array], horizon: int, block: int) -> Doublings:
    """Return the doublings of a regret, of which ``total`` gives each path's sum up to rounds."""
    rounds = doubling_rounds(horizon, block)
    return Doublings(horizon, block, total(np.array([horizon]))[:, :0] if rounds is None else total(rounds))


def log_rounds(horizon: int, *, decades: float = 1) -> Rounds:
    """Return the rounds of the last ``decades``, evenly spaced in log t."""
    return np.unique(np.geomspace(max(horizon / 10**decades, 1), horizon, POINTS).round().astype(np.int64))


def typical_ratio(growth: Doublings, *, level: float = LEVEL) -> Measured:
    """Return the median over paths of what the last doubling costs, in units of the one before.

    A path on which neither costs anything has the ratio 0.
    """
    if growth.costs is None:
        return _too_short(growth)
    before, after = growth.costs
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.where(after > 0, after / before, 0.0)
    return median(ratios, level=level)


def mean_ratio(growth: Doublings, *, level: float = LEVEL) -> Measured:
    """Return what the last doubling costs on average, in units of the one before."""
    if growth.costs is None:
        return _too_short(growth)
    before, after = growth.costs
    return ratio_of_means(after, before, level=level)


def _too_short(growth: Doublings) -> Measured:
    remark = f"{growth.horizon:,} rounds are fewer than four blocks of {growth.block}"
    return Measured(math.nan, math.nan, math.nan, remark)


def grows(
    sentence: str,
    growth: Mapping[str, Doublings],
    limit: Limit,
    *,
    measure: Measure = typical_ratio,
    suffix: str = "",
    whose: Whose = Whose.PAPER,
) -> Claim:
    """Claim of each of these that the last doubling costs what a limit allows; ``suffix`` follows what was measured."""
    level = bonferroni_level(len(growth))
    found = {name: measure(each, level=level) for name, each in growth.items()}
    most, which = highest(found)
    return Claim(
        sentence,
        f"the last doubling costs {most:.2f} times the one before{suffix}{which}",
        limit.allowed,
        all_judged(found.values(), above=limit.above, below=limit.below),
        whose,
    )


def grows_typically(sentence: str, growth: Doublings, limit: Limit, *, whose: Whose = Whose.PAPER) -> Claim:
    """Claim of one policy or setting that the last doubling costs what a limit allows, on a typical path."""
    return grows(sentence, {"": growth}, limit, suffix=" on a typical path", whose=whose)


def grows_on_average(
    sentence: str, growth: Mapping[str, Doublings], limit: Limit, *, whose: Whose = Whose.PAPER
) -> Claim:
    """Claim of the mean regret of each of these that the last doubling costs what a limit allows."""
    return grows(sentence, growth, limit, measure=mean_ratio, suffix=" on average", whose=whose)


def logarithmic(
    growth: Mapping[str, Doublings], *, slower: str, consistent: str, whose: Whose = Whose.PAPER
) -> tuple[Claim, Claim, Claim]:
    """Claim of each of these that regret is slower than √T on a typical path, and consistent with a logarithm.

    The latter is claimed of a typical path and of the mean: ``{regret}`` in its sentence stands for either.
    """
    typical, mean = (consistent.format(regret=regret) for regret in ("regret on a typical path", "mean regret"))
    return (
        grows(f"On a typical path {slower}", growth, SLOWER_THAN_ROOT, whose=whose),
        grows(typical, growth, LOGARITHMIC, whose=whose),
        grows_on_average(mean, growth, LOGARITHMIC, whose=whose),
    )


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
    return np.where(forced_rounds(study.horizon, setting), 0.0, stage_regret(study).sum(axis=2))


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
    level = bonferroni_level(len(settings))
    found = {name: median(exponents(studies[name], setting), level=level) for name, setting in settings.items()}
    most, which = highest(found)
    return Claim(
        "On a typical path free rounds alone grow slower than √T: it is not the schedule that makes regret logarithmic",
        f"exponent by decade {most:.2f}{which}",
        f"below {ROOT_EXPONENT}, that of √T (log T: 0, T: 1)",
        all_judged(found.values(), below=ROOT_EXPONENT),
        Whose.OURS,
    )
