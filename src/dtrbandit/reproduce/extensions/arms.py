"""K arms, some suboptimal everywhere: these are soon pulled only when forced (label "section: k arms")."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dtrbandit.environments.linear import Linear
from dtrbandit.kernels.arrays import Array
from dtrbandit.policies.dtr_bandit import DTRBandit
from dtrbandit.reproduce.claims import FEWEST, Claim, Measured, exactly, judged, share, together
from dtrbandit.reproduce.pictures import draw_regret, draw_totals, note, panels, title
from dtrbandit.reproduce.rates import doublings_by_setting, forced_rounds, free_rounds_slower_than_root, logarithmic
from dtrbandit.reproduce.reproduction import DTRB, Extension, Regrets, Setting, Studies
from dtrbandit.rounds import cumulative, times
from dtrbandit.simulation.study import Study

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

PROBLEM = Linear(arms=4, suboptimal=2)
FOUR_ARMS = "four arms"
SETTING = Setting(PROBLEM, DTRBandit(q=10, delta=0.8))  # Δ below 1, by which these arms are worse
SELDOM = 0.1  # of the paths
EARLY = 0.1  # of the rounds, and on to the next forced block: the first blocks


class Pulls(NamedTuple):
    """How many arms of each round are suboptimal everywhere, in forced and in free rounds, (paths, horizon) each."""

    forced: Array
    free: Array


def dominated(coefficients: Array) -> NDArray[np.bool_]:
    """Say which arms of a stage, (K, d), are below another everywhere: parallel to it, with a lower intercept."""
    parallel = np.isclose(coefficients[:, None, 1:], coefficients[None, :, 1:]).all(axis=2)
    lower = coefficients[:, None, 0] < coefficients[None, :, 0] - 1e-9
    return np.asarray((parallel & lower).any(axis=1))


def suboptimal_pulls(study: Study) -> Pulls:
    """Count the pulls of arms that are suboptimal everywhere, over both stages."""
    arms, forced = study.arms[DTRB], forced_rounds(study.horizon, SETTING)
    pulls = sum(dominated(stage)[arms[:, :, m]].astype(float) for m, stage in enumerate(PROBLEM.coefficients))
    return Pulls(np.where(forced, pulls, 0.0), np.where(forced, 0.0, pulls))


def first_blocks(horizon: int) -> int:
    """Return how many rounds the first blocks have; they end where a forced block begins, which renews Q̃."""
    begins = np.flatnonzero(np.diff(forced_rounds(horizon, SETTING).astype(int)) == 1) + 1
    least = int(EARLY * horizon)
    return int(min(begins[begins >= least], default=least))


def claims(studies: Studies, regrets: Regrets) -> tuple[Claim, ...]:
    """Measure what the appendix says of the K-armed algorithm."""
    study, settings = studies[FOUR_ARMS], {FOUR_ARMS: SETTING}
    return (
        _only_when_forced(study),
        _fewer_and_fewer(study),
        *logarithmic(
            doublings_by_setting(regrets, settings),
            slower="with four arms a stage regret grows slower than √T",
            consistent="With four arms a stage {regret} is consistent with a logarithm; t^0.3 is excluded",
        ),
        free_rounds_slower_than_root(studies, settings),
    )


def _only_when_forced(study: Study) -> Claim:
    early, pulls = first_blocks(study.horizon), suboptimal_pulls(study)
    forced, free = (float(own[:, early:].sum(axis=1).mean()) for own in pulls)
    found = share(_any(pulls.free[:, early:]))
    # 3 of 600 paths with seed 1000 had any. Pulls themselves say less: where Q̃ misjudges an arm it does so until the
    # next block, and one path had 213
    return Claim(
        "After the first blocks, on nearly all paths, arms that are suboptimal everywhere are pulled only when forced",
        f"after round {early:,} a path pulls them {forced:.0f} times forced; {found:.1%} of the paths pull one freely "
        f"({free:.2f} times a path)",
        f"on fewer than {SELDOM:.0%} of the paths, and some forced",
        together([judged(found, below=SELDOM), exactly(forced > 0)]),
    )


def _fewer_and_fewer(study: Study) -> Claim:
    early, free = first_blocks(study.horizon), suboptimal_pulls(study).free
    before, after = _any(free[:, :early]), _any(free[:, early:])
    only = before[before != after]  # of the paths with free pulls in one part only, those with early ones
    # Q̃ is bad with probability O(1/t²); of 600 paths 105, 30, 2, 1 and 1 have free pulls between forced blocks
    found = share(only) if len(only) else Measured(math.nan, math.nan, math.nan, "there are none")
    return Claim(
        "Free pulls of such arms die out (they have probability O(1/t²)): fewer paths have any later on",
        f"{before.mean():.1%} of the paths have any up to round {early:,}, {after.mean():.1%} after; of those with one "
        f"and not the other {found:.0%} have them early",
        "more than half",
        judged(found, above=0.5),
    )


def _any(pulls: Array) -> NDArray[np.bool_]:
    """Say which paths, (paths, rounds), have any pull."""
    return np.asarray(pulls.any(axis=1))


def draw(studies: Studies) -> Picture:
    """Draw regret against log t, and the pulls of suboptimal arms, forced and free."""
    study = studies[FOUR_ARMS]
    picture, (left, right) = panels(2)
    draw_regret(left, studies, log=True)
    title(left, "Regret with four arms a stage, two of them never best")
    note(left, "steps: forced blocks, 16 plans of 10 rounds")
    rounds, pulls = times(study.horizon, None), suboptimal_pulls(study)
    totals = {"forced": cumulative(pulls.forced, rounds), "free": cumulative(pulls.free, rounds)}
    numbers = {"forced": 1, "free": 2}
    draw_totals(right, totals, rounds, log=True, seed=study.manifest.seed, y="pulls", numbers=numbers)
    early = first_blocks(study.horizon)
    title(
        right,
        f"Arms that are never best: {_any(pulls.free[:, early:]).mean():.0%} of paths pull one freely after {early:,}",
    )
    note(right, f"free: {pulls.free.sum(axis=1).mean():.1f} a path, on {_any(pulls.free).mean():.0%} of the paths")
    return picture


EXTENSION = Extension("arms", {FOUR_ARMS: SETTING}, claims, draw, {FOUR_ARMS: FEWEST})
