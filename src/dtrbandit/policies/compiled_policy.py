"""What the built-in policies share: their state is a set of arrays, and kernels learn and decide on it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cache
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dtrbandit.design.feasibility import Barred, children_left
from dtrbandit.design.formula import Matrix, Vector
from dtrbandit.design.spec import Design
from dtrbandit.design.stages import Stage
from dtrbandit.estimators import observed
from dtrbandit.estimators.estimates import Estimates
from dtrbandit.policies.form import form_of
from dtrbandit.policies.policy import Choice
from dtrbandit.policies.rule import Rule
from dtrbandit.record.events import Fact
from dtrbandit.record.histories import History

ONE_ARM = Design([Stage("any", ("any",), "1")])  # the smallest design: for examples of arrays


class Desk(NamedTuple):
    """What lies between Python and a kernel during a call."""

    psi: Vector  # (D,): the features of the stage at hand
    sheet: Matrix  # (4, K): what a rule writes down of its last decision


class CompiledState:
    """The arrays of a policy in play; ``policies/facts.py`` says what facts and decisions do to them.

    ``learning`` is False while facts are only written down, to be learnt all at once afterwards; ``backlog`` holds
    facts that wait, while many are taken at a time. ``taught`` units of an earlier trial come before round 1.
    ``copies`` numbers the copies of the tree, one for each set of contraindications; ``closed`` are the arms that are
    closed.
    """

    __slots__ = (
        "arms_to", "at_hand", "backlog", "beliefs", "capacity", "closed", "copies", "design", "desk", "dimensions",
        "forms", "kind", "knows_units", "learning", "memory", "observed", "parents", "psi", "rule", "sheet", "table",
        "taught",
    )  # fmt: skip

    def __init__(self, policy: CompiledPolicy, rule: Rule, design: Design) -> None:
        self.design = design
        self.rule = rule
        self.kind: int = switch_board().KINDS[rule.name]
        self.learning = True
        self.backlog: Any = None
        self.capacity = 0
        self.taught = 0
        self.closed: Barred = ()
        self.copies: dict[Barred, int] = {(): 0}
        self._keep_at_hand()
        self.observed = observed.create(design)
        self.beliefs: Any = policy.beliefs(design)
        self.memory: Any = policy.memory(design)
        self.reserve(64)

    def _keep_at_hand(self) -> None:
        """Find what every decision asks for: once, since deciding changes nothing, and here a verb reads it fastest."""
        tree = self.design.tree
        self.arms_to, self.parents = tree.arms_to[: len(tree.child)], tree.parents
        self.dimensions, self.knows_units = self.design.dimensions, self.rule.knows_units

    def reserve(self, capacity: int) -> None:
        """Make room for at least ``capacity`` units, and for half as many again as there is room for.

        Who enrols must wait for it: that is why there is no more.
        """
        if capacity > self.capacity:
            roomy = max(capacity, self.capacity + self.capacity // 2)
            seen = observed.grow(self.observed, roomy)
            beliefs = self.rule.estimator.grow(self.beliefs, roomy, len(seen.child))
            memory = self.rule.grow(self.memory, roomy)
            self.observed, self.beliefs, self.memory = seen, beliefs, memory
            self._lend_arrays()
            self.capacity = roomy  # last: without memory for more, the state stays as it was

    def make_room_for_taught(self, units: int) -> None:
        """Have so many units more of an earlier trial, before the first unit that enrols."""
        self.taught += units
        self.reserve(self.taught)
        self.observed.taught[0] = self.taught

    # -- what is feasible ------------------------------------------------------------------------------------

    def root_for(self, excluded: Barred) -> int:
        """Return the root of the copy of the tree for units with these contraindications; the first makes it."""
        number = self.copies.get(excluded)
        if number is None:
            number = len(self.copies)
            self._make_room_for(number + 2)  # always for one more: a question makes no room
            self._write_copy(number, excluded)
            self.copies[excluded] = number
        return number * len(self.observed.following)

    def root_to_ask_for(self, excluded: Barred) -> int:
        """Return the root of the copy for a question: a question leaves no copy behind (``forget_question``)."""
        number = self.copies.get(excluded)
        if number is None:
            number = len(self.copies)
            self._write_copy(number, excluded)
        return number * len(self.observed.following)

    def forget_question(self) -> None:
        """Clear a copy of the tree that was made for a question."""
        self.observed.child[len(self.copies) * len(self.observed.following) :] = -1

    def close_arm(self, m: int, arm: int) -> None:
        """Let no copy of the tree lead to an arm any more."""
        self.closed = tuple(sorted({*self.closed, (m, arm)}))
        for excluded, number in self.copies.items():
            self._write_copy(number, excluded)

    def _write_copy(self, number: int, excluded: Barred) -> None:
        count = len(self.observed.following)
        start, rows = number * count, children_left(self.design.tree, excluded, self.closed)
        self.observed.child[start : start + count] = np.where(rows < 0, -1, rows + start)

    def _make_room_for(self, copies: int) -> None:
        nodes = copies * len(self.observed.following)
        if nodes > len(self.observed.child):
            child = observed.longer(self.observed.child, 2 * nodes, -1)
            self.beliefs = self.rule.estimator.grow(self.beliefs, self.capacity, len(child))
            self.observed = self.observed._replace(child=child)
            self._lend_arrays()

    def _lend_arrays(self) -> None:
        """Write down where the arrays lie now."""
        width = self.observed.child.shape[1]  # arms, at most
        self.desk = Desk(np.zeros(self.observed.features.shape[2]), np.zeros((4, width)))
        desk: Any = self.desk  # of buffers, which arrays are to mypy from Python 3.12 on
        self.psi: Any = memoryview(desk.psi)  # into which features are copied in a third of the time
        self.sheet: Any = memoryview(desk.sheet)  # likewise read
        self.forms = [form_of(stage, width) for stage in self.design.stages]
        self.table: NDArray[np.int64] = switch_board().table_of(self)
        self.at_hand: Vector | None = None  # the features that lie on the desk

    def __getstate__(self) -> tuple[Any, ...]:
        self.settle()  # states that know the same have the same bytes
        feasible = self.closed, self.copies
        return self.design, self.rule.name, self.capacity, feasible, self.observed, self.beliefs, self.memory

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.design, name, self.capacity, (self.closed, self.copies), *groups = state
        self.learning, self.backlog = True, None
        self.kind = switch_board().KINDS[name]
        self.rule = switch_board().RULES[self.kind]
        self._keep_at_hand()
        self.observed, self.beliefs, self.memory = (type(group)(*map(_writable, group)) for group in groups)
        self.taught = int(self.observed.taught[0])
        self._lend_arrays()  # a copy has arrays of its own

    def arrays(self) -> tuple[NDArray[Any], ...]:
        """Return all arrays, to be compared."""
        return (*self.observed, *self.beliefs, *self.memory)

    def estimates(self) -> Estimates:
        """Return what the policy's estimator believes."""
        return self.rule.estimator.estimates(self.design, self.observed, self.beliefs)

    def settle(self) -> None:
        """Bring up to date what is otherwise done when it is next read."""
        facts().settle(self)


