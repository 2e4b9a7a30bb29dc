"""Which arms were feasible for units, after their earlier arms and by what each of them could not have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dtrbandit.design.feasibility import Tree, left_for_sets, sets_of
from dtrbandit.design.spec import Design
from dtrbandit.kernels.arrays import Mask

if TYPE_CHECKING:
    from dtrbandit.evaluation.cohort.cohort import Cohort


def nodes_of(tree: Tree, arms: NDArray[np.integer]) -> NDArray[np.int64]:
    """Return the node that each unit's arms lead to, for arms (n, m): before each stage and after the last, (n, m + 1).

    It is −1 after an arm that is missing (−1), or that no plan has there.

    Examples
    --------
    >>> from dtrbandit.design.feasibility import grow_tree
    >>> nodes_of(grow_tree(((0, 0), (0, 1), (1, 1)), (2, 2)), np.array([[0, 1], [1, 0], [1, -1]])).tolist()
    [[0, 1, 4], [0, 2, -1], [0, 2, -1]]
    """
    nodes = np.zeros((len(arms), arms.shape[1] + 1), dtype=np.int64)
    for m, arm in enumerate(arms.T.astype(np.int64)):
        known = (nodes[:, m] >= 0) & (arm >= 0)
        nodes[known, m + 1] = tree.child[nodes[known, m], arm[known]]
        nodes[~known, m + 1] = -1
    return nodes


def feasible_at(tree: Tree, nodes: NDArray[np.int64], arms: int) -> Mask:
    """Return which of a stage's arms the plans allow at each unit's node, (n, K); none at −1."""
    feasible: Mask = (nodes >= 0)[:, None] & (tree.child[np.maximum(nodes, 0), :arms] >= 0)
    return feasible


def infeasible_arms(cohort: Cohort) -> tuple[Mask, ...] | None:
    """Return which arms each unit could not have, (n, K_m) for each stage; one that it had it could have."""
    if cohort.excluded is None:
        return None
    given = (cohort.arms[:, m, None] == np.arange(count) for m, count in enumerate(cohort.design.arm_counts))
    return tuple(excluded & ~had for excluded, had in zip(cohort.excluded, given, strict=True))


class NotExcluded:
    """What contraindications, (n, K_m) for each stage, leave to each unit, at whatever node it comes to."""

    def __init__(self, design: Design, excluded: Sequence[Mask]) -> None:
        self._sets, sets = sets_of(excluded, len(excluded[0]))
        self._left = left_for_sets(design.tree, sets)
        self.nothing: Mask = ~self._left[self._sets, 0].any(axis=1)  # for whom no plan is left

    def at(self, node: NDArray[np.int64]) -> Mask:
        """Return which arms are left for each unit at its node, (n, K)."""
        left: Mask = self._left[self._sets, node]
        return left
