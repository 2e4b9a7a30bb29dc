"""The tree of a design: a node is the arms given so far."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Plan = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Tree:
    """Which arms are feasible after which.

    Attributes
    ----------
    child
        (inner nodes, arms): the next node or leaf, −1 where the arm is infeasible. Node 0 is the root; leaf
        ``len(child) + p`` ends plan ``p``.
    feasible
        For each inner node, whether each arm of its stage is feasible; empty for a leaf. This is the same for
        all units.
    """

    child: NDArray[np.int64]
    feasible: tuple[tuple[bool, ...], ...]

    def __getstate__(self) -> dict[str, object]:
        return {"child": self.child, "feasible": self.feasible}  # without what was computed

    @cached_property
    def following(self) -> tuple[tuple[int, ...], ...]:
        """``child`` as plain numbers, for one unit at a time."""
        return tuple(tuple(row) for row in self.child.tolist())

    @cached_property
    def arms_to(self) -> tuple[Plan, ...]:
        """The arms that lead to each node."""
        arms_to: list[Plan] = [()] * len(self.feasible)
        for node, row in enumerate(self.following):
            for arm, following in enumerate(row):
                if following >= 0:
                    arms_to[following] = (*arms_to[node], arm)
        return tuple(arms_to)

    @cached_property
    def parents(self) -> tuple[int, ...]:
        """The node before each node, −1 for the root."""
        return tuple(self.after(arms[:-1]) if arms else -1 for arms in self.arms_to)

    def after(self, arms: Plan) -> int:
        """Return the node that ``arms`` lead to from the root, −1 if they are infeasible."""
        node = 0
        for arm in arms:
            node = self.following[node][arm]
            if node < 0:
                break
        return node


def grow_tree(plans: tuple[Plan, ...], arms: tuple[int, ...]) -> Tree:
    """Return the tree of feasible plans, given the number of arms at each stage.

    Nodes are numbered stage by stage, in lexicographic order within a stage.

    Examples
    --------
    >>> grow_tree(((0, 0), (0, 1), (1, 1)), (2, 2)).child.tolist()
    [[1, 2], [3, 4], [-1, 5]]
    """
    prefixes = [sorted({plan[:m] for plan in plans}) for m in range(len(arms) + 1)]
    number = {prefix: n for n, prefix in enumerate(prefix for layer in prefixes for prefix in layer)}
    inner = sum(map(len, prefixes[:-1]))
    child = np.full((inner, max(arms)), -1, dtype=np.int64)
    for prefix, n in number.items():
        if prefix:
            child[number[prefix[:-1]], prefix[-1]] = n
    child.flags.writeable = False
    feasible = tuple(
        tuple(bool(child[number[prefix], arm] >= 0) for arm in range(arms[m]))
        for m, layer in enumerate(prefixes[:-1])
        for prefix in layer
    )
    return Tree(child, (*feasible, *(() for _ in plans)))
