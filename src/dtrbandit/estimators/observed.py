"""What was observed of units: one store for all policies, with a column for each thing that can be known.

Facts are numbered. ``observe`` writes one down, ``fits`` says whether it can follow what is on record.
"""

from __future__ import annotations

from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from dtrbandit.design.feasibility import children_left
from dtrbandit.design.spec import Design
from dtrbandit.kernels.arrays import Truth, Vector, Whole
from dtrbandit.kernels.compile import kernel

Number = TypeVar("Number", bound=np.generic)

# facts: arrived at a stage, given an arm, outcome known, left before a stage, lost, amended, void, an arm closed
ARRIVED, GIVEN, COMPLETED, LEFT, LOST, AMENDED, VOIDED, CLOSED = range(8)
STAYED, UNKNOWN, VOID = -1, -2, -3  # of where a unit left


class Observed(NamedTuple):
    """Units by number, first those of an earlier trial, then those enrolled, by round; −1: nothing is known.

    Units with the same contraindications share a copy of the tree, in which only what is feasible for them leads on.
    Copy v has the nodes v·N to v·N + N − 1, N the nodes of the design, leaves included. Copy 0 is that of all others.
    """

    following: NDArray[np.int32]  # (N, K): the next node in the design's tree, −1 where it has none
    child: NDArray[np.int32]  # (copies · N, K): the next node, −1 infeasible; with room for one copy more
    shape: NDArray[np.int64]  # (M, 2): arms and features of each stage
    units: NDArray[np.int64]  # (1,): one more than the highest unit seen
    taught: NDArray[np.int64]  # (1,): how many units of an earlier trial there are
    features: NDArray[np.float64]  # (capacity, M, D)
    nodes: NDArray[np.int32]  # (capacity, M): where the unit stood when it entered a stage
    arms: NDArray[np.int8]  # (capacity, M): the arm really given
    left: NDArray[np.int32]  # (capacity,): where a unit left; UNKNOWN if its features of the next stage are not known
    last: NDArray[np.int8]  # (capacity,): the last stage of a unit whose outcome is known
    outcome: NDArray[np.float64]  # (capacity,)


def create(design: Design) -> Observed:
    """Return the store of a design before its first unit, without room for any."""
    stages, most = len(design.stages), max(design.dimensions)
    following = children_left(design.tree, (), ())
    return Observed(
        following=following,
        child=longer(following, 2 * len(following), -1),
        shape=np.array(list(zip(design.arm_counts, design.dimensions, strict=True)), dtype=np.int64),
        units=np.zeros(1, dtype=np.int64),
        taught=np.zeros(1, dtype=np.int64),
        features=np.zeros((0, stages, most)),
        nodes=np.zeros((0, stages), dtype=np.int32),
        arms=np.zeros((0, stages), dtype=np.int8),
        left=np.zeros(0, dtype=np.int32),
        last=np.zeros(0, dtype=np.int8),
        outcome=np.zeros(0),
    )


def grow(observed: Observed, capacity: int) -> Observed:
    """Return the store with room for ``capacity`` units; the small arrays are shared."""
    return observed._replace(
        features=longer(observed.features, capacity, 0),
        nodes=longer(observed.nodes, capacity, -1),
        arms=longer(observed.arms, capacity, -1),
        left=longer(observed.left, capacity, STAYED),
        last=longer(observed.last, capacity, -1),
        outcome=longer(observed.outcome, capacity, 0),
    )


def longer(array: NDArray[Number], length: int, blank: int) -> NDArray[Number]:
    """Return a copy with more rows, filled with ``blank``."""
    copy = np.zeros((length, *array.shape[1:]), dtype=array.dtype)  # costs nothing until it is touched
    copy[: len(array)] = array
    if blank != 0:
        copy[len(array) :] = blank
    return copy


def erase(observed: Observed, unit: int) -> None:
    """Forget what was observed of a unit that is void, and that nothing more may be."""
    observed.features[unit] = 0.0
    observed.nodes[unit] = observed.arms[unit] = observed.last[unit] = -1
    observed.left[unit] = VOID
    observed.outcome[unit] = 0.0


@kernel
def observe(observed: Observed, fact: Whole, unit: Whole, m: Whole, index: Whole, value: float, psi: Vector) -> None:
    """Write a fact down.

    ARRIVED at stage ``m``, at node ``index``, with features ``psi``. GIVEN arm ``index`` at stage ``m``. COMPLETED
    after stage ``m`` with outcome ``value``. LEFT before stage ``m``, at node ``index`` if the features ``psi`` are
    known.
    """
    if fact == LEFT:
        observed.left[unit] = index if index >= 0 else UNKNOWN
    if fact == ARRIVED or (fact == LEFT and index >= 0):
        for j in range(observed.shape[m, 1]):
            observed.features[unit, m, j] = psi[j]
        if fact == ARRIVED:
            observed.nodes[unit, m] = index
        if unit >= observed.units[0]:
            observed.units[0] = unit + 1
    elif fact == GIVEN:
        observed.arms[unit, m] = index
    elif fact == COMPLETED:
        observed.last[unit] = m
        observed.outcome[unit] = value


@kernel
def stands_at(observed: Observed, unit: Whole, m: Whole) -> np.int64:
    """Return the node that a unit's arms before stage ``m`` lead to, −1 if it did not come that far."""
    if m == 0:
        return np.int64(0)
    if unit >= observed.nodes.shape[0] or observed.nodes[unit, m - 1] < 0 or observed.arms[unit, m - 1] < 0:
        return np.int64(-1)
    return walk(observed, np.int64(observed.nodes[unit, m - 1]), observed.arms[unit, m - 1])


@kernel
def walk(observed: Observed, node: Whole, arm: Whole) -> np.int64:
    """Return where an arm that was really given leads, feasible or not, within the same copy of the tree."""
    place = node % observed.following.shape[0]
    return np.int64(node - place + observed.following[place, arm])


@kernel
def same_place(observed: Observed, node: Whole, other: Whole) -> Truth:
    """Say whether two nodes are the same in the design's tree, in whichever copies; −1 is like no other."""
    count = observed.following.shape[0]
    same: Truth = node >= 0 and other >= 0 and node % count == other % count
    return same


@kernel
def fits(observed: Observed, fact: Whole, unit: Whole, m: Whole, index: Whole, arm: Whole) -> Truth:
    """Say whether a fact can follow what is on record of a unit: kernels trust what they are told."""
    stages = observed.shape.shape[0]
    if unit < 0 or unit >= observed.nodes.shape[0] or m < 0 or m > stages:
        return False
    if fact == LOST:
        return True
    if fact == COMPLETED:
        may_end: Truth = m < stages and observed.arms[unit, m] >= 0 and observed.last[unit] < 0
        return may_end
    if m == stages or observed.nodes[unit, m] >= 0 or observed.left[unit] != STAYED or observed.last[unit] >= 0:
        return False
    node = stands_at(observed, unit, m)
    if fact == LEFT:
        return node >= 0 and (index == -1 or same_place(observed, index, node))
    if not same_place(observed, index, node) or index >= observed.child.shape[0]:
        return False
    if arm == -1:  # a unit of an earlier trial may have dropped out before it was given one
        dropped_out: Truth = unit < observed.taught[0] and node >= 0
        return dropped_out
    feasible: Truth = 0 <= arm < observed.shape[m, 0] and observed.child[index, arm] >= 0
    return feasible
