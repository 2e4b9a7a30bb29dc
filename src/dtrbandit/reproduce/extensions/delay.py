"""Delay: waiting for responses costs an additive penalty, and the rate stays log T (label "thm: delay")."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from dtrbandit.environments.arrivals import ArrivalProcess, Exponential
from dtrbandit.environments.synthetic import Synthetic
from dtrbandit.kernels.arrays import Array
from dtrbandit.plots import colour_of, plain_axes
from dtrbandit.policies.dtr_bandit import DTRBandit
from dtrbandit.reproduce.claims import (
    FEWEST,
    Claim,
    Measured,
    Whose,
    all_judged,
    bonferroni_level,
    highest,
    judged,
    median,
    ratio_of_means,
    share,
)
from dtrbandit.reproduce.pictures import draw_regret, note, panels, title
from dtrbandit.reproduce.rates import doublings_by_setting, free_rounds_slower_than_root, logarithmic
from dtrbandit.reproduce.reproduction import (
    DTRB,
    Extension,
    Regrets,
    Setting,
    Studies,
    final_regret,
    late_regret,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Picture

POLICY = DTRBandit(q=5, delta=0.5)
AT_ONCE = "no delay"
DELAYS = {f"delay {mean}": mean for mean in (10, 30, 100, 300)}  # μ₂/μ₁: units that enrol while one is waited for
SETTINGS = {
    AT_ONCE: Setting(Synthetic(), POLICY),
    **{
        name: Setting(Synthetic(), POLICY, ArrivalProcess(response=Exponential(float(mean))))
        for name, mean in DELAYS.items()
    },
}
FIRST_BLOCK = POLICY.q * len(Synthetic().design.arm_plans)
SAME_SLOPE = 0.8, 1.2
EACH = bonferroni_level(len(DELAYS))


def claims(studies: Studies, regrets: Regrets) -> tuple[Claim, ...]:
    """Measure what the theorem says; all settings met the same units, so differences are paired."""
    return (
        *logarithmic(
            doublings_by_setting(regrets, SETTINGS),
            slower="regret grows slower than √T whatever the delay",
            consistent="The rate stays log T whatever the delay: {regret} is consistent with it, t^0.3 excluded",
        ),
        free_rounds_slower_than_root(studies, SETTINGS),
        _adds("of a typical path", lambda late, without: median(late / without, level=EACH), regrets),
        _adds("mean", partial(ratio_of_means, level=EACH), regrets),
        _grows_with_delay(regrets),
        _at_most_proportional(regrets),
    )


def penalty(studies: Studies, name: str) -> Measured:
    """Return how much more regret there is with a delay than without, at the horizon, on a typical path."""
    return median(final_regret(studies[name]) - final_regret(studies[AT_ONCE]))


def _uninformed(regrets: Regrets) -> Array:
    """Return what a round costs before anything is learnt, on each path: the mean over the first forced block."""
    return regrets[AT_ONCE].total_regret(DTRB, [FIRST_BLOCK])[:, 0] / FIRST_BLOCK


def _adds(where: str, ratio: Callable[[Array, Array], Measured], regrets: Regrets) -> Claim:
    low, high = SAME_SLOPE  # a penalty that multiplied would show as the ratio of the whole regret, 1.3 with delay 300
    without = late_regret(regrets[AT_ONCE])
    ratios = {mean: ratio(late_regret(regrets[name]), without) for name, mean in DELAYS.items()}
    (remark,) = {each.remark for each in ratios.values()}
    numbers = [f"{mean}: {each._replace(remark=''):.2f}".removesuffix(" ()") for mean, each in ratios.items()]
    return Claim(
        f"Delay adds to the regret and does not multiply it: in the second half {where} regret grows against log t as "
        "without",
        f"times that without delay {'; '.join(numbers)}" + (f" ({remark})" if remark else ""),
        f"between {low} and {high}, each",
        all_judged(ratios.values(), above=low, below=high),
    )


def _grows_with_delay(regrets: Regrets) -> Claim:
    longest, shortest = list(DELAYS)[-1], next(iter(DELAYS))
    found = share(final_regret(regrets[longest]) > final_regret(regrets[shortest]))
    return Claim(
        "The penalty grows with the mean delay",
        f"{longest} costs more than {shortest} on {found:.0%} of the paths",
        "on more than half of the paths",
        judged(found, above=0.5),
        Whose.OURS,
    )


def _at_most_proportional(regrets: Regrets) -> Claim:
    without, level = (
        final_regret(regrets[AT_ONCE]),
        bonferroni_level(len(DELAYS) + 1),
    )  # the penalties and the round's cost
    found = {name: median((final_regret(regrets[name]) - without) / mean, level=level) for name, mean in DELAYS.items()}
    (most, which), cost = highest(found), median(_uninformed(regrets), level=level)
    # the theorem allows exponential delays more, their fourth power (ν₂ grows with μ₂); μ₂/μ₁ is what one expects
    return Claim(
        "The penalty is of the order of μ₂/μ₁: less than if nothing were learnt for that many rounds",
        f"at most {most:.2f} per round of delay on a typical path{which}",
        f"below what an uninformed round costs, {cost:.2f}",
        all_judged((_less(each, cost) for each in found.values()), below=0.0),
        Whose.OURS,
    )


def _less(one: Measured, other: Measured) -> Measured:
    """Return a difference, whose interval holds it whenever both intervals hold theirs."""
    return Measured(one.value - other.value, one.low - other.high, one.high - other.low)


def draw(studies: Studies) -> Picture:
    """Draw regret against log t, and the penalty against the mean delay."""
    picture, (left, right) = panels(2)
    draw_regret(left, studies, log=True)
    title(left, "Regret with and without delay, against log t")
    _draw_penalty(right, studies)
    title(right, "What waiting costs at the end, on the same units")
    return picture


def _draw_penalty(ax: Axes, studies: Studies) -> None:
    for number, (name, delay) in enumerate(DELAYS.items(), 1):  # 0 is the colour of no delay
        found, colour = penalty(studies, name), colour_of(number)
        ax.vlines(delay, found.low, found.high, color=colour, linewidth=2)
        ax.plot(delay, found.value, "o", color=colour)
        ax.annotate(name, (delay, found.value), (8, 4), textcoords="offset points", color=colour, va="center")
    plain_axes(
        ax,
        "mean delay μ₂/μ₁, in times between enrolments (log scale)",
        "regret over no delay (paired; median, 95 % interval)",
    )
    ax.axhline(0, color=colour_of(0), linewidth=1.2)
    ax.annotate(AT_ONCE, (1, 0), (-4, 4), ("axes fraction", "data"), "offset points", color=colour_of(0), ha="right")
    ax.set_xscale("log")
    ax.set_xticks(list(DELAYS.values()), [str(delay) for delay in DELAYS.values()])
    ax.set_xticks([], minor=True)
    ax.set_xlim(min(DELAYS.values()) / 1.5, 2.5 * max(DELAYS.values()))
    ax.set_ylim(top=ax.get_ylim()[1] + 0.15 * np.ptp(ax.get_ylim()))  # room for the note
    cost = float(np.median(_uninformed(studies)))
    note(ax, f"an uninformed round costs {cost:.2f}, a round of the longest delay {found.value / delay:.2f}")


EXTENSION = Extension("delay", SETTINGS, claims, draw, dict.fromkeys(SETTINGS, FEWEST))
