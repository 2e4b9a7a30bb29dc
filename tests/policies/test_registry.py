"""The policies that come with the package, by name, and what is known of each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

import dtrbandit as dtr
from dtrbandit import policies
from dtrbandit.policies.builtin_policy import BuiltinPolicy
from dtrbandit.policies.policy import Choice, certain
from dtrbandit.policies.registry import BUILTIN, examples, forces_plans, is_builtin, learns
from dtrbandit.record import History

each_example = pytest.mark.parametrize("policy", examples(), ids=repr)


@dataclass(frozen=True, kw_only=True)
class Inherits(dtr.Greedy):
    """A policy that inherits from a built-in one, and may have rules of its own."""


class Own:
    """A policy of one's own."""

    def init(self, design: dtr.Design) -> None: ...

    def update(self, state: None, history: History, event: Any) -> None: ...

    def decide(self, state: None, history: History, u: float) -> Choice:  # noqa: ARG002
        return certain(0, history, "rule")


def test_all_built_in_policies_are_public() -> None:
    assert all(getattr(dtr, name) is getattr(policies, name) is kind for name, kind in BUILTIN.items())
    assert set(BUILTIN) <= set(dtr.__all__) & set(policies.__all__)


def test_every_class_that_is_built_in_is_in_the_registry() -> None:
    ours = {kind for kind in BuiltinPolicy.__subclasses__() if kind.__module__.startswith("dtrbandit.")}

    assert ours == set(BUILTIN.values())


def test_every_policy_has_examples_but_one_whose_rule_names_arms() -> None:
    without = {name for name, kind in BUILTIN.items() if not kind.examples()}

    assert {type(policy) for policy in examples()} == {kind for kind in BUILTIN.values() if kind.examples()}
    assert without == {"FixedRegime"}


@each_example
def test_an_example_is_built_in_and_can_be_written_down(policy: Any) -> None:
    assert is_builtin(policy)
    assert eval(repr(policy), dict(BUILTIN)) == policy


@each_example
@pytest.mark.parametrize("stages", [1, 2, 3])
def test_an_example_fits_any_design_of_one_to_three_stages(policy: Any, stages: int) -> None:
    design = dtr.Design([dtr.Stage(f"s{m}", ("a", "b", "c")[: 2 + m % 2], f"1 + x{m}") for m in range(stages)])

    assert dtr.Session(design, policy).enroll("u", {"x0": 0.5}).arm in "ab"


def test_a_built_in_policy_decides_by_a_compiled_rule_unless_it_holds_a_function() -> None:
    assert is_builtin(dtr.FixedRegime(rule={"only": "a"}))
    assert not is_builtin(dtr.FixedRegime(rule=lambda _: "a"))
    assert not is_builtin(Inherits())
    assert not is_builtin(dtr.Greedy)
    assert not is_builtin(Own())


def test_policies_that_learn_nothing_are_known_and_any_other_may_learn() -> None:
    assert not learns(dtr.UniformRandom())
    assert not learns(dtr.FixedRegime(rule=lambda _: "a"))
    assert learns(dtr.Greedy())
    assert learns(Inherits())
    assert learns(Own())


def test_policies_that_try_every_feasible_plan_are_known() -> None:
    assert forces_plans(dtr.DTRBandit(q=1, delta=1.0))
    assert forces_plans(dtr.EpsilonGreedy(epsilon=0.1))
    assert forces_plans(dtr.Greedy())
    assert forces_plans(Inherits())
    assert not forces_plans(dtr.UniformRandom())
    assert not forces_plans(Own())
