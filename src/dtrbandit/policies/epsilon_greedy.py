"""ε-Greedy (paper, section 5.1): initial pulls, then the best Q̂, and with probability ε another arm.

Greedy is the special case ε = 0, and may have a floor (policies/floor.py).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dtrbandit.design.parameters import real
from dtrbandit.design.spec import Design
from dtrbandit.estimators.estimates import Estimates
from dtrbandit.estimators.exact import EXACT, q_hat
from dtrbandit.estimators.exact_layout import Beliefs
from dtrbandit.estimators.observed import GIVEN, LEFT, LOST, VOIDED, Observed, longer
from dtrbandit.kernels.arrays import Matrix, Truth, Vector, Whole
from dtrbandit.kernels.compile import kernel
from dtrbandit.policies.compiled_policy import ONE_ARM, CompiledPolicy, CompiledState
from dtrbandit.policies.floor import accept_floor, fitting_floor, keep_floor, no_floor, take_or_explore
from dtrbandit.policies.plans import leads_on, next_of_plan
from dtrbandit.policies.rule import Rule
from dtrbandit.policies.said import in_words
from dtrbandit.policies.sheet import (
    CONTENDER,
    EXPLORE,
    FORCED,
    GREEDY,
    ONLY_FEASIBLE,
    PROPENSITY,
    Q_HAT,
    ArmAndReason,
    best,
    clear_sheet,
    prescribe,
)

PULLS, PULLED = range(2)  # entries of the tally: pulls to make in all, and pulls made
EPSILON, FLOOR = range(2)  # entries of the chances


class Memory(NamedTuple):
    """What ε-Greedy remembers beside Q̂."""

    chances: Vector  # (2,): EPSILON, FLOOR
    plans: NDArray[np.int64]  # (P, M): feasible plans
    tally: NDArray[np.int64]  # (2,): PULLS, PULLED
    pulls: NDArray[np.int32]  # (P d + capacity,): plans of initial pulls to make, in order
    pulled: NDArray[np.int32]  # (capacity,): the plan of a unit's initial pull, −1 for none


@dataclass(frozen=True, kw_only=True)
class EpsilonGreedy(CompiledPolicy):
    """Pull each feasible plan d times, then follow Q̂ with probability 1 − ε and explore with probability ε.

    With more than two arms, exploring is uniform over the other feasible arms.

    Examples
    --------
    >>> EpsilonGreedy(epsilon=0.1)
    EpsilonGreedy(epsilon=0.1)
    """

    epsilon: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", real(self.epsilon, "EpsilonGreedy: epsilon", low=0.0, high=1.0))

    @property
    def compiled_rule(self) -> Rule:
        """What it hands to the switch."""
        return RULE

    def memory(self, design: Design) -> Memory:
        """Return its memory before the first unit."""
        return first_memory(design, self.epsilon, 0.0)

    def estimates(self, state: CompiledState) -> Estimates:
        """Return the coefficients of Q̂."""
        return state.estimates()


@dataclass(frozen=True, kw_only=True, repr=False)
class Greedy(CompiledPolicy):
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

    floor: float = no_floor()

    def __post_init__(self) -> None:
        object.__setattr__(self, "floor", accept_floor(self.floor, "Greedy"))

    __repr__ = in_words

    @property
    def compiled_rule(self) -> Rule:
        """What it hands to the switch."""
        return RULE

    def memory(self, design: Design) -> Memory:
        """Return its memory before the first unit."""
        return first_memory(design, 0.0, fitting_floor(self.floor, design, "Greedy"))

    def estimates(self, state: CompiledState) -> Estimates:
        """Return the coefficients of Q̂."""
        return state.estimates()


def first_memory(design: Design, epsilon: float, floor: float) -> Memory:
    """Return the memory before the first unit: each feasible plan is to be pulled d times, consecutively."""
    pulls = np.repeat(np.arange(len(design.arm_plans), dtype=np.int32), max(design.dimensions))
    return Memory(
        chances=np.array([epsilon, floor]),
        plans=np.array(design.arm_plans, dtype=np.int64),
        tally=np.array([len(pulls), 0], dtype=np.int64),
        pulls=pulls,
        pulled=np.zeros(0, dtype=np.int32),
    )


def grow(memory: Memory, capacity: int) -> Memory:
    """Return the memory with room for ``capacity`` units: each of them may have to be made up for."""
    initial = len(memory.pulls) - len(memory.pulled)
    return memory._replace(
        pulls=longer(memory.pulls, initial + capacity, 0), pulled=longer(memory.pulled, capacity, -1)
    )


@kernel
def decide(
    observed: Observed, beliefs: Beliefs, memory: Memory,
    unit: Whole, m: Whole, node: Whole, psi: Vector, u: float, sheet: Matrix,
) -> ArmAndReason:  # fmt: skip
    """Make an initial pull, or act greedily, or explore when u < ε; return the arm and the reason."""
    feasible = clear_sheet(observed.child, node, sheet)
    plan = np.int64(memory.pulled[unit]) if m > 0 else plan_of_pull(memory, next_pull(observed, memory))
    if plan >= 0 and leads_on(observed, memory.plans, plan, node, m):
        arm = next_of_plan(observed.following, observed.arms, memory.plans, plan, unit, m)
        if arm >= 0:
            prescribe(sheet, arm)
            return arm, FORCED
    explain(observed, beliefs, memory, unit, m, psi, sheet)
    if memory.chances[FLOOR] > 0.0:
        keep_floor(sheet, memory.chances[FLOOR])
        return take_or_explore(sheet, best(sheet, Q_HAT), ONLY_FEASIBLE if feasible == 1 else GREEDY, u)
    return explore(sheet, feasible - 1, memory.chances[EPSILON], u)


@kernel
def explain(
    observed: Observed, beliefs: Beliefs, memory: Memory, unit: Whole, m: Whole, psi: Vector, sheet: Matrix
) -> None:
    """Write down Q̂."""
    q_hat(observed, beliefs, m, psi, sheet[Q_HAT])


@kernel
def explore(sheet: Matrix, others: Whole, epsilon: float, u: float) -> ArmAndReason:
    """Take the greedy arm, or when u < ε one of the others, uniformly."""
    greedy = best(sheet, Q_HAT)
    if others == 0:
        sheet[PROPENSITY, greedy] = 1.0
        return greedy, ONLY_FEASIBLE
    pick = min(int(u / epsilon * others), others - 1) if u < epsilon else -1
    arm, passed = greedy, 0
    for a in range(sheet.shape[1]):
        if sheet[CONTENDER, a] > 0.0:
            if a == greedy:
                sheet[PROPENSITY, a] = 1.0 - epsilon
            else:
                sheet[PROPENSITY, a] = epsilon / others
                if passed == pick:
                    arm = np.int64(a)
                passed += 1
    return arm, EXPLORE if pick >= 0 else GREEDY


# -- initial pulls -------------------------------------------------------------------------------------------


@kernel
def next_pull(observed: Observed, memory: Memory) -> np.int64:
    """Return the place of the next initial pull, −1 when all are made. Plans with a closed arm are passed over."""
    for place in range(memory.tally[PULLED], memory.tally[PULLS]):
        if leads_on(observed, memory.plans, plan_of_pull(memory, place), np.int64(0), np.int64(0)):
            return np.int64(place)
    return np.int64(-1)


@kernel
def plan_of_pull(memory: Memory, place: Whole) -> np.int64:
    """Return the plan of the initial pull at a place, −1 if there is none."""
    return np.int64(memory.pulls[place]) if place >= 0 else np.int64(-1)


@kernel
def note(observed: Observed, memory: Memory, fact: Whole, unit: Whole, m: Whole, value: float) -> None:
    """Count an initial pull; one that ends before its last arm is made up for (docs/readings.md, 10).

    So ends that of a unit that left, was lost, is void, or for which a later arm is contraindicated.
    """
    if fact == GIVEN and m == 0:
        pull_if_possible(observed, memory, unit)
        return
    ends: Truth = fact in (LEFT, VOIDED) or (fact == LOST and m < memory.plans.shape[1])
    if fact == GIVEN and memory.pulled[unit] >= 0:
        ends = is_barred(observed, memory, unit, m)
    if ends and memory.pulled[unit] >= 0:
        memory.pulls[memory.tally[PULLS]] = memory.pulled[unit]
        memory.tally[PULLS] += 1
        memory.pulled[unit] = -1  # owed once, whatever else befalls the unit


@kernel
def pull_if_possible(observed: Observed, memory: Memory, unit: Whole) -> None:
    """Take the next initial pull for a unit that can take it; otherwise it stays for the next unit."""
    place, root = next_pull(observed, memory), np.int64(observed.nodes[unit, 0])
    if place >= 0 and leads_on(observed, memory.plans, plan_of_pull(memory, place), root, np.int64(0)):
        memory.pulled[unit] = memory.pulls[place]
        memory.tally[PULLED] = place + 1


@kernel
def is_barred(observed: Observed, memory: Memory, unit: Whole, m: Whole) -> Truth:
    """Say whether a unit's initial pull can go on but for an arm that is contraindicated or closed."""
    plan, node = np.int64(memory.pulled[unit]), np.int64(observed.nodes[unit, m])
    if next_of_plan(observed.following, observed.arms, memory.plans, plan, unit, m) < 0:
        return False
    barred: Truth = not leads_on(observed, memory.plans, plan, node, m)
    return barred


@kernel
def suppose(observed: Observed, memory: Memory, unit: Whole, m: Whole, arm: Whole, forced: Truth) -> None:
    """Note the initial pull that the unit's later stages look for."""
    if m == 0 and forced:
        memory.pulled[unit] = plan_of_pull(memory, next_pull(observed, memory))


@kernel
def retract(memory: Memory, unit: Whole, m: Whole) -> None:
    """Take a supposed pull back."""
    memory.pulled[unit] = -1


RULE = Rule(
    name="epsilon_greedy",
    estimator=EXACT,
    decide=decide,
    explain=explain,
    example=first_memory(ONE_ARM, 0.0, 0.0),
    note=note,
    suppose=suppose,
    retract=retract,
    grow=grow,
    knows_units=True,
)
