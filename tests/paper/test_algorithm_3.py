"""Algorithm 3 (label "alg_delayed"), arrival by arrival against the oracle."""

from __future__ import annotations

import pytest

import dtrbandit as dtr
from paper.literal import Plan, algorithm_1, algorithm_3
from paper.sessions import assert_same_arms, assert_same_estimates, run_policy
from paper.worlds import (
    THREE_PLANS,
    THREE_STAGES_WITH_GAPS,
    TWO_BY_TWO,
    arrivals_with_delay,
    arrivals_without_delay,
    draw_world,
    every_plan,
)

ROUNDS = 150


@pytest.mark.parametrize("q", [1, 2])
def test_without_delay_algorithm_3_is_algorithm_1(q: int) -> None:
    world, arrivals = draw_world((2, 2), units=ROUNDS, seed=20 + q), arrivals_without_delay(2, units=ROUNDS)

    run = run_policy(dtr.DTRBandit(q=q, delta=0.5), world, TWO_BY_TWO, arrivals=arrivals)

    three = algorithm_3(world, TWO_BY_TWO, arrivals, q=q, delta=[0.5] * 2)
    one = algorithm_1(world, q=q, delta=[0.5] * 2, horizon=ROUNDS)
    assert_same_arms(run, three)
    assert_same_arms(run, one)


@pytest.mark.parametrize(("q", "delay"), [(1, 0.5), (3, 5.0), (1, 40.0), (3, 40.0)])
@pytest.mark.parametrize("counts", [(2, 2), (3, 2)])
def test_delayed_responses_and_outcomes_follow_algorithm_3(counts: Plan, q: int, delay: float) -> None:
    world, plans = draw_world(counts, units=ROUNDS, seed=30 + q), every_plan(*counts)
    arrivals = arrivals_with_delay(2, units=ROUNDS, seed=q, delay=delay)

    run = run_policy(dtr.DTRBandit(q=q, delta=0.5), world, plans, arrivals=arrivals)

    path = algorithm_3(world, plans, arrivals, q=q, delta=[0.5] * 2)
    assert_same_arms(run, path)
    assert_same_estimates(run, path)
    assert {"clear", "close"} <= run.reasons


@pytest.mark.parametrize(("leaving", "q", "delay"), [(0.3, 1, 10.0), (0.3, 2, 1.0), (0.6, 1, 1.0), (0.6, 2, 10.0)])
def test_three_plans_with_early_leavers_follow_algorithm_3(leaving: float, q: int, delay: float) -> None:
    world = draw_world((2, 2), units=ROUNDS, seed=50 + q, leaving=leaving)
    arrivals = arrivals_with_delay(2, units=ROUNDS, seed=q, delay=delay)

    run = run_policy(dtr.DTRBandit(q=q, delta=0.5), world, THREE_PLANS, arrivals=arrivals)

    path = algorithm_3(world, THREE_PLANS, arrivals, q=q, delta=[0.5] * 2)
    assert_same_arms(run, path)
    assert_same_estimates(run, path)
    assert {"clear", "close"} <= run.reasons


@pytest.mark.parametrize("plans", [every_plan(2, 2, 2), THREE_STAGES_WITH_GAPS])
def test_three_stages_with_delay_and_leavers_follow_algorithm_3(plans: tuple[Plan, ...]) -> None:
    world = draw_world((2, 2, 2), units=ROUNDS, seed=60, leaving=0.2)
    arrivals = arrivals_with_delay(3, units=ROUNDS, seed=6, delay=4.0)

    run = run_policy(dtr.DTRBandit(q=1, delta=0.4), world, plans, arrivals=arrivals)

    path = algorithm_3(world, plans, arrivals, q=1, delta=[0.4] * 3)
    assert_same_arms(run, path)
    assert_same_estimates(run, path)


def test_a_late_stage_uses_the_q_tilde_of_its_own_e_t() -> None:
    world = draw_world((2, 2), units=40, seed=21)
    session_arrivals = arrivals_without_delay(2, units=40)
    late = [(9, 1), (9, 2)]  # e_9 = 8; unit 9 returns after the forced block 13..16, and after 29..32
    arrivals = [arrival for arrival in session_arrivals if arrival not in late] + late

    run = run_policy(dtr.DTRBandit(q=1, delta=0.5), world, TWO_BY_TWO, arrivals=arrivals)

    path = algorithm_3(world, TWO_BY_TWO, arrivals, q=1, delta=[0.5] * 2)
    newest = run.decisions[40, 1].q_tilde
    assert_same_arms(run, path)
    assert_same_estimates(run, path)
    assert run.decisions[9, 1].q_tilde != newest
