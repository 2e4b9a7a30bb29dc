"""An earlier trial of any design: what several tests of warm starts begin with."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import dtrbandit as dtr
from dtrbandit.record import Taught
from dtrbandit.record.histories import Context, goes_on, in_order


@dataclass(frozen=True)
class EarlierTrial:
    """Units with arms at random, of whom some left early and some dropped out."""

    facts: tuple[Taught, ...]

    def teaching(self, design: dtr.Design) -> tuple[Taught, ...]:  # noqa: ARG002  # drawn for one
        return self.facts


def earlier_trial(design: dtr.Design, units: int, *, seed: int) -> EarlierTrial:
    """Draw units of an earlier trial."""
    rng = np.random.default_rng(seed)
    return EarlierTrial(tuple(_unit(design, f"u{i}", rng) for i in range(units)))


def _unit(design: dtr.Design, name: str, rng: np.random.Generator) -> Taught:
    plans = design.plans or ()
    plan, left = plans[int(rng.integers(len(plans)))], False
    contexts: tuple[Context, ...] = ()
    arms: tuple[str, ...] = ()
    outcome = None
    for m, columns in enumerate(design.columns):
        context = in_order(design, m, {column: round(float(rng.normal()), 3) for column in columns})
        contexts = (*contexts, context)
        left = not goes_on(design, contexts, m)
        if left or rng.random() < 0.05:
            break
        arms = (*arms, plan[m])
        if rng.random() < 0.05:
            break
    if arms and (left or len(arms) == len(plan)):
        outcome = round(float(rng.normal()), 3)
    return Taught(name, contexts, arms, outcome)
