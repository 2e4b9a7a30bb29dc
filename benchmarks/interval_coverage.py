"""How often intervals of Q-learning hold the truth: `make coverage` prints this table.

The nine generative models of the literature on non-regular treatment regimes (Chakraborty, Murphy & Strecher 2010;
Laber et al. 2014; Chakraborty, Laber & Zhao 2013), two stages, 300 units. Asked for is the difference of the arms'
intercepts at the first stage. A line fails only if its coverage and two Monte-Carlo errors stay below 93 %.
"""

from __future__ import annotations

import argparse
from functools import partial
from typing import NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table

import dtrbandit as dtr
from dtrbandit.evaluation import Cohort
from dtrbandit.parallel import map_unordered

UNITS, LEVEL = 300, 0.93
DESIGN = dtr.Design(
    [
        dtr.Stage("first", ("-1", "1"), "1 + x1"),
        dtr.Stage("second", ("-1", "1"), "1 + x1 + a1 + x1:a1 + x2"),
    ]
)


class Model(NamedTuple):
    """X₁, A₁, A₂ = ±1 fair coins, P(X₂ = 1) = expit(δ₁X₁ + δ₂A₁), Y = γ₃A₁ + γ₅A₂ + γ₆X₂A₂ + γ₇A₁A₂ + N(0, 1)."""

    name: str
    kind: str
    gamma3: float
    gamma: tuple[float, float, float]  # γ₅, γ₆, γ₇
    delta: tuple[float, float]
    sandwich_holds: bool

    def chance(self, x1: object, a1: object) -> np.ndarray:
        """Return P(X₂ = 1)."""
        return np.asarray(1 / (1 + np.exp(-(self.delta[0] * np.asarray(x1) + self.delta[1] * np.asarray(a1)))))

    @property
    def truth(self) -> float:
        """The mean over x₁ of Q₁(x₁, 1) − Q₁(x₁, −1)."""

        def q(x1: int, a1: int) -> float:
            p, (g5, g6, g7) = float(self.chance(x1, a1)), self.gamma
            return self.gamma3 * a1 + p * abs(g5 + g6 + g7 * a1) + (1 - p) * abs(g5 - g6 + g7 * a1)

        return float(np.mean([q(x1, 1) - q(x1, -1) for x1 in (-1, 1)]))

    def draw(self, rng: np.random.Generator) -> Cohort:
        """Draw a trial."""
        x1, a1, a2 = (rng.choice([-1.0, 1.0], UNITS) for _ in range(3))
        x2 = np.where(rng.random(UNITS) < self.chance(x1, a1), 1.0, -1.0)
        g5, g6, g7 = self.gamma
        outcome = self.gamma3 * a1 + (g5 + g6 * x2 + g7 * a1) * a2 + rng.normal(size=UNITS)
        contexts = ({"x1": x1}, {"a1": a1, "x2": x2})
        arms = (np.stack([a1, a2], axis=1) > 0).astype(np.int8)
        return Cohort(DESIGN, tuple(map(str, range(UNITS))), contexts, arms, outcome, np.ones(UNITS))


MODELS = (
    Model("1", "non-regular, p = 1", 0.0, (0.0, 0.0, 0.0), (0.5, 0.5), True),
    Model("2", "near", 0.0, (0.01, 0.0, 0.0), (0.5, 0.5), True),
    Model("3", "non-regular, p = 1/2", -0.5, (0.5, 0.0, 0.5), (0.5, 0.5), False),
    Model("4", "near", -0.5, (0.5, 0.0, 0.49), (0.5, 0.5), False),
    Model("5", "non-regular, p = 1/4", -0.5, (1.0, 0.5, 0.5), (1.0, 0.0), True),
    Model("6", "regular", -0.5, (0.25, 0.5, 0.5), (0.1, 0.1), True),
    Model("A", "regular", -0.25, (0.75, 0.5, 0.5), (0.1, 0.1), True),
    Model("B", "non-regular, p = 1/2", 0.0, (0.25, 0.0, 0.25), (0.0, 0.0), False),
    Model("C", "near", 0.0, (0.25, 0.0, 0.24), (0.0, 0.0), False),
)


class Covered(NamedTuple):
    """Whether two intervals of one trial hold the truth, and the share of units near a boundary."""

    sandwich: bool
    printed: bool
    near: float


def covered(model: Model, repetition: int) -> Covered:
    """Draw a trial, fit it, and look whether its intervals hold the truth."""
    rng = np.random.default_rng([17, repetition])
    fit = dtr.QLearning(DESIGN, bootstrap=dtr.Bootstrap(seed=repetition)).fit(model.draw(rng))
    row = fit.contrasts().query("stage == 'first' and term == '1'").iloc[0]
    near = fit.regularity()["share"].iloc[0]
    off = abs(row["estimate"] - model.truth)
    return Covered(off <= 1.959964 * row["std_error"], row["low"] <= model.truth <= row["high"], near)


def verdict(share: float, repetitions: int) -> str:
    """Judge a coverage within two Monte-Carlo errors."""
    return "ok" if share + 2 * np.sqrt(share * (1 - share) / repetitions) >= LEVEL else "TOO LOW"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=1_000)
    repetitions = parser.parse_args().repetitions
    title = f"Coverage of 95 % intervals in {repetitions:,} trials of {UNITS} units, to reach {LEVEL:.0%}"
    table = Table("model", "kind", "truth", "near", "sandwich", "", "as printed", "", title=title)
    for model in MODELS:
        work = partial(covered, model)
        found = list(map_unordered(work, range(repetitions), n_jobs=-1, progress=f"trials of model {model.name}"))
        sandwich, printed, near = np.mean(found, axis=0)
        expected = verdict(sandwich, repetitions) if model.sandwich_holds else "not valid here"
        cells = f"{model.truth:.3f}", f"{near:.0%}", f"{sandwich:.3f}", expected, f"{printed:.3f}"
        table.add_row(model.name, model.kind, *cells, verdict(printed, repetitions))
    Console(width=130).print(table)
