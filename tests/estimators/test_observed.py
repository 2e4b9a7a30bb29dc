"""The store of what was observed: what is written down, and what can follow it."""

from __future__ import annotations

import numpy as np
import pytest

from dtrbandit.estimators.observed import Observed
from dtrbandit.kernels.constants import (
    AMENDED,
    ARRIVED,
    CLOSED,
    COMPLETED,
    GIVEN,
    LEFT,
    LOST,
    NO_FACT,
    STAYED,
    UNKNOWN,
    VOID,
    VOIDED,
)
from estimators.few_units import bare_design, observed_units, small_design, store

DESIGN = small_design()
NODES = len(DESIGN.tree.feasible)
PSI = np.array([2.0, 3.0, 4.0])
COLUMNS = ("features", "nodes", "arms", "left", "last", "outcome")  # with an entry for each unit
Told = list[tuple[int, int, int, int]]  # fact, unit, stage, index
FIRST: Told = [(ARRIVED, 0, 0, 0), (GIVEN, 0, 0, 1)]  # after arm 1 only arm 1 is feasible
SECOND: Told = [*FIRST, (ARRIVED, 0, 1, 2), (GIVEN, 0, 1, 1)]


def told(facts: Told) -> Observed:
    """Return a store with room for two units that was told these facts, with the same features each time."""
    seen = store(DESIGN, 2)
    seen.psi[:] = PSI
    for fact, unit, m, index in facts:
        seen.observe(fact, unit, m, index, 5.0)
    return seen


def bits(seen: Observed) -> dict[str, bytes]:
    return {name: array.tobytes() for name, array in seen.arrays().items()}


def test_nothing_is_known_before_the_first_unit() -> None:
    seen = store(DESIGN, 3)

    assert (seen.units, seen.taught, seen.capacity) == (0, 0, 3)
    for name in ("arms", "nodes", "last"):
        assert (seen.arrays()[name] == -1).all()
    assert (np.asarray(seen.left) == STAYED).all()


def test_a_design_says_how_many_arms_and_features_there_are() -> None:
    seen = Observed(bare_design([(0, 0), (0, 1), (1, 2)], [2, 3], [3, 1]))

    assert (seen.stages, seen.most, seen.width) == (2, 3, 3)
    assert np.asarray(seen.arm_count).tolist() == [2, 3]
    assert np.asarray(seen.dimension).tolist() == [[3, 3, 0], [1, 1, 1]]  # of each arm; none of one that is not there
    assert np.asarray(seen.widest).tolist() == [3, 1]


def test_the_tree_is_that_of_the_design_with_room_for_a_copy() -> None:
    seen, nodes = Observed(DESIGN), len(DESIGN.tree.feasible)

    assert seen.nodes_of_tree == nodes
    assert np.asarray(seen.following).shape == (nodes, 2)
    for node, feasible in enumerate(DESIGN.tree.feasible):
        for arm, yes in enumerate(feasible):
            leads_to = DESIGN.tree.child[node, arm] if yes else -1
            assert seen.following[node, arm] == seen.child[node, arm] == leads_to
    assert np.asarray(seen.child).shape == (2 * nodes, 2)
    assert (np.asarray(seen.child)[nodes:] == -1).all()


def test_an_arrival_brings_its_stages_features_and_no_more() -> None:
    seen = told(FIRST)

    assert np.asarray(seen.features)[0, 0].tolist() == [2.0, 3.0, 0.0]
    assert np.asarray(seen.nodes)[0].tolist() == [0, -1]
    assert np.asarray(seen.arms)[0].tolist() == [1, -1]
    assert seen.units == 1


def test_an_outcome_belongs_to_the_last_stage_of_its_unit() -> None:
    seen = told([*SECOND, (COMPLETED, 0, 1, -1)])

    assert (seen.last[0], seen.outcome[0]) == (1, 5.0)


@pytest.mark.parametrize(("index", "left", "features"), [(2, 2, [2.0, 3.0, 4.0]), (-1, UNKNOWN, [0.0, 0.0, 0.0])])
def test_who_leaves_may_bring_the_features_of_the_stage_it_does_not_enter(
    index: int, left: int, features: list[float]
) -> None:
    seen = told([*FIRST, (LEFT, 0, 1, index)])

    assert seen.left[0] == left
    assert np.asarray(seen.features)[0, 1].tolist() == features
    assert seen.nodes[0, 1] == -1


