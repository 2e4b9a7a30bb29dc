"""Feasible arms of units: by a walk through the tree, unit by unit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dtrbandit.design.feasibility import Tree, grow_tree
from dtrbandit.evaluation.cohort.feasibility import feasible_at, infeasible_arms, nodes_of
from evaluation.collected import LEAVERS
from evaluation.tiny_trials import ONE_STAGE, read

TREE = grow_tree(((0, 0, 1), (0, 1, 0), (1, 1, 0), (1, 1, 1)), (2, 2, 2))


@pytest.mark.parametrize(("tree", "stages"), [(TREE, 3), (LEAVERS.tree, len(LEAVERS.stages))])
def test_nodes_are_those_of_a_walk_through_the_tree(tree: Tree, stages: int) -> None:
    arms = np.random.default_rng(0).integers(-1, 2, (200, stages))

    nodes = nodes_of(tree, arms)

    for own, path in zip(nodes.tolist(), arms.tolist(), strict=True):
        assert own == [-1 if -1 in path[:m] else tree.after(tuple(path[:m])) for m in range(stages + 1)]


def test_nothing_is_feasible_after_a_missing_arm() -> None:
    nodes = nodes_of(TREE, np.array([[0, 0, 1], [1, -1, -1]]))

    assert feasible_at(TREE, nodes[:, 2], 2).tolist() == [[False, True], [False, False]]


def test_an_arm_that_a_unit_had_it_could_have() -> None:
    cohort = read({"x": [0, 1], "A1": ["a", "b"], "Y": [1.0, 2.0]}, ONE_STAGE)
    without_a = replace(cohort, excluded=(np.array([[True, False], [True, False]]),))

    assert infeasible_arms(cohort) is None
    assert [mask.tolist() for mask in infeasible_arms(without_a) or ()] == [[[False, False], [True, False]]]
    assert without_a.feasible[0].tolist() == [[True, True], [False, True]]
