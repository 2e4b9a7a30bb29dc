"""Parameters that change nothing are left out; with a floor every feasible arm keeps its chance in free rounds."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dtrbandit as dtr
from dtrbandit.environments import Synthetic
from dtrbandit.kernels import constants as c
from dtrbandit.policies.parameters import parameters_of, policy_repr
from dtrbandit.policies.registry import policy_from_dict, policy_to_dict
from dtrbandit.record import Assigned
from dtrbandit.record.codec import encode
from evaluation.collected import synthetic_session

THREE = dtr.Design(
    [dtr.Stage("first", ("a", "b", "c"), "1 + x"), dtr.Stage("second", ("a", "b"), "1 + z")],
    plans=[("a", "a"), ("a", "b"), ("b", "b"), ("c", "a"), ("c", "b")],
)
FLOORED: list[Any] = [
    dtr.DTRBandit(q=1, delta=0.3, floor=0.1),
    dtr.DTRBandit(q=1, delta=5.0, schedule="permuted", floor=0.3),
    dtr.Greedy(floor=0.2),
]


def test_a_parameter_is_left_out_with_the_value_that_changes_nothing_and_with_no_other() -> None:
    assert parameters_of(dtr.Greedy()) == {}
    assert parameters_of(dtr.Greedy(floor=0.1)) == {"floor": 0.1}
    assert "scale" not in parameters_of(dtr.LSVIUCB(beta=1.0))
    assert parameters_of(dtr.LSVIUCB(beta=1.0, scale=2.0))["scale"] == 2.0
    assert parameters_of(dtr.EpsilonGreedy(epsilon=0.0)) == {"epsilon": 0.0}  # 0 is said where it always was


def test_what_is_said_brings_the_policy_back() -> None:
    for policy in (dtr.Greedy(), dtr.Greedy(floor=0.1), dtr.LSVIUCB(beta=1.0), dtr.LSVIUCB(beta=1.0, scale=2.0)):
        assert policy_from_dict(policy_to_dict(policy)) == policy


def test_a_policy_is_written_as_python_would_read_it() -> None:
    assert policy_repr(dtr.Greedy()) == "Greedy()"
    assert policy_repr(dtr.Greedy(floor=0.25)) == "Greedy(floor=0.25)"


# -- the floor ----------------------------------------------------------------------------------------------------


def played(policy: Any, units: int = 120) -> dtr.Session:
    """Let units come whose best arm is b, by far."""
    session, rng = dtr.Session(THREE, policy, seed=7), np.random.default_rng(0)
    for t in range(units):
        first = session.enroll(f"u{t}", {"x": float(rng.normal())})
        second = session.respond(f"u{t}", {"z": float(rng.normal())})
        assert second is not None
        session.complete(f"u{t}", float(rng.normal() / 4 + 2 * (first.arm == "b") + (second.arm == "b")))
    return session


def decisions(session: dtr.Session) -> list[dtr.Decision]:
    return [event.decision for event in session.log if isinstance(event, Assigned)]


# -- the draw ------------------------------------------------------------------------------------------------


def ready(policy: Any, arms: int, favourite: int) -> Any:
    """Return a state in which each arm was forced twice: one is clearly the best, and the next round is free."""
    state = policy.init(dtr.Design([dtr.Stage("only", tuple("abcdef"[:arms]), "1")]))
    state.observed.psi[0] = 1.0
    for unit in range(2 * arms):
        assert state.take_if_it_fits(c.ARRIVED, unit, 0, 0, unit % arms, 1.0)
        assert state.take_if_it_fits(c.COMPLETED, unit, 0, -1, -1, float(unit % arms == favourite))
    return state


@given(
    rules_out=st.booleans(),
    feasible=st.lists(st.booleans(), min_size=1, max_size=6).filter(any),
    share=st.floats(0, 1),
    u=st.floats(0, 1, exclude_max=True),
    pick=st.integers(0, 5),
)
def test_others_have_the_floor_each_and_the_best_has_the_rest(
    rules_out: bool, feasible: list[bool], share: float, u: float, pick: int
) -> None:
    """Whoever is ruled out keeps it: DTRBandit's Q̃ tells the best from all others."""
    arms = [arm for arm, yes in enumerate(feasible) if yes]
    floor, favourite = share / len(feasible), arms[pick % len(arms)]
    policy = dtr.DTRBandit(q=1, delta=0.1, floor=floor) if rules_out else dtr.Greedy(floor=floor)
    state = ready(policy, len(feasible), favourite)
    root = state.root_for(tuple((0, arm) for arm, yes in enumerate(feasible) if not yes))

    arm = state.ask(2 * len(feasible), 0, root, u)

    propensities, others = np.asarray(state.sheet)[c.PROPENSITY], [other for other in arms if other != favourite]
    usual = c.ONLY_FEASIBLE if not others else c.CLEAR if rules_out else c.GREEDY
    assert propensities[others].tolist() == [floor] * len(others)
    assert propensities[favourite] == pytest.approx(1 - len(others) * floor, abs=1e-15)
    assert all(propensities[arm] == 0 for arm, yes in enumerate(feasible) if not yes)
    assert np.flatnonzero(np.asarray(state.sheet)[c.CONTENDER]).tolist() == ([favourite] if rules_out else arms)
    if all(abs(u - place * floor) > 1e-12 for place in range(len(others) + 1)):  # else rounding decides
        drawn = [other for place, other in enumerate(others) if place * floor < u < (place + 1) * floor]
        assert [arm] == (drawn or [favourite])
    assert state.reason == (usual if arm == favourite else c.EXPLORE)


