"""The policies that come with the package, and the switch between their rules."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import dtrbandit as dtr
from dtrbandit.estimators.observed import ARRIVED, COMPLETED
from dtrbandit.policies.builtin import (
    BUILTIN,
    DECIDE_AND_TAKE,
    ESTIMATORS,
    EXAMPLE,
    KINDS,
    RULES,
    decide,
    is_compiled,
    open_state,
    take_fitting,
)
from dtrbandit.policies.compiled_policy import CompiledState
from dtrbandit.policies.sheet import PROPENSITY, REASON_NAMES

DESIGN = dtr.Design([dtr.Stage("only", ("a", "b"), "1 + x")])
POLICIES: dict[str, Any] = {
    "dtr_bandit": dtr.DTRBandit(q=1, delta=0.5),
    "epsilon_greedy": dtr.Greedy(),
    "lsvi_ucb": dtr.LSVIUCB(beta=1.0),
    "fixed_regime": dtr.FixedRegime(rule={"only": "b"}),
    "uniform_random": dtr.UniformRandom(),
}

REASONS = {  # of the first decision
    "dtr_bandit": "forced",
    "epsilon_greedy": "forced",
    "lsvi_ucb": "optimistic",
    "fixed_regime": "rule",
    "uniform_random": "uniform",
}


@dataclass(frozen=True, kw_only=True)
class Inherits(dtr.Greedy):
    """A policy that inherits from a built-in one, and may have rules of its own."""


def test_all_built_in_policies_are_public() -> None:
    assert all(getattr(dtr, name) is kind for name, kind in BUILTIN.items())


def test_a_built_in_policy_is_compiled_unless_it_holds_a_function() -> None:
    assert set(POLICIES) == set(KINDS), "each rule has an example in POLICIES above"
    assert all(map(is_compiled, POLICIES.values()))
    assert not is_compiled(dtr.FixedRegime(rule=lambda _: "a"))
    assert not is_compiled(Inherits())
    assert not is_compiled(dtr.Greedy)


def test_each_rule_and_each_estimator_has_a_name_of_its_own() -> None:
    assert [KINDS[rule.name] for rule in RULES] == [*range(len(RULES))]
    assert set(ESTIMATORS.values()) == {rule.estimator for rule in RULES}
    assert EXAMPLE._fields == ("observed", "desk", *ESTIMATORS, *KINDS)


@pytest.mark.parametrize("name", POLICIES)
def test_the_switch_comes_to_the_rule_of_a_kind(name: str) -> None:
    state = CompiledState(POLICIES[name], POLICIES[name].compiled_rule, DESIGN)
    opened, sheet = open_state(state.table), np.zeros((4, 2))

    arm, reason = decide(state.kind, opened, 0, 0, 0, np.array([1.0, 0.5]), 0.6, sheet)

    assert REASON_NAMES[reason] == REASONS[name]
    assert sheet[PROPENSITY, arm] > 0.0
    assert sheet[PROPENSITY].sum() == 1.0


@pytest.mark.parametrize("name", POLICIES)
def test_the_policies_of_one_estimator_have_a_switch_of_their_own(name: str) -> None:
    state = CompiledState(POLICIES[name], POLICIES[name].compiled_rule, DESIGN)
    opened, sheet, psi = open_state(state.table), np.zeros((4, 2)), np.array([1.0, 0.5])
    own = DECIDE_AND_TAKE[state.rule.estimator.name]

    own["take"](state.kind, opened, ARRIVED, 0, 0, 0, 0.0, psi, True)

    assert state.observed.features[0, 0].tolist() == [1.0, 0.5]
    asked = state.kind, opened, 0, 0, 0, psi, 0.6, sheet
    assert own["decide"](*asked) == decide(*asked)


def test_a_table_opens_to_the_arrays_of_its_state() -> None:
    state = dtr.LSVIUCB(beta=1.0).init(DESIGN)

    opened: Any = open_state(state.table)

    assert opened.observed is state.observed
    assert opened.desk is state.desk
    assert opened.optimistic is state.beliefs
    assert opened.exact is EXAMPLE.exact  # of another policy


def test_an_arrival_is_taken_with_its_arm_and_what_does_not_fit_is_not() -> None:
    state = dtr.Greedy().init(DESIGN)
    opened, psi = open_state(state.table), np.array([1.0, 0.5])

    assert take_fitting(state.kind, opened, ARRIVED, 0, 0, 0, 1, 0.0, psi, True)
    assert not take_fitting(state.kind, opened, ARRIVED, 0, 0, 0, 1, 0.0, psi, True)
    assert take_fitting(state.kind, opened, COMPLETED, 0, 0, -1, -1, 2.0, psi, True)
    assert (state.observed.arms[0, 0], state.observed.outcome[0]) == (1, 2.0)
    assert state.beliefs.counted[0, 0]
