"""ε-Greedy (paper, section 5.1): initial pulls, then the best Q̂, and with probability ε another arm."""

from __future__ import annotations

from dataclasses import dataclass, field

from dtrbandit.design.parameters import real
from dtrbandit.design.spec import Design
from dtrbandit.design.tree import Plan
from dtrbandit.policies.policy import Choice, certain, feasible_arms
from dtrbandit.record.events import Assigned, Completed, Corrected, Fact, Overridden, Responded, Withdrawn
from dtrbandit.record.histories import History
from plain.backward_induction import Coefficients, Fits, backward_induction, coefficients_of, q_values
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
    pulled: dict[int, Plan] = field(default_factory=dict)
    owed: set[int] = field(default_factory=set)


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
        match event:
            case Assigned():
                made = len(state.pulled)
                if len(history.arms) == 1 and made < len(state.pulls):
                    state.pulled[history.round] = state.pulls[made]
            case Responded() | Completed() | Overridden() | Corrected():
                state.samples.record(history)
                state.fits = backward_induction(state.design, state.samples)
                state.hat = coefficients_of(state.fits, state.design)
        left = isinstance(event, Responded) and not history.feasible
        lost = isinstance(event, Withdrawn) and len(history.arms) < len(state.design.stages)
        if (left or lost) and history.round in state.pulled and history.round not in state.owed:
            state.owed.add(history.round)
            state.pulls.append(state.pulled[history.round])  # made up for at the end (docs/readings.md, 10)
        return state

    def estimates(self, state: GreedyState) -> Estimates:
        """Return the coefficients of Q̂."""
        return Estimates(state.hat, None, state.fits)

    def _initial_pull(self, state: GreedyState, history: History) -> int | None:
        plan = state.pulled.get(history.round)
        if not history.arms and len(state.pulled) < len(state.pulls):
            plan = state.pulls[len(state.pulled)]
        return None if plan is None else next_of_plan(plan, history.arms, state.design.tree)

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
