"""What a policy is, and small helpers of its choices."""

from __future__ import annotations

from typing import Any

import pytest

import dtrbandit as dtr
from dtrbandit.policies.policy import Choice, Estimating, Policy, certain, feasible_arms, is_policy
from dtrbandit.policies.registry import examples, learns
from dtrbandit.record import History


class Own:
    """A policy of one's own."""

    def init(self, design: dtr.Design) -> None: ...

    def update(self, state: None, history: History, event: Any) -> None: ...

    def decide(self, state: None, history: History, u: float) -> Choice:  # noqa: ARG002
        return certain(0, history, "rule")


class Mute(Own):
    """One that has no rule."""

    decide = None  # type: ignore[assignment]


HISTORY = History("u1", 1, 0, (), (), (True, False, True), None)


@pytest.mark.parametrize(
    "policy", [Own(), *examples(), dtr.FixedRegime(rule=lambda _: "a")], ids=lambda p: type(p).__name__
)
def test_whatever_has_the_three_verbs_is_a_policy(policy: object) -> None:
    assert is_policy(policy)


@pytest.mark.parametrize(
    "other", [Own, dtr.Greedy, Mute(), "Greedy", None], ids=["class", "class of ours", "mute", "name", "None"]
)
def test_a_class_a_name_or_a_part_of_the_verbs_is_none(other: object) -> None:
    assert not is_policy(other)


def test_feasible_arms_are_numbers() -> None:
    assert feasible_arms(HISTORY) == (0, 2)


def test_a_certain_arm_has_probability_one() -> None:
    choice = certain(2, HISTORY, "rule")

    assert choice == Choice(2, "rule", (0.0, 0.0, 1.0), (), (), ())


@pytest.mark.parametrize("policy", [*examples(), dtr.FixedRegime(rule={"s": "a"})], ids=repr)
def test_only_policies_that_learn_have_estimates_to_show(policy: Policy[Any]) -> None:
    assert isinstance(policy, Estimating) is learns(policy)


def test_a_policy_of_ones_own_need_not_estimate() -> None:
    assert not isinstance(Own(), Estimating)
