"""What is left of a design's arms: against a list of plans, and at nodes where nothing is left."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dtrbandit.design.feasibility import arms_left, children_left, left_for_sets, sets_of, why_not
from dtrbandit.design.tree import Plan, grow_tree
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
