"""Greedy (paper, section 5.1): ε-Greedy with ε = 0."""

from __future__ import annotations

from dataclasses import dataclass

from dtrbandit.design.spec import Design
from dtrbandit.policies.policy import Choice
from dtrbandit.record.events import Fact
from dtrbandit.record.histories import History
from plain.epsilon_greedy import EpsilonGreedy, GreedyState
from plain.rules import Estimates, with_floor

NEVER_EXPLORE = EpsilonGreedy(epsilon=0.0)


@dataclass(frozen=True, kw_only=True)
class Greedy:
    """Pull each feasible plan d times, then always follow Q̂, except where the floor gives another arm."""

    floor: float = 0.0

    def init(self, design: Design) -> GreedyState:
        """Return the state before the first unit."""
        return NEVER_EXPLORE.init(design)

    def decide(self, state: GreedyState, history: History, u: float) -> Choice:
        """Make an initial pull, or act greedily."""
        choice = NEVER_EXPLORE.decide(state, history, u)
        if choice.reason != "greedy":
            return choice
        drawn = with_floor(choice.arm, history, "greedy", self.floor, u)
        return choice._replace(arm=drawn.arm, reason=drawn.reason, propensities=drawn.propensities)

    def update(self, state: GreedyState, history: History, event: Fact) -> GreedyState:
        """Learn from a fact."""
        return NEVER_EXPLORE.update(state, history, event)

    def estimates(self, state: GreedyState) -> Estimates:
        """Return the coefficients of Q̂."""
        return NEVER_EXPLORE.estimates(state)
