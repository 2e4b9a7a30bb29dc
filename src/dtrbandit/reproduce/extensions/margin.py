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

import math
from collections.abc import Mapping
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from dtrbandit.environments.linear import OneStage
from dtrbandit.kernels.arrays import Array
from dtrbandit.policies.dtr_bandit import DTRBandit
from dtrbandit.reproduce.claims import Claim, Measured, all_judged, bonferroni_level, judged, median
from dtrbandit.reproduce.pictures import draw_regret, draw_totals, panels, title
from dtrbandit.reproduce.rates import exponents, free_regret
from dtrbandit.reproduce.reproduction import Extension, Regrets, Setting, Studies, stage_regret
from dtrbandit.rounds import cumulative, times
from dtrbandit.simulation.study import Study

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

MARGINS = {f"margin {alpha:g}": alpha for alpha in (0.5, 1.0, 2.0)}
SETTINGS = {
    name: Setting(OneStage(margin=alpha, noise=0.25), DTRBandit(q=2, delta=0.8)) for name, alpha in MARGINS.items()
}
# of exponents. For α ≤ 1 theory, a quarter either way; for α = 2 below 0, which is what bounded means
BANDS = ((0.0, 0.5), (-0.25, 0.25), (-math.inf, 0.0))
FEW_FREE = 0.1  # of the regret of the last decade


def claims(studies: Studies, _regrets: Regrets) -> tuple[Claim, ...]:
    """Measure the theorem's three rates, their order, and what is left when α > 1, on typical paths."""
    growth = {name: exponents(studies[name], SETTINGS[name]) for name in MARGINS}
    sentences = (
        "With α < 1 regret grows like a power of T, T^((1−α)/2)",
        "With α = 1 regret grows like log T: every decade costs as much",
        "With α > 1 regret is bounded: every decade costs less",
    )
    rates = [_rate(*each) for each in zip(sentences, growth.items(), BANDS, strict=True)]
    *_, widest = MARGINS
    return *rates, _ordered(growth), _forced_remain(studies[widest], SETTINGS[widest])


def _rate(sentence: str, growth: tuple[str, Array], band: tuple[float, float]) -> Claim:
    (name, values), (low, high) = growth, band
    found, theory = median(values), (1 - MARGINS[name]) / 2
    return Claim(
        f"{sentence} (free rounds of a typical path)",
        f"exponent by decade {found:.2f} with {name}",
        f"{f'between {low:.2f} and' if math.isfinite(low) else 'below'} {high:.2f} (theory: {theory:.2f})",
        judged(found, above=low, below=high),
    )


def _ordered(growth: Mapping[str, Array]) -> Claim:
    falls = [_fall(before, after) for before, after in pairwise(growth.values())]
    return Claim(
        "The larger the margin's exponent the slower regret grows (the same uniform numbers drew all units: paired)",
        f"on a typical path the exponent falls by {' and by '.join(f'{fall:.2f}' for fall in falls)}",
        "above 0, each (theory: 0.25 and 0.50)",
        all_judged(falls, above=0.0),
    )


def _fall(before: Array, after: Array) -> Measured:
    """Return by how much the exponent of a path falls; where neither is finite it counts as rising."""
    with np.errstate(invalid="ignore"):
        falls = before - after
    return median(np.where(np.isnan(falls), -np.inf, falls), level=bonferroni_level(2))


def _forced_remain(study: Study, setting: Setting) -> Claim:
    late = slice(study.horizon // 10, study.horizon)
    free, whole = free_regret(study, setting)[:, late].sum(axis=1), stage_regret(study)[:, late].sum(axis=(1, 2))
    found = median(np.divide(free, whole, out=np.ones_like(whole), where=whole > 0))
    return Claim(
        "With α > 1 the log T of forced rounds is what remains",
        f"free rounds carry {found:.1%} of the regret of the last decade on a typical path",
        f"below {FEW_FREE:.0%}",
        judged(found, below=FEW_FREE),
    )


def draw(studies: Studies) -> Picture:
    """Draw all regret against log t, and that of free rounds."""
    picture, (left, right) = panels(2)
    draw_regret(left, studies, log=True)
    title(left, "All regret, forced rounds included")
    horizon = min(study.horizon for study in studies.values())
    rounds = times(horizon, None)
    totals = {name: cumulative(free_regret(studies[name], SETTINGS[name]), rounds) for name in MARGINS}
    seed = next(iter(studies.values())).manifest.seed
    draw_totals(right, totals, rounds, log=True, seed=seed, y="regret of free rounds")
    title(right, "Regret of free rounds alone, by the margin's exponent")
    return picture


EXTENSION = Extension("margin", SETTINGS, claims, draw, paths=120, horizon=100_000)
