"""The oracle checked against itself and against numpy: nothing here imports the package."""

from __future__ import annotations

import numpy as np
import pytest

from paper.literal import (
    T_k_arm,
    T_plan,
    T_two_arm,
    algorithm_1,
    algorithm_3,
    algorithm_4,
    feasible_arms,
    least_squares,
)
from paper.worlds import THREE_PLANS, TWO_BY_TWO, arrivals_without_delay, draw_world, every_plan


@pytest.mark.parametrize("q", [1, 2, 5])
def test_the_schedule_for_k_arms_is_the_schedule_for_two_when_k_is_two(q: int) -> None:
    pairs = [(a1, a2) for a1 in (1, 2) for a2 in (1, 2)]

    two = {pair: T_two_arm(*pair, q, 5000) for pair in pairs}
    general = {pair: T_k_arm(*pair, 2, 2, q, 5000) for pair in pairs}

    assert two == general


@pytest.mark.parametrize(("K1", "K2"), [(2, 2), (3, 2), (2, 4)])
def test_the_schedule_for_plans_is_the_schedule_for_k_arms_when_every_plan_is_feasible(K1: int, K2: int) -> None:
    plans = every_plan(K1, K2)

    by_arms = {plan: T_k_arm(plan[0] + 1, plan[1] + 1, K1, K2, 3, 5000) for plan in plans}
    by_plan = {plan: T_plan(plan, plans, 3, 5000) for plan in plans}

    assert by_arms == by_plan


def test_only_the_second_arm_can_follow_the_second_arm_in_the_three_plans() -> None:
    after_first, after_second = feasible_arms(THREE_PLANS, (0,)), feasible_arms(THREE_PLANS, (1,))

    assert after_first == (0, 1)
    assert after_second == (1,)


def test_least_squares_is_the_usual_one_at_full_rank() -> None:
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(40, 3)), rng.normal(size=40)

    beta = least_squares(list(X), list(y))

    assert beta == pytest.approx(np.linalg.lstsq(X, y, rcond=None)[0], rel=1e-10)


def test_least_squares_is_the_shortest_in_original_units_below_full_rank() -> None:
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(3, 5)) * [1.0, 10.0, 100.0, 1.0, 1.0], rng.normal(size=3)

    beta = least_squares(list(X), list(y))

    assert beta == pytest.approx(np.linalg.pinv(X) @ y, rel=1e-9)


def test_rank_does_not_depend_on_the_units_of_a_column() -> None:
    rng = np.random.default_rng(3)
    X, slopes = rng.normal(size=(20, 2)) * [1e-9, 1e6], np.array([3e9, 2e-6])

    beta = least_squares(list(X), list(X @ slopes))

    assert beta == pytest.approx(slopes, rel=1e-9)


def test_a_repeated_column_shares_its_coefficient() -> None:
    x = np.random.default_rng(4).normal(size=10)

    beta = least_squares([np.array([value, value]) for value in x], list(6.0 * x))

    assert beta == pytest.approx([3.0, 3.0], rel=1e-12)


def test_an_arm_without_rows_has_no_estimate() -> None:
    beta = least_squares([], [])

    assert beta is None


@pytest.mark.parametrize("delta", [(0.5, 0.5), (1.0, 3.0)])
def test_algorithms_1_3_and_4_are_one_for_two_arms_without_delay(delta: tuple[float, float]) -> None:
    world = draw_world((2, 2), units=100, seed=5)

    one = algorithm_1(world, q=1, delta=delta, horizon=100)
    four = algorithm_4(world, TWO_BY_TWO, q=1, delta=delta, horizon=100)
    three = algorithm_3(world, TWO_BY_TWO, arrivals_without_delay(2, units=100), q=1, delta=delta)

    assert min(one.margins) > 1e-9
    assert one.arms == four.arms == three.arms
