"""Three stages: the algorithm's backward induction goes on, and regret is logarithmic at each of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dtrbandit.environments.linear import Linear
from dtrbandit.policies.dtr_bandit import DTRBandit
from dtrbandit.reproduce.claims import STRAIGHT, Array, Claim, log_rounds, second_half, straightness
from dtrbandit.reproduce.extensions.extension import DTRB, Extension, Setting, Studies
from dtrbandit.reproduce.extensions.growth import slower_than_root
from dtrbandit.reproduce.extensions.pictures import draw_totals
from dtrbandit.reproduce.panels import note, panels, title
from dtrbandit.rounds import cumulative, times
from dtrbandit.simulation.study import Study

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

THREE_STAGES = "three stages"
# q as the theorem asks, "large enough": with q = 5 some paths misjudge an arm for long at the second stage, whose Q
# must be learnt through a noisy third; at 10,000 rounds these hide the rate (R² of 0.89 to 0.95 at that stage)
SETTING = Setting(Linear(stages=3), DTRBandit(q=20, delta=0.8))


def stage_regret(study: Study, rounds: NDArray[np.int64]) -> Array:
    """Return the regret of each path and stage up to ``rounds``, (paths, points, M)."""
    assert study.stage_regret is not None
    return cumulative(study.stage_regret[DTRB], rounds)


def claims(studies: Studies) -> tuple[Claim, ...]:
    """Measure the shape of regret; the paper says that its analysis extends, and gives no rate for three stages."""
    study = studies[THREE_STAGES]
    return _logarithmic(study), _little_is_added(study), slower_than_root(studies, {THREE_STAGES: SETTING})


def _logarithmic(study: Study) -> Claim:
    rounds = log_rounds(study.horizon, decades=2)
    curves = stage_regret(study, rounds).mean(axis=0).T
    r2 = [straightness(np.log(rounds), curve) for curve in curves]
    return Claim(
        "With three stages regret is logarithmic at every stage: straight against log t over the last two decades",
        f"R² = {', '.join(f'{value:.3f}' for value in r2)} at stages 1, 2, 3",
        f"each at least {STRAIGHT} (√t: 0.92, t: 0.76)",
        min(r2) >= STRAIGHT,
    )


def _little_is_added(study: Study) -> Claim:
    share = second_half(study, DTRB)
    return Claim(
        "With three stages the second half of the rounds adds little",
        f"{share:.0%} of the regret",
        "at most 20% (√t: 29%)",
        share <= 0.2,
    )


def draw(studies: Studies) -> Picture:
    """Draw the regret of each stage against log t."""
    study = studies[THREE_STAGES]
    picture, (ax,) = panels(1)
    rounds = times(study.horizon, None)
    by_stage = stage_regret(study, rounds)
    draw_totals(ax, {f"stage {m + 1}": by_stage[:, :, m] for m in range(by_stage.shape[2])}, rounds, log=True)
    title(ax, "Three stages: a logarithm at each")
    note(ax, "steps: forced blocks, 8 plans of 20 rounds")
    return picture


EXTENSION = Extension("stages", {THREE_STAGES: SETTING}, claims, draw)
