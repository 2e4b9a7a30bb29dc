"""DTRBandit: Algorithm 1 of the paper, and Algorithms 3 (delay) and 4 (K arms), which are the same rule.

Two estimates of each Q-function are kept. Q̃ learns from forced rounds only: few, but clean. Q̂ learns from all.
In a free round, at each stage m:

    K̂ = { a feasible : max_i Q̃_m(h, i) − Q̃_m(h, a) ≤ Δ_m / 2 }
    pull argmax_{a ∈ K̂} Q̂_m(h, a)

With two arms this is Algorithm 1: if Q̃ tells the arms apart by more than Δ_m/2, K̂ has one arm, else both. With
Q̃ as it was at e_t, the last forced round before t, it is Algorithm 3.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from dtrbandit.design.formula import Vector
from dtrbandit.design.parameters import each, positive, whole
from dtrbandit.design.schedule import place
from dtrbandit.design.spec import Design
from dtrbandit.errors import DesignError
from dtrbandit.estimators.estimates import Estimates, hat_coefficients, per_stage, rows_by_arm
from dtrbandit.estimators.forced import forced_induction
from dtrbandit.kernels.compile import kernel
from dtrbandit.policies.compiled_policy import CompiledPolicy, CompiledState
from dtrbandit.policies.memory import (
    CLEAR,
    CLOSE,
    CONTENDER,
    DTR_BANDIT,
    FORCED,
    FORCED_UNITS,
    LIVE,
    ONLY_FEASIBLE,
    PROPENSITY,
    Q_HAT,
    Q_TILDE,
)
from dtrbandit.policies.rules import best, next_of_plan, show_hat, show_nothing, show_only, show_tilde

ROUNDS_EACH, PERMUTED, DELTA = 0, 1, 2  # places of q, of the schedule and of the first Δ_m among the numbers
MOST_PULLS = 1_000_000


@dataclass(frozen=True, kw_only=True)
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

    Examples
    --------
    >>> DTRBandit(q=5, delta=0.5)
    DTRBandit(q=5, delta=0.5, schedule='paper')
    """

    q: int
    delta: float | tuple[float, ...]
    schedule: Literal["paper", "permuted"] = "paper"

    def __post_init__(self) -> None:
        object.__setattr__(self, "q", whole(self.q, "DTRBandit: q", low=1, high=MOST_PULLS))
        object.__setattr__(self, "delta", each(self.delta, "DTRBandit: delta", positive))
        if self.schedule not in ("paper", "permuted"):
            raise DesignError(f"DTRBandit: schedule must be 'paper' or 'permuted', found {self.schedule!r}")

    @property
    def kind(self) -> int:
        """Its number in the switch."""
        return DTR_BANDIT

    def estimates(self, state: CompiledState) -> Estimates:
        """Return the coefficients of Q̂ and of Q̃ as it is now."""
        learner, memory = state.learner, state.memory
        stages = len(state.design.stages)
        forced = (memory.scheduled >= 0) & (memory.scheduled == learner.marks[:, stages : 2 * stages])
        return Estimates(
            hat_coefficients(state.design, learner),
            per_stage(state.design, memory.tilde[LIVE]),
            rows_by_arm(state.design, learner),
            rows_by_arm(state.design, learner, forced),
        )

    def numbers(self, design: Design) -> Vector:
        """Return q, whether blocks are permuted, and Δ_m for each stage."""
        delta = self.delta if isinstance(self.delta, tuple) else (self.delta,) * len(design.stages)
        if len(delta) != len(design.stages):
            raise DesignError(f"DTRBandit: delta has {len(delta)} numbers for a design of {len(design.stages)} stages")
        return np.array([self.q, self.schedule == "permuted", *delta], dtype=np.float64)


@kernel
def decide(learner, memory, unit, m, node, psi, u, shown):
    """Pull as Algorithm 4 says (with two arms Algorithm 1, under delay Algorithm 3); return the arm and the reason."""
    forced, latest, offset = place(unit + 1, memory.plans.shape[0], np.int64(memory.numbers[ROUNDS_EACH]))
    page = 1 + latest if memory.frozen[latest] else LIVE
    feasible = show_nothing(learner.child, node, shown)
    show_hat(learner.pages, learner.tallies, learner.shape, m, psi, shown)
    show_tilde(memory.tilde, learner.shape, page, m, psi, shown)

    arm, reason = np.int64(-1), FORCED
    if forced:
        arm = scheduled_arm(
            learner.child, learner.marks, memory.plans, memory.numbers, memory.scheduled, memory.drawn[latest],
            unit, m, offset, u, shown,
        )  # fmt: skip
    if arm < 0:
        contenders = keep_contenders(shown, memory.numbers[DELTA + m])
        arm = best(shown, Q_HAT)
        shown[PROPENSITY, arm] = 1.0
        reason = ONLY_FEASIBLE if feasible == 1 else CLEAR if contenders == 1 else CLOSE
    return arm, reason


