"""The margin: how regret beyond that of forced rounds grows with its exponent α (label "thm: regret upper bound").

Theorem 1 bounds regret by that of forced rounds, of order log T, and by f(α). The second term is T^((1−α)/2) for
α < 1, log T for α = 1, and bounded for α > 1. Forced rounds hide it, so the regret of free rounds is measured alone.
By decade of t it has three shapes: each decade adds more than the one before, as much, or less, by a factor
10^((1−α)/2). The logarithm of that factor is the *exponent*.

The problem is the embedded one-stage problem, which has α₁ = α and α₂ = ∞. By it section 4 shows that these rates are
the best possible. With little noise and few forced rounds the theory shows at 100,000 rounds. With fewer rounds
exponents come out too high: with α = 2 by 0.2 at 30,000 and by 0.5 at 10,000. The reason is that errors matter near
the boundary. There a forced round teaches as much as some 2, 4 and 9 free ones with α = 0.5, 1 and 2, since free rounds
all lie on the arm's own side. So early estimates are better than their number of rounds suggests.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from dtrbandit.environments.one_stage import OneStage
from dtrbandit.policies.dtr_bandit import DTRBandit
from dtrbandit.reproduce.claims import Claim
from dtrbandit.reproduce.extensions.extension import DTRB, Extension, Setting, Studies
from dtrbandit.reproduce.extensions.forced_rounds import free_regret
from dtrbandit.reproduce.extensions.growth import Growth, growth_of_free, standard_error
from dtrbandit.reproduce.extensions.pictures import draw_regret, draw_totals
from dtrbandit.reproduce.panels import panels, title
from dtrbandit.rounds import cumulative, times
from dtrbandit.simulation.study import Study

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

MARGINS = {f"margin {alpha:g}": alpha for alpha in (0.5, 1.0, 2.0)}
SETTINGS = {
    name: Setting(OneStage(margin=alpha, noise=0.25), DTRBandit(q=2, delta=0.8)) for name, alpha in MARGINS.items()
}
# of exponents. Theory and three standard errors of 60 paths either way for α ≤ 1, some 0.06 and 0.08; for α = 2 below
# 0, which is what bounded means: over seeds 0 to 6 it was −0.37 on average, from −0.55 to −0.09
BANDS = ((0.0, 0.5), (-0.25, 0.25), (-1.0, 0.0))


def claims(studies: Studies) -> tuple[Claim, ...]:
    """Measure the theorem's three rates, their order, and what is left when α > 1."""
    growth = {name: growth_of_free(studies[name], SETTINGS[name]) for name in MARGINS}
    sentences = (
        "With α < 1 regret grows like a power of T, T^((1−α)/2)",
        "With α = 1 regret grows like log T: every decade costs as much",
        "With α > 1 regret is bounded: every decade costs less",
    )
    rates = [_rate(*each) for each in zip(sentences, growth.items(), BANDS, strict=True)]
    *_, widest = MARGINS
    return *rates, _ordered(growth), _forced_remain(studies[widest], SETTINGS[widest])


def _rate(sentence: str, growth: tuple[str, Growth], band: tuple[float, float]) -> Claim:
    name, found = growth
    theory = (1 - MARGINS[name]) / 2
    return Claim(
        f"{sentence} (free rounds)",
        f"{found} with {name}",
        f"between {band[0]:.2f} and {band[1]:.2f} (theory: {theory:.2f})",
        band[0] < found.exponent < band[1],
    )


def _ordered(growth: dict[str, Growth]) -> Claim:
    steps = [before.exponent - after.exponent for before, after in pairwise(growth.values())]
    smallest, *_, largest = growth.values()
    whole, error = smallest.exponent - largest.exponent, standard_error(smallest.influence - largest.influence)
    return Claim(
        "The larger the margin's exponent the slower regret grows (the same uniform numbers drew all units: paired)",
        f"the exponent falls by {' and '.join(f'{step:.2f}' for step in steps)}, together {whole:.2f} ± {error:.2f}",
        "each above 0, together by more than two standard errors (theory: 0.25 and 0.50)",
        min(steps) > 0 and whole > 2 * error,
    )


def _forced_remain(study: Study, setting: Setting) -> Claim:
    free = free_regret(study, setting)[:, study.horizon // 10 :].sum()
    assert study.stage_regret is not None
    whole = study.stage_regret[DTRB][:, study.horizon // 10 :].sum()
    share = float(free / whole) if whole else 1.0
    return Claim(
        "With α > 1 the log T of forced rounds is what remains",
        f"free rounds carry {share:.1%} of the regret of the last decade",
        "at most 10%",
        share <= 0.1,
    )


def draw(studies: Studies) -> Picture:
    """Draw all regret against log t, and that of free rounds."""
    picture, (left, right) = panels(2)
    draw_regret(left, studies, log=True)
    title(left, "All regret: forced rounds hide the rate")
    horizon = min(study.horizon for study in studies.values())
    rounds = times(horizon, None)
    totals = {name: cumulative(free_regret(studies[name], SETTINGS[name]), rounds) for name in MARGINS}
    draw_totals(right, totals, rounds, log=True, y="regret of free rounds (mean, 95 % band)")
    title(right, "Free rounds: a power, a logarithm, a bound")
    return picture


EXTENSION = Extension("margin", SETTINGS, claims, draw, paths=60, horizon=100_000)
