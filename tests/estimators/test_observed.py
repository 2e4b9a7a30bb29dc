"""The store of what was observed: what is written down, and what can follow it."""

from __future__ import annotations

import numpy as np
import pytest

from dtrbandit.estimators.observed import (
    AMENDED,
    ARRIVED,
    COMPLETED,
    GIVEN,
    LEFT,
    LOST,
    STAYED,
    UNKNOWN,
    VOID,
    Observed,
    erase,
    fits,
    grow,
    longer,
    observe,
    same_place,
    stands_at,
    walk,
)
from estimators.few_units import small_design, store

DESIGN = small_design()
PSI, NOTHING = np.array([2.0, 3.0, 4.0]), np.zeros(0)
Told = list[tuple[int, int, int, int]]  # fact, unit, stage, index
FIRST: Told = [(ARRIVED, 0, 0, 0), (GIVEN, 0, 0, 1)]  # after arm 1 only arm 1 is feasible
SECOND: Told = [*FIRST, (ARRIVED, 0, 1, 2), (GIVEN, 0, 1, 1)]


def told(facts: Told) -> Observed:
    seen = store(DESIGN, 2)
    for fact, unit, m, index in facts:
        observe(seen, fact, unit, m, index, 5.0, PSI)
    return seen


def test_nothing_is_known_before_the_first_unit() -> None:
    seen = store(DESIGN, 3)

    assert seen.units.tolist() == [0]
    assert seen.shape.tolist() == [[2, 2], [2, 3]]
    assert (seen.arms == -1).all()
    assert (seen.nodes == -1).all()
    assert (seen.last == -1).all()
    assert (seen.left == STAYED).all()


def test_an_arrival_brings_its_stages_features_and_no_more() -> None:
    seen = told(FIRST)

    assert seen.features[0, 0].tolist() == [2.0, 3.0, 0.0]
    assert seen.nodes[0].tolist() == [0, -1]
    assert seen.arms[0].tolist() == [1, -1]
    assert seen.units.tolist() == [1]


def test_an_outcome_belongs_to_the_last_stage_of_its_unit() -> None:
    seen = told([*SECOND, (COMPLETED, 0, 1, -1)])

    assert (seen.last[0], seen.outcome[0]) == (1, 5.0)


@pytest.mark.parametrize(("index", "left", "features"), [(2, 2, [2.0, 3.0, 4.0]), (-1, UNKNOWN, [0.0, 0.0, 0.0])])
def test_who_leaves_may_bring_the_features_of_the_stage_it_does_not_enter(
    index: int, left: int, features: list[float]
) -> None:
    seen = told([*FIRST, (LEFT, 0, 1, index)])

    assert seen.left[0] == left
    assert seen.features[0, 1].tolist() == features
    assert seen.nodes[0, 1] == -1


def test_a_store_that_grows_keeps_what_it_has_and_knows_nothing_of_the_rest() -> None:
    before = told(SECOND)

    after = grow(before, 5)

    assert after.child is before.child
    assert after.units is before.units
    for name in ("features", "nodes", "arms", "left", "last", "outcome"):
        assert np.array_equal(getattr(after, name)[:2], getattr(before, name))
    assert (after.nodes[2:] == -1).all()
    assert (after.left[2:] == STAYED).all()


def test_a_longer_array_has_the_same_type_and_a_blank() -> None:
    long = longer(np.array([[1, 2]], dtype=np.int8), 3, -1)

    assert long.tolist() == [[1, 2], [-1, -1], [-1, -1]]
    assert long.dtype == np.int8


def test_a_unit_stands_where_its_arms_lead() -> None:
    seen = told(FIRST)

    assert stands_at(seen, 0, 0) == 0
    assert stands_at(seen, 0, 1) == DESIGN.tree.after((1,)) == 2
    assert stands_at(seen, 0, 2) == -1  # it has not come to stage 2
    assert stands_at(seen, 1, 1) == -1
    assert stands_at(seen, 99, 1) == -1  # beyond the store


