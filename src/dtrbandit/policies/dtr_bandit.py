"""DTRBandit: Algorithm 1 of the paper, and Algorithms 3 (delay) and 4 (K arms), which are the same rule.

Two estimates of each Q-function are kept. Q̃ learns from forced rounds only: few, but clean. Q̂ learns from all.
In a free round, at each stage m:

    K̂ = { a feasible : max_i Q̃_m(h, i) − Q̃_m(h, a) ≤ Δ_m / 2 }
    pull argmax_{a ∈ K̂} Q̂_m(h, a)

With two arms this is Algorithm 1: if Q̃ tells the arms apart by more than Δ_m/2, K̂ has one arm, else both. With
Q̃ as it was at e_t, the last forced round before t, it is Algorithm 3. With a floor another arm is drawn at times; it
teaches Q̂ and never Q̃ (policies/floor.py).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dtrbandit.design.parameters import each, positive, whole
from dtrbandit.design.schedule import place
from dtrbandit.design.spec import Design
from dtrbandit.errors import DesignError
from dtrbandit.estimators.estimates import Estimates, per_stage, rows_by_arm
from dtrbandit.estimators.exact import EXACT, q_hat
from dtrbandit.estimators.exact_layout import Beliefs
from dtrbandit.estimators.forced import forced_induction
from dtrbandit.estimators.observed import AMENDED, ARRIVED, CLOSED, COMPLETED, GIVEN, VOIDED, Observed, longer
from dtrbandit.kernels.arrays import Floats, Integers, Matrix, Truth, Vector, Whole
from dtrbandit.kernels.compile import kernel
from dtrbandit.policies.compiled_policy import ONE_ARM, CompiledPolicy, CompiledState
from dtrbandit.policies.floor import accept_floor, fitting_floor, keep_floor, no_floor, take_or_explore
from dtrbandit.policies.plans import leads_on, next_of_plan
from dtrbandit.policies.rule import Rule
from dtrbandit.policies.said import in_words
from dtrbandit.policies.sheet import (
    CLEAR,
    CLOSE,
    CONTENDER,
    FORCED,
    ONLY_FEASIBLE,
    PROPENSITY,
    Q_HAT,
    Q_TILDE,
    ArmAndReason,
    best,
    clear_sheet,
    prescribe,
    write_tilde,
)

ROUNDS_EACH, PERMUTED, FLOOR, DELTA = range(4)  # places of q, the schedule, the floor and the first Δ_m in numbers
FORCED_UNITS, STALE = 0, 1  # entries of the tally
LIVE = 0  # the Q̃ that still learns; 1 + n is the one frozen after forced block n
BLOCKS = 64  # forced blocks double in distance: more than any trial will see
MOST_PULLS = 1_000_000


class Memory(NamedTuple):
    """What DTRBandit remembers beside Q̂."""

    numbers: Vector  # q, whether blocks are permuted, the floor, Δ_m for each stage
    plans: NDArray[np.int64]  # (P, M): feasible plans
    tally: NDArray[np.int64]  # (2,): FORCED_UNITS; STALE, so many stages of Q̃ wait to be refitted
    tilde: NDArray[np.float64]  # (1 + BLOCKS, M, K, D): coefficients of Q̃, NaN where there are none
    frozen: NDArray[np.bool_]  # (BLOCKS,): whether Q̃ was frozen after the block
    drawn: NDArray[np.int64]  # (BLOCKS, nodes, K): slots of a permuted block that are used up
    scheduled: NDArray[np.int8]  # (capacity, M): the arm scheduled in a forced round, −1 where none was
    forced: NDArray[np.int32]  # (capacity,): the units of forced rounds, in order
    planned: NDArray[np.int32]  # (capacity,): the plan of a forced round that the unit can take still, −1 for none


@dataclass(frozen=True, kw_only=True, repr=False)
class DTRBandit(CompiledPolicy):
    """The paper's algorithm.

    Parameters
    ----------
    q
        How many rounds in a row a forced block gives each plan.
    delta
        Δ_m, a number or one per stage: Q̃ rules an arm out when it is worse by more than half of it. The paper
        advises a small q and a Δ that is large compared to the scale of outcomes.
    schedule
        ``"paper"``, or ``"permuted"``: the plans of a forced block in random order, so that no one can guess
        the next.
    floor
        The least probability of every feasible arm in a free round, at most one over the arms of a stage. Above 0
        regret grows linearly.

    Examples
    --------
    >>> DTRBandit(q=5, delta=0.5)
    DTRBandit(q=5, delta=0.5, schedule='paper')
    """

    q: int
    delta: float | tuple[float, ...]
    schedule: Literal["paper", "permuted"] = "paper"
    floor: float = no_floor()

    def __post_init__(self) -> None:
        object.__setattr__(self, "q", whole(self.q, "DTRBandit: q", low=1, high=MOST_PULLS))
        object.__setattr__(self, "delta", each(self.delta, "DTRBandit: delta", positive))
        if self.schedule not in ("paper", "permuted"):
            raise DesignError(f"DTRBandit: schedule must be 'paper' or 'permuted', found {self.schedule!r}")
        object.__setattr__(self, "floor", accept_floor(self.floor, "DTRBandit"))

    __repr__ = in_words

    @property
    def compiled_rule(self) -> Rule:
        """What it hands to the switch."""
        return RULE

    def memory(self, design: Design) -> Memory:
        """Return its memory before the first unit."""
        stages, shape = len(design.stages), (max(design.arm_counts), max(design.dimensions))
        floor = fitting_floor(self.floor, design, "DTRBandit")
        return Memory(
            numbers=np.array([self.q, self.schedule == "permuted", floor, *self._deltas(stages)], dtype=np.float64),
            plans=np.array(design.arm_plans, dtype=np.int64),
            tally=np.zeros(2, dtype=np.int64),
            tilde=np.full((1 + BLOCKS, stages, *shape), np.nan),
            frozen=np.zeros(BLOCKS, dtype=np.bool_),
            drawn=np.zeros((BLOCKS, *design.tree.child.shape), dtype=np.int64),
            scheduled=np.zeros((0, stages), dtype=np.int8),
            forced=np.zeros(0, dtype=np.int32),
            planned=np.zeros(0, dtype=np.int32),
        )

    def _deltas(self, stages: int) -> tuple[float, ...]:
        delta = self.delta if isinstance(self.delta, tuple) else (self.delta,) * stages
        if len(delta) != stages:
            raise DesignError(f"DTRBandit: delta has {len(delta)} numbers for a design of {stages} stages")
        return delta

    def estimates(self, state: CompiledState) -> Estimates:
        """Return the coefficients of Q̂ and of Q̃ as it is now."""
        state.settle()
        design, observed, beliefs, memory = state.design, state.observed, state.beliefs, state.memory
        forced = (memory.scheduled >= 0) & (memory.scheduled == observed.arms)
        return state.estimates()._replace(
            tilde=per_stage(design, memory.tilde[LIVE]),
            tilde_rows=rows_by_arm(design, observed, beliefs.counted & forced),
        )


@kernel
def decide(
    observed: Observed, beliefs: Beliefs, memory: Memory,
    unit: Whole, m: Whole, node: Whole, psi: Vector, u: float, sheet: Matrix,
) -> ArmAndReason:  # fmt: skip
    """Pull as Algorithm 4 says (with two arms Algorithm 1, under delay Algorithm 3); return the arm and the reason."""
    forced, latest, offset = place_of(observed, memory, unit)
    feasible = clear_sheet(observed.child, node, sheet)
    if forced:
        arm = scheduled_arm(observed, memory, latest, offset, unit, m, node, u, sheet)
        if arm >= 0:
            return arm, FORCED
    explain(observed, beliefs, memory, unit, m, psi, sheet)
    keep_floor(sheet, memory.numbers[FLOOR])
    contenders = keep_contenders(sheet, memory.numbers[DELTA + m])
    reason = ONLY_FEASIBLE if feasible == 1 else CLEAR if contenders == 1 else CLOSE
    return take_or_explore(sheet, best(sheet, Q_HAT), reason, u)


@kernel
def explain(
    observed: Observed, beliefs: Beliefs, memory: Memory, unit: Whole, m: Whole, psi: Vector, sheet: Matrix
) -> None:
    """Write down Q̂, and Q̃ as it was at e_t, the last forced round before this one."""
    _, latest, _ = place_of(observed, memory, unit)
    q_hat(observed, beliefs, m, psi, sheet[Q_HAT])
    if memory.frozen[latest]:
        write_tilde(memory.tilde[1 + latest], observed.shape, m, psi, sheet)
    else:
        refit_forced(observed, memory, m)
        write_tilde(memory.tilde[LIVE], observed.shape, m, psi, sheet)


@kernel
def keep_contenders(sheet: Matrix, delta: float) -> int:
    """Keep K̂, the arms whose Q̃ is within Δ/2 of the best (Algorithm 4, line 8), and return how many these are.

    An arm without Q̃ is never filtered out, and filters nothing out (docs/readings.md, 3).
    """
    top, contenders = -np.inf, 0
    for a in range(sheet.shape[1]):
        if sheet[CONTENDER, a] > 0.0 and sheet[Q_TILDE, a] > top:
            top = sheet[Q_TILDE, a]
    for a in range(sheet.shape[1]):
        if top - sheet[Q_TILDE, a] > delta / 2:
            sheet[CONTENDER, a] = 0.0
        if sheet[CONTENDER, a] > 0.0:
            contenders += 1
    return contenders


# -- forced rounds -------------------------------------------------------------------------------------------


@kernel
def place_of(observed: Observed, memory: Memory, unit: Whole) -> tuple[Truth, int, Whole]:
    """Return where a unit's round stands in the schedule: (forced, latest, offset)."""
    first: np.int64 = observed.taught[0]
    return place(unit + 1 - first, memory.plans.shape[0], np.int64(memory.numbers[ROUNDS_EACH]))


