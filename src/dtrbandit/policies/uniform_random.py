"""Uniform randomisation: the benchmark that learns nothing, and the design of a plain SMART."""

from __future__ import annotations

from dataclasses import dataclass

from dtrbandit.design.spec import Design
from dtrbandit.policies.policy import Choice, certain, feasible_arms
from dtrbandit.record.events import Fact
from dtrbandit.record.histories import History


@dataclass(frozen=True, kw_only=True)
class UniformRandom:
    """Give every feasible arm of a stage the same probability.

    Examples
    --------
    >>> UniformRandom()
    UniformRandom()
    """

    def init(self, design: Design) -> None:
        """Return the state, of which there is none."""

    def update(self, state: None, history: History, event: Fact) -> None:
        """Learn nothing."""

    def decide(self, state: None, history: History, u: float) -> Choice:  # noqa: ARG002  # has no state
        """Draw one of the feasible arms."""
        arms = feasible_arms(history)
        if len(arms) == 1:
            return certain(arms[0], history, "only_feasible")
        propensities = tuple(feasible / len(arms) for feasible in history.feasible)
        return Choice(arms[int(u * len(arms))], "uniform", propensities)
