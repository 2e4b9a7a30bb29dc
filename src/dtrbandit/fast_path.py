"""The fast path of a session under a built-in policy: each frequent verb in one function, compiled.

It takes a command whose values are plain floats while nothing is closed, held or contraindicated, and that says nothing
twice. Any other it leaves to the rules (``record/rules.py``), which say what is wrong with it, if anything. Both ways
lead to the same facts and the same bits (``tests/test_fast_path.py``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import Enum
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from dtrbandit.design.contexts import LARGEST
from dtrbandit.design.spec import Design
from dtrbandit.kernels import constants as c
from dtrbandit.kernels.arrays import Vector
from dtrbandit.kernels.stream import ROUNDS, uniforms
from dtrbandit.policies.state import PolicyState
from dtrbandit.record.commands import Command, Complete, Enroll, Respond
from dtrbandit.record.events import Assigned, Completed, Decision, Enrolled, Responded, new
from dtrbandit.record.histories import (
    AWAITS_OUTCOME,
    AWAITS_STAGE,
    COMPLETED,
    LEFT_AND_COMPLETED,
    Context,
    History,
    UnitRecord,
    columns_of,
    features_at,
)
from dtrbandit.record.log import NUMBER, PackedLog, Template, split
from dtrbandit.record.units import Histories
from dtrbandit.record.values import Values, is_unit_id, packing

BUILT_FROM = c.BUILT_FROM


class NotTaken(Enum):
    """The reply to a command that is left to the rules. Nothing has changed."""

    NOT_TAKEN = "not taken"


NOT_TAKEN = NotTaken.NOT_TAKEN
Reply = Decision | NotTaken | None


class Believing(Protocol):
    """A ``Belief``, as far as its verbs need it."""

    design: Design
    seed: int
    state: Any
    histories: Histories
    version: int
    whole: bool


class StageLayout(NamedTuple):
    """How the context of a stage is packed, and the numbers of templates in the log (``record/log.py``).

    Attributes
    ----------
    columns, size, pack
        The columns of the context, how many there are, and what packs their numbers.
    arrival
        The template of an arrival.
    decisions
        Those of decisions, by arm, reason and contenders.
    """

    columns: tuple[str, ...]
    size: int
    pack: Callable[..., bytes]
    arrival: int
    decisions: dict[tuple[int, str, tuple[str, ...]], int]


def arrivals(design: Design) -> Iterator[Template]:
    """Give the templates of arrivals at each stage."""
    for m, (stage, columns) in enumerate(zip(design.stages, design.columns, strict=True)):
        context: Context = Values(columns, (0.0,) * len(columns))
        template, _ = split(Responded("", stage.name, context) if m else Enrolled("", 1, context))
        yield template


class FastPath:
    """Takes commands for a belief whose log is in memory."""

    def __init__(self, belief: Believing, log: PackedLog) -> None:
        self._belief, self._log, self._entries, self._histories = belief, log, log.entries, belief.histories
        self._design, self._tree, self._stages = belief.design, belief.design.tree, len(belief.design.stages)
        self._drawn: NDArray[np.float64] | None = None  # of the stream: the uniform numbers of some rounds
        self._first = 0  # of these rounds
        self._completion = log.number_of(split(Completed("", 0.0))[0])
        self._layouts = [
            StageLayout(own, len(own), packing(len(own)).pack, log.number_of(arrival), {})
            for own, arrival in zip(belief.design.columns, arrivals(belief.design), strict=True)
        ]

    def take(self, command: Command) -> Reply:
        """Take a command and return its decision, None where there is none; or leave it to the rules."""
        if type(command) is Enroll:
            unit, context, exclude, reason, site = command
            if exclude is None and reason is None and site is None:
                return self._enroll(unit, context)
        elif type(command) is Respond:
            unit, context, stage, exclude, reason = command
            if stage is None and exclude is None and reason is None:
                return self._respond(unit, context)
        elif type(command) is Complete:
            return self._complete(command.unit, command.outcome)
        return NOT_TAKEN

    def _enroll(self, unit: Any, context: Any) -> Reply:
        """Enrol a unit, and return its first decision."""
        histories = self._histories
        if type(unit) is not str or not (histories.quiet and unit.isascii() and is_unit_id(unit)):
            return NOT_TAKEN
        key = unit.lower()  # without regard to case
        if unit in histories.rounds or key in histories.rounds or key in histories.folded:
            return NOT_TAKEN
        accepted = self._accepted(0, context)
        if accepted is None:
            return NOT_TAKEN
        contexts, t = (accepted,), len(histories.names) + 1
        psi = features_at(self._design, unit, 0, contexts, ())
        arm = self._ask(t, 0, 0, psi)
        decision: Decision = self._belief.state.decision(unit, t, 0, arm)
        if not self._record(t, 0, arm, accepted, decision):
            return NOT_TAKEN
        node = self._tree.following[0][arm]
        history = new(History, (unit, t, node, (psi,), self._tree.arms_to[node], (), None, ()))
        histories.names.append(unit)
        histories.rounds[unit] = t
        if key != unit:
            histories.folded[key] = unit
        histories.in_flight[unit] = UnitRecord(history, contexts, contexts)
        histories.tally.states[AWAITS_STAGE if self._stages > 1 else AWAITS_OUTCOME] += 1
        self._learn(c.ARRIVED, t, 0, 0, arm, self._forced(), 2)
        return decision

    def _respond(self, unit: Any, context: Any) -> Reply:
        """Record the response of a unit that enters its next stage, and return its decision there."""
        histories = self._histories
        record = histories.in_flight.get(unit) if histories.quiet and type(unit) is str else None
        if record is None or record.left or record.history.excluded:
            return NOT_TAKEN
        m = len(record.reported)
        accepted = self._accepted(m, context) if m < self._stages else None
        if accepted is None:
            return NOT_TAKEN
        contexts, condition = (*record.contexts, accepted), self._design.parsed[m].condition
        if condition is not None and not condition.holds(columns_of(contexts)):
            return NOT_TAKEN
        known, t, before, features, arms, _, _, _ = record.history
        psi = features_at(self._design, known, m, contexts, arms)
        arm = self._ask(t, m, before, psi)
        decision: Decision = self._belief.state.decision(known, t, m, arm)
        if not self._record(t, m, arm, accepted, decision):
            return NOT_TAKEN
        node = self._tree.following[before][arm]
        record.reported = contexts if record.contexts is record.reported else (*record.reported, accepted)
        record.contexts = contexts
        record.history = new(History, (known, t, node, (*features, psi), self._tree.arms_to[node], (), None, ()))
        states = histories.tally.states
        states[AWAITS_STAGE + m - 1] -= 1
        states[AWAITS_STAGE + m if m + 1 < self._stages else AWAITS_OUTCOME] += 1
        self._learn(c.ARRIVED, t, m, before, arm, self._forced(), 2)
        return decision

    def _complete(self, unit: Any, outcome: Any) -> Reply:
        """Record the outcome of a unit that has been through all stages or has left early."""
        histories = self._histories
        record = histories.in_flight.get(unit) if type(unit) is str else None
        if record is None or not (record.left or len(record.reported) == self._stages):
            return NOT_TAKEN
        if type(outcome) is not float or not -LARGEST <= outcome <= LARGEST:
            return NOT_TAKEN
        known, t, _, _, arms, _, _, _ = record.history
        self._belief.whole = False
        self._entries.append(self._completion, t, NUMBER.pack(outcome))
        del histories.in_flight[known]
        tally = histories.tally
        tally.states[AWAITS_OUTCOME] -= 1
        tally.states[LEFT_AND_COMPLETED if record.left else COMPLETED] += 1
        tally.count_outcome(None, outcome)
        self._learn(c.COMPLETED, t, len(arms) - 1, -1, -1, outcome, 1)
        return None

    def _accepted(self, m: int, context: Any) -> Context | None:
        """Return the context of a stage as it goes on record; None unless it has all columns, all of them floats."""
        columns, size, pack, _, _ = self._layouts[m]
        if type(context) is not dict or len(context) != size or not size:
            return None
        numbers = [context.get(column) for column in columns]
        for number in numbers:
            if type(number) is not float or not -LARGEST <= number <= LARGEST:
                return None
        return Values(columns, pack(*numbers))

    def _ask(self, t: int, m: int, node: int, psi: Vector) -> int:
        """Return the arm that the policy gives to a unit whose record it knows."""
        state: PolicyState = self._belief.state
        state.psi_bytes[: state.dimensions[m]] = psi
        state.at_hand = psi
        arm = int(state.ask(state.observed.taught + t - 1, m, node, self._uniform(t, m)))  # a plain one, not compiled
        assert arm >= 0, f"round {t}, stage {m + 1}"
        return arm

    def _uniform(self, t: int, m: int) -> float:
        """Return the number of the stream for a round and a stage, mostly from the block that was read before."""
        if self._drawn is None or not self._first <= t < self._first + ROUNDS:
            block, _ = divmod(t - 1, ROUNDS)
            self._drawn, self._first = uniforms(self._belief.seed, block, self._stages), ROUNDS * block + 1
        return self._drawn.item(t - self._first, m)

    def _forced(self) -> float:
        """Return 1 if the last decision was scheduled, otherwise 0."""
        state: PolicyState = self._belief.state
        return 1.0 if state.reason == c.FORCED else 0.0

    def _record(self, t: int, m: int, arm: int, context: Context, decision: Decision) -> bool:
        """Put an arrival and its decision into the log; False if the log has no room for what they have in common."""
        _, _, _, _, why, chance, tilde, hat, contenders, _ = decision
        _, _, _, arrival, decisions = self._layouts[m]
        number = decisions.get((arm, why, contenders))
        if number is None:
            number = decisions[arm, why, contenders] = self._log.number_of(split(new(Assigned, (decision,)))[0])
        if not (number and arrival):
            return False
        self._belief.whole = False
        self._entries.append(arrival, t, context.packed)
        self._entries.append(number, t, NUMBER.pack(chance) + tilde.packed + hat.packed)  # type: ignore[attr-defined]  # Values
        tally = self._histories.tally
        tally.given[m, arm] += 1
        tally.reasons[why] += 1
        return True

    def _learn(self, fact: int, t: int, m: int, node: int, arm: int, value: float, facts: int) -> None:
        """Let the policy learn from a fact, with the features at hand; so many facts count from here on."""
        state: PolicyState = self._belief.state
        taught = state.observed.taught
        if taught + t > state.observed.capacity:
            state.reserve(taught + t)
        fits = state.take_if_it_fits(fact, taught + t - 1, m, node, arm, value)
        assert fits, f"round {t}, stage {m + 1}"  # as the units' records have it
        self._histories.count += facts
        self._belief.version += facts
        self._belief.whole = True
