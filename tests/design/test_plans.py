"""Feasible plans: as arm numbers, in order, and none that makes no sense."""

from __future__ import annotations

import re
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dtrbandit as dtr
from dtrbandit.design.plans import MOST_PLANS, arm_labels, arm_numbers, checked_plans

STAGES = (dtr.Stage("first", ("b", "a"), "1"), dtr.Stage("second", ("x", "y", "z"), "1"))
EVERY = list(product(range(2), range(3)))


def test_every_combination_is_feasible_unless_plans_are_given() -> None:
    assert checked_plans(STAGES, None) == EVERY


@given(st.permutations(EVERY))
def test_plans_are_kept_in_the_order_of_their_numbers(plans: list[tuple[int, int]]) -> None:
    labels = [arm_labels(STAGES, plan) for plan in plans]

    assert [arm_numbers(STAGES, plan) for plan in labels] == plans
    assert checked_plans(STAGES, labels) == EVERY


@pytest.mark.parametrize(
    ("plans", "says"),
    [
        ("ax", "plans must be a list of 1 to 10000 plans, found 'ax'"),
        ([], "plans must be a list of 1 to 10000 plans, found []"),
        (["ax"], "plan 'ax' must name one arm for each of the stages ['first', 'second']"),
        ([("a",)], "plan ('a',) must name one arm for each of the stages ['first', 'second']"),
        ([("a", "b")], "plan ['a', 'b']: unknown arm 'b' at stage 'second', whose arms are ['x', 'y', 'z']"),
        ([("a", "x"), ["a", "x"]], "plans must all be different, found [['a', 'x'], ['a', 'x']]"),
        ([("a", "x"), ("b", "z")], "stage 'second': no plan gives ['y']; drop these arms or add a plan"),
    ],
)
def test_plans_that_make_no_sense_are_refused(plans: Any, says: str) -> None:
    with pytest.raises(dtr.DesignError, match=f"^{re.escape(says)}$"):
        checked_plans(STAGES, plans)


def test_too_many_combinations_must_be_named() -> None:
    stages = tuple(dtr.Stage(f"s{m}", tuple("abcdefghij"), "1") for m in range(5))

    assert len(checked_plans(stages[:4], None)) == MOST_PLANS
    with pytest.raises(dtr.DesignError, match="name the feasible ones with plans="):
        checked_plans(stages, None)
