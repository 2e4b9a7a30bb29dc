"""What is left of a plan for a unit: after overrides, with contraindications, once arms are closed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dtrbandit as dtr
from dtrbandit.design.feasibility import Barred, arms_left
from dtrbandit.estimators.exact import ExactLearner
from dtrbandit.kernels import constants as c
from dtrbandit.policies.plans import PlanState
from dtrbandit.policies.registry import examples, forces_plans

STAGES = ("s1", "s2", "s3")
PLANS: list[tuple[int, ...]] = [(0, 0, 1), (0, 1, 0), (1, 1, 0), (1, 1, 1)]
DESIGN = dtr.Design(
    [dtr.Stage(name, ("a", "b"), "1") for name in STAGES], plans=[tuple("ab"[a] for a in plan) for plan in PLANS]
)
# in both, unit p has plan p: with one feature each plan is pulled once
IN_ORDER: list[Any] = [dtr.DTRBandit(q=1, delta=1.0), dtr.Greedy()]
each_policy = pytest.mark.parametrize("policy", IN_ORDER, ids=repr)


def prescribed(policy: Any, plan: tuple[int, ...], given: tuple[int, ...]) -> int:
    """Return what a plan prescribes to a unit whose arms were overridden to these, −1 if it is free."""
    session = dtr.Session(DESIGN, policy)
    for unit in range(PLANS.index(plan) + 1):
        decision: Any = session.enroll(f"u{unit}", {})
    assert decision.reason == "forced"
    for m, arm in enumerate(given):
        if decision.arm != "ab"[arm]:
            session.override(f"u{unit}", "ab"[arm], stage=STAGES[m], reason="allergy")
        decision = session.respond(f"u{unit}", {}, stage=STAGES[m + 1])
    return "ab".index(decision.arm) if decision.reason == "forced" else -1


def test_the_plans_are_numbered_as_those_of_the_design() -> None:
    assert list(DESIGN.arm_plans) == PLANS


@each_policy
@pytest.mark.parametrize("plan", PLANS)
def test_a_unit_that_was_given_what_was_planned_goes_on_with_its_plan(policy: Any, plan: tuple[int, ...]) -> None:
    assert [prescribed(policy, plan, plan[:m]) for m in range(3)] == list(plan)


@each_policy
def test_an_override_that_leaves_the_rest_feasible_changes_nothing(policy: Any) -> None:
    assert prescribed(policy, (0, 1, 0), (1,)) == 1  # (1, 1, 0) is feasible
    assert prescribed(policy, (0, 1, 0), (1, 1)) == 0


@each_policy
def test_after_one_that_does_not_all_later_stages_are_free(policy: Any) -> None:
    assert prescribed(policy, (0, 0, 1), (1,)) == -1  # (1, 0, …) is not feasible
    assert prescribed(policy, (0, 0, 1), (1, 1)) == -1  # though (1, 1, 1) is


def has_plan(policy: Any, number: int, m: int, excluded: Barred) -> bool:
    """Say whether a unit is still forced at stage ``m``, given what is contraindicated from then on."""
    state, plan = policy.init(DESIGN), PLANS[number]
    if isinstance(policy, dtr.Greedy):
        state.pulls[number] = number
        state.made = number
    for k in range(m):
        assert state.take_if_it_fits(c.ARRIVED, number, k, DESIGN.tree.after(plan[:k]), plan[k], 1.0)
    arm = state.ask(number, m, state.root_for(excluded) + DESIGN.tree.after(plan[:m]), 0.5)
    assert arm == plan[m] or state.reason != c.FORCED
    return bool(state.reason == c.FORCED)


@each_policy
@pytest.mark.parametrize("excluded", [(), ((0, 0),), ((1, 1),), ((1, 0), (2, 0)), ((2, 0),)])
def test_a_plan_leads_on_if_none_of_its_later_arms_is_barred_for_the_unit(policy: Any, excluded: Barred) -> None:
    for number, plan in enumerate(PLANS):
        for m in range(3):
            if any(arms_left(DESIGN.tree, excluded)[DESIGN.tree.after(plan[:m])]):  # elsewhere nothing is decided
                expected = not {(k, arm) for k, arm in enumerate(plan) if k >= m} & set(excluded)
                assert has_plan(policy, number, m, excluded) == expected


@each_policy
def test_a_plan_with_a_closed_arm_is_not_forced(policy: Any) -> None:
    session = dtr.Session(DESIGN, policy)
    session.close_arm("s2", "a", reason="harm")

    forced = []
    for unit in range(8):
        arms = [session.enroll(f"u{unit}", {}), *(session.respond(f"u{unit}", {}, stage=name) for name in STAGES[1:])]
        if all(decision is not None and decision.reason == "forced" for decision in arms):
            forced.append("".join(decision.arm for decision in arms if decision is not None))

    assert set(forced) == {"aba", "bba", "bbb"}


@pytest.mark.parametrize("policy", [*filter(forces_plans, examples())], ids=repr)
def test_its_state_knows_the_plans_of_the_design_and_learns_exactly(policy: Any) -> None:
    state = policy.init(DESIGN)

    assert isinstance(state, PlanState)
    assert isinstance(state.learner, ExactLearner)
    assert (np.asarray(state.plans).tolist(), state.plan_count) == ([list(plan) for plan in PLANS], 4)
    assert state.parts()["learner"] is state.learner


@pytest.mark.parametrize("policy", [*filter(forces_plans, examples())], ids=repr)
def test_beside_every_decision_stands_q_hat(policy: Any) -> None:
    """Three outcomes of arm a at the last stage: their mean, and no estimate for an arm without rows."""
    state = policy.init(dtr.Design([dtr.Stage("only", ("a", "b", "c"), "1")]))
    state.observed.psi[0] = 1.0
    for unit, outcome in enumerate((1.0, 2.0, 6.0)):
        assert state.take_if_it_fits(c.ARRIVED, unit, 0, 0, 0, 0.0)
        assert state.take_if_it_fits(c.COMPLETED, unit, 0, -1, -1, outcome)

    state.ask(3, 0, 0, 0.99)

    assert np.asarray(state.sheet)[c.Q_HAT] == pytest.approx([3.0, np.nan, np.nan], nan_ok=True)
