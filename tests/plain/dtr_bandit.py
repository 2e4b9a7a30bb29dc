"""DTRBandit: Algorithm 1 of the paper, and Algorithms 3 (delay) and 4 (K arms), which are the same rule.

Two estimates of each Q-function are kept. Q̃ learns from forced rounds only: few, but clean. Q̂ learns from all.
In a free round, at each stage m:

    K̂ = { a feasible : max_i Q̃_m(h, i) − Q̃_m(h, a) ≤ Δ_m / 2 }
    pull argmax_{a ∈ K̂} Q̂_m(h, a)

With two arms this is Algorithm 1: if Q̃ tells the arms apart by more than Δ_m/2, K̂ has one arm, else both. With
Q̃ as it was at e_t, the last forced round before t, it is Algorithm 3.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dtrbandit.design.feasibility import Plan
from dtrbandit.design.spec import Design
from dtrbandit.design.values import each, positive, whole
from dtrbandit.errors import DesignError
from dtrbandit.kernels.arrays import Mask, Vector
from dtrbandit.policies.policy import Choice, certain, feasible_arms
from dtrbandit.record.events import (
    ArmClosed,
    Assigned,
    Completed,
    Corrected,
    Fact,
    Overridden,
    Responded,
    Taught,
    Voided,
)
from dtrbandit.record.histories import History
from plain.backward_induction import Coefficients, Fits, backward_induction, coefficients_of, q_values
from plain.masks import Pairs, can_take, plans_left
from plain.rules import Estimates, best, numbers, with_floor
from plain.samples import Samples
from plain.schedule import Place, next_of_plan, place


@dataclass
class DTRBanditState:
    """What DTRBandit has learnt."""

    design: Design
    delta: tuple[float, ...]  # Δ_m
    samples: Samples
    hat_fits: Fits
    tilde_fits: Fits
    hat: Coefficients  # of Q̂
    tilde: Coefficients  # of Q̃, now
    frozen: dict[int, Coefficients] = field(default_factory=dict)  # of Q̃ at e_t, by forced block
    scheduled: dict[int, dict[int, int]] = field(default_factory=dict)  # forced round → arm scheduled per stage
    drawn: dict[int, NDArray[np.int64]] = field(default_factory=dict)  # permuted block → (node, arm) used up
    planned: dict[int, Plan] = field(default_factory=dict)  # forced round → its plan, while the unit can take it
    slots: dict[int, Plan] = field(default_factory=dict)  # forced round → its slots so far in a permuted block


@dataclass(frozen=True, kw_only=True)
class DTRBandit:
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
    """

    q: int
    delta: float | tuple[float, ...]
    schedule: Literal["paper", "permuted"] = "paper"
    floor: float = 0.0

    def __post_init__(self) -> None:
        whole(self.q, "DTRBandit: q", low=1, high=1_000_000)
        object.__setattr__(self, "delta", each(self.delta, "DTRBandit: delta", positive))
        if self.schedule not in ("paper", "permuted"):
            raise DesignError(f"DTRBandit: schedule must be 'paper' or 'permuted', found {self.schedule!r}")

    def init(self, design: Design) -> DTRBanditState:
        """Return the state before the first unit."""
        samples = Samples(design)
        fits = backward_induction(design, samples)
        delta = self.delta if isinstance(self.delta, tuple) else (self.delta,) * len(design.stages)
        if len(delta) != len(design.stages):
            raise DesignError(f"DTRBandit: delta has {len(delta)} numbers for a design of {len(design.stages)} stages")
        none = coefficients_of(fits, design)
        return DTRBanditState(design, delta, samples, fits, fits, none, none)

    def decide(self, state: DTRBanditState, history: History, u: float) -> Choice:
        """Pull as Algorithm 4 says (with two arms Algorithm 1, under delay Algorithm 3)."""
        m, h, t = len(history.arms), history.features[-1], self._place(state, history)
        q_hat = q_values(state.hat[m], h)
        q_tilde = q_values(state.frozen.get(t.latest, state.tilde)[m], h)

        choice = self._forced(state, history, t, u) if t.forced else None
        if choice is None:
            contenders = filtered(q_tilde, feasible_arms(history), state.delta[m])
            reason = "clear" if len(contenders) == 1 else "close"
            if sum(history.feasible) == 1:
                reason = "only_feasible"
            choice = with_floor(best(q_hat, contenders), history, reason, self.floor, u)
            choice = choice._replace(contenders=contenders)
        return choice._replace(q_tilde=numbers(q_tilde), q_hat=numbers(q_hat))

    def update(self, state: DTRBanditState, history: History, event: Fact) -> DTRBanditState:
        """Learn from a fact: recompute β̂ and, in a forced round, β̃ (Algorithm 1, lines 5 and 13)."""
        if isinstance(event, ArmClosed):
            m = state.design.stage_number(event.stage)
            state.samples.close(m, state.design.stages[m].arms.index(event.arm))
            self._refit(state)
            self._refit_forced(state)
            return state
        if isinstance(event, Taught):  # rows of Q̂, and nothing else
            state.samples.teach(history)
            state.hat_fits = backward_induction(state.design, state.samples)
            state.hat = coefficients_of(state.hat_fits, state.design)
            return state
        t = self._place(state, history)
        match event:
            case Assigned(decision):
                keep = self._keep_slot if self.schedule == "permuted" else self._keep_plan
                keep(state, history, t, forced=decision.reason == "forced")
                if decision.reason == "forced":
                    state.scheduled.setdefault(history.round, {})[len(history.arms) - 1] = history.arms[-1]
                elif len(history.arms) == 1 and not t.forced:  # perhaps the first free round after these blocks
                    for block in range(t.latest + 1):
                        state.frozen.setdefault(block, state.tilde)
            case Responded() | Completed() | Overridden() | Corrected() | Voided():
                state.samples.forget(history) if isinstance(event, Voided) else state.samples.record(history)
                self._refit(state)
                if history.round in state.scheduled:
                    self._refit_forced(state)
        return state

    def _refit(self, state: DTRBanditState) -> None:
        state.hat_fits = backward_induction(state.design, state.samples)
        state.hat = coefficients_of(state.hat_fits, state.design)

    def _refit_forced(self, state: DTRBanditState) -> None:
        state.tilde_fits = backward_induction(state.design, state.samples, _forced_samples(state))
        state.tilde = coefficients_of(state.tilde_fits, state.design)

    def estimates(self, state: DTRBanditState) -> Estimates:
        """Return the coefficients of Q̂ and of Q̃ as it is now."""
        return Estimates(state.hat, state.tilde, state.hat_fits, state.tilde_fits)

    # -- forced rounds ---------------------------------------------------------------------------------------

    def _place(self, state: DTRBanditState, history: History) -> Place:
        return place(history.round, plans=len(state.design.arm_plans), q=self.q)

    def _forced(self, state: DTRBanditState, history: History, t: Place, u: float) -> Choice | None:
        """Return the scheduled arm, or None if an override has freed this round."""
        if self.schedule == "permuted":
            return self._drawn(state, history, t, u)
        plan = state.planned.get(history.round) if history.arms else self._plan_of_slot(state, t)
        if plan is None or not can_take(plan, state.design.arm_plans, history.arms, _barred(state, history)):
            return None
        arm = next_of_plan(plan, history.arms, state.design.tree)
        return None if arm is None else certain(arm, history, "forced")

    def _plan_of_slot(self, state: DTRBanditState, t: Place) -> Plan:
        """Return the plan of a place in a forced block; the rounds of closed plans go to the open ones, in order."""
        plans, closed = state.design.arm_plans, state.samples.closed
        rounds = [plan for plan in plans for _ in range(self.q)]
        still = plans_left(plans, (), closed)
        others = itertools.cycle(still)
        return [plan if plan in still else next(others) for plan in rounds][t.offset]

    def _keep_plan(self, state: DTRBanditState, history: History, t: Place, *, forced: bool) -> None:
        if len(history.arms) == 1:
            if forced:
                state.planned[history.round] = self._plan_of_slot(state, t)
        elif not forced and history.round in state.planned:
            plan = state.planned[history.round]
            if next_of_plan(plan, history.arms[:-1], state.design.tree) is not None:
                del state.planned[history.round]

    def _drawn(self, state: DTRBanditState, history: History, t: Place, u: float) -> Choice | None:
        """Draw from the block's remaining plans that agree with this unit so far (docs/readings.md, 12)."""
        m, slots = len(history.arms), state.slots.get(history.round, ())
        if len(slots) < m:
            return None
        plans, barred = state.design.arm_plans, _barred(state, history)
        possible = {
            plan[m]
            for plan in plans_left(plans, slots, state.samples.closed)
            if next_of_plan(plan, history.arms, state.design.tree) is not None
            if can_take(plan, plans, history.arms, barred)
        }
        remaining = self._remaining(state, slots, t)[: len(history.feasible)]
        remaining = np.where([arm in possible for arm in range(len(remaining))], remaining, 0.0)
        if remaining.sum() <= 0:
            return None
        arm = int(np.searchsorted(np.cumsum(remaining), u * remaining.sum(), side="right"))
        propensities = tuple((remaining / remaining.sum()).tolist())
        return Choice(arm, "forced", propensities)

    def _remaining(self, state: DTRBanditState, slots: Plan, t: Place) -> Vector:
        """Return how many slots of each arm are left in a block, for a unit that has had these."""
        plans, child = state.design.arm_plans, state.design.tree.child
        each = self.q * len(plans) / len(plans_left(plans, (), state.samples.closed))
        agreeing = plans_left(plans, slots, state.samples.closed)
        count = np.bincount([plan[len(slots)] for plan in agreeing], minlength=child.shape[1]) * each
        used = state.drawn.get(t.latest, np.zeros_like(child))[state.design.tree.after(slots)]
        left: Vector = np.maximum(count - used, 0.0)
        return left

    def _keep_slot(self, state: DTRBanditState, history: History, t: Place, *, forced: bool) -> None:
        """Use up a slot: the one that was followed, or one that overrides kept the unit from following."""
        slots, m = state.slots.get(history.round, ()), len(history.arms) - 1
        if len(slots) < m or (m == 0 and not forced):
            return
        slot = history.arms[-1] if forced else self._missed(state, history, slots, t)
        if slot is None:
            del state.slots[history.round]
            return
        used = state.drawn.setdefault(t.latest, np.zeros_like(state.design.tree.child))
        used[state.design.tree.after(slots), slot] += 1
        state.slots[history.round] = (*slots, slot)

    def _missed(self, state: DTRBanditState, history: History, slots: Plan, t: Place) -> int | None:
        """Return a slot that overrides made infeasible, of the given arm if there is one; None if they did not."""
        remaining, m = self._remaining(state, slots, t), len(slots)
        left = [p for p in plans_left(state.design.arm_plans, slots, state.samples.closed) if remaining[p[m]] > 0]
        if any(next_of_plan(plan, history.arms[:-1], state.design.tree) is not None for plan in left):
            return None
        arms = [plan[m] for plan in left]
        return history.arms[-1] if history.arms[-1] in arms else min(arms, default=None)  # the first: plans are sorted


def _barred(state: DTRBanditState, history: History) -> Pairs:
    """Return what is contraindicated for a unit that has arrived, or closed."""
    return {*(history.excluded[-1] if history.excluded else ()), *state.samples.closed}


def filtered(q_tilde: Vector, arms: tuple[int, ...], delta: float) -> tuple[int, ...]:
    """Return K̂: the arms whose Q̃ is within Δ/2 of the best (Algorithm 4, line 8).

    An arm without Q̃ is never filtered out, and filters nothing out (docs/readings.md, 3).
    """
    top = max((q_tilde[arm] for arm in arms if q_tilde[arm] == q_tilde[arm]), default=0.0)
    return tuple(arm for arm in arms if not top - q_tilde[arm] > delta / 2)


def _forced_samples(state: DTRBanditState) -> Mask:
    """Return which rows are forced samples, (n, M): the scheduled arm is what was given."""
    mask = np.zeros(state.samples.arm.shape, dtype=np.bool_)
    for t, arms in state.scheduled.items():
        line = state.samples.taught + t - 1
        for m, arm in arms.items():
            if line < len(mask):
                mask[line, m] = state.samples.arm[line, m] == arm
    return mask
