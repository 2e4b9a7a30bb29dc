"""A naive model of a unit: what was said of it, and what holds now. It shares no code with the package."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import dtrbandit as dtr
from dtrbandit.record import Taught
from paper.literal import Trajectory
from plain.masks import arms_for_a_max
from session_machine.problems import ARMS, Context, Problem


@dataclass
class NaiveUnit:
    """Everything said of a unit, as it was said, and as it holds now."""

    problem: Problem
    round: int
    contexts: list[Context]
    said: list[Context]
    decided: list[dtr.Decision] = field(default_factory=list)
    arms: list[int] = field(default_factory=list)
    left: bool = False
    outcome: float | None = None
    said_outcome: float | None = None
    withdrawn: str | None = None
    voided: str | None = None
    excluded: list[set[tuple[int, int]]] = field(default_factory=list)  # known on arrival, stage by stage
    excluding: dict[int, dict[str, Any]] = field(default_factory=dict)  # what was said of it on arrival at a stage
    latest: dict[tuple[str | int, ...], tuple[float, str]] = field(default_factory=dict)  # amendment of a field

    @property
    def open(self) -> bool:
        return self.said_outcome is None and self.withdrawn is None and self.voided is None

    @property
    def due(self) -> int | None:
        """The stage that the unit is to respond at next, None if there is none."""
        return None if self.left or not self.open or len(self.said) == len(self.problem.columns) else len(self.said)

    @staticmethod
    def known(contexts: Sequence[Context]) -> Context:
        return {column: value for context in contexts for column, value in context.items()}

    def enters(self, m: int, contexts: Sequence[Context]) -> bool:
        return self.problem.enters[m](self.known(contexts[: m + 1]))

    def alternatives(self) -> list[int]:
        """The stages whose arm could have been the other one, of a unit that went beyond its first stage."""
        arms = tuple(self.arms)
        other = [(*arms[:m], 1 - arms[m], *arms[m + 1 :]) for m in range(len(arms))]
        plans = {plan[: len(arms)] for plan in self.problem.plans}
        may = len(self.contexts) > 1 and self.voided is None
        return [m for m in range(len(arms)) if other[m] in plans and may]

    def forced(self) -> list[bool]:
        """Whether each arm came from the schedule; of an earlier trial none did."""
        if not self.round:
            return [False] * len(self.arms)
        return [d.reason == "forced" and ARMS[a] == d.arm for d, a in zip(self.decided, self.arms, strict=True)]

    def trajectory(self, closed: set[tuple[int, int]]) -> Trajectory:
        entered = range(len(self.contexts) - self.left)
        known, arms, plans = self.known(self.contexts), tuple(self.arms), tuple(self.problem.plans)
        return Trajectory(
            features=[np.array(self.problem.features[m](known, arms)) for m in entered],
            feasible=[tuple(sorted(arms_for_a_max(plans, arms[:m], self.excluded[m], closed))) for m in entered],
            arms=list(arms),
            forced=self.forced(),
            left=self.left,
            outcome=self.outcome,
        )


@dataclass(frozen=True)
class Earlier:
    """Units of an earlier trial, and what they teach."""

    units: dict[str, NaiveUnit]

    def teaching(self, design: dtr.Design) -> list[Taught]:
        labels = [stage.arms for stage in design.stages]
        return [
            Taught(
                name,
                tuple(unit.contexts),
                tuple(own[a] for own, a in zip(labels, unit.arms, strict=False)),
                unit.outcome,
            )
            for name, unit in self.units.items()
        ]


def earlier_unit(problem: Problem, rng: np.random.Generator) -> NaiveUnit:
    """Draw a unit of an earlier trial; some left early, and some dropped out, before or after the arm of a stage."""
    unit = NaiveUnit(problem, 0, [], [])
    plan = problem.plans[rng.integers(len(problem.plans))]
    for m, columns in enumerate(problem.columns):
        unit.contexts.append({column: draw(rng) for column in columns})
        unit.excluded.append(set())
        unit.left = not unit.enters(m, unit.contexts)
        if unit.left or rng.random() < 0.1:
            break
        unit.arms.append(plan[m])
        if rng.random() < 0.1:
            break
    if (unit.left or len(unit.arms) == len(plan)) and rng.random() < 0.9:
        unit.outcome = draw(rng)
    return unit


def draw(rng: np.random.Generator) -> float:
    return round(float(rng.normal(scale=1.5)), 3)
