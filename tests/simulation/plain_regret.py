"""Regret straight from its definition, one unit and one stage at a time."""

from __future__ import annotations

import math

from dtrbandit.environments import PotentialOutcomes


def stage_regret(units: PotentialOutcomes, unit: int, arms: list[int]) -> list[float]:
    """Return max over feasible arms of Q_m, less Q_m of the arm given, along the unit's history."""
    assert units.q is not None
    losses = []
    for m, arm in enumerate(arms):
        if arm < 0:
            losses.append(0.0)
            continue
        before = tuple(arms[:m])
        values = {a: float(units.q[m][(unit, *before, a)]) for a in feasible(units, before)}
        losses.append(max(values.values()) - values[arm])
    return losses


def oracle_outcome(units: PotentialOutcomes, unit: int) -> float:
    """Return the outcome under the plan that takes the first best arm at each stage, along its own path."""
    assert units.q is not None
    plan: tuple[int, ...] = ()
    for m in range(len(units.q)):
        values = {a: float(units.q[m][(unit, *plan, a)]) for a in feasible(units, plan)}
        best = max(values.values())
        plan = (*plan, min(a for a, value in values.items() if value == best))
    return float(units.outcome[(unit, *plan)])


def outcome(units: PotentialOutcomes, unit: int, arms: list[int]) -> float:
    """Return the outcome under the arms given; a leaver has the same one whatever would have followed."""
    given = tuple(arm for arm in arms if arm >= 0)
    outcomes = {float(units.outcome[(unit, *plan)]) for plan in units.design.arm_plans if plan[: len(given)] == given}
    return outcomes.pop() if len(outcomes) == 1 else math.nan


def feasible(units: PotentialOutcomes, before: tuple[int, ...]) -> set[int]:
    m = len(before)
    return {plan[m] for plan in units.design.arm_plans if plan[:m] == before}