class CompiledPolicy(ABC):
    """A policy whose rule is a kernel; a subclass says which, and with which arrays it begins."""

    @property
    @abstractmethod
    def compiled_rule(self) -> Rule | None:
        """What it hands to the switch of ``policies/builtin.py``; None if it decides in Python."""

    @abstractmethod
    def memory(self, design: Design) -> tuple[Any, ...]:
        """Return its memory before the first unit, or raise DesignError if its parameters do not fit the design."""

    def beliefs(self, design: Design) -> tuple[Any, ...]:
        """Return its beliefs before the first unit."""
        assert self.compiled_rule is not None
        beliefs: tuple[Any, ...] = self.compiled_rule.estimator.create(design)
        return beliefs

    def init(self, design: Design) -> Any:
        """Return the state before the first unit."""
        return facts().start(self, design)

    def update(self, state: Any, history: History, event: Fact) -> Any:
        """Learn from a fact, in place."""
        return facts().update(state, history, event)

    def decide(self, state: Any, history: History, u: float) -> Choice:
        """Choose an arm."""
        choice: Choice = facts().choose(state, history, u)
        return choice


def _writable(array: NDArray[Any]) -> NDArray[Any]:
    """Return the array, or a copy where it cannot be written: joblib lends its workers large arrays to read only."""
    return array if array.flags.writeable else array.copy()


@cache
def switch_board() -> ModuleType:
    """Return ``policies/builtin.py``: it knows all rules, and so can be imported only after them."""
    from dtrbandit.policies import builtin

    return builtin


@cache
def facts() -> ModuleType:
    """Return ``policies/facts.py``, likewise."""
    from dtrbandit.policies import facts

    return facts
