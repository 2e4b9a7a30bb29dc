"""What units bring to each node, against a look at one unit and one node at a time."""

from __future__ import annotations

import numpy as np

from dtrbandit.environments import Synthetic
from dtrbandit.environments.by_node import by_node, reached
from simulation.worlds import DESIGN, NARROW, Branching


def test_features_and_entries_are_those_of_each_unit_at_each_node() -> None:
    units = Branching().draw(40, np.random.default_rng(1))
    x1, x2 = units.contexts[0]["x1"], units.contexts[1]["x2"]

    table = by_node(units)

    for arm in (0, 1):
        node = DESIGN.tree.after((arm,))
        entered = x2[:, arm] > -1
        expected = np.column_stack([np.ones(40), x1, x2[:, arm], np.full(40, arm == 1)])
        assert table.enters[:, node].tolist() == entered.tolist()
        assert table.features[:, node, :4].tolist() == expected.tolist()
    assert np.isnan(table.features[:, 0, 2:]).all()  # the first stage has two


def test_a_leaver_without_a_whole_context_has_no_features() -> None:
    units = Branching().draw(200, np.random.default_rng(2))
    node = DESIGN.tree.after((1, 2))
    unknown = np.isnan(units.contexts[2]["x3"][:, 1, 2])

    table = by_node(units)

    assert 0 < unknown.sum() < 200
    assert np.isnan(table.features[unknown, node]).all()
    assert np.isfinite(table.features[~unknown, node, :2]).all()


def test_a_learners_design_has_its_own_features_and_plans() -> None:
    units = Branching().draw(30, np.random.default_rng(3))

    table = by_node(units, NARROW)

    assert table.features.shape[2] == max(NARROW.dimensions)
    assert (table.features[:, 0, 0] == 1).all()
    for plan, outcomes in zip(NARROW.arm_plans, table.outcome.T, strict=True):
        first, second, third = plan
        assert outcomes.tolist() == units.outcome[:, first, second, third].tolist()


def test_a_unit_that_ends_at_a_node_has_the_outcome_of_a_plan_through_it() -> None:
    units = Branching().draw(10, np.random.default_rng(4))

    leaf = by_node(units).leaf

    for node, p in enumerate(leaf.tolist()):
        arms = DESIGN.tree.arms_to[node]
        assert DESIGN.arm_plans[p][: len(arms)] == arms


def test_who_has_left_comes_to_no_later_node() -> None:
    tree = DESIGN.tree
    enters = np.ones((3, len(tree.child)), dtype=bool)
    enters[0, tree.after((0,))] = enters[1, tree.after((1, 2))] = False

    through = reached(enters, tree)

    assert through[2].all()
    for node, arms in enumerate(tree.arms_to[: len(tree.child)]):
        assert through[0, node] == (arms[:1] != (0,))
        assert through[1, node] == (arms != (1, 2))
    assert enters.sum() == enters.size - 2  # what was given stays


def test_without_a_condition_all_enter_everywhere() -> None:
    table = by_node(Synthetic().draw(7, np.random.default_rng(0)))

    assert table.enters.all()
    assert table.leaf.tolist() == [0, 0, 2, 0, 1, 2, 3]
