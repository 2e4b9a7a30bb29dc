"""What the built-in policies share: a state that fits the design, and the three verbs of a policy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dtrbandit as dtr
from dtrbandit.environments import Synthetic
from dtrbandit.kernels.stream import uniform
from dtrbandit.policies.builtin_policy import BuiltinPolicy
from dtrbandit.policies.state import FIRST_ROOM, PolicyState
from dtrbandit.record import History
from policies.states import every_policy

DESIGN = Synthetic().design
each_policy = pytest.mark.parametrize("policy", every_policy(DESIGN), ids=repr)


@each_policy
def test_a_policy_begins_with_a_state_of_its_own(policy: BuiltinPolicy) -> None:
    empty, first, second = policy.state(DESIGN), policy.init(DESIGN), policy.init(DESIGN)

    assert isinstance(first, PolicyState)
    assert type(first) is type(empty) is not PolicyState
    assert (empty.capacity, first.capacity) == (0, FIRST_ROOM)
    assert first.policy is policy
    assert first.design is DESIGN
    assert first is not second


@each_policy
def test_its_choice_says_in_numbers_what_a_session_says_in_labels(policy: BuiltinPolicy) -> None:
    arrived = History("u1", 1, 0, (np.array([1.0, 0.3]),), (), (True, True), None)
    session = dtr.Session(DESIGN, policy, seed=3)

    decision = session.enroll("u1", {"x1": 0.3})
    choice = policy.decide(policy.init(DESIGN), arrived, uniform(3, 1, 0, stages=2))

    labels = DESIGN.stages[0].arms
    assert labels[choice.arm] == decision.arm
    assert choice.reason == decision.reason
    assert choice.propensities[choice.arm] == decision.propensity
    assert sum(choice.propensities) == pytest.approx(1.0, abs=1e-12)
    assert tuple(labels[arm] for arm in choice.contenders) == decision.contenders
    assert (choice.q_tilde, choice.q_hat) == (decision.q_tilde, decision.q_hat)


def test_a_policy_whose_parameters_do_not_fit_a_design_says_so_at_once() -> None:
    with pytest.raises(dtr.DesignError, match="delta has 3 numbers for a design of 2 stages"):
        dtr.DTRBandit(q=1, delta=(1.0, 2.0, 3.0)).init(DESIGN)


def test_a_policy_that_holds_a_function_has_no_compiled_state() -> None:
    policy = dtr.FixedRegime(rule=lambda _: "1")

    assert policy.decides_in_python
    assert policy.init(DESIGN) is DESIGN
    with pytest.raises(dtr.DesignError, match="holds a Python function"):
        policy.state(DESIGN)


def test_a_class_that_has_no_rule_cannot_be_made() -> None:
    unfinished: Any = BuiltinPolicy

    with pytest.raises(TypeError, match="abstract"):
        unfinished()


@each_policy
def test_only_a_policy_with_a_function_decides_in_python(policy: BuiltinPolicy) -> None:
    assert not policy.decides_in_python
