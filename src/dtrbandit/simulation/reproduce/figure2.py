"""Figure 2: DTRBandit under other values of q and Δ (labels "fig: simulations", "subfig: dtr rates")."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from dtrbandit.policies import DTRBandit
from dtrbandit.simulation.intervals import Interval
from dtrbandit.simulation.reproduce.claims import Claim, difference, final, straight_in_log
from dtrbandit.simulation.reproduce.reproduction import Figure
from dtrbandit.simulation.study import Study

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture


def named(q: int, delta: float) -> str:
    """Return the paper's name for DTRBandit with these parameters."""
    return f"DTRB({q}, {delta:g})"


RATES = [(3, 0.5), (5, 0.2), (5, 0.3), (5, 0.5), (5, 1.0), (10, 0.5)]
DELTAS = [(5, delta) for delta in (0.1, 0.2, 0.3, 0.5, 1.0, 5.0)]
FORCED = [(q, 0.5) for q in (3, 5, 10)]
POLICIES = {named(q, delta): DTRBandit(q=q, delta=delta) for q, delta in sorted({*RATES, *DELTAS, *FORCED})}

WIDEST = 10 / 3  # of the q compared: forced rounds, and what they cost, grow no faster than q


def claims(study: Study) -> tuple[Claim, ...]:
    """Measure what the paper says about the figure; policies met the same units, so differences are paired."""
    return _all_logarithmic(study), _robust(study), _falls_with_smaller_q(study), _does_not_rise_with_delta(study)


def _all_logarithmic(study: Study) -> Claim:
    worst, policy = min((straight_in_log(study, named(*pair)), named(*pair)) for pair in RATES)
    return Claim(
        "DTRBandit's regret is logarithmic across parameters: straight against log t over the last two decades",
        f"R² = {worst:.3f} or more (least: {policy})",
        "at least 0.95",  # √t has 0.92, t has 0.76
        worst >= 0.95,
    )


def _robust(study: Study) -> Claim:
    ends = [final(study, named(*pair)) for pair in RATES]
    ratio = max(ends) / min(ends)
    return Claim(
        "DTRBandit is very robust to the choice of q and Δ",
        f"the largest regret is {ratio:.2f} times the smallest",
        f"at most {WIDEST:.2f}, the ratio of the largest q to the smallest",
        ratio <= WIDEST,
    )


def _falls_with_smaller_q(study: Study) -> Claim:
    names = [named(*pair) for pair in reversed(FORCED)]
    steps = [difference(study, after, before) for before, after in pairwise(names)]
    whole = difference(study, names[-1], names[0])
    return Claim(
        "Regret gets lower as q gets smaller",
        _in_words([f"q {before} to {after}" for before, after in ((10, 5), (5, 3))], steps),
        "each below 0; interval below 0 from 10 to 3",
        bool(whole.high < 0 and all(step.mean < 0 for step in steps)),
    )


def _does_not_rise_with_delta(study: Study) -> Claim:
    values = [delta for _, delta in DELTAS]
    steps = [difference(study, named(5, after), named(5, before)) for before, after in pairwise(values)]
    whole = difference(study, named(5, values[-1]), named(5, values[0]))
    return Claim(
        "Regret gets lower, or stays, as Δ gets larger",
        _in_words([f"Δ {values[0]:g} to {values[-1]:g}"], [whole]),
        "interval below 0, and no step's interval above 0",
        bool(whole.high < 0 and all(step.low <= 0 for step in steps)),
    )


def _in_words(labels: Sequence[str], steps: Sequence[Interval]) -> str:
    return "; ".join(
        f"{label}: {step.mean:+.1f} ({step.low:+.1f} to {step.high:+.1f})"
        for label, step in zip(labels, steps, strict=True)
    )


def draw(study: Study) -> Picture:
    """Draw regret against log t, then against t for different Δ, and for different q."""
    from matplotlib.figure import Figure as Picture

    picture = Picture(figsize=(15, 4.6), layout="constrained")
    panels = picture.subplots(1, 3)
    titles = "(a) Regret against log t", "(b) Different Δ, with q = 5", "(c) Different q, with Δ = 0.5"
    for ax, title, pairs in zip(panels, titles, (RATES, DELTAS, FORCED), strict=True):
        study.plot(ax, policies=[named(*pair) for pair in pairs], log=pairs is RATES)
        ax.set_title(title, loc="left", fontsize=11)
    return picture


FIGURE = Figure("figure2", POLICIES, claims, draw)
