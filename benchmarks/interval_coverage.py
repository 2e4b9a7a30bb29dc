"""How often intervals of Q-learning hold the truth: `make coverage` prints this table.

The nine generative models of the literature on non-regular treatment regimes (Chakraborty, Murphy & Strecher 2010;
Laber et al. 2014; Chakraborty, Laber & Zhao 2013), two stages, 300 units. Asked for is the difference of the arms'
intercepts at the first stage. A line fails only if its coverage and two Monte-Carlo errors stay below 93 %.

Two more tables have fewer models. In one ξ is by the double bootstrap. In the other a quarter of the outcomes is lost,
by X₂: ``dropouts="weighted"`` fits the model of staying anew in each resample.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from rich.table import Table

import dtrbandit as dtr
from dtrbandit.evaluation import Cohort
from dtrbandit.evaluation.induction.induction import Dropouts
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
        """The mean over x₁ of the effect of the first arm."""
        return float(np.mean([self.effect(x1) for x1 in (-1, 1)]))

    def effect(self, x1: int) -> float:
        """Return Q₁(x₁, 1) − Q₁(x₁, −1)."""

        def q(a1: int) -> float:
            p, (g5, g6, g7) = float(self.chance(x1, a1)), self.gamma
            return self.gamma3 * a1 + p * abs(g5 + g6 + g7 * a1) + (1 - p) * abs(g5 - g6 + g7 * a1)

        return q(1) - q(-1)

    def draw(self, rng: np.random.Generator, *, loss: bool = False) -> Cohort:
        """Draw a trial; with loss, one outcome in nine is lost where X₂ = 1, and four in ten where X₂ = −1."""
        x1, a1, a2 = (rng.choice([-1.0, 1.0], UNITS) for _ in range(3))
        x2 = np.where(rng.random(UNITS) < self.chance(x1, a1), 1.0, -1.0)
        g5, g6, g7 = self.gamma
        outcome = self.gamma3 * a1 + (g5 + g6 * x2 + g7 * a1) * a2 + rng.normal(size=UNITS)
        if loss:
            outcome = np.where(rng.random(UNITS) < np.where(x2 > 0, 1 / 9, 0.4), np.nan, outcome)
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


class Way(NamedTuple):
    """How a trial is analysed, and in which models that is measured."""

    title: str
    models: str
    bootstrap: Mapping[str, Any]
    loss: bool = False

    def fit(self, model: Model, repetition: int, dropouts: Dropouts = "imputed") -> dtr.QLearning:
        """Draw a trial and fit it."""
        cohort = model.draw(np.random.default_rng([17, repetition]), loss=self.loss)
        if self.loss:
            cohort = cohort.with_propensities(STAYING)
        bootstrap = dtr.Bootstrap(seed=repetition, **self.bootstrap)
        return dtr.QLearning(DESIGN, dropouts=dropouts, bootstrap=bootstrap).fit(cohort)


STAYING = dtr.PropensityModel(choice={"first": "uniform", "second": "uniform"}, staying={"outcome": "1 + x2"})
FIXED = Way("ξ = 0.1", "123456ABC", {})
DOUBLE = Way("ξ by the double bootstrap, 100 × 100", "36B", {"xi": "double", "double": 100})
LOSS = Way("a quarter of the outcomes lost, dropouts='weighted'", "1356AB", {}, loss=True)


class Covered(NamedTuple):
    """Whether intervals of one trial hold the truth, and the share of units near a boundary.

    ``effect`` is that of ``fit.effect`` at x₁ = 1; ``complete`` that of ``dropouts="complete"``, which takes loss for
    chance.
    """

    sandwich: bool
    printed: bool
    near: float
    effect: bool
    complete: bool


def covered(model: Model, way: Way, repetition: int) -> Covered:
    """Draw a trial, fit it, and look whether its intervals hold the truth."""
    fit = way.fit(model, repetition, "weighted" if way.loss else "imputed")
    row, near = _asked(fit), fit.regularity()["share"].iloc[0]
    off = abs(row["estimate"] - model.truth)
    complete = _asked(way.fit(model, repetition, "complete")) if way.loss else row
    return Covered(
        sandwich=off <= 1.959964 * fit.summary().uncertainty.std_errors(0, ASKED)[0],
        printed=_holds(row, model.truth),
        near=near,
        effect=_holds(fit.effect("first", {"x1": 1.0}).iloc[0], model.effect(1)),
        complete=_holds(complete, model.truth),
    )


ASKED = np.array([[[-1.0, 0.0], [1.0, 0.0]]])  # the difference of the arms' intercepts


def _asked(fit: dtr.QLearning) -> pd.Series:
    return fit.contrasts().query("stage == 'first' and term == '1'").iloc[0]


def _holds(row: pd.Series, truth: float) -> bool:
    return bool(row["low"] <= truth <= row["high"])


def verdict(share: float, repetitions: int) -> str:
    """Judge a coverage within two Monte-Carlo errors."""
    return "ok" if share + 2 * np.sqrt(share * (1 - share) / repetitions) >= LEVEL else "TOO LOW"


def interval_table(repetitions: int, way: Way = FIXED) -> Table:
    """Measure coverage in the models of a way."""
    title = f"Coverage of 95 % intervals in {repetitions:,} trials of {UNITS} units, to reach {LEVEL:.0%}: {way.title}"
    more = ("complete",) if way.loss else ()
    heads = ("model", "kind", "truth", "near", "sandwich", "", "as printed", "", "effect at x1 = 1", "", *more)
    table = Table(*heads, title=title)
    for model in (each for each in MODELS if each.name in way.models):
        work = partial(covered, model, way)
        found = list(map_unordered(work, range(repetitions), n_jobs=-1, progress=f"trials of model {model.name}"))
        sandwich, printed, near, effect, complete = np.mean(found, axis=0)
        expected = verdict(sandwich, repetitions) if model.sandwich_holds else "not valid here"
        cells = f"{model.truth:.3f}", f"{near:.0%}", f"{sandwich:.3f}", expected, f"{printed:.3f}"
        last = f"{effect:.3f}", verdict(effect, repetitions), *((f"{complete:.3f}",) if way.loss else ())
        table.add_row(model.name, model.kind, *cells, verdict(printed, repetitions), *last)
    return table
