"""The state of a built-in policy: what was observed and learnt, and the methods by which it decides and learns.

A policy's own file has a subclass, whose rule is ``decide``. Sessions ask for one unit at a time, and compiled loops
for thousands, by the same methods. Kernels trust what they are told: ``policies/facts.py`` checks.

A rule fills the *sheet*: for each arm Q̃, Q̂, its propensity, and whether it contends.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from copy import deepcopy
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dtrbandit.design.feasibility import Barred, children_left
from dtrbandit.design.spec import Design
from dtrbandit.estimators.estimates import Estimates
from dtrbandit.estimators.observed import Observed
from dtrbandit.kernels import constants as c
from dtrbandit.kernels.arrays import Integers, Matrix, Named, Vector, longer, named, restore, under, within
from dtrbandit.policies.decisions import DecisionReader
from dtrbandit.policies.policy import refuse_foreign
from dtrbandit.policies.stored_arrays import require_lists, require_shapes, require_sound
from dtrbandit.record.events import Decision

BUILT_FROM = c.BUILT_FROM
FIRST_ROOM = 64  # units


class PolicyState:
    """A policy in play.

    Attributes
    ----------
    observed
        What was observed of units.
    sheet
        (4, K): what the rule has written down of its last decision. ``reason`` is the number of its reason.
    knows_units
        Whether a decision looks at what the unit was given before: then the policy must have been told.
    learning
        False while facts are only written down, to be learnt all at once afterwards.
    copies, closed
        The copies of the tree by number, one for each set of contraindications; the arms that are closed.
    at_hand
        The features that were last laid out in ``observed.psi``.
    """

    NAMES: ClassVar[tuple[str, ...]] = ()  # of the arrays that a subclass has itself

    def __init__(self, policy: Any, design: Design) -> None:
        refuse_foreign(type(self))
        self.policy, self.design = policy, design
        self.observed = Observed(design)
        self.width, self.reason = self.observed.width, c.RULE
        self.knows_units, self.learning = False, True
        self.sheet = np.zeros((4, self.width))
        self.closed: Barred = ()
        self.copies: dict[Barred, int] = {(): 0}
        # what every decision asks for, where a verb reads it fastest
        psi: Any = np.asarray(self.observed.psi)  # a buffer, which arrays are to mypy from Python 3.12 on
        sheet: Any = np.asarray(self.sheet)
        self.psi_bytes: Any = memoryview(psi)  # into which features are copied in a third of the time
        self.sheet_bytes: Any = memoryview(sheet)  # likewise read
        self.at_hand: Vector | None = None
        self.readers = [DecisionReader(stage, self.width) for stage in design.stages]
        self.dimensions, self.parents = design.dimensions, design.tree.parents
        self.arms_to = design.tree.arms_to[: len(design.tree.child)]

    # -- what a subclass says --------------------------------------------------------------------------------

    def decide(self, unit: int, m: int, node: int, u: float) -> int:
        """Return an arm for the features at hand; leave the number of the reason, and fill the sheet.

        A forced decision needs no estimates.
        """
        return -1

    def explain(self, unit: int, m: int) -> None:
        """Write the estimates beside a forced decision."""

    def note(self, fact: int, unit: int, m: int, value: float) -> None:
        """Note what the policy must remember of a fact that is written down.

        With GIVEN, ``value`` says whether the arm was scheduled.
        """

    def learn(self, fact: int, unit: int, m: int) -> None:
        """Learn from a fact that is written down."""

    def assume(self, unit: int, m: int, arm: int, forced: bool) -> None:
        """Act as if a unit had been given an arm, so that its later stages can be decided; learn nothing.

        Replay must decide for all stages of a row before it accepts the row. ``undo`` follows.
        """

    def undo(self, unit: int, m: int) -> None:
        """Undo ``assume``."""

    def relearn(self) -> None:
        """Learn everything again from what is written down."""

    def settle(self) -> None:
        """Bring up to date what is otherwise done when it is next read."""

    def make_room(self, capacity: int, nodes: int) -> None:
        """Make room for so many units, at so many nodes: copies of the tree are among them."""

    def parts(self) -> dict[str, Any]:
        """Return by name what has arrays of its own."""
        return {"observed": self.observed}

    def fault(self) -> str:
        """Say what a rule could not rely on in ``NAMES`` that were loaded, such as an index that leads nowhere."""
        return ""

    def estimates(self) -> Estimates:
        """Return what is estimated, for people to read."""
        return Estimates(())

    # -- facts and questions ---------------------------------------------------------------------------------

    def take(self, fact: int, unit: int, m: int, index: int, value: float) -> None:
        """Write a fact down, note it, and learn from it unless that is put off.

        Nothing is noted of units of an earlier trial: they have no round, and no place in a schedule.
        """
        self.observed.observe(fact, unit, m, index, value)
        if unit >= self.observed.taught:
            self.note(fact, unit, m, value)
        if self.learning:
            self.learn(fact, unit, m)

    def take_if_it_fits(self, fact: int, unit: int, m: int, index: int, arm: int, value: float) -> bool:
        """Take a fact, on arrival the arm as well; False if it does not fit what is on record."""
        if not self.observed.fits(fact, unit, m, index, arm):
            return False
        self.take(fact, unit, m, index, value)
        if fact == c.ARRIVED and arm >= 0:
            self.take(c.GIVEN, unit, m, arm, value)
        return True

    def take_all(self, facts: Integers, values: Vector, features: Matrix) -> int:
        """Take facts (n, 5), each with a value and features, in order; return how many fit."""
        for i in range(facts.shape[0]):
            for j in range(self.observed.most):
                self.observed.psi[j] = features[i, j]
            if not self.take_if_it_fits(facts[i, 0], facts[i, 1], facts[i, 2], facts[i, 3], facts[i, 4], values[i]):
                return i
        return len(facts)

    def ask(self, unit: int, m: int, node: int, u: float) -> int:
        """Decide for the features at hand; what the sheet holds is finite, or NaN.

        An arm of −1: the policy should have been told how the unit came to this node, and was not.
        """
        if self.knows_units and not self.observed.same_place(self.observed.stands_at(unit, m), node):
            return -1
        arm = self.decide(unit, m, node, u)
        if self.reason == c.FORCED:
            self.explain(unit, m)
        for a in range(self.width):
            if not math.isfinite(self.sheet[c.Q_TILDE, a]):
                self.sheet[c.Q_TILDE, a] = c.NAN
            if not math.isfinite(self.sheet[c.Q_HAT, a]):
                self.sheet[c.Q_HAT, a] = c.NAN
        return arm

    def decision(self, unit: str, t: int, m: int, arm: int) -> Decision:
        """Return the decision that was just made for a unit, in labels."""
        reader: DecisionReader = self.readers[m]
        return reader.read(self.sheet_bytes, unit, t, arm, self.reason)

    def amend(self, fact: int, unit: int) -> None:
        """Note that a unit was amended, or is void, or that an arm is closed."""
        self.note(fact, unit, 0, 0.0)

    # -- the sheet -------------------------------------------------------------------------------------------

    def clear_sheet(self, node: int) -> int:
        """Clear the sheet, mark the feasible arms as contenders, and return how many there are."""
        feasible = 0
        for a in range(self.width):
            self.sheet[c.Q_TILDE, a] = c.NAN
            self.sheet[c.Q_HAT, a] = c.NAN
            self.sheet[c.PROPENSITY, a] = 0.0
            self.sheet[c.CONTENDER, a] = 0.0
            if self.observed.child[node, a] >= 0:
                self.sheet[c.CONTENDER, a] = 1.0
                feasible += 1
        return feasible

    def best(self, row: int) -> int:
        """Return the contender with the largest value: the lowest of equals, and of all if none has a value."""
        chosen, top = -1, c.NAN
        for a in range(self.width):
            if self.sheet[c.CONTENDER, a] > 0.0:
                value = self.sheet[row, a]
                if chosen < 0 or value > top or (math.isnan(top) and not math.isnan(value)):
                    chosen, top = a, value
        return chosen

    def prescribe(self, arm: int) -> None:
        """Write down that one arm was prescribed."""
        for a in range(self.width):
            self.sheet[c.CONTENDER, a] = 1.0 if a == arm else 0.0
            self.sheet[c.PROPENSITY, a] = self.sheet[c.CONTENDER, a]

    def keep_floor(self, floor: float) -> None:
        """Give every feasible arm its floor. Contenders are the feasible arms here, before any is ruled out."""
        for a in range(self.width):
            if self.sheet[c.CONTENDER, a] > 0.0:
                self.sheet[c.PROPENSITY, a] = floor

    def take_or_explore(self, favourite: int, reason: int, u: float) -> int:
        """Take the favourite for this reason, or when u says so another arm that has a floor."""
        arm, below = favourite, 0.0
        for a in range(self.width):
            if a != favourite and self.sheet[c.PROPENSITY, a] > 0.0:
                if below <= u < below + self.sheet[c.PROPENSITY, a]:
                    arm = a
                below += self.sheet[c.PROPENSITY, a]
        self.sheet[c.PROPENSITY, favourite] = 1.0 - below
        self.reason = reason if arm == favourite else c.EXPLORE
        return arm

    # -- room for units --------------------------------------------------------------------------------------

    @property
    def capacity(self) -> int:
        """For how many units there is room."""
        return self.observed.capacity

    @property
    def taught(self) -> int:
        """How many units of an earlier trial come before round 1."""
        return self.observed.taught

    def reserve(self, capacity: int) -> None:
        """Make room for at least ``capacity`` units.

        Growing blocks an enrolment, so it grows by half.
        """
        room = self.observed.capacity
        if capacity > room:
            roomy = max(capacity, room + room // 2, FIRST_ROOM)
            self.make_room(roomy, len(np.asarray(self.observed.child)))
            self.observed.reserve(roomy)  # last: without memory for more, no unit is taken

    def make_room_for_taught(self, units: int) -> None:
        """Have so many units more of an earlier trial, before the first unit that enrols."""
        self.reserve(self.taught + units)
        self.observed.taught += units

    # -- what is feasible ------------------------------------------------------------------------------------

    def root_for(self, excluded: Barred) -> int:
        """Return the root of the copy of the tree for units with these contraindications; the first makes it."""
        number = self.copies.get(excluded)
        if number is None:
            number = len(self.copies)
            self._make_room_for_copies(number + 2)  # keep one spare copy: decide must not allocate
            self._write_copy(number, excluded)
            self.copies[excluded] = number
        return number * self.observed.nodes_of_tree

    def root_to_decide(self, excluded: Barred) -> int:
        """Return the root of the copy of the tree to decide with. A new one is written into the spare copy."""
        number = self.copies.get(excluded)
        if number is None:
            number = len(self.copies)
            self._write_copy(number, excluded)
        return number * self.observed.nodes_of_tree

    def clear_spare_copy(self) -> None:
        """Clear the spare copy of the tree, in which a decision may have put new contraindications."""
        np.asarray(self.observed.child)[len(self.copies) * self.observed.nodes_of_tree :] = -1

    def close_arm(self, m: int, arm: int) -> None:
        """Let no copy of the tree lead to an arm any more."""
        self.closed = tuple(sorted({*self.closed, (m, arm)}))
        for excluded, number in self.copies.items():
            self._write_copy(number, excluded)

    def _write_copy(self, number: int, excluded: Barred) -> None:
        count = self.observed.nodes_of_tree
        start, rows = number * count, children_left(self.design.tree, excluded, self.closed)
        np.asarray(self.observed.child)[start : start + count] = np.where(rows < 0, -1, rows + start)

    def _make_room_for_copies(self, copies: int) -> None:
        nodes = copies * self.observed.nodes_of_tree
        if nodes > len(np.asarray(self.observed.child)):
            child = longer(self.observed.child, 2 * nodes, -1)
            self.make_room(self.capacity, len(child))
            self.observed.child = child

    # -- as arrays -------------------------------------------------------------------------------------------

    def arrays(self) -> Named:
        """Return all that is known as arrays with names. States that know the same have the same, but for room."""
        self.settle()
        excluded = [(number, *pair) for barred, number in self.copies.items() for pair in barred]
        own = {
            **named(self, self.NAMES),
            "closed": np.array(self.closed, dtype=np.int64).reshape(-1, 2),
            "copies": np.array(len(self.copies)),
            "excluded": np.array(excluded, dtype=np.int64).reshape(-1, 3),
        }
        for name, part in self.parts().items():
            own |= under(name, part.arrays())
        return own

    @staticmethod
    def from_arrays(policy: Any, design: Design, arrays: Mapping[str, NDArray[Any]]) -> Any:
        """Return the state of a policy that knows what arrays say; they are copied.

        Arrays that cannot be those of such a state are a LogError: kernels would trust them.
        """
        state = policy.state(design)
        require_shapes(state, arrays)
        require_lists(state, arrays)
        state.load(arrays)
        require_sound(state, arrays)
        return state

    def load(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Know what arrays say, which are those of such a state."""
        restore(self, self.NAMES, arrays)
        self.closed = tuple((m, arm) for m, arm in arrays["closed"].tolist())
        sets: list[list[tuple[int, int]]] = [[] for _ in range(int(arrays["copies"]))]
        for number, m, arm in arrays["excluded"].tolist():
            sets[number].append((m, arm))
        self.copies = {tuple(pairs): number for number, pairs in enumerate(sets)}
        for name, part in self.parts().items():
            part.load(within(name, arrays))

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        """Return a copy. Replay may make one for each row, and arrays of a state need not be looked at."""
        state = deepcopy(self.policy, memo).state(deepcopy(self.design, memo))
        state.load(self.arrays())
        return state

    def __reduce__(self) -> tuple[Any, ...]:
        return PolicyState.from_arrays, (self.policy, self.design, self.arrays())
