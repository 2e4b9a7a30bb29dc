"""Feasible arms of units: by a walk through the tree, unit by unit."""

from __future__ import annotations

import numpy as np
import pytest

from dtrbandit.design.tree import grow_tree
from dtrbandit.evaluation.cohort.feasibility import feasible_at, infeasible_arms, nodes_of
from evaluation.collected import LEAVERS
from evaluation.tiny_trials import ONE_STAGE, read

TREE = grow_tree(((0, 0, 1), (0, 1, 0), (1, 1, 0), (1, 1, 1)), (2, 2, 2))


@pytest.mark.parametrize("tree", [TREE, LEAVERS.tree])
def test_nodes_are_those_of_a_walk_through_the_tree(tree: object) -> None:
    stages = max(map(len, TREE.arms_to)) if tree is TREE else len(LEAVERS.stages)
    grown, arms = (TREE if tree is TREE else LEAVERS.tree), np.random.default_rng(0).integers(-1, 2, (200, stages))

    nodes = nodes_of(grown, arms)

    for own, path in zip(nodes.tolist(), arms.tolist(), strict=True):
        for m in range(stages + 1):
            walk = -1 if -1 in path[:m] else grown.after(tuple(path[:m]))
            assert own[m] == walk


def test_nothing_is_feasible_after_a_missing_arm() -> None:
    nodes = nodes_of(TREE, np.array([[0, 0, 1], [1, -1, -1]]))

    assert feasible_at(TREE, nodes[:, 2], 2).tolist() == [[False, True], [False, False]]


def test_an_arm_that_a_unit_had_it_could_have() -> None:
    cohort = read({"x": [0, 1], "A1": ["a", "b"], "Y": [1.0, 2.0], "no_a": [0, 1]}, ONE_STAGE)

    assert infeasible_arms(cohort) is None
