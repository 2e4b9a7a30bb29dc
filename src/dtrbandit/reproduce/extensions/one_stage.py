"""The one-stage embedding of section 4: the regret of the embedded problem is that of the one-stage problem.

With one arm at the second stage the plans are the arms, so the schedule is the same. Y is linear in x₂ = Y without
noise, so backward induction gives back the outcome. With two arms there are twice as many plans, and those of one first
arm follow each other, so the schedule is that of twice q. Rounding in the second stage's fit could tip a tie; none has
been seen.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dtrbandit.environments.linear import OneStage
from dtrbandit.policies.dtr_bandit import DTRBandit
from dtrbandit.reproduce.claims import FEWEST, Claim, exactly
from dtrbandit.reproduce.pictures import draw_regret, note, panels, title
from dtrbandit.reproduce.rates import doublings_by_setting, free_rounds_slower_than_root, logarithmic
from dtrbandit.reproduce.reproduction import DTRB, Extension, Regrets, Setting, Studies, stage_regret
from dtrbandit.simulation.study import Study

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

# with q = 5 and Δ = 0.5 rare bad paths hide the rate: R² was 0.90 with seed 4, 0.96 to 0.996 with 0 to 3
ONCE, TWICE = DTRBandit(q=10, delta=0.8), DTRBandit(q=20, delta=0.8)
ONE_STAGE, EMBEDDED = "one stage", "embedded"
ONE_STAGE_TWICE, EMBEDDED_TWO_ARMS = "one stage with twice q", "embedded with two second arms"
SETTINGS = {
    ONE_STAGE: Setting(OneStage().problem, ONCE),
    EMBEDDED: Setting(OneStage(), ONCE),
    ONE_STAGE_TWICE: Setting(OneStage().problem, TWICE),
    EMBEDDED_TWO_ARMS: Setting(OneStage(second_arms=2), ONCE),
}


def claims(studies: Studies, regrets: Regrets) -> tuple[Claim, ...]:
    """Compare the embedded problem with the one-stage problem, bit for bit."""
    settings = {EMBEDDED: SETTINGS[EMBEDDED]}
    return (
        _same("with a single second arm", studies[ONE_STAGE], studies[EMBEDDED]),
        _same("with two, that of twice the q", studies[ONE_STAGE_TWICE], studies[EMBEDDED_TWO_ARMS]),
        _second_stage_is_free(studies),
        *logarithmic(
            doublings_by_setting(regrets, settings),
            slower="on the embedded instance (α₁ = 1, α₂ = ∞) regret grows slower than √T",
            consistent="On the embedded instance {regret} is consistent with the lower bound's rate, log T; "
            "t^0.3 is excluded",
        ),
        free_rounds_slower_than_root(studies, settings),
    )


def _same(case: str, one: Study, embedded: Study) -> Claim:
    arms = one.arms[DTRB][:, :, 0] == embedded.arms[DTRB][:, :, 0]
    regret = _same_regret(one, embedded)
    return Claim(
        f"Regret on the embedded instance is exactly the one-stage regret: {case}",
        f"{arms.mean():.2%} of {arms.size:,} rounds have the same arm, {regret.mean():.2%} the same regret",
        "all, bit for bit",
        exactly(bool(arms.all() and regret.all())),
    )


def _same_regret(one: Study, embedded: Study) -> NDArray[np.bool_]:
    """Say which rounds have the same regret at the first stage, bit for bit, (paths, horizon)."""
    same: NDArray[np.bool_] = stage_regret(one)[:, :, 0] == stage_regret(embedded)[:, :, 0]
    return same


def _second_stage_is_free(studies: Studies) -> Claim:
    regrets = [stage_regret(studies[name])[:, :, 1] for name in (EMBEDDED, EMBEDDED_TWO_ARMS)]
    worst = max(float(np.abs(regret).max()) for regret in regrets)
    return Claim(
        "The embedded second stage costs no regret, whatever is done there",
        f"at most {worst:g} in a round",
        "0",
        exactly(worst == 0),
    )


def draw(studies: Studies) -> Picture:
    """Draw the embedded problems over the one-stage problems: one line each time."""
    picture, (ax,) = panels(1)
    draw_regret(ax, studies, log=True)
    for number, line in enumerate(ax.lines):
        line.set(linewidth=(5, 1.5)[number % 2], alpha=(0.35, 1.0)[number % 2])
    pairs = (ONE_STAGE, EMBEDDED), (ONE_STAGE_TWICE, EMBEDDED_TWO_ARMS)
    same = np.mean([_same_regret(studies[one], studies[other]).mean() for one, other in pairs])
    title(ax, f"Embedded in two stages: the same regret in {'every round' if same == 1 else f'{same:.4%} of rounds'}")
    note(ax, "wide lines: one stage\nthin lines: embedded")
    return picture


EXTENSION = Extension("one_stage", SETTINGS, claims, draw, {EMBEDDED: FEWEST})
