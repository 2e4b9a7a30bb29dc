"""What is left of a design's arms for a unit with contraindications, and once arms are closed.

A look ahead is part of it: an arm after which no arm is left is not feasible either.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from dtrbandit.design.tree import Tree

Barred = tuple[tuple[int, int], ...]  # stages and arms, by number, in order


@lru_cache(maxsize=1024)
def arms_left(tree: Tree, excluded: Barred, closed: Barred = ()) -> tuple[tuple[bool, ...], ...]:
    """Return, for each node, whether each arm of its stage is feasible still; empty for a leaf.

    Examples
    --------
    >>> from dtrbandit.design.tree import grow_tree
    >>> arms_left(grow_tree(((0, 0), (0, 1), (1, 1)), (2, 2)), ((1, 1),))[:3]
    ((True, False), (True, False), (False, False))
    """
    barred, left = {*excluded, *closed}, list(tree.feasible)
    for node in reversed(range(len(tree.child))):  # from the last stage to the first
        m, following = len(tree.arms_to[node]), tree.following[node]
        left[node] = tuple(
            yes and (m, arm) not in barred and (any(left[following[arm]]) or not tree.feasible[following[arm]])
            for arm, yes in enumerate(tree.feasible[node])
        )
    return tuple(left)


def children_left(tree: Tree, excluded: Barred, closed: Barred) -> NDArray[np.int32]:
    """Return ``tree.child`` for all nodes, leaves as well, −1 where an arm is not feasible any more.

    Only an override leads to a node where nothing is left, or a closing after the unit was there. No max may run over
    nothing. So there the closed arms are feasible still, and if that is not enough, all arms of the design.
    """
    child = np.full((len(tree.feasible), tree.child.shape[1]), -1, dtype=np.int32)
    rows = zip(arms_left(tree, excluded, closed), arms_left(tree, excluded), tree.feasible, strict=True)
    for node, choices in enumerate(rows):
        row = next((choice for choice in choices if any(choice)), ())
        for arm, yes in enumerate(row):
            if yes:
                child[node, arm] = tree.following[node][arm]
    return child


@lru_cache(maxsize=1024)
def why_not(tree: Tree, node: int, excluded: Barred, closed: Barred) -> tuple[tuple[int, str], ...]:
    """Return the arms of a node that the design has and that are not feasible any more, each with the reason."""
    m, left = len(tree.arms_to[node]), arms_left(tree, excluded, closed)[node]
    gone = [arm for arm, yes in enumerate(tree.feasible[node]) if yes and not left[arm]]
    reasons = {(m, arm): "closed" for arm in gone if (m, arm) in closed}
    reasons |= {(m, arm): "contraindicated" for arm in gone if (m, arm) in excluded}
    return tuple((arm, reasons.get((m, arm), "no arm is left after it")) for arm in gone)


def sets_of(masks: Sequence[NDArray[np.bool_]] | None, n: int) -> tuple[NDArray[np.int64], tuple[Barred, ...]]:
    """Return what is contraindicated for n units, (n, K_m) for each stage, as numbers and the sets by number."""
    if masks is None:
        return np.zeros(n, dtype=np.int64), ((),)
    pairs = [(m, arm) for m, mask in enumerate(masks) for arm in range(mask.shape[1])]
    rows, inverse = np.unique(np.concatenate(masks, axis=1), axis=0, return_inverse=True)
    found = [tuple(pair for pair, yes in zip(pairs, row, strict=True) if yes) for row in rows.tolist()]
    numbers: dict[Barred, int] = {(): 0}  # then in the order in which units bring them
    barring = [numbers.setdefault(found[row], len(numbers)) for row in inverse.ravel().tolist()]
    return np.array(barring, dtype=np.int64), tuple(numbers)


def left_for_sets(tree: Tree, sets: Sequence[Barred], closed: Barred = ()) -> NDArray[np.bool_]:
    """Return which arms are left at each inner node for each set of contraindications, (sets, nodes, K)."""
    left = np.zeros((len(sets), *tree.child.shape), dtype=np.bool_)
    for number, excluded in enumerate(sets):
        for node, row in enumerate(arms_left(tree, excluded, closed)[: len(tree.child)]):
            left[number, node, : len(row)] = row
    return left
