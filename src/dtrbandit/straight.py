"""The usual verbs of a session under a built-in policy, each in one function.

A verb is usual if its values are plain floats, nothing is closed, held or contraindicated, and nothing is said twice.
Anything else goes to the rules (``record/rules.py``), which say what is wrong with it, if anything. Both ways lead to
the same facts and the same bits (``tests/test_straight.py``).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

from dtrbandit.design.contexts import LARGEST
from dtrbandit.design.formula import Vector
from dtrbandit.design.spec import Design
from dtrbandit.kernels import constants as c
from dtrbandit.kernels.stream import uniform
from dtrbandit.policies.facts import decision_of
from dtrbandit.policies.state import PolicyState
from dtrbandit.record.events import Decision, new
from dtrbandit.record.features import Context, columns_of, features_at
from dtrbandit.record.histories import Histories, History, UnitRecord
from dtrbandit.record.packed import NUMBER, PackedLog, head_of_arrival, head_of_decision
from dtrbandit.record.rules import is_unit_id
from dtrbandit.record.unit_ids import is_distinct
from dtrbandit.record.values import Values, packing


class Believing(Protocol):
    """A ``Belief``, as far as its verbs need it."""

    design: Design
    seed: int
    state: Any
    histories: Histories
    version: int
    whole: bool


class StageForm(NamedTuple):
    """How the context of a stage is packed, and the numbers of heads in the log (``record/packed.py``).

    Attributes
    ----------
    columns, size, pack
        The columns of the context, how many there are, and what packs their numbers.
    arrival
        The head of an arrival.
    decisions
        Those of decisions, by arm, reason and contenders.
    """

    columns: tuple[str, ...]
    size: int
    pack: Callable[..., bytes]
    arrival: int
    decisions: dict[tuple[int, str, tuple[str, ...]], int]


class StraightVerbs:
    """The usual verbs for a belief whose log is in memory. None or False: it is not usual, and nothing has changed."""

    def __init__(self, belief: Believing, log: PackedLog) -> None:
        self._belief, self._log, self._histories = belief, log, belief.histories
        self._design, self._tree, self._stages = belief.design, belief.design.tree, len(belief.design.stages)
        self._forms = [
            StageForm(
                own,
                len(own),
                packing(len(own)).pack,
                log.number_of(head_of_arrival(stage.name if m else None, own)),
                {},
            )
            for m, (stage, own) in enumerate(zip(belief.design.stages, belief.design.columns, strict=True))
        ]

    def enroll(self, unit: str, context: object) -> Decision | None:
        """Enrol a unit, and return its first decision."""
        histories = self._histories
        if not (histories.quiet and is_unit_id(unit) and unit not in histories.rounds and is_distinct(histories, unit)):
            return None
        accepted = self._accepted(0, context)
        if accepted is None:
            return None
        contexts, t = (accepted,), len(histories.names) + 1
        psi = features_at(self._design, unit, 0, contexts, ())
        arm = self._ask(t, 0, 0, psi)
        decision = decision_of(self._belief.state, unit, t, 0, arm)
        node = self._tree.following[0][arm]
        history = new(History, (unit, t, node, (psi,), self._tree.arms_to[node], (), None, ()))
        if not self._record(t, 0, arm, accepted, decision):
            return None
        histories.note_enrolled(UnitRecord(history, contexts, contexts, (decision,)))
        self._learn(c.ARRIVED, t, 0, 0, arm, 1.0 if decision.reason == "forced" else 0.0, 2)
        return decision

    def respond(self, unit: str, context: object) -> Decision | None:
        """Record the response of a unit that enters its next stage, and return its decision there."""
        histories = self._histories
        record = histories.in_flight.get(unit) if histories.quiet and type(unit) is str else None
        if record is None or record.left or record.history.excluded:
            return None
        m = len(record.reported)
        accepted = self._accepted(m, context) if m < self._stages else None
        if accepted is None:
            return None
        contexts, condition = (*record.contexts, accepted), self._design.parsed[m].condition
        if condition is not None and not condition.holds(columns_of(contexts)):
            return None
        known, t, before, features, arms, _, _, _ = record.history
        psi = features_at(self._design, known, m, contexts, arms)
        arm = self._ask(t, m, before, psi)
        decision = decision_of(self._belief.state, known, t, m, arm)
        node = self._tree.following[before][arm]
        history = new(History, (known, t, node, (*features, psi), self._tree.arms_to[node], (), None, ()))
        if not self._record(t, m, arm, accepted, decision):
            return None
        histories.note_responded(record, accepted, history, decision)
        self._learn(c.ARRIVED, t, m, before, arm, 1.0 if decision.reason == "forced" else 0.0, 2)
        return decision

    def complete(self, unit: str, outcome: object) -> bool:
        """Record the outcome of a unit that has been through all stages or has left early."""
        histories = self._histories
        record = histories.in_flight.get(unit) if type(unit) is str else None
        if record is None or not (record.left or len(record.reported) == self._stages):
            return False
        if type(outcome) is not float or not -LARGEST <= outcome <= LARGEST:
            return False
        _, t, _, _, arms, _, _, _ = record.history
        self._belief.whole = False
        self._log.append_completed(t, outcome)
        histories.note_completed(record, outcome)
        self._learn(c.COMPLETED, t, len(arms) - 1, -1, -1, outcome, 1)
        return True

    def _accepted(self, m: int, context: object) -> Context | None:
        """Return the context of a stage as it goes on record; None unless it has all columns, all of them floats."""
        columns, size, pack, _, _ = self._forms[m]
        if type(context) is not dict or len(context) != size or not size:
            return None
        numbers = [context.get(column) for column in columns]
        for number in numbers:
            if type(number) is not float or not -LARGEST <= number <= LARGEST:
                return None
        return Values(columns, pack(*numbers))

    def _ask(self, t: int, m: int, node: int, psi: Vector) -> int:
        """Return the arm that the policy gives to a unit whose record it knows."""
        belief = self._belief
        state: PolicyState = belief.state
        state.psi_bytes[: state.dimensions[m]] = psi
        state.at_hand = psi
        arm: int = state.ask(state.observed.taught + t - 1, m, node, uniform(belief.seed, t, m, self._stages))
        assert arm >= 0, f"round {t}, stage {m + 1}"
        return arm

    def _record(self, t: int, m: int, arm: int, context: Context, decision: Decision) -> bool:
        """Put an arrival and its decision into the log; False if the log has no room for what they have in common."""
        _, _, _, _, why, chance, tilde, hat, contenders, _ = decision
        _, _, _, arrival, decisions = self._forms[m]
        number = decisions.get((arm, why, contenders))
        if number is None:
            number = decisions[arm, why, contenders] = self._log.number_of(head_of_decision(decision))
        if not (number and arrival):
            return False
        self._belief.whole = False
        numbers = NUMBER.pack(chance) + tilde.packed + hat.packed  # type: ignore[attr-defined]  # Values, as it made them
        self._log.append_arrival(t, arrival, context.packed, number, numbers)
        self._histories.tally.count_decision(m, arm, why)
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
