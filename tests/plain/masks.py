"""Contraindicated and closed arms, plan by plan."""

from __future__ import annotations

from collections.abc import Iterable

from dtrbandit.design.feasibility import Plan

Pairs = set[tuple[int, int]]


def plans_left(plans: Iterable[Plan], given: Plan, barred: Pairs) -> list[Plan]:
    """Return the plans that go on from the arms given without an arm that is barred."""
    m = len(given)
    return [
        plan
        for plan in plans
        if plan[:m] == given and not any((k, arm) in barred for k, arm in enumerate(plan) if k >= m)
    ]


def arms_for_a_max(plans: tuple[Plan, ...], given: Plan, excluded: Pairs, closed: Pairs) -> set[int]:
    """Return the arms feasible after those given; if none is, the closed ones as well, and then all of the design."""
    choices = [
        {plan[len(given)] for plan in plans_left(plans, given, barred)}
        for barred in (excluded | closed, excluded, set())
    ]
    return next(arms for arms in choices if arms)


def can_take(plan: Plan, plans: tuple[Plan, ...], given: Plan, barred: Pairs) -> bool:
    """Say whether the rest of a plan is open to a unit with these arms."""
    m = len(given)
    return (*given, *plan[m:]) in plans_left(plans, given, barred)
