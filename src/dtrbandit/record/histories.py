"""Units' histories: the fold of a log, and the rules of what may be recorded next.

Each verb has a method named after its event (``enrolled``, ``responded``, …) that returns the fact to record,
None when the same fact is recorded already, or raises; none of them changes anything. ``advance`` gives the
history that a fact leads to, and ``record`` alone believes it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Any, NamedTuple, NoReturn

import numpy as np

from dtrbandit.design.contexts import LARGEST, accept_context, accept_number, require_columns
from dtrbandit.design.formula import Vector
from dtrbandit.design.spec import Design
from dtrbandit.errors import ObservationError, ProtocolError
from dtrbandit.record.events import (
    Assigned,
    Completed,
    Corrected,
    Decision,
    Enrolled,
    Fact,
    Overridden,
    Responded,
    Withdrawn,
)
from dtrbandit.record.values import Values

Context = Values[float]


class History(NamedTuple):
    """A unit so far, as a policy sees it.

    Attributes
    ----------
    round
        Its number t, from 1.
    node
        The node of the design's tree that its arms lead to.
    features
        ψ_m(h_m) for each stage it arrived at, (d_m,) each.
    arms
        The arms really given, as numbers.
    feasible
        Whether each arm of the present stage may be given; empty while no decision is due.
    outcome
        Y, or None until it is known.

    A unit that left early has an outcome and fewer arms than the design has stages.
    """

    unit: str
    round: int
    node: int
    features: tuple[Vector, ...]
    arms: tuple[int, ...]
    feasible: tuple[bool, ...]
    outcome: float | None


new_history = partial(tuple.__new__, History)  # from a tuple, in half the time
ONE = Values(("1",), (1.0,)).packed


@dataclass(slots=True)
class Unit:
    """What is on record for one unit: what was reported, what holds now, and what was decided."""

    history: History
    contexts: tuple[Context, ...]  # as they hold now, corrections included
    reported: tuple[Context, ...]  # as they were first reported
    decisions: tuple[Decision, ...] = ()
    left: bool = False  # by enter_if, before the last stage
    outcome: float | None = None  # as it was first reported
    withdrawn: Withdrawn | None = None
    amendments: tuple[Overridden | Corrected, ...] = ()

    @property
    def awaited(self) -> int:
        """The number of the stage whose context comes next."""
        return len(self.reported)

    @property
    def ended(self) -> bool:
        """Whether nothing more is expected."""
        return self.outcome is not None or self.withdrawn is not None


class Histories:
    """All units of a log."""

    def __init__(self, design: Design) -> None:
        self.design = design
        self.units: dict[str, Unit] = {}
        self._last = len(design.stages) - 1

    # -- what may be recorded --------------------------------------------------------------------------------

    def enrolled(self, unit: str, context: Mapping[str, float]) -> Enrolled | None:
        """Return the enrolment of ``unit``, which takes the next round."""
        if not isinstance(unit, str) or not 0 < len(unit) <= 200 or not unit.isprintable():
            raise ObservationError(f"a unit's id must be a printable text of 1 to 200 characters, found {unit!r}")
        accepted = self._accepted(unit, 0, context)
        if accepted.labels != self.design.columns[0]:
            require_columns(self.design, 0, accepted, self.design.columns[0], unit=unit)
        known = self.units.get(unit)
        if known is None:
            return Enrolled(unit, len(self.units) + 1, accepted)
        if known.reported[0] == accepted:
            return None
        raise ProtocolError(
            f"unit {unit!r} is enrolled already with {known.reported[0]}, found {accepted}; "
            "use correct() to mend a recorded context, or another id for another unit"
        )

    def responded(self, unit: str, context: Mapping[str, float], stage: str | None = None) -> Responded | None:
        """Return the response of ``unit`` on arrival at its next stage."""
        record = self._known(unit)
        first = stage is None and len(record.reported) == 1 and self._last > 0 and not (record.ended or record.left)
        m = 1 if first else self.stage_of_response(unit, context, stage)
        accepted = self._accepted(unit, m, context)
        if m == len(record.reported):
            if accepted.labels != self.design.columns[m]:
                self._require_enough(unit, m, _columns((*record.contexts, accepted)), accepted)
            return Responded(record.history.unit, self.design.stages[m].name, accepted)
        if record.reported[m] == accepted:
            return None
        raise ProtocolError(
            f"unit {unit!r} responded already at stage {self._name(m)!r} with {record.reported[m]}, "
            f"found {accepted}; use correct() to mend a recorded context"
        )

    def completed(self, unit: str, outcome: float) -> Completed | None:
        """Return the outcome of ``unit``."""
        record = self._known(unit)
        usual = type(outcome) is float and -LARGEST <= outcome <= LARGEST
        accepted = outcome if usual else accept_number(outcome, f"unit {unit!r}, outcome")
        if record.outcome is not None:
            if record.outcome == accepted:
                return None
            raise ProtocolError(
                f"unit {unit!r} has its outcome {record.outcome!r} already, found {accepted!r}; "
                "use correct() to mend a recorded outcome"
            )
        self._require_open(unit, record, "complete")
        if not record.left and record.awaited <= self._last:
            raise ProtocolError(f"unit {unit!r} cannot complete: {self._expects(record)}")
        return Completed(record.history.unit, accepted)

    def withdrawn(self, unit: str, reason: str) -> Withdrawn | None:
        """Return the withdrawal of ``unit``."""
        record = self._known(unit)
        fact = Withdrawn(unit, _accept_reason(reason, unit))
        if record.withdrawn == fact:
            return None
        self._require_open(unit, record, "withdraw")
        return fact

    def overridden(self, unit: str, arm: str, reason: str, stage: str | None = None) -> Overridden | None:
        """Return the override of the arm of ``unit`` at a stage, by default the latest."""
        record = self._known(unit)
        m = self.stage_of_override(unit, arm, reason, stage)
        fact = Overridden(unit, self._name(m), arm, _accept_reason(reason, unit))
        if fact in record.amendments:
            return None
        arms = record.history.arms
        labels = self.design.stages[m].arms
        later = [
            label
            for number, label in enumerate(labels)
            if self.design.tree.after((*arms[:m], number, *arms[m + 1 :])) >= 0
        ]
        if arm not in later:
            raise ProtocolError(
                f"unit {unit!r} cannot have received {arm!r} at stage {fact.stage!r}: "
                f"feasible with its other arms are {later}; anything else is outside this design"
            )
        if labels[arms[m]] == arm:
            raise ProtocolError(
                f"unit {unit!r} is on record with arm {arm!r} at stage {fact.stage!r}: nothing to override"
            )
        return fact

    def corrected(
        self,
        unit: str,
        reason: str,
        outcome: float | None = None,
        stage: str | None = None,
        context: Mapping[str, float] | None = None,
    ) -> Corrected | None:
        """Return the correction of an outcome, or of columns of one stage's context."""
        record = self._known(unit)
        reason = _accept_reason(reason, unit)
        if (outcome is None) == (context is None) or (stage is None) != (context is None):
            raise ProtocolError(f"unit {unit!r}: correct either outcome=, or stage= and context=")
        if context is None:
            fact = self._corrected_outcome(unit, record, outcome, reason)
        else:
            fact = self._corrected_context(unit, record, str(stage), context, reason)
        if fact in record.amendments:
            return None
        if self._merge(record, fact) == (record.history.outcome, record.contexts):
            raise ProtocolError(f"unit {unit!r}: nothing to correct, that value is on record already")
        return fact

    def assigned(self, decision: Decision) -> Assigned:
        """Return the assignment of a decision that is due, as a log reports it."""
        record = self._known(decision.unit)
        history = record.history
        m = len(history.arms)
        if not history.feasible or decision.stage != self._name(m) or decision.round != history.round:
            raise ProtocolError(
                f"a decision for unit {decision.unit!r} at stage {decision.stage!r}, round {decision.round}, "
                f"is not due: {self._expects(record)}"
            )
        feasible = [arm for arm, yes in zip(self.design.stages[m].arms, history.feasible, strict=True) if yes]
        if decision.arm not in feasible:
            raise ProtocolError(
                f"unit {decision.unit!r} cannot receive {decision.arm!r} at stage {decision.stage!r}: "
                f"feasible arms are {feasible}"
            )
        return Assigned(decision)

    # -- what holds ------------------------------------------------------------------------------------------

    def advance(self, fact: Fact) -> History:
        """Return the history of the fact's unit as the fact makes it."""
        if isinstance(fact, Enrolled):
            first = self._features(fact.unit, 0, (_on_record(fact),), ())
            return new_history((fact.unit, fact.round, 0, (first,), (), self.design.tree.feasible[0], None))
        if isinstance(fact, Assigned):
            return self._given(self.units[fact.decision.unit].history, fact.decision.arm)
        record = self.units[fact.unit]
        if isinstance(fact, Responded):
            return self._arrived(record, fact)
        history = record.history
        if isinstance(fact, Completed):
            unit, t, node, features, arms, feasible, _ = history
            return new_history((unit, t, node, features, arms, feasible, fact.outcome))
        if isinstance(fact, Withdrawn):
            return history._replace(feasible=())
        if isinstance(fact, Overridden):
            return self._overridden(record, fact)
        outcome, contexts = self._merge(record, fact)
        return history._replace(outcome=outcome, features=self._all_features(fact.unit, contexts, history.arms))

    def record(self, fact: Fact, history: History) -> None:
        """Believe a fact and the history it leads to."""
        if isinstance(fact, Enrolled):
            contexts = (_on_record(fact),)
            self.units[fact.unit] = Unit(history, contexts, contexts)
            return
        record = self.units[history.unit]
        if isinstance(fact, Assigned):
            record.decisions += (fact.decision,)
        elif isinstance(fact, Responded):
            untouched = record.contexts is record.reported
            context = _on_record(fact)
            record.contexts = (*record.contexts, context)
            record.reported = record.contexts if untouched else (*record.reported, context)
            record.left = not history.feasible
        elif isinstance(fact, Completed):
            record.outcome = fact.outcome
            unit, t, node, _, arms, feasible, outcome = history
            history = new_history((unit, t, node, (), arms, feasible, outcome))  # an amendment computes features again
        elif isinstance(fact, Withdrawn):
            record.withdrawn = fact
        else:
            if isinstance(fact, Corrected):
                _, record.contexts = self._merge(record, fact)
            record.amendments += (fact,)
        record.history = history

    # -- details ---------------------------------------------------------------------------------------------

    def _known(self, unit: str) -> Unit:
        record = self.units.get(unit) if isinstance(unit, str) else None
        if record is None:
            raise ProtocolError(f"unknown unit {unit!r}: enroll it first ({len(self.units)} units are enrolled)")
        return record

    def _name(self, m: int) -> str:
        return self.design.stages[m].name

    def _stage_number(self, unit: str, stage: str) -> int:
        names = [each.name for each in self.design.stages]
        if stage not in names:
            raise ProtocolError(f"unit {unit!r}: there is no stage {stage!r}; the stages are {names}")
        return names.index(stage)

    def _expects(self, record: Unit) -> str:
        """Say what the unit is waiting for."""
        if record.withdrawn is not None:
            return f"it was withdrawn ({record.withdrawn.reason})"
        if record.outcome is not None:
            return "it is complete"
        if record.history.feasible:
            return f"its decision at stage {self._name(len(record.history.arms))!r} comes next"
        if record.left:
            return "it left early and awaits its outcome"
        if record.awaited > self._last:
            return "it awaits its outcome"
        columns = ", ".join(self.design.columns[record.awaited]) or "no columns"
        return f"it awaits its response at stage {self._name(record.awaited)!r} ({columns})"

    def _require_open(self, unit: str, record: Unit, verb: str) -> None:
        if record.ended:
            raise ProtocolError(f"unit {unit!r} cannot {verb}: {self._expects(record)}")

    def stage_of_response(self, unit: str, context: Mapping[str, float], stage: str | None = None) -> int:
        """Return the stage that a response speaks of: the one named, or the one its columns belong to."""
        record = self._known(unit)
        past = range(1, len(record.reported))
        closed = record.ended or record.left or record.awaited > self._last
        if stage is not None:
            m = self._stage_number(unit, stage)
            if m in past or (m == record.awaited and not closed):
                return m
            raise ProtocolError(f"unit {unit!r} cannot respond at stage {stage!r}: {self._expects(record)}")
        same = [m for m in past if isinstance(context, Mapping) and context.keys() == record.reported[m].keys()]
        if same and (closed or context):
            return same[-1]
        if closed:
            raise ProtocolError(f"unit {unit!r} cannot respond: {self._expects(record)}")
        if same and self._needs_nothing(record.awaited):
            raise ProtocolError(f"unit {unit!r}: an empty response could be for two stages; name it with stage=")
        return same[-1] if same else record.awaited

    def _needs_nothing(self, m: int) -> bool:
        """Say whether a response at stage ``m`` may be empty, at least for a unit that leaves."""
        condition, own = self.design.arrivals[m].condition, self.design.columns[m]
        return not own or (condition is not None and not any(column in own for column in condition.columns))

    def stage_of_override(self, unit: str, arm: str, reason: str, stage: str | None = None) -> int:
        """Return the stage that an override speaks of: the one named, or the latest decided."""
        record = self._known(unit)
        latest = len(record.decisions) - 1
        if stage is not None:
            if self._stage_number(unit, stage) > latest:
                raise ProtocolError(f"unit {unit!r} has no decision at stage {stage!r} yet: {self._expects(record)}")
            return self._stage_number(unit, stage)
        on_record = [m for m in range(latest + 1) if Overridden(unit, self._name(m), arm, reason) in record.amendments]
        if not on_record or on_record[-1] == latest:
            return latest
        if self.design.stages[latest].arms[record.history.arms[latest]] == arm:
            return on_record[-1]  # a repetition: at the latest stage there is nothing to override
        raise ProtocolError(
            f"unit {unit!r}: this override is on record for stage {self._name(on_record[-1])!r}; "
            f"say stage={self._name(latest)!r} if the same happened there"
        )

    def _accepted(self, unit: str, m: int, context: Mapping[str, float]) -> Context:
        """Return the context as it goes on record, or raise."""
        columns = self.design.columns[m]
        if type(context) is Values:
            if context.labels == columns:
                return context
            context = dict(context.pairs())
        if type(context) is dict and len(context) == len(columns):  # the usual case, without ado
            numbers: list[Any] = [context.get(column) for column in columns]
            for number in numbers:
                if type(number) is not float or not -LARGEST <= number <= LARGEST:
                    break
            else:
                return Values(columns, numbers)
        accepted = accept_context(self.design, m, context, unit=unit)
        known = columns if len(accepted) == len(columns) else tuple([c for c in columns if c in accepted])
        return Values(known, tuple([accepted[column] for column in known]))

    def _require_enough(self, unit: str, m: int, columns: Mapping[str, float], context: Context) -> None:
        """Refuse a response without the columns of enter_if, or, if the unit enters, without all."""
        condition = self.design.arrivals[m].condition
        if condition is not None:
            decisive = tuple(column for column in condition.columns if column in self.design.columns[m])
            require_columns(self.design, m, context, decisive, unit=unit)
            if not condition.holds(columns):
                return
        require_columns(self.design, m, context, self.design.columns[m], unit=unit)

    def _arrived(self, record: Unit, fact: Responded) -> History:
        m, history = record.awaited, record.history
        context = _on_record(fact)
        contexts = (*record.contexts, context)
        condition = self.design.arrivals[m].condition
        enters = condition is None or condition.holds(_columns(contexts))
        features = history.features
        if context.labels == self.design.columns[m]:
            features = (*features, self._features(fact.unit, m, contexts, history.arms))
        feasible = self.design.tree.feasible[history.node] if enters else ()
        return new_history((fact.unit, history.round, history.node, features, history.arms, feasible, None))

    def _overridden(self, record: Unit, fact: Overridden) -> History:
        m, arms = self.design.stage_number(fact.stage), record.history.arms
        arm = self.design.stages[m].arms.index(fact.arm)
        node = self.design.tree.after((*arms[:m], arm, *arms[m + 1 :]))
        arms = self.design.tree.paths[node]
        features = self._all_features(fact.unit, record.contexts, arms)
        return record.history._replace(node=node, arms=arms, features=features, feasible=())

    def _given(self, history: History, arm: str) -> History:
        unit, t, node, features, arms, _, outcome = history
        node = self.design.tree.following[node][self.design.stages[len(arms)].arms.index(arm)]
        return new_history((unit, t, node, features, self.design.tree.paths[node], (), outcome))

    def _all_features(self, unit: str, contexts: tuple[Context, ...], arms: tuple[int, ...]) -> tuple[Vector, ...]:
        """Return ψ for every stage whose columns are all known."""
        return tuple(
            self._features(unit, m, contexts[: m + 1], arms)
            for m, context in enumerate(contexts)
            if len(context) == len(self.design.columns[m])
        )

    def _features(self, unit: str, m: int, contexts: tuple[Context, ...], arms: tuple[int, ...]) -> Vector:
        """Return ψ_m, given the contexts up to stage ``m`` and the arms given before it."""
        features, _, _, places = self.design.arrivals[m]
        if places is not None:
            packed = ONE
            for context in contexts:
                packed += context.packed
            vector = np.frombuffer(packed)[places]
        else:
            row = features.row(_columns(contexts), {self.design.stages[k].name: arms[k] for k in range(m)})
            if not all(-LARGEST <= value <= LARGEST for value in row):
                self._refuse_features(unit, m, row)
            vector = np.array(row)
        vector.setflags(write=False)
        return vector

    def _refuse_features(self, unit: str, m: int, row: tuple[float, ...]) -> NoReturn:
        found = dict(zip(self.design.arrivals[m].features.names, row, strict=True))
        raise ObservationError(
            f"unit {unit!r}, stage {self._name(m)!r}: features must be finite and at most {LARGEST:g} in size, "
            f"found {found}"
        )

    def _corrected_outcome(self, unit: str, record: Unit, outcome: float | None, reason: str) -> Corrected:
        if record.outcome is None:
            raise ProtocolError(f"unit {unit!r} has no outcome to correct: {self._expects(record)}")
        return Corrected(unit, accept_number(outcome, f"unit {unit!r}, outcome"), None, None, reason)

    def _corrected_context(
        self, unit: str, record: Unit, stage: str, context: Mapping[str, float], reason: str
    ) -> Corrected:
        m = self._stage_number(unit, stage)
        if m >= len(record.contexts):
            raise ProtocolError(f"unit {unit!r} has no context at stage {stage!r} to correct: {self._expects(record)}")
        fact = Corrected(unit, None, stage, self._accepted(unit, m, context), reason)
        _, contexts = self._merge(record, fact)
        for k in range(1, len(contexts)):
            condition = self.design.arrivals[k].condition
            columns = _columns(contexts[: k + 1])
            entered = not (record.left and k == len(contexts) - 1)
            if condition is not None and condition.holds(columns) != entered:
                raise ProtocolError(
                    f"unit {unit!r}: with {dict(context)} it would have {'left before' if entered else 'entered'} "
                    f"stage {self._name(k)!r}, and what happened then cannot change; "
                    f"{'the record stays as it is' if record.ended else 'withdraw the unit instead'}"
                )
        self._all_features(unit, contexts, record.history.arms)  # refuses features out of range
        return fact

    def _merge(self, record: Unit, fact: Corrected) -> tuple[float | None, tuple[Context, ...]]:
        """Return the outcome and the contexts as the correction makes them."""
        if fact.stage is None or fact.context is None:
            return fact.outcome, record.contexts
        m = self.design.stage_number(fact.stage)
        merged = self._accepted(fact.unit, m, {**record.contexts[m], **fact.context})
        return record.history.outcome, (*record.contexts[:m], merged, *record.contexts[m + 1 :])


def _on_record(fact: Enrolled | Responded) -> Context:
    return fact.context  # type: ignore[return-value]  # facts come from the verbs above, which accept contexts


def _columns(contexts: Iterable[Context]) -> dict[str, float]:
    return dict(chain.from_iterable([context.pairs() for context in contexts]))


def _accept_reason(reason: object, unit: str) -> str:
    if not isinstance(reason, str) or not reason.strip() or len(reason) > 2000:
        raise ObservationError(f"unit {unit!r}: a reason must be a text of 1 to 2000 characters, found {reason!r}")
    return reason
