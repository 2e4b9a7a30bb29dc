"""Forced rounds: the plans of a block in order or permuted, after overrides, and when an arm is closed."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

import dtrbandit as dtr
from dtrbandit.record import Assigned
from random_runs import DESIGNS, Renamed, random_session

DESIGN = dtr.Design([dtr.Stage("first", ("a", "b"), "1 + x"), dtr.Stage("second", ("a", "b"), "1 + z")])
THREE = dtr.Design(
    [dtr.Stage("first", ("a", "b"), "1 + x"), dtr.Stage("second", ("a", "b"), "1 + z")],
    plans=[("a", "a"), ("a", "b"), ("b", "b")],
)


def plans_given(session: dtr.Session, rounds: range) -> list[str]:
    """Return the plans of some rounds, all of them forced."""
    given = []
    for t in rounds:
        first, second = session.enroll(f"u{t}", {"x": 0.0}), session.respond(f"u{t}", {"z": 0.0})
        assert second is not None
        assert first.reason == second.reason == "forced"
        given.append(first.arm + second.arm)
    return given


def test_a_block_gives_each_plan_q_times_in_the_order_of_the_design() -> None:
    session = dtr.Session(THREE, dtr.DTRBandit(q=2, delta=1.0))

    assert plans_given(session, range(12)) == ["aa", "aa", "ab", "ab", "bb", "bb"] * 2


def test_the_slots_of_a_closed_plan_go_to_the_others_in_order() -> None:
    session = dtr.Session(THREE, dtr.DTRBandit(q=2, delta=1.0))
    session.close_arm("second", "a", reason="harm")

    assert plans_given(session, range(6)) == ["ab", "bb", "ab", "ab", "bb", "bb"]  # those of aa go to ab and bb


@pytest.mark.parametrize(("name", "number"), [("planned", 3), ("planned", -2), ("drawn", -1)])
def test_plans_and_slots_that_cannot_be_are_found_in_arrays_that_were_stored(name: str, number: int) -> None:
    state = dtr.DTRBandit(q=1, delta=1.0).init(THREE)
    state.reserve(5)
    assert state.fault() == ""

    np.asarray(getattr(state, name)).ravel()[0] = number

    assert name in state.fault()


def test_an_override_that_makes_the_plan_infeasible_frees_the_later_stages() -> None:
    session = dtr.Session(THREE, dtr.DTRBandit(q=1, delta=1.0))
    session.enroll("u1", {"x": 1.0})  # scheduled: a, then a
    session.override("u1", "b", reason="allergy")

    second = session.respond("u1", {"z": 2.0})

    assert second is not None
    assert (second.arm, second.reason) == ("b", "only_feasible")


def permuted_and_freed(design: dtr.Design) -> dtr.Session:
    """Return a session whose unit ``freed`` has the last slot of ``a``, which is aab, and was given (b, b)."""
    for seed in range(100):
        session = dtr.Session(design, dtr.DTRBandit(q=1, delta=1.0, schedule="permuted"), seed=seed)
        first = [name for name in ("u1", "u2", "freed") if session.enroll(name, {}).arm == "a"]
        middle = [decision.arm for name in first[:2] if (decision := session.respond(name, {}, stage="s2")) is not None]
        if (len(first), middle) == (3, ["b", "b"]):
            session.override("freed", "b", reason="allergy")
            session.respond("freed", {}, stage="s2")
            return session
    raise AssertionError("no seed leads there")


@pytest.mark.parametrize("back", [False, True])
def test_in_permuted_order_an_override_taken_back_makes_later_stages_forced_again(back: bool) -> None:
    stages = [dtr.Stage(name, ("a", "b"), "1") for name in ("s1", "s2", "s3")]
    design = dtr.Design(stages, plans=[tuple(plan) for plan in ("aab", "aba", "abb", "bba", "bbb")])
    session = permuted_and_freed(design)
    if back:
        session.override("freed", "a", reason="chart was misread", stage="s1")

    third = session.respond("freed", {}, stage="s3")

    assert third is not None
    given = {name: [d.decision.arm for d in session.log if isinstance(d, Assigned) and d.decision.unit == name]
             for name in ("u1", "freed")}  # fmt: skip
    assert given == {"u1": ["a", "b"], "freed": ["a", "b", third.arm]}
    assert (third.reason == "forced") is back  # after (b, b) the slot aab has no place, after (a, b) it has
    assert not back or (third.arm, third.propensity) == ("b", 1.0)


@pytest.mark.parametrize("schedule", ["paper", "permuted"])
def test_a_unit_without_a_slot_has_none_later_whatever_a_policy_that_holds_this_one_says(schedule: Any) -> None:
    """Its first stages are not called forced, and all later ones are."""
    held = Renamed(dtr.DTRBandit(q=1, delta=0.5, schedule=schedule), (False, True, True))

    state: Any = random_session(DESIGNS[2], held, 1, 40)._belief.state

    assert set(np.asarray(state.planned).tolist()) == {-1}
    assert not np.asarray(state.drawn).any()
    assert state.forced.count == 0


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("design", [DESIGN, THREE], ids=["four plans", "three plans"])
def test_a_permuted_block_gives_every_plan_q_times_in_an_order_that_differs(design: dtr.Design, seed: int) -> None:
    q, plans = 3, design.plans or ()
    session = dtr.Session(design, dtr.DTRBandit(q=q, delta=1.0, schedule="permuted"), seed=seed)

    given = []
    for t in range(2 * q * len(plans)):
        first = session.enroll(f"u{t}", {"x": 0.0})
        second = session.respond(f"u{t}", {"z": 0.0})
        assert second is not None
        assert first.reason == second.reason == "forced"
        given.append((first.arm, second.arm))

    for block in (given[: q * len(plans)], given[q * len(plans) :]):
        assert Counter(block) == dict.fromkeys(plans, q)
    assert given != sorted(given)


def test_a_permuted_propensity_is_the_share_of_the_remaining_plans_that_agree() -> None:
    session = dtr.Session(THREE, dtr.DTRBandit(q=1, delta=1.0, schedule="permuted"), seed=1)

    remaining = [("a", "a"), ("a", "b"), ("b", "b")]
    for t in range(3):
        first = session.enroll(f"u{t}", {"x": 0.0})
        assert first.propensity == pytest.approx(sum(p[0] == first.arm for p in remaining) / len(remaining))
        second = session.respond(f"u{t}", {"z": 0.0})
        agreeing = [p for p in remaining if p[0] == first.arm]
        assert second is not None
        assert second.propensity == pytest.approx(sum(p[1] == second.arm for p in agreeing) / len(agreeing))
        remaining.remove((first.arm, second.arm))


def test_permuted_first_arms_are_uniform_over_seeds() -> None:
    """400 seeds, P(a) = 2/3 with three plans: a band of 4 standard errors, 4·√(2/9/400) = 0.094."""
    policy = dtr.DTRBandit(q=1, delta=1.0, schedule="permuted")

    arms = [dtr.Session(THREE, policy, seed=seed).enroll("u", {"x": 0.0}).arm for seed in range(400)]

    assert abs(arms.count("a") / 400 - 2 / 3) < 0.094


@pytest.mark.parametrize("seed", range(30))
def test_permuted_propensities_stay_probabilities_when_overrides_meet_three_stages(seed: int) -> None:
    plans = ["ax1", "ax2", "ay1", "ay2", "bx1", "by1", "by2"]
    stages = [dtr.Stage("s1", ("a", "b"), "1"), dtr.Stage("s2", ("x", "y"), "1"), dtr.Stage("s3", ("1", "2"), "1")]
    design = dtr.Design(stages, plans=[tuple(plan) for plan in plans])
    session = dtr.Session(design, dtr.DTRBandit(q=1, delta=1.0, schedule="permuted"), seed=seed)

    for t in range(7):
        if session.enroll(f"u{t}", {}).arm == "a" and t > 1:
            session.override(f"u{t}", "b", reason="allergy")
        for stage in ("s2", "s3"):
            decision = session.respond(f"u{t}", {}, stage=stage)
            assert decision is not None
            assert decision.propensity is not None
            assert 0 < decision.propensity <= 1
