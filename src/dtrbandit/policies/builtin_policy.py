"""What the built-in policies share: parameters that say what state a policy begins with, and facts about the policy."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

from dtrbandit.design.spec import Design
from dtrbandit.policies.facts import choose, update
from dtrbandit.policies.policy import Choice, Policy
from dtrbandit.policies.state import FIRST_ROOM, PolicyState
from dtrbandit.record.events import Fact
from dtrbandit.record.histories import History


class BuiltinPolicy(ABC):
    """A policy whose rule is compiled; a subclass has its parameters, and says what state it begins with.

    Attributes
    ----------
    forces_plans
        Whether it tries every feasible plan.
    learns
        Whether its decisions depend on what earlier units have taught.
    randomises
        Whether it gives arms at random, whatever is known of the unit or of earlier ones.
    """

    forces_plans: ClassVar[bool] = False
    learns: ClassVar[bool] = True
    randomises: ClassVar[bool] = False

    @classmethod
    @abstractmethod
    def examples(cls) -> tuple[Policy[Any], ...]:
        """Return policies of this kind that differ in what matters to their rule.

        They fit any design of one to three stages. Tests of all policies take them. The first is the plainest.
        """

    @abstractmethod
    def state(self, design: Design) -> PolicyState:
        """Return its state without room for units, or raise DesignError if its parameters do not fit the design."""

    @property
    def decides_in_python(self) -> bool:
        """Whether it holds a Python function, so that compiled loops cannot play it."""
        return False

    def init(self, design: Design) -> Any:
        """Return the state before the first unit."""
        state = self.state(design)
        state.reserve(FIRST_ROOM)
        return state

    def update(self, state: Any, history: History, event: Fact) -> Any:
        """Learn from a fact, in place."""
        return update(state, history, event)

    def decide(self, state: Any, history: History, u: float) -> Choice:
        """Choose an arm."""
        return choose(state, history, u)
