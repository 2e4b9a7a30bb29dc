"""Which arms are feasible: the plans of a design, their tree, and what is left of it for a unit.

A node of the tree is the arms given so far. Contraindications of a unit and closed arms take arms away. So does a look
ahead: an arm after which no arm is left is not feasible either.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import product
from math import prod
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dtrbandit.design.values import shown
from dtrbandit.errors import DesignError

if TYPE_CHECKING:
    from dtrbandit.design.stages import Stage

MOST_PLANS = 10_000

Plan = tuple[int, ...]
Barred = tuple[tuple[int, int], ...]  # stages and arms, by number, in order


# -- plans ------------------------------------------------------------------------------------------------------


def checked_plans(stages: tuple[Stage, ...], plans: object) -> list[Plan]:
    """Return plans as arm numbers in lexicographic order, or say what is wrong with them.

    None stands for every combination of arms.
    """
    if plans is None:
        if prod(len(stage.arms) for stage in stages) > MOST_PLANS:
            raise DesignError(f"a design may have {MOST_PLANS} plans; name the feasible ones with plans=")
        return list(product(*(range(len(stage.arms)) for stage in stages)))
    if isinstance(plans, str) or not isinstance(plans, Sequence) or not 0 < len(plans) <= MOST_PLANS:
        raise DesignError(f"plans must be a list of 1 to {MOST_PLANS} plans, found {shown(plans)}")
    for plan in plans:
        _check_plan(stages, plan)
    numbers = sorted({arm_numbers(stages, plan) for plan in plans})
    if len(numbers) < len(plans):
        raise DesignError(f"plans must all be different, found {shown([list(plan) for plan in plans])}")
    for m, stage in enumerate(stages):
        used = {plan[m] for plan in numbers}
        unused = [label for arm, label in enumerate(stage.arms) if arm not in used]
        if unused:
            raise DesignError(f"stage {stage.name!r}: no plan gives {unused}; drop these arms or add a plan")
    return numbers


def _check_plan(stages: tuple[Stage, ...], plan: object) -> None:
    if isinstance(plan, str) or not isinstance(plan, Sequence) or len(plan) != len(stages):
        raise DesignError(
            f"plan {shown(plan)} must name one arm for each of the stages {[stage.name for stage in stages]}"
        )
    for stage, arm in zip(stages, plan, strict=True):
        if arm not in stage.arms:
            raise DesignError(
                f"plan {shown(list(plan))}: unknown arm {shown(arm)} at stage {stage.name!r}, "
                f"whose arms are {list(stage.arms)}"
            )


def arm_numbers(stages: Sequence[Stage], plan: Sequence[str]) -> Plan:
    """Return a plan as the numbers of its arms."""
    return tuple(stage.arms.index(arm) for stage, arm in zip(stages, plan, strict=True))


def arm_labels(stages: Sequence[Stage], plan: Plan) -> tuple[str, ...]:
    """Return a plan as the labels of its arms."""
    return tuple(stage.arms[arm] for stage, arm in zip(stages, plan, strict=True))


# -- the tree ---------------------------------------------------------------------------------------------------


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


# -- contraindicated and closed arms ----------------------------------------------------------------------------


@lru_cache(maxsize=1024)
def arms_left(tree: Tree, excluded: Barred, closed: Barred = ()) -> tuple[tuple[bool, ...], ...]:
    """Return, for each node, whether each arm of its stage is feasible still; empty for a leaf.

    Examples
    --------
    >>> from dtrbandit.design.feasibility import grow_tree
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

    At some nodes no arm may be left: a unit comes there by an override, or was there before an arm was closed. A
    maximum over arms needs at least one. So at such a node closed arms count as feasible, and if that is not enough,
    all arms of the design.
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
    """Return, for n units, which set of contraindications each has, as a number, (n,), and the distinct sets.

    ``masks`` say which arms are contraindicated, (n, K_m) for each stage.
    """
    if masks is None:
        return np.zeros(n, dtype=np.int64), ((),)
    pairs = [(m, arm) for m, mask in enumerate(masks) for arm in range(mask.shape[1])]
    rows, inverse = np.unique(np.concatenate(masks, axis=1), axis=0, return_inverse=True)
    found = [tuple(pair for pair, yes in zip(pairs, row, strict=True) if yes) for row in rows.tolist()]
    numbers: dict[Barred, int] = {(): 0}  # then in the order of the first unit with each
    barring = [numbers.setdefault(found[row], len(numbers)) for row in inverse.ravel().tolist()]
    return np.array(barring, dtype=np.int64), tuple(numbers)


def left_for_sets(tree: Tree, sets: Sequence[Barred], closed: Barred = ()) -> NDArray[np.bool_]:
    """Return which arms are left at each inner node for each set of contraindications, (sets, nodes, K)."""
    left = np.zeros((len(sets), *tree.child.shape), dtype=np.bool_)
    for number, excluded in enumerate(sets):
        for node, row in enumerate(arms_left(tree, excluded, closed)[: len(tree.child)]):
            left[number, node, : len(row)] = row
    return left
