"""Whether arrays that were stored can be what a learner knows.

Kernels use many of these numbers as indices, and do not look where they lead. So each function looks at one part after
its arrays were loaded, and says what is wrong, or nothing. Names, types and shapes were looked at before
(``policies/stored_arrays.py``). Numbers that no kernel uses as an index may be anything.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dtrbandit.kernels import constants as c


def is_outside(numbers: Any, low: int, high: int) -> bool:
    """Say whether an array has a number below ``low``, or one that is ``high`` or more."""
    array = np.asarray(numbers)
    return bool(array.size) and bool(array.min() < low or array.max() >= high)


# -- what was observed -------------------------------------------------------------------------------------------


def observed_fault(seen: Any) -> str:
    """Say what is wrong with an ``Observed``."""
    arms, nodes, child, capacity = np.asarray(seen.arms), np.asarray(seen.nodes), np.asarray(seen.child), seen.capacity
    columns = (seen.features, nodes, arms, seen.left, seen.last)
    if any(len(column) != capacity for column in columns):
        return "columns of units have unlike lengths"
    if len(child) % seen.nodes_of_tree or len(child) < 2 * seen.nodes_of_tree:
        return "copies of the tree are not whole"
    if not (0 <= seen.units <= capacity and 0 <= seen.taught <= capacity):
        return f"there are {seen.units} units, {seen.taught} of them of an earlier trial, in room for {capacity}"
    if is_outside(nodes, -1, len(child)) or is_outside(seen.left, c.VOID, len(child)):
        return "a unit stands at a node that is not there"
    if any(is_outside(arms[:, m], -1, count) for m, count in enumerate(seen.arm_count)):
        return "a unit has an arm that is not there"
    return course_fault(seen, np.asarray(seen.last))


def course_fault(seen: Any, last: NDArray[Any]) -> str:
    """Say which unit is not where its arms lead, or has an outcome after a stage at which it had no arm."""
    arms, nodes, following = np.asarray(seen.arms), np.asarray(seen.nodes), np.asarray(seen.following)
    led = np.zeros(len(arms), dtype=np.int64)  # the place in the tree where a unit would stand next
    for m in range(seen.stages):
        here, given = nodes[:, m], arms[:, m]
        astray = (here >= 0) & ((led < 0) | (here % seen.nodes_of_tree != led))
        led = np.where((here >= 0) & (given >= 0), following[here % seen.nodes_of_tree, given], -1)
        if (astray | ((given >= 0) & (led < 0))).any():
            return "a unit does not stand where its arms lead"
    ended = np.flatnonzero(last != -1)
    if is_outside(last, -1, seen.stages) or (arms[ended, last[ended]] < 0).any():
        return "a unit has an outcome after a stage at which it had no arm"
    return ""


def has_come(seen: Any) -> NDArray[Any]:
    """Return which units have entered the first stage, void ones among them, (capacity,): these cannot do so again."""
    come: NDArray[Any] = (np.asarray(seen.nodes)[:, 0] >= 0) | (np.asarray(seen.left) == c.VOID)
    return come


def is_blank(array: Any, capacity: int, blank: int) -> bool:
    """Say whether nothing is written where there is no unit yet: an array may be longer than there is room for."""
    return bool((np.asarray(array)[capacity:] == blank).all())


# -- the learner of Q̃ --------------------------------------------------------------------------------------------


def forced_fault(learner: Any) -> str:
    """Say what is wrong with a ``ForcedLearner``: its units are those scheduled at the first stage, each once."""
    seen, scheduled = learner.observed, np.asarray(learner.scheduled)
    if any(is_outside(scheduled[:, m], -1, count) for m, count in enumerate(seen.arm_count)):
        return "an arm is scheduled that is not there"
    if not is_blank(scheduled, seen.capacity, -1) or (scheduled[: seen.capacity, 0] >= 0)[~has_come(seen)].any():
        return "an arm is scheduled for a unit that has not come"
    expected = np.flatnonzero(scheduled[:, 0] >= 0)
    if learner.count != len(expected) or (np.sort(np.asarray(learner.units)[: learner.count]) != expected).any():
        return "the units of forced rounds are not those for which an arm is scheduled"
    return ""


# -- the exact learner -------------------------------------------------------------------------------------------


def exact_fault(learner: Any) -> str:
    """Say what is wrong with an ``ExactLearner``."""
    seen, counted = learner.observed, np.asarray(learner.counted) != 0
    if is_outside(learner.mode, c.FULL, c.ILL + 1):
        return "the way to solve for an arm is none of those that there are"
    arms, nodes, last = (np.asarray(column) for column in (seen.arms, seen.nodes, seen.last))
    ended = last[:, None] == np.arange(seen.stages)
    went_on = np.column_stack((nodes[:, 1:] >= 0, np.zeros(len(nodes), dtype=np.bool_)))
    if not is_blank(counted, seen.capacity, 0) or (counted[: seen.capacity] & ~((arms >= 0) & (ended | went_on))).any():
        return "a row counts that a unit does not have"
    if np.asarray(learner.old_fill).any():
        return "a chain of blocks is detached"
    return next(filter(None, (link_fault(learner, m) for m in range(seen.stages - 1))), "")


def link_fault(learner: Any, m: int) -> str:
    """Say what is wrong with the levels of a link: their blocks, and the units in them."""
    depth, blocks = int(learner.depth[m]), np.asarray(learner.follows).shape[1]
    room = blocks * c.BLOCK
    if min(np.asarray(each).shape[1] for each in (learner.cells, learner.units, learner.nodes, learner.labels)) < room:
        return "there are blocks without slots"
    if not 0 <= depth <= c.LEVELS or is_outside(np.asarray(learner.fill)[m, :depth], 0, room + 1):
        return "levels are not there, or hold more units than there is room for"
    chains = chains_of(learner, m, depth)
    if chains is None:
        return "a chain of blocks leads astray"
    return slots_fault(learner, m, chains)


def chains_of(learner: Any, m: int, depth: int) -> list[list[int]] | None:
    """Return the blocks of each level; None unless each block in use is in one chain, or free."""
    follows, used = np.asarray(learner.follows)[m].tolist(), int(learner.used[m])
    if not 0 <= used <= len(follows):
        return None
    seen: set[int] = set()

    def follow(block: int, most: int) -> list[int]:
        chain: list[int] = []
        while len(chain) < most and 0 <= block < used and block not in seen:
            seen.add(block)
            chain.append(block)
            block = follows[block]
        return chain

    chains = []
    for level in range(depth):
        needed = (int(learner.fill[m, level]) + c.BLOCK - 1) // c.BLOCK
        chains.append(follow(int(learner.head[m, level]), needed))
        if len(chains[-1]) < needed or (needed and chains[-1][-1] != learner.tail[m, level]):
            return None
    free = follow(int(learner.free[m]), used)
    whole = len(seen) == used and (follows[free[-1]] if free else int(learner.free[m])) == -1
    return chains if whole else None


def slots_fault(learner: Any, m: int, chains: list[list[int]]) -> str:
    """Say what is wrong with the units in the slots of a link's levels: they have come to the next stage."""
    seen, fills = learner.observed, np.asarray(learner.fill)[m]
    rows = [
        (np.array(chain, dtype=np.int64)[:, None] * c.BLOCK + np.arange(c.BLOCK)).ravel()[:fill]
        for chain, fill in zip(chains, fills, strict=False)
    ]
    slots = np.concatenate([np.zeros(0, dtype=np.int64), *rows])
    units, nodes, labels = (np.take(each, slots) for each in (learner.units[m], learner.nodes[m], learner.labels[m]))
    if is_outside(units, 0, seen.capacity) or is_outside(labels, 0, int(seen.arm_count[m + 1])):
        return "a level holds a unit or a label that is not there"
    stands = np.full(seen.capacity, -1, dtype=np.int32)  # by unit, so that its columns are read in order
    stands[units] = nodes
    held = stands >= 0
    if np.count_nonzero(held) != len(units) or int(learner.held[m]) != len(units):
        return "levels hold a unit twice, or not as many as they say"
    if (held & ((np.asarray(seen.arms)[:, m] < 0) | (np.asarray(seen.nodes)[:, m + 1] != stands))).any():
        return "a level holds a unit that has not come to the next stage, or stands elsewhere"
    return ""


