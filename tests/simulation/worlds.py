"""Environments, arrivals and policies for studies: irregular trees, early leavers, delays, units that are lost."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

import dtrbandit as dtr
from dtrbandit.environments import PotentialOutcomes, Synthetic
from dtrbandit.policies import Choice, Policy
from dtrbandit.policies.registry import examples
from dtrbandit.record import History
from dtrbandit.record.events import Fact
from dtrbandit.simulation.inputs import Inputs
from dtrbandit.simulation.one_path import ENVIRONMENT

ARMS = ("a", "b"), ("x", "y", "z"), ("1", "2")
LEFT_OUT = {("a", "x", "2"), ("b", "y", "1"), ("b", "y", "2")}
DESIGN = dtr.Design(
    [
        dtr.Stage("first", ARMS[0], "1 + x1"),
        dtr.Stage("second", ARMS[1], "1 + x1 + x2 + C(first)", enter_if="x2 > -1"),
        dtr.Stage("third", ARMS[2], "1 + x3", columns=("extra",), enter_if="end2 < 1.2 or x1 > 0"),
    ],
    plans=[plan for plan in product(*ARMS) if plan not in LEFT_OUT],
)
NARROW = dtr.Design(  # a learner that sees less, and may do less
    [
        dtr.Stage("first", ARMS[0], "1"),
        dtr.Stage("second", ARMS[1], "1 + x2", enter_if="x2 > -1"),
        dtr.Stage("third", ARMS[2], "1 + x1 + extra", enter_if="end2 < 1.2 or x1 > 0"),
    ],
    plans=[plan for plan in DESIGN.plans or () if tuple(plan) != ("a", "z", "2")],
)

FEW = {"DTRB": dtr.DTRBandit(q=2, delta=0.5), "uniform": dtr.UniformRandom()}
GOOD: dict[str, Any] = {"policies": FEW, "horizon": 30, "paths": 1}


@dataclass(frozen=True)
class Branching:
    """Three stages, plans that are infeasible, leavers before both later stages whose contexts are unknown.

    Its Q-functions are any numbers: what is tested is what regret does with them.
    """

    knows_q: bool = True

    @property
    def design(self) -> dtr.Design:
        return DESIGN

    def draw(self, n: int, rng: np.random.Generator) -> PotentialOutcomes:
        shapes = (n,), (n, 2), (n, 2, 3), (n, 2, 3, 2)
        x1, x2 = rng.normal(size=shapes[0]).round(3), rng.normal(size=shapes[1]).round(3)
        end2, x3, extra = (rng.normal(size=shapes[2]).round(3) for _ in range(3))
        q = [rng.normal(size=shape).round(1) for shape in shapes[1:]]  # rounded: with ties
        outcome = q[-1] + np.arange(2) + rng.normal(size=shapes[3])
        left_second = x2 <= -1
        left_third = left_second[:, :, None] | ((end2 >= 1.2) & (x1[:, None, None] <= 0))
        outcome = np.where(left_second[:, :, None, None], outcome[:, :, :1, :1], outcome)
        outcome = np.where(left_third[..., None], outcome[..., :1], outcome)
        for array in (x3, extra):
            array[left_third] = np.nan
        for a, b in product(range(2), range(3)):
            if not any(plan[:2] == (a, b) for plan in DESIGN.arm_plans):
                for array in (q[1], end2, x3, extra):
                    array[:, a, b] = np.nan
        for plan in product(range(2), range(3), range(2)):
            if plan not in DESIGN.arm_plans:
                outcome[(slice(None), *plan)] = q[2][(slice(None), *plan)] = np.nan
        contexts = {"x1": x1}, {"x2": x2}, {"x3": x3, "end2": end2, "extra": extra}
        return PotentialOutcomes(DESIGN, contexts, outcome, tuple(q) if self.knows_q else None)


@dataclass(frozen=True)
class Slow:
    """A unit a day; each response and the outcome ``days`` later, and a share of units lost on the way."""

    days: int = 7
    lost: float = 0.15

    def events(self, n: int, stages: int, rng: np.random.Generator) -> NDArray[np.int32]:
        day = np.arange(n)[:, None] + self.days * np.arange(stages + 1)
        what = np.tile(np.arange(stages + 1), (n, 1))
        gone = np.flatnonzero(rng.random(n) < self.lost)
        what[gone, rng.integers(1, stages + 1, len(gone))] = stages + 1
        order = np.argsort(day, axis=None, kind="stable")
        return np.column_stack([what.ravel()[order], np.repeat(np.arange(n), stages + 1)[order]]).astype(np.int32)


@dataclass(frozen=True)
class Own:
    """A policy of the caller's: it does what another does, but a study cannot know."""

    policy: Policy[Any]

    def init(self, design: dtr.Design) -> Any:
        return self.policy.init(design)

    def update(self, state: Any, history: History, event: Fact) -> Any:
        return self.policy.update(state, history, event)

    def decide(self, state: Any, history: History, u: float) -> Choice:
        return self.policy.decide(state, history, u)


def rule(design: dtr.Design) -> dict[str, Any]:
    return {
        stage.name: {arm: np.linspace(-1, k, d).tolist() for k, arm in enumerate(stage.arms)}
        for stage, d in zip(design.stages, design.dimensions, strict=True)
    }


def policies(design: dtr.Design) -> dict[str, Policy[Any]]:
    """Return every built-in policy, with its options."""
    return {**{repr(each): each for each in examples()}, "rule": dtr.FixedRegime(rule=rule(design))}


def units_of(study: dtr.Study, environment: Any, path: int) -> PotentialOutcomes:
    """Draw the units of a path once more."""
    manifest = study.manifest
    inputs = Inputs(environment, FEW, horizon=manifest.horizon, paths=1, seed=manifest.seed)
    units: PotentialOutcomes = environment.draw(manifest.horizon, inputs.rng(path, ENVIRONMENT))
    return units


@dataclass(frozen=True)
class Counted:
    """Counts whole paths, and says which environment it is."""

    shift: float = 0.0
    called: str = "Counted"
    draws = 0

    @property
    def design(self) -> dtr.Design:
        return Synthetic().design

    def draw(self, n: int, rng: np.random.Generator) -> PotentialOutcomes:
        Counted.draws += n == 60
        units = Synthetic().draw(n, rng)
        return units._replace(outcome=units.outcome + self.shift)

    def __repr__(self) -> str:
        return self.called


@dataclass(frozen=True)
class Moody(Own):
    """Fails once, at round 30 of the third path; what it has played is no parameter of it."""

    played: list[int] = field(default_factory=list, compare=False)

    def decide(self, state: Any, history: Any, u: float) -> Any:
        if history.round == 30 and not history.arms:
            self.played.append(30)
            if len(self.played) == 3:
                raise ZeroDivisionError("no arm today")
        return super().decide(state, history, u)
