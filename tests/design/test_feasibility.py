"""What is left of a design's arms: against a list of plans, and at nodes where nothing is left."""

from __future__ import annotations

import re
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dtrbandit as dtr
from dtrbandit.design.feasibility import (
    MOST_PLANS,
    Plan,
    arm_labels,
    arm_numbers,
    arms_left,
    checked_plans,
    children_left,
    grow_tree,
    left_for_sets,
    sets_of,
    why_not,
)
from plain.masks import arms_for_a_max, plans_left

COUNTS = (2, 3, 2)
every = [(a, b, c) for a in range(2) for b in range(3) for c in range(2)]
plans = st.sets(st.sampled_from(every), min_size=1).map(lambda found: tuple(sorted(found)))
pairs = st.sets(st.sampled_from([(m, arm) for m, count in enumerate(COUNTS) for arm in range(count)]), max_size=4)


@given(plans, pairs, pairs)
def test_an_arm_is_left_if_a_plan_goes_on_from_it_without_a_barred_arm(
    plans: tuple[Plan, ...], excluded: set[tuple[int, int]], closed: set[tuple[int, int]]
) -> None:
    tree = grow_tree(plans, COUNTS)

    left = arms_left(tree, tuple(sorted(excluded)), tuple(sorted(closed)))

    for node in range(len(tree.child)):
        given = tree.arms_to[node]
        expected = {plan[len(given)] for plan in plans_left(plans, given, excluded | closed)}
        assert {arm for arm, yes in enumerate(left[node]) if yes} == expected
        assert {arm for arm, _ in why_not(tree, node, tuple(excluded), tuple(closed))} == {
            arm for arm, yes in enumerate(tree.feasible[node]) if yes
        } - expected


@given(plans, pairs, pairs)
def test_no_max_runs_over_nothing(
    plans: tuple[Plan, ...], excluded: set[tuple[int, int]], closed: set[tuple[int, int]]
) -> None:
    tree = grow_tree(plans, COUNTS)

    child = children_left(tree, tuple(sorted(excluded)), tuple(sorted(closed)))

    for node in range(len(tree.child)):
        found = {arm: following for arm, following in enumerate(child[node].tolist()) if following >= 0}
        assert found.keys() == arms_for_a_max(plans, tree.arms_to[node], excluded, closed)
        assert all(following == tree.following[node][arm] for arm, following in found.items())
    assert (child[len(tree.child) :] == -1).all()  # leaves


def test_without_exclusions_nothing_changes() -> None:
    tree = grow_tree(((0, 0), (0, 1), (1, 1)), (2, 2))

    assert arms_left(tree, ()) == tree.feasible
    assert children_left(tree, (), ())[:3].tolist() == tree.child.tolist()


def test_the_reason_is_the_units_own_before_the_trials_and_says_if_an_arm_leads_nowhere() -> None:
    tree = grow_tree(((0, 0), (0, 1), (1, 1)), (2, 2))

    assert why_not(tree, 0, ((0, 0),), ((0, 0),)) == ((0, "contraindicated"),)
    assert why_not(tree, 1, (), ((1, 0),)) == ((0, "closed"),)
    assert why_not(tree, 0, ((1, 1),), ()) == ((1, "no arm is left after it"),)


@given(st.lists(st.tuples(st.booleans(), st.booleans(), st.booleans()), max_size=12), pairs)
def test_sets_are_numbered_as_units_bring_them_and_what_is_left_follows(
    rows: list[tuple[bool, bool, bool]], closed: set[tuple[int, int]]
) -> None:
    tree, found = grow_tree(((0, 0), (0, 1), (1, 1)), (1 + 1, 2)), np.array(rows, dtype=np.bool_).reshape(-1, 3)
    masks = [found[:, :1].repeat(2, axis=1) & [True, False], found[:, 1:]]

    barring, sets = sets_of(masks, len(rows))
    left = left_for_sets(tree, sets, tuple(sorted(closed)))

    expected = [tuple(pair for pair, yes in zip([(0, 0), (1, 0), (1, 1)], row, strict=True) if yes) for row in rows]
    assert [sets[number] for number in barring.tolist()] == expected
    assert list(sets) == list(dict.fromkeys([(), *expected]))
    for number, excluded in enumerate(sets):
        rows_left = arms_left(tree, excluded, tuple(sorted(closed)))[:3]
        assert left[number].tolist() == [list(row) for row in rows_left]
    assert sets_of(None, 2)[0].tolist() == [0, 0]


# -- plans ---------------------------------------------------------------------------------------------------------


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


# -- the tree ------------------------------------------------------------------------------------------------------


plans_of_three_stages = st.lists(
    st.tuples(st.integers(0, 1), st.integers(0, 2), st.integers(0, 1)), min_size=1, unique=True
)


@given(plans_of_three_stages)
def test_the_tree_leads_exactly_along_the_feasible_plans(plans: list[tuple[int, int, int]]) -> None:
    arms = [sorted({plan[m] for plan in plans}) for m in range(3)]
    stages = [dtr.Stage(f"s{m}", tuple(str(a) for a in arms[m]), f"x{m}") for m in range(3)]
    design = dtr.Design(stages, plans=[[str(a) for a in plan] for plan in plans])

    tree = design.tree
    leaves = {}
    for path in product(*(range(len(a)) for a in arms)):
        leaves[path] = tree.after(path)
        for m in range(3):
            node = tree.after(path[:m])
            if node >= 0:
                follows = any(
                    tuple(arms[k].index(plan[k]) for k in range(m + 1)) == (*path[:m], path[m]) for plan in plans
                )
                assert tree.feasible[node][path[m]] == follows

    feasible = [path for path, leaf in leaves.items() if leaf >= 0]
    assert feasible == list(design.arm_plans)
    assert [leaves[path] - len(tree.child) for path in feasible] == list(range(len(feasible)))


PLANS = ((0, 0, 1), (0, 2, 0), (0, 2, 1), (1, 0, 0))


def test_nodes_are_numbered_stage_by_stage_in_lexicographic_order() -> None:
    tree = grow_tree(PLANS, (2, 3, 2))

    assert tree.arms_to == ((), (0,), (1,), (0, 0), (0, 2), (1, 0), *PLANS)
    assert tree.parents == (-1, 0, 0, 1, 1, 2, 3, 4, 4, 5)
    assert [tree.after(arms) for arms in tree.arms_to] == list(range(10))
    assert tree.feasible[1] == (True, False, True)
    assert tree.feasible[6:] == ((), (), (), ())


def test_infeasible_arms_lead_nowhere_also_half_way() -> None:
    tree = grow_tree(PLANS, (2, 3, 2))

    assert tree.after((0, 1)) == tree.after((0, 1, 0)) == tree.after((1, 0, 1)) == -1
    assert tree.following == tuple(tuple(row) for row in tree.child.tolist())


def test_a_tree_cannot_be_changed() -> None:
    with pytest.raises(ValueError, match="read-only"):
        grow_tree(PLANS, (2, 3, 2)).child[0, 0] = 5
