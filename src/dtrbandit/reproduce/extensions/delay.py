"""Delay: waiting for responses costs an additive penalty, and the rate stays log T (label "thm: delay")."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dtrbandit.environments.arrivals import ArrivalProcess
from dtrbandit.environments.durations import Exponential
from dtrbandit.environments.synthetic import Synthetic
from dtrbandit.intervals import Interval, interval
from dtrbandit.policies.dtr_bandit import DTRBandit
from dtrbandit.reproduce.claims import Claim, logarithmic, straight_in_log
from dtrbandit.reproduce.extensions.extension import (
    DTRB,
    Extension,
    Setting,
    Studies,
    final_regret,
    late_regret,
)
from dtrbandit.reproduce.extensions.growth import slower_than_root
from dtrbandit.reproduce.extensions.pictures import draw_regret
from dtrbandit.reproduce.panels import note, panels, title

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


def claims(studies: Studies) -> tuple[Claim, ...]:
    """Measure what the theorem says; all settings met the same units, so differences are paired."""
    return (
        _logarithmic(studies),
        slower_than_root(studies, SETTINGS),
        _same_slope(studies),
        _grows_with_delay(studies),
        _at_most_proportional(studies),
    )


def penalty(studies: Studies, name: str) -> Interval:
    """Return how much more regret there is with a delay than without, at the horizon, path by path."""
    return interval(final_regret(studies[name]) - final_regret(studies[AT_ONCE]))


def uninformed(studies: Studies) -> float:
    """Return what a round costs before anything is learnt: the mean over the first forced block."""
    return float(studies[AT_ONCE].total_regret(DTRB, [FIRST_BLOCK]).mean() / FIRST_BLOCK)


def _logarithmic(studies: Studies) -> Claim:
    least, name = min((straight_in_log(study, DTRB), name) for name, study in studies.items())
    sentence = "The rate stays log T whatever the delay: regret is straight against log t over the last two decades"
    return logarithmic(sentence, least, of=f" or more (least: {name})")


def _same_slope(studies: Studies) -> Claim:
    slopes = {mean: slope_ratio(studies, name) for name, mean in DELAYS.items()}
    whole = max(float(final_regret(studies[name]).mean() / final_regret(studies[AT_ONCE]).mean()) for name in DELAYS)
    listed = "; ".join(f"{mean}: {each.mean:.2f} ± {each.std_error:.2f}" for mean, each in slopes.items())
    # 40 paths with seeds 0 to 4 had 0.94 to 1.07; a penalty that multiplied would show as the ratio of the whole
    return Claim(
        "Delay adds to the regret and does not multiply it: in the second half the slope against log t is as without",
        f"times the slope without delay {listed} (the whole regret: up to {whole:.2f})",
        "95 % intervals reach into 0.8 to 1.2",
        all(each.high >= 0.8 and each.low <= 1.2 for each in slopes.values()),
    )


def slope_ratio(studies: Studies, name: str) -> Interval:
    """Return how much more the second half of the rounds costs with a delay than without, path by path."""
    late, without = late_regret(studies[name]), late_regret(studies[AT_ONCE])
    ratio = late.mean() / without.mean()
    return interval(ratio + (late - ratio * without) / without.mean())  # the ratio and each path's influence on it


def _grows_with_delay(studies: Studies) -> Claim:
    longest, shortest = list(DELAYS)[-1], next(iter(DELAYS))
    mean, _, low, high = interval(final_regret(studies[longest]) - final_regret(studies[shortest]))
    return Claim(
        "The penalty grows with the mean delay",
        f"{longest} costs {mean:+.1f} ({low:+.1f} to {high:+.1f}) over {shortest}",
        "interval above 0",
        bool(low > 0),
    )


def _at_most_proportional(studies: Studies) -> Claim:
    per_round = {name: float(penalty(studies, name).low / mean) for name, mean in DELAYS.items()}
    listed = "; ".join(f"{mean}: {penalty(studies, name).mean / mean:.2f}" for name, mean in DELAYS.items())
    # the theorem allows exponential delays more, their fourth power (ν₂ grows with μ₂); μ₂/μ₁ is what one expects
    return Claim(
        "The penalty is of the order of μ₂/μ₁: no more than if nothing were learnt for that many rounds",
        f"per round of delay {listed}",
        f"95% intervals reach below {uninformed(studies):.2f}, what an uninformed round costs",
        max(per_round.values()) < uninformed(studies),
    )


def draw(studies: Studies) -> Picture:
    """Draw regret against log t, and the penalty against the mean delay."""
    picture, (left, right) = panels(2)
    draw_regret(left, studies, log=True)
    title(left, "Delay shifts the curve and leaves its slope")
    _draw_penalty(right, studies)
    title(right, "What waiting costs: at most in proportion")
    return picture


def _draw_penalty(ax: Axes, studies: Studies) -> None:
    means = np.array(list(DELAYS.values()))
    values = [penalty(studies, name) for name in DELAYS]
    middle = np.array([float(value.mean) for value in values])
    reach = middle - np.array([float(value.low) for value in values])
    ax.errorbar(means, middle, yerr=reach, fmt="o-", color="#0072B2", capsize=3)
    ax.axhline(0, color="0.6", linewidth=0.8)
    ax.set_xlabel("mean delay μ₂/μ₁, in times between enrolments")
    ax.set_ylabel("regret over no delay (paired, 95 % interval)")
    ax.spines[["top", "right"]].set_visible(False)
    note(ax, f"an uninformed round costs {uninformed(studies):.2f}, a round of delay {middle[-1] / means[-1]:.2f}")


EXTENSION = Extension("delay", SETTINGS, claims, draw)