# -- in sessions ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("policy", FLOORED, ids=repr)
def test_in_free_rounds_every_feasible_arm_has_its_chance_and_it_is_recorded(policy: Any) -> None:
    found: Counter[str] = Counter()
    for decision in decisions(played(policy)):
        found[decision.reason] += 1
        if decision.reason in ("forced", "only_feasible"):
            assert decision.propensity == 1.0 or policy.floor == 0.3  # permuted blocks have shares
        elif decision.reason == "explore":
            assert decision.propensity == policy.floor
        else:
            others = 2 if decision.stage == "first" else 1
            assert decision.propensity == pytest.approx(1 - others * policy.floor)

    assert found["explore"] >= 15
    assert found["forced"] >= 5


def test_an_arm_that_is_ruled_out_is_tried_all_the_same() -> None:
    explored = [each for each in decisions(played(FLOORED[0])) if each.reason == "explore"]

    assert any(each.arm not in each.contenders for each in explored)
    assert "drawn by chance to try an arm" in str(explored[0])
    assert "The chance of this arm, before the draw, was 0.1." in str(explored[0])


def test_exploring_teaches_the_estimate_from_all_units_and_never_the_one_from_forced_rounds() -> None:
    session = played(FLOORED[0])
    last = [each for each in decisions(session) if each.reason == "explore"][-1]
    before = session.coefficients()

    session.correct(last.unit, outcome=100.0, reason="misread")

    after = session.coefficients()
    assert [c.tilde for c in after] == [c.tilde for c in before]
    assert [c.hat for c in after] != [c.hat for c in before]


def test_forced_rounds_are_as_they_were() -> None:
    floored = [d for d in decisions(played(FLOORED[0])) if d.reason == "forced"]
    plain = [d for d in decisions(played(replace(FLOORED[0], floor=0.0))) if d.reason == "forced"]

    assert [(d.unit, d.stage, d.arm, d.propensity) for d in floored] == [
        (d.unit, d.stage, d.arm, d.propensity) for d in plain
    ]


@pytest.mark.parametrize("policy", FLOORED, ids=repr)
def test_a_log_with_a_floor_is_verified_and_resumed(policy: Any) -> None:
    session = played(policy, 40)

    dtr.verify(session.log)
    resumed = dtr.Session.resume(session.log)

    assert resumed.policy == policy
    assert resumed.enroll("next", {"x": 0.1}) == session.enroll("next", {"x": 0.1})


# -- as a parameter ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("policy", [dtr.DTRBandit(q=2, delta=(0.5, 1.0)), dtr.Greedy()], ids=repr)
def test_without_a_floor_nothing_in_the_log_says_so(policy: Any) -> None:
    assert "floor" not in encode(dtr.Session(THREE, policy).log[0])
    assert "floor" not in repr(policy)
    assert policy_from_dict(policy_to_dict(policy)) == policy == replace(policy, floor=0)


@pytest.mark.parametrize("policy", FLOORED, ids=repr)
def test_with_a_floor_the_log_holds_it(policy: Any) -> None:
    assert f'"floor":{policy.floor}' in encode(dtr.Session(THREE, policy).log[0])
    assert f"floor={policy.floor})" in repr(policy)
    assert policy_from_dict(policy_to_dict(policy)) == policy


@pytest.mark.parametrize("kind", [lambda f: dtr.DTRBandit(q=1, delta=1.0, floor=f), lambda f: dtr.Greedy(floor=f)])
def test_a_floor_must_leave_room_for_all_arms(kind: Any) -> None:
    for floor in (-0.1, 1.5, "0.1", float("nan")):
        with pytest.raises(dtr.DesignError, match="floor must be a finite number from 0 to 1"):
            kind(floor)
    with pytest.raises(dtr.DesignError, match=r"floor must be at most 0\.3333, since a stage has 3 arms, found 0\.34"):
        dtr.Session(THREE, kind(0.34))
    dtr.Session(THREE, kind(1 / 3)).enroll("u", {"x": 0.0})


def test_a_study_with_the_largest_floor_draws_every_arm_alike() -> None:
    policies = {"none": dtr.DTRBandit(q=1, delta=0.5), "half": dtr.DTRBandit(q=1, delta=0.5, floor=0.5)}
    study = dtr.simulate(Synthetic(), policies, horizon=600, paths=4, seed=1, n_jobs=1)

    share = study.arms["half"].mean()

    # 4 × 600 × 2 fair draws: within 5 standard errors
    assert abs(share - 0.5) < 5 * 0.5 / np.sqrt(4 * 600 * 2)
    assert abs(study.arms["none"].mean() - 0.5) > 0.04


def test_with_two_arms_greedy_with_a_floor_is_epsilon_greedy() -> None:
    """So coverage measured for the one holds for the other (docs/guardrails.md)."""
    policies = dtr.Greedy(floor=0.1), dtr.EpsilonGreedy(epsilon=0.1)
    logs = [synthetic_session(policy, 120, seed=5).log for policy in policies]

    one, other = ([event.decision for event in log if isinstance(event, Assigned)] for log in logs)

    assert one == other
    assert {decision.reason for decision in one} == {"forced", "greedy", "explore"}
