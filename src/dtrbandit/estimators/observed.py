"""What was observed of units: one store for all policies, with a column for each thing that can be known.

Facts are numbered. ``observe`` writes one down, ``fits`` says whether it can follow what is on record.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dtrbandit.design.feasibility import children_left
from dtrbandit.design.spec import Design
from dtrbandit.estimators.soundness import observed_fault
from dtrbandit.kernels import constants as c
from dtrbandit.kernels.arrays import Named, grow, longer, named, restore

BUILT_FROM = c.BUILT_FROM
NAMES = ("units", "taught", "child", "features", "nodes", "arms", "left", "last", "outcome")
UNITS = {"features": 0, "nodes": -1, "arms": -1, "left": c.STAYED, "last": -1, "outcome": 0}  # an entry per unit


class Observed:
    """Units by number, first those of an earlier trial, then those enrolled, by round; −1: nothing is known.

    Units with the same contraindications share a copy of the tree, in which only what is feasible for them leads on.
    Copy v has the nodes v·N to v·N + N − 1, N the nodes of the design, leaves included. Copy 0 is that of all others.

    Attributes
    ----------
    stages, most, width
        M, the most features of any arm D, and the most arms of any stage K.
    arm_count, dimension, widest
        (M,): arms of each stage; (M, K): features of each arm; (M,): the most features of an arm of each stage.
    following, child
        (N, K): the next node in the design's tree, −1 where it has none; (copies · N, K): the same where it is
        feasible, with room for one copy more.
    units, taught
        One more than the highest unit seen; how many units of an earlier trial there are.
    psi
        (D,): the features at hand.
    features, nodes, arms
        (capacity, M, D), (capacity, M) and (capacity, M): what was found when a unit entered a stage, where in the
        tree it stood, and the arm really given.
    left
        (capacity,): the node where a unit left; UNKNOWN if its features of the next stage are not known.
    last, outcome
        (capacity,): the last stage of a unit whose outcome is known, and the outcome.
    """

    def __init__(self, design: Design) -> None:
        counts, dimensions = design.arm_counts, design.dimensions
        self.stages, self.most, self.width = len(counts), max(dimensions), max(counts)
        self.arm_count = np.array(counts, dtype=np.int64)
        self.dimension = np.array(
            [
                [d if arm < count else 0 for arm in range(self.width)]
                for count, d in zip(counts, dimensions, strict=True)
            ]
        )
        self.widest = np.max(self.dimension, axis=1)
        following = children_left(design.tree, (), ())
        self.following, self.nodes_of_tree = following, len(following)
        self.child = longer(following, 2 * len(following), -1)
        self.units, self.taught, self.capacity = 0, 0, 0
        self.psi = np.zeros(self.most)
        self.features = np.zeros((0, self.stages, self.most))
        self.nodes = np.zeros((0, self.stages), dtype=np.int32)
        self.arms = np.zeros((0, self.stages), dtype=np.int8)
        self.left = np.zeros(0, dtype=np.int32)
        self.last = np.zeros(0, dtype=np.int8)
        self.outcome = np.zeros(0)

    def reserve(self, capacity: int) -> None:
        """Make room for ``capacity`` units."""
        grow(self, UNITS, capacity)
        self.capacity = capacity

    def arrays(self) -> Named:
        """Return what is known, by name."""
        return named(self, NAMES)

    def load(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Know what arrays say."""
        restore(self, NAMES, arrays)
        self.capacity = len(np.asarray(self.outcome))

    def fault(self) -> str:
        """Say what kernels could not rely on in arrays that were loaded; nothing if all is in order."""
        return observed_fault(self)

    # -- facts -----------------------------------------------------------------------------------------------

    def observe(self, fact: int, unit: int, m: int, index: int, value: float) -> None:
        """Write a fact down, with the features at hand.

        ARRIVED at stage ``m``, at node ``index``. GIVEN arm ``index`` at stage ``m``. COMPLETED after stage ``m`` with
        outcome ``value``. LEFT before stage ``m``, at node ``index`` if the features are known.
        """
        if fact == c.LEFT:
            self.left[unit] = index if index >= 0 else c.UNKNOWN
        if fact == c.ARRIVED or (fact == c.LEFT and index >= 0):
            for j in range(self.widest[m]):
                self.features[unit, m, j] = self.psi[j]
            if fact == c.ARRIVED:
                self.nodes[unit, m] = index
            if unit >= self.units:
                self.units = unit + 1
        elif fact == c.GIVEN:
            self.arms[unit, m] = index
        elif fact == c.COMPLETED:
            self.last[unit] = m
            self.outcome[unit] = value

    def erase(self, unit: int) -> None:
        """Forget what was observed of a unit that is void, and that nothing more may be."""
        for m in range(self.stages):
            self.nodes[unit, m] = -1
            self.arms[unit, m] = -1
            for j in range(self.most):
                self.features[unit, m, j] = 0.0
        self.left[unit] = c.VOID
        self.last[unit] = -1
        self.outcome[unit] = 0.0

    def stands_at(self, unit: int, m: int) -> int:
        """Return the node that a unit's arms before stage ``m`` lead to, −1 if it did not come that far."""
        if m == 0:
            return 0
        if unit >= self.capacity or self.nodes[unit, m - 1] < 0 or self.arms[unit, m - 1] < 0:
            return -1
        return self.walk(self.nodes[unit, m - 1], self.arms[unit, m - 1])

    def walk(self, node: int, arm: int) -> int:
        """Return where an arm that was really given leads, feasible or not, within the same copy of the tree."""
        bare = node % self.nodes_of_tree  # the same node in the design's own tree
        following: int = node - bare + self.following[bare, arm]
        return following

    def same_place(self, node: int, other: int) -> bool:
        """Say whether two nodes are the same in the design's tree, in whichever copies; −1 is like no other."""
        return node >= 0 and other >= 0 and node % self.nodes_of_tree == other % self.nodes_of_tree

    def fits(self, fact: int, unit: int, m: int, index: int, arm: int) -> bool:
        """Say whether a fact can follow what is on record of a unit: kernels trust what they are told."""
        if unit < 0 or unit >= self.capacity or m < 0 or m > self.stages:
            return False
        if fact == c.LOST:
            return True
        if fact == c.COMPLETED:
            return m < self.stages and self.arms[unit, m] >= 0 and self.last[unit] < 0
        if m == self.stages or self.nodes[unit, m] >= 0 or self.left[unit] != c.STAYED or self.last[unit] >= 0:
            return False
        node = self.stands_at(unit, m)
        if fact == c.LEFT:
            return node >= 0 and (index == -1 or (self.same_place(index, node) and index < self.child.shape[0]))
        if not self.same_place(index, node) or index >= self.child.shape[0]:
            return False
        if arm == -1:  # a unit of an earlier trial may have dropped out before it was given one
            return unit < self.taught and node >= 0
        feasible: bool = 0 <= arm < self.arm_count[m] and self.child[index, arm] >= 0
        return feasible
