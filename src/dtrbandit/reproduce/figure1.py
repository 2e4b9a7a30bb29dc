"""Figure 1: DTRBandit, Greedy, ε-Greedy and LSVI-UCB on the synthetic problem (label "fig: different algs")."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dtrbandit.plots import PALETTE
from dtrbandit.policies import LSVIUCB, DTRBandit, EpsilonGreedy, Greedy
from dtrbandit.reproduce.claims import (
    Claim,
    final,
    growth,
    halves,
    linear,
    log_rounds,
    logarithmic,
    second_half,
    straight_in_log,
)
from dtrbandit.reproduce.panels import note, panels, title
from dtrbandit.reproduce.reproduction import Figure
from dtrbandit.simulation.study import Study

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Picture

DTRB, GREEDY, EPSILON_GREEDY, LSVI_UCB = "DTRB(5, 0.5)", "Greedy", "0.1-Greedy", "LSVI-UCB"
POLICIES = {
    DTRB: DTRBandit(q=5, delta=0.5),
    GREEDY: Greedy(),
    EPSILON_GREEDY: EpsilonGreedy(epsilon=0.1),
    LSVI_UCB: LSVIUCB(),
}
STUCK = 0.4  # of a path's regret in the second half: one that learns has some 0.1, one that stopped learning 0.5
STUCK_SHARE = 0.25  # of 1,000 paths with seeds 1000 to 1024; others differ by chance, so three standard deviations


def claims(study: Study) -> tuple[Claim, ...]:
    """Measure what the paper says about the figure; bands come from theory unless a comment says otherwise."""
    return (
        _logarithmic(study),
        _little_is_added(study),
        _greedy_is_linear(study),
        _a_share_is_stuck(study),
        _stuck_paths_carry_it(study),
        _epsilon_greedy_is_linear(study),
        _lsvi_ucb_is_sublinear(study),
        _lsvi_ucb_is_far_worse(study),
    )


def stuck(study: Study) -> NDArray[np.bool_]:
    """Say which paths of Greedy are stuck: their second half costs about as much as their first."""
    first, second = halves(study, GREEDY)
    return second >= STUCK * (first + second)


def _logarithmic(study: Study) -> Claim:
    sentence = "DTRBandit's regret grows like log T: it is straight against log t over the last two decades"
    return logarithmic(sentence, straight_in_log(study, DTRB))


def _little_is_added(study: Study) -> Claim:
    share, alone = second_half(study, DTRB), math.log(2) / math.log(study.horizon)
    # more than log T alone, since the logarithm begins after the first forced block: log 2 / log(T / 20) is 11 %
    return Claim(
        "DTRBandit's regret is logarithmic: the second half of the rounds adds little",
        f"{share:.0%} of the regret",
        f"at most 20% (log T: {alone:.0%}, √T: 29%)",
        share <= 0.2,
    )


def _greedy_is_linear(study: Study) -> Claim:
    # √t has a share of 29 %, t has 50 %; the paths that do learn pull it down
    return linear("Greedy's mean regret is linear in the long run", study, GREEDY, least=0.99, share=(0.35, 0.55))


def _a_share_is_stuck(study: Study) -> Claim:
    share, low, high = float(stuck(study).mean()), *_stuck_band(len(study.paths))
    return Claim(
        "Greedy suffers from a constant fraction of bad paths, which stop learning early",
        f"{share:.0%} of the paths are stuck",
        f"{low:.0%} to {high:.0%}",
        low <= share <= high,
    )


def _stuck_paths_carry_it(study: Study) -> Claim:
    _, second = halves(study, GREEDY)
    share = float(second[stuck(study)].sum() / second.sum())
    return Claim(
        "These paths are why Greedy's regret is linear: they carry what it loses in the second half",
        f"{share:.0%} of the second half's regret",
        "at least 90%",
        share >= 0.9,
    )


def _epsilon_greedy_is_linear(study: Study) -> Claim:
    sentence = "ε-Greedy's regret is linear: it never stops exploring"
    return linear(sentence, study, EPSILON_GREEDY, least=0.999, share=(0.45, 0.55))


def _lsvi_ucb_is_sublinear(study: Study) -> Claim:
    slope, _, low, high = growth(study, LSVI_UCB)
    # a line that starts late looks a little flatter than 1: 0.1-Greedy has 0.95
    return Claim(
        "LSVI-UCB's regret is sublinear: the slope of log regret in log t over the last decade is below 1",
        f"{slope:.2f} ({low:.2f} to {high:.2f})",
        "interval below 0.9",
        bool(high < 0.9),
    )


def _lsvi_ucb_is_far_worse(study: Study) -> Claim:
    ratio = final(study, LSVI_UCB) / final(study, DTRB)
    return Claim(
        "LSVI-UCB is significantly worse than DTRBandit",
        f"{ratio:.1f} times its regret",
        "at least twice",
        ratio >= 2,
    )


def _stuck_band(paths: int) -> tuple[float, float]:
    reach = 3 * math.sqrt(STUCK_SHARE * (1 - STUCK_SHARE) / paths)
    return max(STUCK_SHARE - reach, 1 / paths), STUCK_SHARE + reach


def draw(study: Study) -> Picture:
    """Draw all four against t, with every path, and DTRBandit against log t."""
    picture, (left, right) = panels(2, size=(6.0, 4.8))
    left.set_ylim(0, 1.5 * max(final(study, name) for name in POLICIES))  # some stuck paths leave through the top
    study.plot(left, paths=True)
    title(left, "Two fail for different reasons, one is slow, one learns")
    note(left, f"{stuck(study).sum()} of {len(study.paths)} paths of Greedy are stuck (faint lines)", PALETTE[1])
    right.set_ylim(0, 1.2 * study.total_regret(DTRB, [study.horizon]).max())  # room for the note
    study.plot(right, policies=[DTRB], paths=True, log=True)
    title(right, "DTRBandit against log t: a straight line")
    slope, start = _draw_line(study, right)
    formula = f"{slope:.1f} log t {'+' if start > 0 else '−'} {abs(start):.0f}"
    note(right, f"dashed: {formula}, fitted to the last two decades\nsteps: forced blocks")
    return picture


def _draw_line(study: Study, ax: Axes) -> tuple[float, float]:
    rounds = log_rounds(study.horizon, decades=2)
    slope, start = np.polyfit(np.log(rounds), study.total_regret(DTRB, rounds).mean(axis=0), 1)
    ax.plot(rounds, start + slope * np.log(rounds), color="black", linestyle=(0, (4, 3)), linewidth=1.2, zorder=4)
    return slope, start


EXPERIMENTS = {".": Figure("figure1", POLICIES, claims, draw)}
