"""What units of an earlier trial teach a built-in policy: rows of Q̂, and nothing else."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dtrbandit as dtr
from dtrbandit.policies.facts import update
from dtrbandit.policies.registry import examples, forces_plans
from dtrbandit.policies.teaching import lessons_of, teach
from dtrbandit.record.events import Taught
from dtrbandit.record.histories import NO_UNIT
from dtrbandit.record.teaching import histories_of
from dtrbandit.testing.policy_contract import THREE_STAGES, TWO_STAGES
from policies.states import differences
from small_taught import earlier_trial

POLICIES = [*examples(), dtr.LSVIUCB(beta=0.5, switching="rare")]


@pytest.mark.parametrize("design", [TWO_STAGES, THREE_STAGES], ids=["two stages", "three stages"])
@pytest.mark.parametrize("policy", POLICIES, ids=repr)
def test_all_at_once_one_by_one_and_through_a_session_are_the_same_bits(policy: Any, design: dtr.Design) -> None:
    prior = earlier_trial(design, 40, seed=1)
    histories = histories_of(prior, design)
    at_once, one_by_one = policy.init(design), policy.init(design)

    teach(at_once, lessons_of(design, histories))
    for history, fact in zip(histories, prior.facts, strict=True):
        update(one_by_one, history, fact)
    session = dtr.Session(design, policy, prior=prior)

    assert at_once.taught == one_by_one.taught == 40
    assert differences(at_once, one_by_one) == differences(at_once, session._belief.state) == []


@pytest.mark.parametrize("policy", [*filter(forces_plans, POLICIES)], ids=repr)
def test_schedule_and_initial_pulls_are_those_of_a_trial_that_was_not_taught(policy: Any) -> None:
    design = TWO_STAGES
    taught = dtr.Session(design, policy, seed=5, prior=earlier_trial(design, 30, seed=2))
    other = dtr.Session(design, policy, seed=5)
    rng = np.random.default_rng(0)

    for t in range(40):
        context = {"x": float(rng.normal())}
        one, two = taught.enroll(f"u{t}", context), other.enroll(f"u{t}", context)
        assert (one.round, one.reason == "forced") == (two.round, two.reason == "forced")
        if one.reason == "forced":
            assert (one.arm, one.propensity, one.contenders) == (two.arm, two.propensity, two.contenders)
            assert one.q_tilde == two.q_tilde


def test_q_tilde_is_that_of_forced_rounds_alone() -> None:
    design, policy = TWO_STAGES, dtr.DTRBandit(q=1, delta=0.5)
    taught = dtr.Session(design, policy, prior=earlier_trial(design, 30, seed=2))
    other = dtr.Session(design, policy)

    for t in range(5):  # all of them forced
        for session in (taught, other):
            session.enroll(f"u{t}", {"x": t / 3})
            session.respond(f"u{t}", {"z": t / 5})
            session.complete(f"u{t}", float(t))

    assert [c.tilde for c in taught.coefficients()] == [c.tilde for c in other.coefficients()]
    assert [c.hat for c in taught.coefficients()] != [c.hat for c in other.coefficients()]


def test_a_lesson_that_does_not_fit_is_refused() -> None:
    policy, (history, *_) = dtr.Greedy(), histories_of(earlier_trial(TWO_STAGES, 3, seed=1), TWO_STAGES)
    fact = Taught("a", (), (), None)
    state = policy.init(TWO_STAGES)

    for wrong in (
        history._replace(node=history.node + 1),
        history._replace(features=()),
        history._replace(features=(np.ones(7),)),
        history._replace(arms=(9,)),
        NO_UNIT._replace(outcome=1.0),
    ):
        with pytest.raises(dtr.ProtocolError, match="a lesson does not fit"):
            update(state, wrong, fact)
    assert state.taught == 0


def test_nobody_teaches_a_policy_after_a_unit_has_enrolled() -> None:
    policy, histories = dtr.Greedy(), histories_of(earlier_trial(TWO_STAGES, 3, seed=1), TWO_STAGES)
    session = dtr.Session(TWO_STAGES, policy)
    session.enroll("u1", {"x": 1.0})

    with pytest.raises(dtr.ProtocolError, match="a lesson does not fit"):
        update(session._belief.state, histories[0], Taught("a", (), (), None))
