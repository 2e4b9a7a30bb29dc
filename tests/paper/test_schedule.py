"""eq. "forced samples", eq. "forced samples K" and lemma "forced pull numbers"."""

from __future__ import annotations

import math

import pytest

from dtrbandit.design.schedule import forced_plan
from paper.literal import Plan, T_k_arm, T_plan, T_two_arm
from paper.worlds import THREE_PLANS, THREE_STAGES_WITH_GAPS, TWO_BY_TWO, every_plan

ROUNDS = 5000


def rounds_by_plan(plans: tuple[Plan, ...], *, q: int, rounds: int = ROUNDS) -> dict[Plan, set[int]]:
    """Return, from the package, the rounds at which each plan is forced."""
    found: dict[Plan, set[int]] = {plan: set() for plan in plans}
    for t in range(1, rounds + 1):
        plan = forced_plan(t, plans, q=q)
        if plan is not None:
            found[plan].add(t)
    return found


@pytest.mark.parametrize("q", [1, 2, 3, 5, 20])
def test_two_arms_are_forced_at_the_rounds_of_eq_forced_samples(q: int) -> None:
    expected = {(a1, a2): T_two_arm(a1 + 1, a2 + 1, q, ROUNDS) for a1, a2 in TWO_BY_TWO}

    found = rounds_by_plan(TWO_BY_TWO, q=q)

    assert found == expected


@pytest.mark.parametrize(("K1", "K2", "q"), [(2, 2, 1), (3, 2, 1), (3, 2, 4), (2, 4, 2), (5, 3, 3), (1, 6, 7)])
def test_k_arms_are_forced_at_the_rounds_of_eq_forced_samples_k(K1: int, K2: int, q: int) -> None:
    plans = every_plan(K1, K2)
    expected = {(a1, a2): T_k_arm(a1 + 1, a2 + 1, K1, K2, q, ROUNDS) for a1, a2 in plans}

    found = rounds_by_plan(plans, q=q)

    assert found == expected


@pytest.mark.parametrize("q", [1, 2, 5])
@pytest.mark.parametrize("plans", [THREE_PLANS, THREE_STAGES_WITH_GAPS, every_plan(2, 2, 2), every_plan(3)])
def test_feasible_plans_take_the_place_of_the_pairs_of_arms(plans: tuple[Plan, ...], q: int) -> None:
    expected = {plan: T_plan(plan, plans, q, ROUNDS) for plan in plans}

    found = rounds_by_plan(plans, q=q)

    assert found == expected


@pytest.mark.parametrize("q", [1, 2, 5])
@pytest.mark.parametrize(("a", "m"), [(0, 0), (1, 0), (0, 1), (1, 1)])
def test_lemma_forced_pull_numbers_holds_for_two_by_two_arms(a: int, m: int, q: int) -> None:
    horizon = 20_000
    by_plan = rounds_by_plan(TWO_BY_TWO, q=q, rounds=horizon)

    forced = set().union(*(rounds for plan, rounds in by_plan.items() if plan[m] == a))

    pulls = sum(1 for t in forced if t < 64 * q**2)
    for t in range(64 * q**2, horizon + 1):
        pulls += t in forced
        assert q * math.log(t) <= pulls <= 3 * q * math.log(t)


@pytest.mark.parametrize("plans", [THREE_PLANS, THREE_STAGES_WITH_GAPS, every_plan(2, 4)])
def test_a_forced_block_pulls_an_arm_q_times_for_each_plan_with_it(plans: tuple[Plan, ...]) -> None:
    q = 3

    block = [forced_plan(t, plans, q=q) for t in range(1, len(plans) * q + 1)]

    for m in range(len(plans[0])):
        for a in range(4):
            pulls = sum(plan is not None and plan[m] == a for plan in block)
            assert pulls == q * sum(plan[m] == a for plan in plans)
