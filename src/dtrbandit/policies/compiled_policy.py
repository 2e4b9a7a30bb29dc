"""What the built-in policies share: their state is a set of arrays, and compiled code learns and decides on it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cache
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dtrbandit.design.formula import Matrix, Vector
from dtrbandit.design.spec import Design
from dtrbandit.design.stages import Stage
from dtrbandit.estimators.layout import Learner, create, grow
from dtrbandit.kernels.borrowed import addresses, opener
from dtrbandit.policies.memory import Memory, create_memory, grow_memory
from dtrbandit.policies.policy import Choice
from dtrbandit.record.events import Fact
from dtrbandit.record.histories import History

LEARNER, MEMORY = (
    create(np.zeros((1, 1)), [1], [1]),
    create_memory(Design([Stage("any", ("any",), "1")]), 0, np.zeros(1)),
)


class Desk(NamedTuple):
    """What lies between Python and a kernel during a call."""

    psi: Vector  # (D,): the features of the stage at hand, zeros behind them
    shown: Matrix  # (4, K): what a kernel shows of its last decision


DESK = Desk(np.zeros(1), np.zeros((4, 1)))
# for kernels that take a state's table
open_learner = opener(LEARNER)
open_memory = opener(MEMORY, after=LEARNER)
open_desk = opener(DESK, after=(*LEARNER, *MEMORY))


class CompiledState:
    """The arrays of a policy in play; ``policies/builtin.py`` says what facts and decisions do to them."""

    __slots__ = ("_at_hand", "arrays", "capacity", "design", "desk", "kind", "learner", "memory", "table")

    def __init__(self, design: Design, kind: int, memory: Memory) -> None:
        self.design = design
        self.kind = kind
        self.capacity = 0
        self.learner: Learner = create(design.tree.child, list(design.arm_counts), list(design.dimensions), capacity=0)
        self.memory = memory
        self.reserve(64)

    def reserve(self, capacity: int) -> None:
        """Make room for at least ``capacity`` units, doubling what there is."""
        if capacity > self.capacity:
            roomy = max(capacity, 2 * self.capacity)
            learner, memory = grow(self.learner, roomy), grow_memory(self.memory, self.kind, roomy)
            self.learner, self.memory = learner, memory
            self._settle()
            self.capacity = roomy  # last: without memory for more, the state stays as it was

    def _settle(self) -> None:
        """Write down where the arrays lie now."""
        self.arrays: tuple[NDArray[Any], ...] = (*self.learner, *self.memory)
        self.desk = Desk(np.zeros(self.learner.pages.shape[3]), np.zeros((4, self.learner.child.shape[1])))
        self.table = addresses((*self.arrays, *self.desk), (*LEARNER, *MEMORY, *DESK))
        self._at_hand: Vector | None = None

    def __getstate__(self) -> tuple[Any, ...]:
        return self.design, self.kind, self.capacity, self.learner, self.memory

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.design, self.kind, self.capacity, learner, memory = state
        self.learner = Learner._make(map(_writable, learner))
        self.memory = Memory._make(map(_writable, memory))
        self._settle()  # a copy has arrays of its own

    def lay_out(self, features: Vector) -> None:
        """Lay features on the desk, unless they are there: an arrival is decided, then learnt."""
        if features is not self._at_hand:
            psi = self.desk.psi
            psi[: len(features)] = features
            psi[len(features) :] = 0.0
            self._at_hand = features


class CompiledPolicy(ABC):
    """A policy whose rule is compiled; a subclass says which, and with which numbers."""

    @property
    @abstractmethod
    def kind(self) -> int | None:
        """The number of its rule in the switch of ``policies/builtin.py``."""

    @abstractmethod
    def numbers(self, design: Design) -> Vector:
        """Return its parameters as the rule expects them, or raise DesignError if they do not fit the design."""

    def scores(self, design: Design) -> list[Matrix]:  # noqa: ARG002  # few policies have any
        """Return coefficients that the policy starts with, (K_m, d_m) for each stage."""
        return []

    def init(self, design: Design) -> Any:
        """Return the state before the first unit."""
        return _switch().start(self, design)

    def update(self, state: Any, history: History, event: Fact) -> Any:
        """Learn from a fact, in place."""
        return _switch().update(state, history, event)

    def decide(self, state: Any, history: History, u: float) -> Choice:
        """Choose an arm."""
        choice: Choice = _switch().choose(state, history, u)
        return choice


def _writable(array: NDArray[Any]) -> NDArray[Any]:
    """Return the array, or a copy where it cannot be written: joblib lends its workers large arrays to read only."""
    return array if array.flags.writeable else array.copy()


@cache
def _switch() -> ModuleType:
    """Return ``policies/builtin.py``: it knows all rules, and so can be imported only after them."""
    from dtrbandit.policies import builtin

    return builtin