def test_a_store_that_grows_keeps_what_it_has_and_knows_nothing_of_the_rest() -> None:
    seen = told(SECOND)
    before = {name: array.copy() for name, array in seen.arrays().items()}

    seen.reserve(5)

    after = seen.arrays()
    assert seen.capacity == 5
    for name in COLUMNS:
        assert after[name].dtype == before[name].dtype
        assert len(after[name]) == 5
        assert np.array_equal(after[name][:2], before[name])
    for name in ("units", "taught", "child"):
        assert np.array_equal(after[name], before[name])
    assert (after["nodes"][2:] == -1).all()
    assert (after["arms"][2:] == -1).all()
    assert (after["last"][2:] == -1).all()
    assert (after["left"][2:] == STAYED).all()


def test_a_copy_knows_the_same_and_shares_nothing() -> None:
    seen, copy = observed_units(DESIGN, 7, leave=3), Observed(DESIGN)
    seen.taught = 2
    seen.child[len(DESIGN.tree.feasible), 1] = 3

    copy.load(seen.arrays())

    assert bits(copy) == bits(seen)
    assert (copy.units, copy.taught, copy.capacity) == (7, 2, 7)
    copy.erase(1)
    assert bits(copy) != bits(seen)
    assert seen.left[1] == STAYED


def test_a_unit_stands_where_its_arms_lead() -> None:
    seen = told(FIRST)

    assert seen.stands_at(0, 0) == 0
    assert seen.stands_at(0, 1) == DESIGN.tree.after((1,)) == 2
    assert seen.stands_at(0, 2) == -1  # it has not come to stage 2
    assert seen.stands_at(1, 1) == -1
    assert seen.stands_at(99, 1) == -1  # beyond the store


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
        (FIRST, (LEFT, 0, 1, 2 + NODES, -1), True),  # in the copy of the tree that there is room for
        (FIRST, (LEFT, 0, 1, 2 + 2 * NODES, -1), False),  # in one that is not there
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

    assert bool(told(before).fits(kind, unit, m, index, arm)) is holds


def test_only_a_unit_of_an_earlier_trial_may_arrive_without_an_arm() -> None:
    seen = told([])
    seen.taught = 1

    assert seen.fits(ARRIVED, 0, 0, 0, -1)
    assert not seen.fits(ARRIVED, 0, 1, 2, -1)  # the second stage before the first
    assert not seen.fits(ARRIVED, 1, 0, 0, -1)
    assert not seen.fits(ARRIVED, 0, 0, 0, -2)


def test_what_a_loss_or_an_amendment_changes_is_written_elsewhere() -> None:
    seen = told(SECOND)

    for fact in (LOST, AMENDED, VOIDED, CLOSED, NO_FACT):
        seen.observe(fact, 0, 1, -1, 9.0)

    assert bits(seen) == bits(told(SECOND))


def test_of_a_void_unit_nothing_is_left_and_nothing_may_follow() -> None:
    seen, empty = told([*SECOND, (COMPLETED, 0, 1, -1), (ARRIVED, 1, 0, 0), (GIVEN, 1, 0, 0)]), store(DESIGN, 2)

    seen.erase(0)

    for name in ("features", "nodes", "arms", "last", "outcome"):
        assert (seen.arrays()[name][0] == empty.arrays()[name][0]).all()
    assert np.asarray(seen.left).tolist() == [VOID, STAYED]
    assert np.asarray(seen.arms)[1].tolist() == [0, -1]
    for fact in (ARRIVED, LEFT, COMPLETED):
        assert not any(seen.fits(fact, 0, m, node, arm) for m in (0, 1) for node in (-1, 0, 1) for arm in (0, 1))


def test_a_unit_walks_within_its_copy_of_the_tree_and_a_place_is_the_same_in_all() -> None:
    seen, count = store(DESIGN, 2), len(DESIGN.tree.feasible)

    assert seen.walk(0, 1) == DESIGN.tree.after((1,))
    assert seen.walk(3 * count, 1) == 3 * count + DESIGN.tree.after((1,))
    assert seen.same_place(2, 2 + 4 * count)
    assert not seen.same_place(2, 3 + 4 * count)
    assert not seen.same_place(-1, count - 1)


def test_a_fact_at_a_copy_that_is_not_there_does_not_fit() -> None:
    seen, count = store(DESIGN, 2), len(DESIGN.tree.feasible)
    np.asarray(seen.child)[count] = [count + 1, -1]  # for units with contraindications

    assert seen.fits(ARRIVED, 0, 0, count, 0)
    assert not seen.fits(ARRIVED, 0, 0, count, 1)
    assert not seen.fits(ARRIVED, 0, 0, 7 * count, 0)