@kernel
def keep_contenders(shown, delta):
    """Keep K̂, the arms whose Q̃ is within Δ/2 of the best (Algorithm 4, line 8), and return how many these are.

    An arm without Q̃ is never filtered out, and filters nothing out (docs/readings.md, 3).
    """
    top, contenders = -np.inf, 0
    for a in range(shown.shape[1]):
        if shown[CONTENDER, a] > 0.0 and shown[Q_TILDE, a] > top:
            top = shown[Q_TILDE, a]
    for a in range(shown.shape[1]):
        if top - shown[Q_TILDE, a] > delta / 2:
            shown[CONTENDER, a] = 0.0
        if shown[CONTENDER, a] > 0.0:
            contenders += 1
    return contenders


# -- forced rounds -------------------------------------------------------------------------------------------


@kernel
def scheduled_arm(child, marks, plans, numbers, scheduled, drawn, unit, m, offset, u, shown):
    """Return the arm that the schedule prescribes, or −1 if an override has freed this round."""
    q = np.int64(numbers[ROUNDS_EACH])
    if numbers[PERMUTED] > 0.0:
        return drawn_arm(child, marks, plans, scheduled, drawn, q, unit, m, u, shown)
    arm = next_of_plan(child, marks, plans, offset // q, unit, m)
    if arm >= 0:
        show_only(shown, arm)
    return arm


@kernel
def drawn_arm(child, marks, plans, scheduled, drawn, q, unit, m, u, shown):
    """Draw from the block's remaining plans that agree with this unit so far (docs/readings.md, 12)."""
    node, remaining = np.int64(0), 0.0
    for k in range(m):
        if scheduled[unit, k] < 0:
            return np.int64(-1)
        node = np.int64(child[node, scheduled[unit, k]])
    for a in range(shown.shape[1]):
        slots, possible = 0.0, False
        for plan in range(plans.shape[0]):
            agrees = plans[plan, m] == a
            for k in range(m):
                agrees = agrees and plans[plan, k] == scheduled[unit, k]
            if agrees:
                slots += q
                possible = possible or next_of_plan(child, marks, plans, plan, unit, m) >= 0
        shown[PROPENSITY, a] = slots - drawn[node, a] if possible else 0.0
        remaining += shown[PROPENSITY, a]
    return draw(shown, u, remaining)


@kernel
def draw(shown, u, total):
    """Draw an arm in proportion to the weights in PROPENSITY, which become probabilities; −1 if all are zero."""
    arm, below = np.int64(-1), 0.0
    for a in range(shown.shape[1]):
        weight = shown[PROPENSITY, a]
        if weight > 0.0 and (arm < 0 or below <= u * total):
            arm = np.int64(a)
        below += weight
    if arm >= 0:
        for a in range(shown.shape[1]):
            shown[CONTENDER, a] = 1.0 if shown[PROPENSITY, a] > 0.0 else 0.0
            shown[PROPENSITY, a] /= total
    return arm


# -- learning ------------------------------------------------------------------------------------------------


@kernel
def note_assignment(learner, memory, unit, m, arm, forced):
    """Remember a scheduled arm; on the first free round after a forced block, freeze Q̃ (docs/readings.md, 3)."""
    in_block, latest, _ = place(unit + 1, memory.plans.shape[0], np.int64(memory.numbers[ROUNDS_EACH]))
    if forced:
        if m == 0:
            memory.forced[memory.tally[FORCED_UNITS]] = unit
            memory.tally[FORCED_UNITS] += 1
        memory.scheduled[unit, m] = arm
        if memory.numbers[PERMUTED] > 0.0:
            use_up(learner.child, memory.scheduled, memory.drawn, latest, unit, m)
    elif m == 0 and not in_block and not memory.frozen[latest]:
        memory.frozen[latest] = True
        freeze(memory.tilde, latest)


@kernel
def use_up(child, scheduled, drawn, latest, unit, m):
    """Take the arm scheduled for a unit from those that remain in its block."""
    node = np.int64(0)
    for k in range(m):
        node = np.int64(child[node, scheduled[unit, k]])
    drawn[latest, node, scheduled[unit, m]] += 1


@kernel
def freeze(tilde, latest):
    """Keep Q̃ as it is now for the rounds after a forced block."""
    for k in range(tilde.shape[1]):
        for a in range(tilde.shape[2]):
            for j in range(tilde.shape[3]):
                tilde[1 + latest, k, a, j] = tilde[LIVE, k, a, j]


@kernel
def learn_forced(learner, memory, unit, last):
    """Refit Q̃ up to stage ``last``, if the unit's round was forced (Algorithm 1, line 5)."""
    if memory.scheduled[unit, 0] >= 0:
        forced_induction(learner, memory.forced, memory.tally[FORCED_UNITS], memory.scheduled, memory.tilde, last)
