"""What is left of a plan after overrides."""

from __future__ import annotations

import numpy as np
import pytest

import dtrbandit as dtr
from dtrbandit.design.feasibility import Barred, arms_left
from dtrbandit.policies.facts import start
from dtrbandit.policies.plans import leads_on, next_of_plan
from estimators.oracle import bare_design

DESIGN = bare_design([(0, 0, 1), (0, 1, 0), (1, 1, 0), (1, 1, 1)], [2, 2, 2], [1, 1, 1])
PLANS = np.array(DESIGN.arm_plans)


def prescribed(plan: tuple[int, ...], given: tuple[int, ...]) -> int:
    """Return what a plan prescribes to a unit that was given these arms."""
    arms = np.full((1, 3), -1, dtype=np.int8)
    arms[0, : len(given)] = given
    number = DESIGN.arm_plans.index(plan)
    return int(next_of_plan(DESIGN.tree.child, arms, PLANS, number, 0, len(given)))


@pytest.mark.parametrize("plan", DESIGN.arm_plans)
def test_a_unit_that_was_given_what_was_planned_goes_on_with_its_plan(plan: tuple[int, ...]) -> None:
    assert [prescribed(plan, plan[:m]) for m in range(3)] == list(plan)


def test_an_override_that_leaves_the_rest_feasible_changes_nothing() -> None:
    assert prescribed((0, 1, 0), (1,)) == 1  # (1, 1, 0) is feasible
    assert prescribed((0, 1, 0), (1, 1)) == 0


def test_after_one_that_does_not_all_later_stages_are_free() -> None:
    assert prescribed((0, 0, 1), (1,)) == -1  # (1, 0, …) is not feasible
    assert prescribed((0, 0, 1), (1, 1)) == -1  # though (1, 1, 1) is


@pytest.mark.parametrize("excluded", [(), ((0, 0),), ((1, 1),), ((1, 0), (2, 0)), ((2, 0),)])
def test_a_plan_leads_on_if_none_of_its_later_arms_is_barred_for_the_unit(excluded: Barred) -> None:
    state = start(dtr.UniformRandom(), DESIGN)
    root = state.root_for(excluded)

    for number, plan in enumerate(DESIGN.arm_plans):
        for m in range(3):
            node = root + DESIGN.tree.after(plan[:m])
            if any(arms_left(DESIGN.tree, excluded)[node - root]):  # where nothing is left nothing is decided
                expected = not {(k, arm) for k, arm in enumerate(plan) if k >= m} & set(excluded)
                assert leads_on(state.observed, PLANS, number, node, m) == expected