# -- the optimistic learner --------------------------------------------------------------------------------------


def optimistic_fault(learner: Any) -> str:
    """Say what is wrong with an ``OptimisticLearner``."""
    return next(filter(None, (blocks_fault(learner, m) for m in range(learner.observed.stages - 1))), "")


def blocks_fault(learner: Any, m: int) -> str:
    """Say what is wrong with the blocks of a stage: only the latest of a node has room, and rows are those of units."""
    seen, used, latest = learner.observed, int(learner.used[m]), np.asarray(learner.latest)[m]
    node, fill = np.asarray(learner.node)[m], np.asarray(learner.fill)[m]
    if not 0 <= used <= len(fill) or fill[used:].any() or is_outside(fill[:used], 1, c.ROWS + 1):
        return "blocks hold more or fewer rows than they can"
    if is_outside(node[:used], 0, len(np.asarray(seen.child))) or is_outside(latest, -1, used):
        return "a block belongs to a node that is not there"
    (at,) = np.nonzero(latest >= 0)
    partly = fill[:used] < c.ROWS
    partly[latest[at]] = False
    if (node[latest[at]] != at).any() or partly.any():
        return "rows are not in the latest block of their node"
    came = (np.asarray(seen.nodes)[:, m + 1] >= 0) | (np.asarray(seen.last) == m)
    if fill[:used].sum() > came.sum() or is_outside(np.asarray(learner.valued)[m], 0, c.ROWS + 1):
        return "there are more rows than units have"
    return ""
