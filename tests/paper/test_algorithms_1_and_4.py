"""Algorithm 1 (label "alg") and Algorithm 4 (label "alg: k arms"), round by round against the oracle."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import dtrbandit as dtr
from paper.literal import Plan, algorithm_1, algorithm_4
from paper.sessions import assert_same_arms, assert_same_estimates, run_policy
from paper.worlds import THREE_PLANS, THREE_STAGES_WITH_GAPS, TWO_BY_TWO, draw_world, every_plan

ROUNDS, MORE = 200, 300


@pytest.mark.parametrize("q", [1, 2, 5])
@pytest.mark.parametrize("delta", [(0.2, 0.2), (0.3, 1.0)])
def test_two_arms_follow_algorithm_1_and_algorithm_4(q: int, delta: tuple[float, float]) -> None:
    world = draw_world((2, 2), units=ROUNDS, seed=40 + q)

    run = run_policy(dtr.DTRBandit(q=q, delta=delta), world, TWO_BY_TWO)

    one = algorithm_1(world, q=q, delta=delta, horizon=ROUNDS)
    four = algorithm_4(world, TWO_BY_TWO, q=q, delta=delta, horizon=ROUNDS)
    assert_same_arms(run, one)
    assert_same_arms(run, four)
    assert_same_estimates(run, one)
    assert run.reasons == {"forced", "clear", "close"}


@pytest.mark.parametrize(("q", "delta"), [(1, 0.2), (2, 0.5), (5, 0.5)])
@pytest.mark.parametrize("counts", [(3, 2), (2, 4), (2, 2, 2)])
def test_more_arms_and_more_stages_follow_algorithm_4(counts: Plan, q: int, delta: float) -> None:
    world, plans = draw_world(counts, units=ROUNDS, seed=10 * sum(counts) + q), every_plan(*counts)

    run = run_policy(dtr.DTRBandit(q=q, delta=delta), world, plans)

    path = algorithm_4(world, plans, q=q, delta=[delta] * len(counts), horizon=ROUNDS)
    assert_same_arms(run, path)
    assert_same_estimates(run, path)
    assert run.reasons == {"forced", "clear", "close"}


def test_the_filter_can_leave_some_arms_but_not_all() -> None:
    world, plans = draw_world((2, 4), units=100, seed=61), every_plan(2, 4)

    run = run_policy(dtr.DTRBandit(q=1, delta=0.5), world, plans)

    sizes = {len(decision.contenders) for (_, m), decision in run.decisions.items() if m == 1}
    assert {1, 2, 3} <= sizes


@pytest.mark.parametrize(("q", "leaving", "delta"), [(1, 0.3, 0.3), (2, 0.3, 1.0), (1, 0.6, 1.0), (2, 0.6, 0.3)])
def test_three_plans_with_early_leavers_follow_algorithm_4(q: int, leaving: float, delta: float) -> None:
    world = draw_world((2, 2), units=MORE, seed=70 + q, leaving=leaving)

    run = run_policy(dtr.DTRBandit(q=q, delta=delta), world, THREE_PLANS)

    path = algorithm_4(world, THREE_PLANS, q=q, delta=[delta] * 2, horizon=MORE)
    assert any(len(arms) == 1 for arms in path.arms)
    assert_same_arms(run, path)
    assert_same_estimates(run, path)
    assert run.reasons == {"forced", "clear", "close", "only_feasible"}


@pytest.mark.parametrize("q", [1, 2])
def test_three_stages_with_gaps_and_early_leavers_follow_algorithm_4(q: int) -> None:
    world, plans = draw_world((2, 2, 2), units=200, seed=80 + q, leaving=0.3), THREE_STAGES_WITH_GAPS

    run = run_policy(dtr.DTRBandit(q=q, delta=0.5), world, plans)

    path = algorithm_4(world, plans, q=q, delta=[0.5] * 3, horizon=200)
    assert {len(arms) for arms in path.arms} == {1, 2, 3}
    assert_same_arms(run, path)
    assert_same_estimates(run, path)
    assert {"clear", "close", "only_feasible"} <= run.reasons


@pytest.mark.parametrize("columns", [5, 8])
def test_fits_below_full_rank_are_the_shortest_in_original_units(columns: int) -> None:
    scales = [10.0 ** (i - 2) for i in range(columns)]
    world = draw_world((2, 2), units=150, seed=92, columns=columns, scales=scales)

    run = run_policy(dtr.DTRBandit(q=1, delta=0.5), world, TWO_BY_TWO)

    path = algorithm_4(world, TWO_BY_TWO, q=1, delta=[0.5] * 2, horizon=150)
    assert_same_arms(run, path)
    assert_same_estimates(run, path)


def test_a_column_that_repeats_another_in_other_units_leaves_the_fits_defined() -> None:
    world = draw_world((2, 2), units=100, seed=93, columns=2)
    repeated = replace(world, contexts=tuple(np.insert(x, 2, 1000.0 * x[..., 0], axis=-1) for x in world.contexts))

    run = run_policy(dtr.DTRBandit(q=1, delta=0.5), repeated, TWO_BY_TWO)

    path = algorithm_4(repeated, TWO_BY_TWO, q=1, delta=[0.5] * 2, horizon=100)
    assert_same_arms(run, path)
    assert_same_estimates(run, path)


def test_an_arm_whose_forced_units_all_left_has_no_q_tilde_and_is_not_filtered_out() -> None:
    world = draw_world((2, 2), units=60, seed=71, leaving=0.6)

    run = run_policy(dtr.DTRBandit(q=1, delta=0.3), world, THREE_PLANS)

    unfiltered = [d for d in run.decisions.values() if d.reason == "close" and None in d.q_tilde.values()]
    assert unfiltered
    for decision in unfiltered:
        assert set(decision.contenders) == {"a", "b"}
