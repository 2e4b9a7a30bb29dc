"""Figure 1: DTRBandit, Greedy, ε-Greedy and LSVI-UCB on the synthetic problem (label "fig: different algs")."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dtrbandit.plots import PALETTE
from dtrbandit.policies import LSVIUCB, DTRBandit, EpsilonGreedy, Greedy
from dtrbandit.reproduce.claims import (
    FEWEST,
    Claim,
    Whose,
    all_judged,
    bonferroni_level,
    judged,
    mean_difference,
    median,
    share,
)
from dtrbandit.reproduce.more_paths import Regret, common_paths
from dtrbandit.reproduce.pictures import note, panels, title
from dtrbandit.reproduce.rates import (
    LINEAR,
    SUBLINEAR,
    doublings,
    grows_on_average,
    grows_typically,
    log_rounds,
    logarithmic,
)
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
CLAIM_PATHS = dict.fromkeys((DTRB, GREEDY, EPSILON_GREEDY), FEWEST)  # LSVI-UCB: its claims can be told at the picture's
BLOCK = 20  # rounds of a forced block: four plans, q = 5
NO_BLOCK = 1  # Greedy has no schedule to be in step with
STUCK = 0.4  # of a path's regret in the second half: one that learns has some 0.1, one that stopped learning 0.5
LEARNS = 1 - math.sqrt(0.5)  # the same of √t: 0.29
CONSTANT_FRACTION = 0.05  # of paths; DTRBandit has 2 % of bad ones
FAR_WORSE = 2  # times the regret


def claims(study: Regret) -> tuple[Claim, ...]:
    """Measure what the paper says about the figure."""
    own, epsilon_greedy, lsvi_ucb = (doublings(study, name, block=BLOCK) for name in (DTRB, EPSILON_GREEDY, LSVI_UCB))
    return (
        *logarithmic(
            {DTRB: own},
            slower="DTRBandit's regret grows slower than √T",
            consistent="DTRBandit's {regret} is consistent with a logarithm; t^0.3 is excluded",
        ),
        _lowest_on_average(study),
        _a_share_is_stuck(study),
        _the_others_learn(study),
        grows_on_average(
            "Greedy's mean regret is linear: stuck paths go on losing",
            {GREEDY: doublings(study, GREEDY, block=NO_BLOCK)},
            LINEAR,
        ),
        grows_typically("ε-Greedy's regret is linear: it never stops exploring", epsilon_greedy, LINEAR),
        grows_typically("LSVI-UCB's regret is sublinear", lsvi_ucb, SUBLINEAR),
        _lsvi_ucb_is_far_worse(study),
    )


def _lowest_on_average(study: Regret) -> Claim:
    own, others = study.total_regret(DTRB, [study.horizon])[:, 0], (GREEDY, EPSILON_GREEDY)
    ends = {name: study.total_regret(name, [study.horizon])[:, 0] for name in others}
    level = bonferroni_level(len(others))
    found = {name: mean_difference(np.subtract(*common_paths([own, end])), level=level) for name, end in ends.items()}
    return Claim(
        "DTRBandit's mean regret is below Greedy's and ε-Greedy's in the long run",
        "less on the same units: " + "; ".join(f"{each:,.0f} ({name})" for name, each in found.items()),
        "below 0, each",
        all_judged(found.values(), below=0.0),
    )


def second_half(study: Regret, policy: str) -> NDArray[np.float64]:
    """Return the share of each path's regret that falls into the second half of the rounds, (paths,)."""
    half, end = study.total_regret(policy, np.array([study.horizon // 2, study.horizon])).T
    shares: NDArray[np.float64] = np.divide(end - half, end, out=np.zeros_like(end), where=end > 0)
    return shares


def stuck(study: Regret) -> NDArray[np.bool_]:
    """Say which paths of Greedy are stuck: their second half costs about as much as their first."""
    return second_half(study, GREEDY) >= STUCK


def _a_share_is_stuck(study: Regret) -> Claim:
    hits = stuck(study)
    found = share(hits)
    return Claim(
        "Greedy suffers from a constant fraction of bad paths, which stop learning early and go on losing",
        f"{found:.0%} of {len(hits):,} paths are stuck: their second half costs {STUCK:.0%} of their regret or more",
        f"more than {CONSTANT_FRACTION:.0%} of the paths",
        judged(found, above=CONSTANT_FRACTION),
    )


def _the_others_learn(study: Regret) -> Claim:
    found = share(second_half(study, GREEDY) < LEARNS)
    return Claim(
        "Most paths of Greedy learn, so it is the bad ones that make its mean regret high",
        f"{found:.0%} of the paths have less than {LEARNS:.0%} of their regret in the second half, the share of √T",
        "more than half of the paths",
        judged(found, above=0.5),
        Whose.OURS,
    )


def _lsvi_ucb_is_far_worse(study: Regret) -> Claim:
    ends = common_paths(study.total_regret(name, [study.horizon])[:, 0] for name in (LSVI_UCB, DTRB))
    found = median(ends[0] / ends[1])
    return Claim(
        "LSVI-UCB is significantly worse than DTRBandit",
        f"{found:.1f} times its regret on a typical path",
        "more than twice",
        judged(found, above=FAR_WORSE),
    )


def draw(study: Study) -> Picture:
    """Draw all four against t, with every path, and DTRBandit against log t."""
    picture, (left, right) = panels(2, size=(6.0, 4.8))
    ends = {name: float(study.total_regret(name, [study.horizon]).mean()) for name in POLICIES}
    left.set_ylim(0, 1.5 * max(ends.values()))  # some stuck paths leave through the top
    study.plot(left, paths=True)
    least, most = min(ends, key=lambda name: ends[name]), max(ends, key=lambda name: ends[name])
    title(left, f"Lowest at the end: {least} ({ends[least]:,.0f}); highest: {most} ({ends[most]:,.0f})")
    note(left, f"{stuck(study).sum()} of {len(study.paths)} paths of Greedy are stuck (faint lines)", PALETTE[1])
    right.set_ylim(0, 1.2 * study.total_regret(DTRB, [study.horizon]).max())  # room for the note
    study.plot(right, policies=[DTRB], paths=True, log=True)
    title(right, f"{DTRB} against log t")
    slope, start = _draw_line(study, right)
    formula = f"{slope:.1f} log t {'+' if start > 0 else '−'} {abs(start):.0f}"
    note(right, f"dashed: {formula}, fitted to the last two decades\nsteps: forced blocks")
    return picture


def _draw_line(study: Study, ax: Axes) -> tuple[float, float]:
    rounds = log_rounds(study.horizon, decades=2)
    slope, start = np.polyfit(np.log(rounds), study.total_regret(DTRB, rounds).mean(axis=0), 1)
    ax.plot(rounds, start + slope * np.log(rounds), color="black", linestyle=(0, (4, 3)), linewidth=1.2, zorder=4)
    return slope, start


EXPERIMENTS = {".": Figure("figure1", POLICIES, claims, draw, CLAIM_PATHS, (BLOCK, NO_BLOCK))}
