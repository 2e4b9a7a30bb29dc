"""Forced rounds: which plan of a forced block a unit takes, and which arm of it comes next.

The paper gives the plans of a block in order, q rounds each (eq. "forced samples"). In permuted order a unit draws from
the slots that its block has left, stage by stage (docs/readings.md, 12). Closed plans leave their slots to the others.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from dtrbandit.design.schedule import place
from dtrbandit.design.spec import Design
from dtrbandit.estimators.soundness import is_blank, is_outside
from dtrbandit.kernels import constants as c
from dtrbandit.kernels.arrays import grow
from dtrbandit.policies.plans import PlanState

BUILT_FROM = c.BUILT_FROM


class ForcedRoundsState(PlanState):
    """A policy in play that forces plans in blocks.

    Attributes
    ----------
    q, permuted
        How many rounds of a block each plan has, and whether they come in random order.
    drawn
        (BLOCKS, nodes, K): slots of a permuted block that are used up.
    planned
        (capacity,): the plan of a forced round that the unit can take still, −1 for none. In permuted order it is
        drawn stage by stage: the first plan with the unit's slots so far.
    """

    NAMES: ClassVar[tuple[str, ...]] = ("drawn", "planned")

    def __init__(self, policy: Any, design: Design) -> None:
        super().__init__(policy, design)
        self.q: int = policy.q
        self.permuted: bool = policy.schedule == "permuted"
        self.drawn = np.zeros((c.FORCED_BLOCKS, *design.tree.child.shape), dtype=np.int64)
        self.planned = np.zeros(0, dtype=np.int32)

    def make_room(self, capacity: int, nodes: int) -> None:
        """Make room for so many units."""
        super().make_room(capacity, nodes)
        grow(self, {"planned": -1}, capacity)

    def fault(self) -> str:
        """Say what is wrong with what was loaded."""
        if is_outside(self.planned, -1, self.plan_count) or not is_blank(self.planned, self.capacity, -1):
            return "'planned' names a plan or a unit that is not there"
        return "'drawn' must not be negative" if (np.asarray(self.drawn) < 0).any() else ""

    # -- which arm comes next --------------------------------------------------------------------------------

    def scheduled_arm(self, latest: int, offset: int, unit: int, m: int, node: int, u: float) -> int:
        """Return the arm that the schedule prescribes, or −1 if this unit cannot take what is left of its plan."""
        if self.permuted:
            return self.drawn_arm(latest, unit, m, node, u)
        plan = self.plan_of_slot(offset) if m == 0 else self.planned[unit]
        if plan < 0 or not self.leads_on(plan, node, m):
            return -1
        arm = self.next_of_plan(plan, unit, m)
        if arm >= 0:
            self.prescribe(arm)
        return arm

    def plan_of_slot(self, offset: int) -> int:
        """Return the plan of a place in a forced block. The slots of closed plans go to the others, in order."""
        plan, slot = offset // self.q, offset % self.q
        if self.leads_on(plan, 0, 0):
            return plan
        for other in range(plan):
            if not self.leads_on(other, 0, 0):
                slot += self.q
        slot %= max(self.open_plans(), 1)
        for other in range(self.plan_count):
            if self.leads_on(other, 0, 0):
                if slot == 0:
                    return other
                slot -= 1
        return -1

    def open_plans(self) -> int:
        """Return how many plans have no closed arm."""
        count = 0
        for plan in range(self.plan_count):
            if self.leads_on(plan, 0, 0):
                count += 1
        return count

    def drawn_arm(self, latest: int, unit: int, m: int, node: int, u: float) -> int:
        """Draw from the block's remaining plans that agree with this unit so far (docs/readings.md, 12).

        An arm that leads to no plan that the unit can take is left out.
        """
        remaining = 0.0
        if m > 0 and self.planned[unit] < 0:
            return -1
        for a in range(self.width):
            slots = self.slots_left(latest, unit, m, a)
            self.sheet[c.PROPENSITY, a] = slots if self.can_take(unit, m, node, a) else 0.0
            remaining += self.sheet[c.PROPENSITY, a]
        return self.draw(u, remaining)

    def draw(self, u: float, total: float) -> int:
        """Draw an arm in proportion to the weights in PROPENSITY, which become probabilities; −1 if all are zero."""
        arm, below = -1, 0.0
        for a in range(self.width):
            weight = self.sheet[c.PROPENSITY, a]
            if weight > 0.0 and (arm < 0 or below <= u * total):
                arm = a
            below += weight
        if arm >= 0:
            for a in range(self.width):
                self.sheet[c.CONTENDER, a] = 1.0 if self.sheet[c.PROPENSITY, a] > 0.0 else 0.0
                self.sheet[c.PROPENSITY, a] /= total
        return arm

    # -- slots of a permuted block ---------------------------------------------------------------------------

    def slots_left(self, latest: int, unit: int, m: int, a: int) -> float:
        """Return how many slots with arm ``a`` a block has left for a unit; open plans share those of closed ones."""
        each, slots = 1.0 * self.q * self.plan_count / max(self.open_plans(), 1), 0.0  # compiled, 1 / 2 would be 0
        for plan in range(self.plan_count):
            if self.has_slot(plan, unit, m, a):
                slots += each
        left: float = slots - self.drawn[latest, self.slot_node(unit, m), a]
        return max(left, 0.0)

    def can_take(self, unit: int, m: int, node: int, a: int) -> bool:
        """Say whether a unit that stands at ``node`` can follow a slot with arm ``a``."""
        for plan in range(self.plan_count):
            if (
                self.has_slot(plan, unit, m, a)
                and self.leads_on(plan, node, m)
                and self.next_of_plan(plan, unit, m) >= 0
            ):
                return True
        return False

    def has_slot(self, plan: int, unit: int, m: int, a: int) -> bool:
        """Say whether a plan agrees with a unit's slots so far, has arm ``a`` next, and no closed arm from there on."""
        return self.agrees(plan, unit, m, a) and self.leads_on(plan, self.slot_node(unit, m), m)

    def agrees(self, plan: int, unit: int, m: int, a: int) -> bool:
        """Say whether a plan has arm ``a`` at stage ``m``, and before it the slots of a unit."""
        for k in range(m):
            if self.plans[plan, k] != self.plans[self.planned[unit], k]:
                return False
        same: bool = self.plans[plan, m] == a
        return same

    def slot_node(self, unit: int, m: int) -> int:
        """Return the node to which the slots of a unit before stage ``m`` lead."""
        node = 0
        for k in range(m):
            node = self.observed.following[node, self.plans[self.planned[unit], k]]
        return node

    # -- what is kept of a unit's plan -----------------------------------------------------------------------

    def keep_plan(self, unit: int, m: int, arm: int, forced: bool) -> None:
        """Remember a unit's plan in a forced round, until the unit cannot take it: then all its later stages are free.

        An override that makes it infeasible leaves it in place, as it may be amended again.
        """
        _forced, latest, offset = place(unit + 1 - self.observed.taught, self.plan_count, self.q)
        if m == 0 and not forced:
            self.planned[unit] = -1
        elif self.permuted:
            self.planned[unit] = self.plan_with(unit, m, arm if forced else self.missed_slot(latest, unit, m, arm))
        elif m == 0:
            self.planned[unit] = self.plan_of_slot(offset)
        elif not forced and self.planned[unit] >= 0 and self.next_of_plan(self.planned[unit], unit, m) >= 0:
            self.planned[unit] = -1

    def use_slot(self, latest: int, unit: int, m: int) -> None:
        """Count the slot of a permuted block that a unit uses up at stage ``m``."""
        if self.permuted and self.planned[unit] >= 0:
            self.drawn[latest, self.slot_node(unit, m), self.plans[self.planned[unit], m]] += 1

    def plan_with(self, unit: int, m: int, slot: int) -> int:
        """Return the first plan with the slots of a unit so far and this one at stage ``m``.

        −1 without a slot, now or before: a policy that holds this one may call a later stage forced all the same.
        """
        if slot < 0 or (m > 0 and self.planned[unit] < 0):
            return -1
        for plan in range(self.plan_count):
            if self.agrees(plan, unit, m, slot):
                return plan
        return -1

    def missed_slot(self, latest: int, unit: int, m: int, given: int) -> int:
        """Return the slot that a unit uses up although an override keeps it from following it; −1 if nothing does.

        It is the arm that was given, if there is such a slot, and else the first.
        """
        slot = -1
        if self.planned[unit] < 0:
            return -1
        for plan in range(self.plan_count):
            a = self.plans[plan, m]
            if self.has_slot(plan, unit, m, a) and self.slots_left(latest, unit, m, a) > 0.0:
                if self.next_of_plan(plan, unit, m) >= 0:
                    return -1
                if slot < 0 or a == given:
                    slot = a
        return slot
