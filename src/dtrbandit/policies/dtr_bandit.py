"""DTRBandit: Algorithm 1 of the paper, and Algorithms 3 (delay) and 4 (K arms), which are the same rule.

Two estimates of each Q-function are kept. Q̃ learns from forced rounds only: few, but clean. Q̂ learns from all.
In a free round, at each stage m:

    K̂ = { a feasible : max_i Q̃_m(h, i) − Q̃_m(h, a) ≤ Δ_m / 2 }
    pull argmax_{a ∈ K̂} Q̂_m(h, a)

With two arms this is Algorithm 1: if Q̃ tells the arms apart by more than Δ_m/2, K̂ has one arm, else both. With
Q̃ as it was at e_t, the last forced round before t, it is Algorithm 3. With a floor another arm is drawn at times; it
teaches Q̂ and never Q̃ (policies/parameters.py). What a forced round gives: policies/forced_rounds.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from dtrbandit.design.schedule import place
from dtrbandit.design.spec import Design
from dtrbandit.design.values import each, positive, whole
from dtrbandit.errors import DesignError
from dtrbandit.estimators.estimates import Estimates, factors_by_arm, per_stage
from dtrbandit.estimators.forced import ForcedLearner
from dtrbandit.estimators.soundness import is_outside
from dtrbandit.kernels import constants as c
from dtrbandit.policies.builtin_policy import BuiltinPolicy
from dtrbandit.policies.forced_rounds import ForcedRoundsState
from dtrbandit.policies.parameters import accept_floor, fitting_floor, no_floor, policy_repr
from dtrbandit.policies.policy import Policy

BUILT_FROM = c.BUILT_FROM
MOST_PULLS = 1_000_000


@dataclass(frozen=True, kw_only=True, repr=False)
class DTRBandit(BuiltinPolicy):
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

    forces_plans: ClassVar[bool] = True

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

    __repr__ = policy_repr

    @classmethod
    def examples(cls) -> tuple[Policy[Any], ...]:
        """Return both schedules, with and without a floor."""
        return (
            cls(q=1, delta=0.5),
            cls(q=2, delta=1.0, schedule="permuted"),
            cls(q=1, delta=0.5, floor=0.1),
            cls(q=1, delta=2.0, schedule="permuted", floor=0.1),
        )

    def state(self, design: Design) -> DTRBanditState:
        """Return its state before the first unit."""
        return DTRBanditState(self, design)

    def estimates(self, state: DTRBanditState) -> Estimates:
        """Return the coefficients of Q̂ and of Q̃ as it is now."""
        return state.estimates()

    def deltas(self, stages: int) -> tuple[float, ...]:
        """Return Δ_m of each stage."""
        delta = self.delta if isinstance(self.delta, tuple) else (self.delta,) * stages
        if len(delta) != stages:
            raise DesignError(f"DTRBandit: delta has {len(delta)} numbers for a design of {stages} stages")
        return delta


class DTRBanditState(ForcedRoundsState):
    """DTRBandit in play.

    Attributes
    ----------
    forced, stale
        Q̃ as it learns still, and how many of its stages wait to be refitted.
    frozen, tilde
        (BLOCKS,) and (BLOCKS, M, K, D): whether Q̃ was frozen after a forced block, and its coefficients then.
    """

    NAMES = ("stale", "frozen", "tilde", *ForcedRoundsState.NAMES)

    def __init__(self, policy: DTRBandit, design: Design) -> None:
        super().__init__(policy, design)
        stages, arms, most = self.observed.stages, self.observed.width, self.observed.most
        self.floor = fitting_floor(policy.floor, design, "DTRBandit")
        self.delta = np.array(policy.deltas(stages), dtype=np.float64)
        self.forced, self.stale = ForcedLearner(self.observed), 0
        self.frozen = np.zeros(c.FORCED_BLOCKS, dtype=np.uint8)
        self.tilde = np.full((c.FORCED_BLOCKS, stages, arms, most), c.NAN)

    def decide(self, unit: int, m: int, node: int, u: float) -> int:
        """Pull as Algorithm 4 says (with two arms Algorithm 1, under delay Algorithm 3); leave the reason."""
        forced, latest, offset = place(unit + 1 - self.observed.taught, self.plan_count, self.q)
        feasible = self.clear_sheet(node)
        if forced:
            arm = self.scheduled_arm(latest, offset, unit, m, node, u)
            if arm >= 0:
                self.reason = c.FORCED
                return arm
        self.explain(unit, m)
        self.keep_floor(self.floor)
        contenders = self.keep_contenders(self.delta[m])
        reason = c.ONLY_FEASIBLE if feasible == 1 else c.CLEAR if contenders == 1 else c.CLOSE
        return self.take_or_explore(self.best(c.Q_HAT), reason, u)

    def explain(self, unit: int, m: int) -> None:
        """Write down Q̂, and Q̃ as it was at e_t, the last forced round before this one."""
        _forced, latest, _offset = place(unit + 1 - self.observed.taught, self.plan_count, self.q)
        self.write_hat(m)
        if not self.frozen[latest]:
            self.refit_forced(m)
        for a in range(self.observed.arm_count[m]):
            total = 0.0
            for j in range(self.observed.dimension[m, a]):
                beta = self.tilde[latest, m, a, j] if self.frozen[latest] else self.forced.beta[m, a, j]
                total += beta * self.observed.psi[j]
            self.sheet[c.Q_TILDE, a] = total

    def keep_contenders(self, delta: float) -> int:
        """Keep K̂, the arms whose Q̃ is within Δ/2 of the best (Algorithm 4, line 8), and return how many these are.

        An arm without Q̃ is never filtered out, and filters nothing out (docs/readings.md, 3).
        """
        top, contenders = -c.INFINITY, 0
        for a in range(self.width):
            if self.sheet[c.CONTENDER, a] > 0.0 and self.sheet[c.Q_TILDE, a] > top:
                top = self.sheet[c.Q_TILDE, a]
        for a in range(self.width):
            if top - self.sheet[c.Q_TILDE, a] > delta / 2:
                self.sheet[c.CONTENDER, a] = 0.0
            if self.sheet[c.CONTENDER, a] > 0.0:
                contenders += 1
        return contenders

    # -- what is noted ---------------------------------------------------------------------------------------

    def note(self, fact: int, unit: int, m: int, value: float) -> None:
        """Keep the schedule and Q̃ up to date (Algorithm 1, line 5)."""
        if fact == c.GIVEN:
            self.note_assignment(unit, m, value > 0.0)
        elif fact == c.CLOSED:
            self.stale = self.observed.stages
        elif self.forced.scheduled[unit, 0] >= 0:  # a forced round: rows of Q̃ change, up to a stage
            if fact == c.COMPLETED:
                self.stale = max(self.stale, m + 1)
            elif fact == c.ARRIVED and m > 0:
                self.stale = max(self.stale, m)
            elif fact == c.AMENDED or fact == c.VOIDED:
                self.stale = self.observed.stages

    def note_assignment(self, unit: int, m: int, forced: bool) -> None:
        """Remember a scheduled arm; on the first free round after a forced block, freeze Q̃ (docs/readings.md, 3)."""
        in_block, latest, _offset = place(unit + 1 - self.observed.taught, self.plan_count, self.q)
        self.keep_plan(unit, m, self.observed.arms[unit, m], forced)
        self.use_slot(latest, unit, m)
        if forced:
            self.forced.schedule(unit, m, self.observed.arms[unit, m])
        elif m == 0 and not in_block and not self.frozen[latest]:
            self.refit_forced(0)
            for block in range(latest + 1):  # that of the first two, between which no round is free
                if not self.frozen[block]:
                    self.freeze(block)

    def freeze(self, latest: int) -> None:
        """Keep Q̃ as it is now for the rounds after a forced block."""
        self.frozen[latest] = True
        for k in range(self.observed.stages):
            for a in range(self.observed.width):
                for j in range(self.observed.most):
                    self.tilde[latest, k, a, j] = self.forced.beta[k, a, j]

    def refit_forced(self, first: int) -> None:
        """Refit Q̃ where its rows have changed since it was last read, down to stage ``first``."""
        if self.stale > first:
            self.forced.refit(first, self.stale - 1)
            self.stale = first

    def assume(self, unit: int, m: int, arm: int, forced: bool) -> None:
        """Note a scheduled arm that the unit's later stages look for."""
        self.keep_plan(unit, m, arm, forced)
        if forced:
            self.forced.scheduled[unit, m] = arm

    def undo(self, unit: int, m: int) -> None:
        """Undo ``assume``: no arm is scheduled for the unit."""
        self.forced.scheduled[unit, m] = -1
        self.planned[unit] = -1

    # -- from Python -----------------------------------------------------------------------------------------

    def settle(self) -> None:
        """Refit all stages of Q̃ whose rows have changed."""
        self.refit_forced(0)

    def make_room(self, capacity: int, nodes: int) -> None:
        """Make room for so many units."""
        super().make_room(capacity, nodes)
        self.forced.reserve(capacity)

    def parts(self) -> dict[str, Any]:
        """Return by name what has arrays of its own."""
        return {**super().parts(), "forced": self.forced}

    def fault(self) -> str:
        """Say what is wrong with what was loaded."""
        if not 0 <= self.stale <= self.observed.stages or is_outside(self.frozen, 0, 2):
            return "'stale' counts stages, and 'frozen' is 0 or 1"
        return super().fault()

    def estimates(self) -> Estimates:
        """Return the coefficients of Q̂, and of Q̃ as it is now."""
        self.settle()
        units = np.sort(np.asarray(self.forced.units)[: self.forced.count])  # few: the others need no look
        scheduled, given = np.asarray(self.forced.scheduled)[units], np.asarray(self.observed.arms)[units]
        clean = (scheduled >= 0) & (scheduled == given) & (np.asarray(self.learner.counted)[units] != 0)
        return (
            super()
            .estimates()
            ._replace(
                tilde=per_stage(self.design, np.asarray(self.forced.beta)),
                tilde_factors=factors_by_arm(self.design, self.observed, units, clean),
            )
        )
