"""LSVI-UCB (section 5.1, item 2; Algorithm 1 of Jin et al.), round by round against the oracle."""

from __future__ import annotations

import pytest

import dtrbandit as dtr
from paper.literal import Plan, lsvi_ucb
from paper.sessions import assert_same_arms, run_policy
from paper.worlds import THREE_PLANS, THREE_STAGES_WITH_GAPS, draw_world, every_plan

ROUNDS = 90


@pytest.mark.parametrize("beta", [0.5, 4.0])
@pytest.mark.parametrize("counts", [(2, 2), (2, 4), (3, 2), (2, 2, 2)])
def test_arm_blocked_features_make_the_choices_of_jin_et_al(counts: Plan, beta: float) -> None:
    world, plans = draw_world(counts, units=ROUNDS, seed=sum(counts)), every_plan(*counts)

    run = run_policy(dtr.LSVIUCB(beta=beta), world, plans)

    assert_same_arms(run, lsvi_ucb(world, plans, [2] * len(counts), beta=beta, horizon=ROUNDS))


@pytest.mark.parametrize("ridge", [0.1, 3.0])
def test_the_ridge_is_the_lambda_of_jin_et_al(ridge: float) -> None:
    world, plans = draw_world((2, 2), units=ROUNDS, seed=14, columns=3), every_plan(2, 2)

    run = run_policy(dtr.LSVIUCB(beta=0.5, ridge=ridge), world, plans)

    assert_same_arms(run, lsvi_ucb(world, plans, [4, 4], beta=0.5, ridge=ridge, horizon=ROUNDS))


@pytest.mark.parametrize("beta", [0.3, 2.0])
@pytest.mark.parametrize("leaving", [0.3, 0.6])
def test_early_leavers_are_regressed_on_their_outcome(leaving: float, beta: float) -> None:
    world = draw_world((2, 2), units=ROUNDS, seed=15, leaving=leaving)

    run = run_policy(dtr.LSVIUCB(beta=beta), world, THREE_PLANS)

    path = lsvi_ucb(world, THREE_PLANS, [2, 2], beta=beta, horizon=ROUNDS)
    assert any(len(arms) == 1 for arms in path.arms)
    assert_same_arms(run, path)


def test_the_max_over_the_next_stage_runs_over_feasible_arms_in_three_stages() -> None:
    world, plans = draw_world((2, 2, 2), units=ROUNDS, seed=16, leaving=0.2), THREE_STAGES_WITH_GAPS

    run = run_policy(dtr.LSVIUCB(beta=0.7), world, plans)

    assert_same_arms(run, lsvi_ucb(world, plans, [2, 2, 2], beta=0.7, horizon=ROUNDS))
