"""ε-Greedy (paper, section 5.1): initial pulls, then the best Q̂, and with probability ε another arm.

Greedy is the special case ε = 0, and may have a floor (policies/parameters.py).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dtrbandit.design.spec import Design
from dtrbandit.design.values import real
from dtrbandit.estimators.estimates import Estimates
from dtrbandit.estimators.soundness import has_come, is_outside
from dtrbandit.kernels import constants as c
from dtrbandit.kernels.arrays import grow
from dtrbandit.policies.builtin_policy import BuiltinPolicy
from dtrbandit.policies.parameters import accept_floor, fitting_floor, no_floor, policy_repr
from dtrbandit.policies.plans import PlanState
from dtrbandit.policies.policy import Policy

BUILT_FROM = c.BUILT_FROM


@dataclass(frozen=True, kw_only=True)
class EpsilonGreedy(BuiltinPolicy):
    """Pull each feasible plan d times, then follow Q̂ with probability 1 − ε and explore with probability ε.

    With more than two arms, exploring is uniform over the other feasible arms.

    Examples
    --------
    >>> EpsilonGreedy(epsilon=0.1)
    EpsilonGreedy(epsilon=0.1)
    """

    forces_plans: ClassVar[bool] = True

    epsilon: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", real(self.epsilon, "EpsilonGreedy: epsilon", low=0.0, high=1.0))

    @classmethod
    def examples(cls) -> tuple[Policy[Any], ...]:
        """Return one that explores often."""
        return (cls(epsilon=0.3),)

    def state(self, design: Design) -> EpsilonGreedyState:
        """Return its state before the first unit."""
        return EpsilonGreedyState(self, design, self.epsilon, 0.0)

    def estimates(self, state: EpsilonGreedyState) -> Estimates:
        """Return the coefficients of Q̂."""
        return state.estimates()


@dataclass(frozen=True, kw_only=True, repr=False)
class Greedy(BuiltinPolicy):
    """Pull each feasible plan d times, then always follow Q̂.

    Parameters
    ----------
    floor
        The least probability of every feasible arm after the initial pulls, at most one over the arms of a stage.

    Examples
    --------
    >>> Greedy(), Greedy(floor=0.1)
    (Greedy(), Greedy(floor=0.1))
    """

    forces_plans: ClassVar[bool] = True

    floor: float = no_floor()

    def __post_init__(self) -> None:
        object.__setattr__(self, "floor", accept_floor(self.floor, "Greedy"))

    __repr__ = policy_repr

    @classmethod
    def examples(cls) -> tuple[Policy[Any], ...]:
        """Return it with and without a floor."""
        return cls(), cls(floor=0.2)

    def state(self, design: Design) -> EpsilonGreedyState:
        """Return its state before the first unit."""
        return EpsilonGreedyState(self, design, 0.0, fitting_floor(self.floor, design, "Greedy"))

    def estimates(self, state: EpsilonGreedyState) -> Estimates:
        """Return the coefficients of Q̂."""
        return state.estimates()


class EpsilonGreedyState(PlanState):
    """ε-Greedy or Greedy in play.

    Attributes
    ----------
    pulls, owed, made
        (P d + capacity,): the plans of initial pulls, in order; how many there are by now, and how many are made.
    pulled
        (capacity,): the plan of a unit's initial pull, −1 for none.
    """

    NAMES = ("pulls", "owed", "made", "pulled")

    def __init__(self, policy: Any, design: Design, epsilon: float, floor: float) -> None:
        super().__init__(policy, design)
        self.epsilon, self.floor = epsilon, floor
        initial = np.repeat(np.arange(self.plan_count, dtype=np.int32), self.observed.most)  # each d times in a row
        self.pulls, self.initial, self.owed, self.made = initial, len(initial), len(initial), 0
        self.pulled = np.zeros(0, dtype=np.int32)

    def decide(self, unit: int, m: int, node: int, u: float) -> int:
        """Make an initial pull, or act greedily, or explore when u < ε; leave the reason."""
        feasible = self.clear_sheet(node)
        plan = self.pulled[unit] if m > 0 else self.plan_of_pull(self.next_pull())
        if plan >= 0 and self.leads_on(plan, node, m):
            arm = self.next_of_plan(plan, unit, m)
            if arm >= 0:
                self.prescribe(arm)
                self.reason = c.FORCED
                return arm
        self.explain(unit, m)
        if self.floor > 0.0:
            self.keep_floor(self.floor)
            return self.take_or_explore(self.best(c.Q_HAT), c.ONLY_FEASIBLE if feasible == 1 else c.GREEDY, u)
        return self.explore(feasible - 1, u)

    def explain(self, unit: int, m: int) -> None:
        """Write down Q̂."""
        self.write_hat(m)

    def explore(self, others: int, u: float) -> int:
        """Take the greedy arm, or when u < ε one of the others, uniformly."""
        greedy = self.best(c.Q_HAT)
        if others == 0:
            self.sheet[c.PROPENSITY, greedy] = 1.0
            self.reason = c.ONLY_FEASIBLE
            return greedy
        pick = -1
        while u < self.epsilon and pick + 1 < others and pick + 1 <= u / self.epsilon * others:
            pick += 1
        arm, passed = greedy, 0
        for a in range(self.width):
            if self.sheet[c.CONTENDER, a] > 0.0:
                if a == greedy:
                    self.sheet[c.PROPENSITY, a] = 1.0 - self.epsilon
                else:
                    self.sheet[c.PROPENSITY, a] = self.epsilon / others
                    if passed == pick:
                        arm = a
                    passed += 1
        self.reason = c.EXPLORE if pick >= 0 else c.GREEDY
        return arm

    # -- initial pulls ---------------------------------------------------------------------------------------

    def next_pull(self) -> int:
        """Return the index of the next initial pull, −1 when all are made; plans with a closed arm are skipped."""
        for index in range(self.made, self.owed):
            if self.leads_on(self.pulls[index], 0, 0):
                return index
        return -1

    def plan_of_pull(self, index: int) -> int:
        """Return the plan of an initial pull, −1 if there is none."""
        if index < 0:
            return -1
        plan: int = self.pulls[index]
        return plan

    def note(self, fact: int, unit: int, m: int, value: float) -> None:
        """Count an initial pull; one that ends before its last arm is made up for (docs/readings.md, 10).

        So ends that of a unit that left, was lost, is void, or for which a later arm is contraindicated.
        """
        if fact == c.GIVEN and m == 0:
            self.pull_if_possible(unit)
        elif self.pulled[unit] >= 0 and self.ends(fact, unit, m):
            self.pulls[self.owed] = self.pulled[unit]
            self.owed += 1
            self.pulled[unit] = -1  # owed once, whatever else befalls the unit

    def pull_if_possible(self, unit: int) -> None:
        """Take the next initial pull for a unit that can take it; otherwise it stays for the next unit."""
        index = self.next_pull()
        if index >= 0 and self.leads_on(self.pulls[index], self.observed.nodes[unit, 0], 0):
            self.pulled[unit] = self.pulls[index]
            self.made = index + 1

    def ends(self, fact: int, unit: int, m: int) -> bool:
        """Say whether a fact ends a unit's initial pull before its last arm."""
        if fact == c.GIVEN:  # another arm than the plan's, since that is contraindicated or closed
            plan, node = self.pulled[unit], self.observed.nodes[unit, m]
            return self.next_of_plan(plan, unit, m) >= 0 and not self.leads_on(plan, node, m)
        return fact == c.LEFT or fact == c.VOIDED or (fact == c.LOST and m < self.observed.stages)

    def assume(self, unit: int, m: int, arm: int, forced: bool) -> None:
        """Note the initial pull that the unit's later stages look for."""
        if m == 0 and forced:
            self.pulled[unit] = self.plan_of_pull(self.next_pull())

    def undo(self, unit: int, m: int) -> None:
        """Undo ``assume``: the unit has no initial pull."""
        self.pulled[unit] = -1

    # -- from Python -----------------------------------------------------------------------------------------

    def make_room(self, capacity: int, nodes: int) -> None:
        """Make room for so many units: each of them may have to be made up for."""
        super().make_room(capacity, nodes)
        grow(self, {"pulls": 0}, self.initial + capacity)
        grow(self, {"pulled": -1}, capacity)

    def fault(self) -> str:
        """Say what is wrong with what was loaded: each unit is owed one pull at the most, so that there is room."""
        if not (0 <= self.made <= self.owed and self.initial <= self.owed <= len(self.pulls)):
            return "'made' and 'owed' are not numbers of pulls"
        if is_outside(self.pulls, 0, self.plan_count) or is_outside(self.pulled, -1, self.plan_count):
            return "'pulls' or 'pulled' names a plan that is not there"
        come, pulled = has_come(self.observed), np.asarray(self.pulled) >= 0
        if pulled[self.capacity :].any() or (pulled[: self.capacity] & ~come).any():
            return "'pulled' names a unit that has not come"
        return "'owed' is more than units owe" if self.owed - self.initial + pulled.sum() > come.sum() else ""
