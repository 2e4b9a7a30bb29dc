"""epsilon-Greedy and Greedy (section 5.1, item 1; readings 8 and 10)."""

from __future__ import annotations

from typing import Any

import pytest

import dtrbandit as dtr
from dtrbandit.kernels.stream import uniform
from dtrbandit.policies.policy import Policy
from paper.literal import Plan, epsilon_greedy
from paper.sessions import ARMS, assert_same_arms, run_policy
from paper.worlds import THREE_PLANS, THREE_STAGES_WITH_GAPS, TWO_BY_TWO, draw_world, every_plan

ROUNDS = 110
SEED = 7

TWO_STAGES = dtr.Design(
    [
        dtr.Stage("first", arms=("a", "b"), features="1 + x1"),
        dtr.Stage("second", arms=("a", "b"), features="1 + x2 + z2", enter_if="r > 0"),
    ],
    plans=[("a", "a"), ("a", "b"), ("b", "b")],
)


def treat(session: dtr.Session, t: int, *, stays: bool) -> str:
    """Treat unit t to its end; return the arms it was given."""
    first = session.enroll(f"u{t}", {"x1": (t % 5) / 3.0})
    second = session.respond(f"u{t}", {"x2": (t % 7) / 4.0, "z2": (t % 3) / 2.0, "r": float(stays)})
    session.complete(f"u{t}", float(t % 4))
    return first.arm + (second.arm if second is not None else "")


def stream(t: int, m: int, stages: int) -> float:
    return uniform(SEED, t, m, stages)


@pytest.mark.parametrize("policy", [dtr.Greedy(), dtr.EpsilonGreedy(epsilon=1.0)])
def test_each_plan_is_pulled_d_times_first_and_in_order(policy: Policy[Any]) -> None:
    session = dtr.Session(TWO_STAGES, policy, seed=SEED)

    given = [treat(session, t, stays=True) for t in range(1, 10)]

    assert given == ["aa"] * 3 + ["ab"] * 3 + ["bb"] * 3  # d = 3, the features of the second stage


def test_the_policy_is_free_after_the_last_initial_pull() -> None:
    session = dtr.Session(TWO_STAGES, dtr.EpsilonGreedy(epsilon=1.0), seed=SEED)
    for t in range(1, 10):
        treat(session, t, stays=True)

    decision = session.enroll("u10", {"x1": 0.2})

    assert decision.reason == "explore"


def test_pulls_of_units_that_left_early_are_made_up_for_at_the_end() -> None:
    leavers = {2, 4, 5, 9}
    session = dtr.Session(TWO_STAGES, dtr.EpsilonGreedy(epsilon=1.0), seed=SEED)

    given = [treat(session, t, stays=t not in leavers) for t in range(1, 14)]

    assert given[:9] == ["aa", "a", "aa", "a", "a", "ab", "bb", "bb", "b"]
    assert given[9:] == ["aa", "ab", "ab", "bb"]
    assert session.enroll("u14", {"x1": 0.2}).reason == "explore"


def test_a_make_up_pull_that_leaves_early_is_made_up_for_too() -> None:
    leavers = {9, 10, 11}
    session = dtr.Session(TWO_STAGES, dtr.EpsilonGreedy(epsilon=1.0), seed=SEED)

    given = [treat(session, t, stays=t not in leavers) for t in range(1, 13)]

    assert given[8:] == ["b", "b", "b", "bb"]
    assert session.enroll("u13", {"x1": 0.2}).reason == "explore"


def test_a_make_up_pull_that_leaves_early_waits_for_those_owed_before_it() -> None:
    leavers = {2, 4, 10}  # aa and ab are owed at the end; the make-up of aa leaves, and is owed after ab
    session = dtr.Session(TWO_STAGES, dtr.EpsilonGreedy(epsilon=1.0), seed=SEED)

    given = [treat(session, t, stays=t not in leavers) for t in range(1, 13)]

    assert given[9:] == ["a", "ab", "aa"]
    assert session.enroll("u13", {"x1": 0.2}).reason == "explore"


@pytest.mark.parametrize("epsilon", [0.0, 0.1])
@pytest.mark.parametrize("counts", [(2, 2), (3, 2), (2, 4), (2, 2, 2)])
def test_whole_paths_follow_section_5_1(counts: Plan, epsilon: float) -> None:
    world, plans = draw_world(counts, units=ROUNDS, seed=sum(counts)), every_plan(*counts)

    run = run_policy(dtr.EpsilonGreedy(epsilon=epsilon), world, plans, seed=SEED)

    path = epsilon_greedy(world, plans, lambda t, m: stream(t, m, len(counts)), d=2, epsilon=epsilon, horizon=ROUNDS)
    assert_same_arms(run, path)
    assert ("explore" in run.reasons) == (epsilon > 0.0)


@pytest.mark.parametrize("epsilon", [0.0, 0.1])
@pytest.mark.parametrize(("plans", "leaving"), [(THREE_PLANS, 0.3), (THREE_PLANS, 0.6), (THREE_STAGES_WITH_GAPS, 0.2)])
def test_whole_paths_with_early_leavers_follow_section_5_1(
    plans: tuple[Plan, ...], leaving: float, epsilon: float
) -> None:
    stages = len(plans[0])
    world = draw_world((2,) * stages, units=ROUNDS, seed=33, leaving=leaving)

    run = run_policy(dtr.EpsilonGreedy(epsilon=epsilon), world, plans, seed=SEED)

    path = epsilon_greedy(world, plans, lambda t, m: stream(t, m, stages), d=2, epsilon=epsilon, horizon=ROUNDS)
    assert any(len(arms) < stages for arms in path.arms[: 2 * len(plans)])
    assert_same_arms(run, path)


def test_greedy_is_epsilon_greedy_that_never_explores() -> None:
    world = draw_world((2, 2), units=ROUNDS, seed=34)

    greedy = run_policy(dtr.Greedy(), world, TWO_BY_TWO, seed=SEED)
    never = run_policy(dtr.EpsilonGreedy(epsilon=0.0), world, TWO_BY_TWO, seed=SEED)

    assert greedy.arms == never.arms
    assert "explore" not in greedy.reasons | never.reasons


def test_the_shown_q_hat_is_the_oracles() -> None:
    world = draw_world((2, 2), units=60, seed=35)

    run = run_policy(dtr.EpsilonGreedy(epsilon=0.1), world, TWO_BY_TWO, seed=SEED)

    path = epsilon_greedy(world, TWO_BY_TWO, lambda t, m: stream(t, m, 2), d=2, epsilon=0.1, horizon=60)
    for key, pick in path.picks.items():
        for arm, value in pick.hat.items():
            assert run.decisions[key].q_hat[ARMS[arm]] == pytest.approx(value, rel=1e-7, abs=1e-9)
