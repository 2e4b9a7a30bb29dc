"""ε-Greedy (paper, section 5.1): initial pulls, then the best Q̂, and with probability ε another arm."""

from __future__ import annotations

from dataclasses import dataclass, field

from dtrbandit.design.feasibility import Plan
from dtrbandit.design.spec import Design
from dtrbandit.design.values import real
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
    Withdrawn,
)
from dtrbandit.record.histories import History
from plain.backward_induction import Coefficients, Fits, backward_induction, coefficients_of, q_values
from plain.masks import can_take, plans_left
from plain.rules import Estimates, best, numbers
from plain.samples import Samples
from plain.schedule import next_of_plan


@dataclass
class GreedyState:
    """What ε-Greedy has learnt, and the initial pulls: those to make, and those made, by round."""

    design: Design
    samples: Samples
    fits: Fits
    hat: Coefficients
    pulls: list[Plan]
    made: int = 0  # all pulls before this place are made, or passed over
    pulled: dict[int, Plan] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class EpsilonGreedy:
    """Pull each feasible plan d times, then follow Q̂ with probability 1 − ε and explore with probability ε.

    With more than two arms, exploring is uniform over the other feasible arms.
    """

    epsilon: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", real(self.epsilon, "EpsilonGreedy: epsilon", low=0.0, high=1.0))

    def init(self, design: Design) -> GreedyState:
        """Return the state before the first unit, with all initial pulls to make."""
        samples = Samples(design)
        fits = backward_induction(design, samples)
        pulls = [plan for plan in design.arm_plans for _ in range(max(design.dimensions))]
        return GreedyState(design, samples, fits, coefficients_of(fits, design), pulls)

    def decide(self, state: GreedyState, history: History, u: float) -> Choice:
        """Make an initial pull, or act greedily, or explore when u < ε."""
        arms = feasible_arms(history)
        q_hat = q_values(state.hat[len(history.arms)], history.features[-1])
        pull = self._initial_pull(state, history)
        if pull is not None:
            choice = certain(pull, history, "forced")
        elif len(arms) == 1:
            choice = certain(arms[0], history, "only_feasible")
        else:
            choice = self._explore(best(q_hat, arms), arms, history, u)
        return choice._replace(q_tilde=(None,) * len(q_hat), q_hat=numbers(q_hat))

    def update(self, state: GreedyState, history: History, event: Fact) -> GreedyState:
        """Learn from a fact, and keep account of the initial pulls."""
        barred = False
        match event:
            case ArmClosed(stage, arm, _):
                m = state.design.stage_number(stage)
                state.samples.close(m, state.design.stages[m].arms.index(arm))
                self._refit(state)
                return state
            case Assigned():
                before = history._replace(arms=history.arms[:-1])
                if not before.arms:
                    place = self._next_pull(state)
                    if place is not None and self._can_take(state, before, state.pulls[place]):
                        state.pulled[history.round], state.made = state.pulls[place], place + 1
                elif history.round in state.pulled:
                    plan = state.pulled[history.round]
                    on = next_of_plan(plan, before.arms, state.design.tree) is not None
                    barred = on and not self._can_take(state, before, plan)
            case Taught():
                state.samples.teach(history)
                self._refit(state)
            case Responded() | Completed() | Overridden() | Corrected() | Voided():
                state.samples.forget(history) if isinstance(event, Voided) else state.samples.record(history)
                self._refit(state)
        left = isinstance(event, Responded) and not history.feasible
        lost = isinstance(event, Withdrawn) and len(history.arms) < len(state.design.stages)
        void = isinstance(event, Voided)
        if (left or lost or void or barred) and history.round in state.pulled:
            state.pulls.append(state.pulled.pop(history.round))  # made up for at the end (docs/readings.md, 10)
        return state

    def _refit(self, state: GreedyState) -> None:
        state.fits = backward_induction(state.design, state.samples)
        state.hat = coefficients_of(state.fits, state.design)

    def estimates(self, state: GreedyState) -> Estimates:
        """Return the coefficients of Q̂."""
        return Estimates(state.hat, None, state.fits)

    def _initial_pull(self, state: GreedyState, history: History) -> int | None:
        plan = state.pulled.get(history.round)
        if not history.arms and (place := self._next_pull(state)) is not None:
            plan = state.pulls[place]
        if plan is None or not self._can_take(state, history, plan):
            return None
        return next_of_plan(plan, history.arms, state.design.tree)

    def _next_pull(self, state: GreedyState) -> int | None:
        """Return the place of the next pull whose plan has no closed arm."""
        still = plans_left(state.design.arm_plans, (), state.samples.closed)
        return next((place for place, plan in enumerate(state.pulls) if place >= state.made and plan in still), None)

    def _can_take(self, state: GreedyState, history: History, plan: Plan) -> bool:
        barred = {*(history.excluded[len(history.arms)] if history.excluded else ()), *state.samples.closed}
        return can_take(plan, state.design.arm_plans, history.arms, barred)

    def _explore(self, greedy: int, arms: tuple[int, ...], history: History, u: float) -> Choice:
        others = [arm for arm in arms if arm != greedy]
        share = self.epsilon / len(others)
        propensities = tuple(
            1 - self.epsilon if arm == greedy else share * feasible for arm, feasible in enumerate(history.feasible)
        )
        if u < self.epsilon:
            arm = others[min(int(u / self.epsilon * len(others)), len(others) - 1)]
            return Choice(arm, "explore", propensities, contenders=arms)
        return Choice(greedy, "greedy", propensities, contenders=arms)