@pytest.mark.parametrize(
    ("before", "fact", "holds"),
    [
        ([], (ARRIVED, 0, 0, 0, 1), True),
        ([], (ARRIVED, 0, 0, 1, 1), False),  # another node
        ([], (ARRIVED, 0, 0, 0, 2), False),  # an arm that is not there
        ([], (ARRIVED, 0, 1, 2, 1), False),  # the second stage before the first
        ([], (ARRIVED, 7, 0, 0, 1), False),  # no room
        ([], (ARRIVED, -1, 0, 0, 1), False),
        ([], (ARRIVED, 0, 3, 0, 1), False),
        (FIRST, (ARRIVED, 0, 0, 0, 1), False),  # a second time
        (FIRST, (ARRIVED, 0, 1, 2, 1), True),
        (FIRST, (ARRIVED, 0, 1, 2, 0), False),  # infeasible
        (FIRST, (LEFT, 0, 1, 2, -1), True),
        (FIRST, (LEFT, 0, 1, -1, -1), True),
        (FIRST, (LEFT, 0, 1, 1, -1), False),
        (FIRST, (COMPLETED, 0, 0, -1, -1), True),
        (FIRST, (COMPLETED, 0, 1, -1, -1), False),
        (FIRST, (COMPLETED, 0, 2, -1, -1), False),
        ([*FIRST, (LEFT, 0, 1, 2)], (ARRIVED, 0, 1, 2, 1), False),
        ([*FIRST, (COMPLETED, 0, 0, -1)], (COMPLETED, 0, 0, -1, -1), False),
        ([*FIRST, (COMPLETED, 0, 0, -1)], (ARRIVED, 0, 1, 2, 1), False),
        (FIRST, (LOST, 0, 1, -1, -1), True),
    ],
    ids=str,
)
def test_a_fact_fits_only_what_came_before_it(before: Told, fact: tuple[int, ...], holds: bool) -> None:
    kind, unit, m, index, arm = fact

    assert bool(fits(told(before), kind, unit, m, index, arm)) is holds


def test_what_a_loss_or_an_amendment_changes_is_written_elsewhere() -> None:
    seen, before = told(SECOND), told(SECOND)

    for fact in (LOST, AMENDED):
        observe(seen, fact, 0, 1, -1, 9.0, PSI)

    for name in Observed._fields:
        assert np.array_equal(getattr(seen, name), getattr(before, name))


def test_of_a_void_unit_nothing_is_left_and_nothing_may_follow() -> None:
    seen, empty = told([*SECOND, (COMPLETED, 0, 1, -1), (ARRIVED, 1, 0, 0), (GIVEN, 1, 0, 0)]), store(DESIGN, 2)

    erase(seen, 0)

    for name in ("features", "nodes", "arms", "last", "outcome"):
        assert (getattr(seen, name)[0] == getattr(empty, name)[0]).all()
    assert seen.left.tolist() == [VOID, STAYED]
    assert seen.arms[1].tolist() == [0, -1]
    for fact in (ARRIVED, LEFT, COMPLETED):
        assert not any(fits(seen, fact, 0, m, node, arm) for m in (0, 1) for node in (-1, 0, 1) for arm in (0, 1))


def test_a_unit_walks_within_its_copy_of_the_tree_and_a_place_is_the_same_in_all() -> None:
    seen, count = store(DESIGN, 2), len(DESIGN.tree.feasible)

    assert walk(seen, 0, 1) == DESIGN.tree.after((1,))
    assert walk(seen, 3 * count, 1) == 3 * count + DESIGN.tree.after((1,))
    assert same_place(seen, 2, 2 + 4 * count)
    assert not same_place(seen, 2, 3 + 4 * count)
    assert not same_place(seen, -1, count - 1)


def test_a_fact_at_a_copy_that_is_not_there_does_not_fit() -> None:
    seen, count = store(DESIGN, 2), len(DESIGN.tree.feasible)
    seen.child[count] = [count + 1, -1]  # for units with contraindications

    assert fits(seen, ARRIVED, 0, 0, count, 0)
    assert not fits(seen, ARRIVED, 0, 0, count, 1)
    assert not fits(seen, ARRIVED, 0, 0, 7 * count, 0)