@kernel
def scheduled_arm(
    observed: Observed, memory: Memory, latest: Whole, offset: Whole,
    unit: Whole, m: Whole, node: Whole, u: float, sheet: Matrix,
) -> np.int64:  # fmt: skip
    """Return the arm that the schedule prescribes, or −1 if this unit cannot take what is left of its plan."""
    if memory.numbers[PERMUTED] > 0.0:
        return drawn_arm(observed, memory, memory.drawn[latest], unit, m, node, u, sheet)
    plan = plan_of_slot(observed, memory, offset) if m == 0 else np.int64(memory.planned[unit])
    if plan < 0 or not leads_on(observed, memory.plans, plan, node, m):
        return np.int64(-1)
    arm = next_of_plan(observed.following, observed.arms, memory.plans, plan, unit, m)
    if arm >= 0:
        prescribe(sheet, arm)
    return arm


@kernel
def plan_of_slot(observed: Observed, memory: Memory, offset: Whole) -> np.int64:
    """Return the plan of a place in a forced block. The slots of closed plans go to the others, in order."""
    plans, q, root = memory.plans, np.int64(memory.numbers[ROUNDS_EACH]), np.int64(0)
    plan, slot = np.int64(offset // q), np.int64(offset % q)
    if leads_on(observed, plans, plan, root, root):
        return plan
    for other in range(plan):
        if not leads_on(observed, plans, other, root, root):
            slot += q
    slot %= open_plans(observed, plans)
    for other in range(plans.shape[0]):
        if leads_on(observed, plans, other, root, root):
            if slot == 0:
                return np.int64(other)
            slot -= 1
    return np.int64(-1)


@kernel
def open_plans(observed: Observed, plans: Integers) -> np.int64:
    """Return how many plans have no closed arm."""
    count = np.int64(0)
    for plan in range(plans.shape[0]):
        if leads_on(observed, plans, plan, np.int64(0), np.int64(0)):
            count += 1
    return count


@kernel
def drawn_arm(
    observed: Observed, memory: Memory, drawn: Integers,
    unit: Whole, m: Whole, node: Whole, u: float, sheet: Matrix,
) -> np.int64:  # fmt: skip
    """Draw from the block's remaining plans that agree with this unit so far (docs/readings.md, 12).

    The slots of closed plans are shared by the others. An arm that leads to no plan that the unit can take is left out.
    """
    following, plans, scheduled = observed.following, memory.plans, memory.scheduled
    place, remaining = np.int64(0), 0.0
    each = memory.numbers[ROUNDS_EACH] * plans.shape[0] / open_plans(observed, plans)
    for k in range(m):
        if scheduled[unit, k] < 0:
            return np.int64(-1)
        place = np.int64(following[place, scheduled[unit, k]])
    for a in range(sheet.shape[1]):
        possible: Truth
        slots, possible = 0.0, False
        for plan in range(plans.shape[0]):
            agrees = plans[plan, m] == a
            for k in range(m):
                agrees = agrees and plans[plan, k] == scheduled[unit, k]
            if agrees and leads_on(observed, plans, plan, place, m):
                slots += each
                if leads_on(observed, plans, plan, node, m):
                    possible = possible or next_of_plan(following, observed.arms, plans, plan, unit, m) >= 0
        sheet[PROPENSITY, a] = max(slots - drawn[place, a], 0.0) if possible else 0.0
        remaining += sheet[PROPENSITY, a]
    return draw(sheet, u, remaining)


@kernel
def draw(sheet: Matrix, u: float, total: float) -> np.int64:
    """Draw an arm in proportion to the weights in PROPENSITY, which become probabilities; −1 if all are zero."""
    arm, below = np.int64(-1), 0.0
    for a in range(sheet.shape[1]):
        weight = sheet[PROPENSITY, a]
        if weight > 0.0 and (arm < 0 or below <= u * total):
            arm = np.int64(a)
        below += weight
    if arm >= 0:
        for a in range(sheet.shape[1]):
            sheet[CONTENDER, a] = 1.0 if sheet[PROPENSITY, a] > 0.0 else 0.0
            sheet[PROPENSITY, a] /= total
    return arm


# -- what is noted -------------------------------------------------------------------------------------------


@kernel
def note(observed: Observed, memory: Memory, fact: Whole, unit: Whole, m: Whole, value: float) -> None:
    """Keep the schedule and Q̃ up to date (Algorithm 1, line 5)."""
    if fact == GIVEN:
        note_assignment(observed, memory, unit, m, value > 0.0)
    elif fact == CLOSED:
        memory.tally[STALE] = observed.shape.shape[0]
    elif memory.scheduled[unit, 0] >= 0:  # a forced round: rows of Q̃ change, up to a stage
        if fact == COMPLETED:
            memory.tally[STALE] = max(memory.tally[STALE], m + 1)
        elif fact == ARRIVED and m > 0:
            memory.tally[STALE] = max(memory.tally[STALE], m)
        elif fact in (AMENDED, VOIDED):
            memory.tally[STALE] = observed.shape.shape[0]


@kernel
def note_assignment(observed: Observed, memory: Memory, unit: Whole, m: Whole, forced: Truth) -> None:
    """Remember a scheduled arm; on the first free round after a forced block, freeze Q̃ (docs/readings.md, 3)."""
    in_block, latest, _ = place_of(observed, memory, unit)
    keep_plan(observed, memory, unit, m, forced)
    if forced:
        if m == 0:
            memory.forced[memory.tally[FORCED_UNITS]] = unit
            memory.tally[FORCED_UNITS] += 1
        memory.scheduled[unit, m] = observed.arms[unit, m]
        if memory.numbers[PERMUTED] > 0.0:
            use_up(observed.following, memory.scheduled, memory.drawn, latest, unit, m)
    elif m == 0 and not in_block and not memory.frozen[latest]:
        settle(observed, memory)
        memory.frozen[latest] = True
        freeze(memory.tilde, latest)


@kernel
def keep_plan(observed: Observed, memory: Memory, unit: Whole, m: Whole, forced: Truth) -> None:
    """Remember a unit's plan in a forced round, until the unit cannot take it: then all its later stages are free.

    An override that makes it infeasible leaves it in place, as it may be amended again.
    """
    if m == 0:
        _, _, offset = place_of(observed, memory, unit)
        memory.planned[unit] = plan_of_slot(observed, memory, offset) if forced else np.int64(-1)
    elif not forced and memory.planned[unit] >= 0:
        plan = np.int64(memory.planned[unit])
        if next_of_plan(observed.following, observed.arms, memory.plans, plan, unit, m) >= 0:
            memory.planned[unit] = -1


@kernel
def use_up(following: Integers, scheduled: Integers, drawn: Integers, latest: Whole, unit: Whole, m: Whole) -> None:
    """Take the arm scheduled for a unit from those that remain in its block."""
    node = np.int64(0)
    for k in range(m):
        node = np.int64(following[node, scheduled[unit, k]])
    drawn[latest, node, scheduled[unit, m]] += 1


@kernel
def freeze(tilde: Floats, latest: Whole) -> None:
    """Keep Q̃ as it is now for the rounds after a forced block."""
    for k in range(tilde.shape[1]):
        for a in range(tilde.shape[2]):
            for j in range(tilde.shape[3]):
                tilde[1 + latest, k, a, j] = tilde[LIVE, k, a, j]


@kernel
def refit_forced(observed: Observed, memory: Memory, first: Whole) -> None:
    """Refit Q̃ where its rows have changed since it was last read, down to stage ``first``."""
    if memory.tally[STALE] > first:
        forced_induction(
            observed, memory.forced, memory.tally[FORCED_UNITS], memory.scheduled, memory.tilde[LIVE],
            first, memory.tally[STALE] - 1,
        )  # fmt: skip
        memory.tally[STALE] = first


@kernel
def settle(observed: Observed, memory: Memory) -> None:
    """Refit all stages of Q̃ whose rows have changed."""
    refit_forced(observed, memory, np.int64(0))


@kernel
def suppose(observed: Observed, memory: Memory, unit: Whole, m: Whole, arm: Whole, forced: Truth) -> None:
    """Note a scheduled arm that the unit's later stages look for."""
    keep_plan(observed, memory, unit, m, forced)
    if forced:
        memory.scheduled[unit, m] = arm


@kernel
def retract(memory: Memory, unit: Whole, m: Whole) -> None:
    """Take a supposed arm back."""
    memory.scheduled[unit, m] = -1
    memory.planned[unit] = -1


def grow(memory: Memory, capacity: int) -> Memory:
    """Return the memory with room for ``capacity`` units."""
    return memory._replace(
        scheduled=longer(memory.scheduled, capacity, -1),
        forced=longer(memory.forced, capacity, 0),
        planned=longer(memory.planned, capacity, -1),
    )


RULE = Rule(
    name="dtr_bandit",
    estimator=EXACT,
    decide=decide,
    explain=explain,
    example=DTRBandit(q=1, delta=1.0).memory(ONE_ARM),
    note=note,
    settle=settle,
    suppose=suppose,
    retract=retract,
    grow=grow,
    knows_units=True,
)
