"""Units' histories: the fold of a log.

``advance`` returns the history that a fact leads to, and changes nothing. ``Histories.record`` is the only way in which
a fact comes on record. Facts are not checked here: ``record/rules.py`` says what may be recorded next.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

from dtrbandit.design.formula import Vector
from dtrbandit.design.spec import Design
from dtrbandit.record.events import (
    Assigned,
    Completed,
    Corrected,
    Decision,
    Enrolled,
    Fact,
    Opened,
    Overridden,
    Responded,
    Withdrawn,
)
from dtrbandit.record.features import Context, all_features, columns_of, features_at
from dtrbandit.record.packed import ANY, PackedLog
from dtrbandit.record.values import Values


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


@dataclass(slots=True)
class UnitRecord:
    """What is on record of one unit: what was reported, what holds now, and what was decided."""

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


class Alike(NamedTuple):
    """Units that differ in their numbers alone: the record of the first, and the rounds of all."""

    first: UnitRecord
    rounds: list[int]
    outcomes: list[float]  # one for each of them, or none


class Histories:
    """The log, and the records of all its units.

    The record of a unit in flight is kept. That of a unit that has ended is made again from its packed events when it
    is asked for.
    """

    def __init__(self, design: Design, opened: Opened) -> None:
        self.design = design
        self.log = PackedLog(opened)
        self.in_flight: dict[str, UnitRecord] = {}

    def __len__(self) -> int:
        return len(self.log.rounds)

    def __iter__(self) -> Iterator[UnitRecord]:
        """Give the records of all units in the order of their rounds, one at a time."""
        for t, unit in enumerate(self.log.names, 1):
            yield self.in_flight.get(unit) or self._retold(t)

    def alike(self) -> Iterator[Alike]:
        """Give units that differ in their numbers alone together, in the order of the first of each kind."""
        rounds: dict[tuple[int, ...], list[int]] = {}
        for t, story in enumerate(self.log.heads_by_round(), 1):
            rounds.setdefault((*story, t) if ANY in story else story, []).append(t)
        for first, *others in rounds.values():
            record = self.in_flight.get(self.log.names[first - 1]) or self._retold(first)
            outcomes = [] if record.history.outcome is None else [record.history.outcome]
            if outcomes:  # then the others, without amendments, end with theirs
                outcomes += map(self.log.last_outcome, others)
            yield Alike(record, [first, *others], outcomes)

    def get(self, unit: str) -> UnitRecord | None:
        """Return what is on record of a unit, None if it is not enrolled."""
        record = self.in_flight.get(unit)
        if record is None:
            t = self.log.rounds.get(unit)
            record = None if t is None else self._retold(t)
        return record

    def record(self, fact: Fact, known: UnitRecord | None, history: History) -> None:
        """Put a fact on record, and the history that it leads to; ``known`` is the unit's record, None if it enrols."""
        self.log.append(fact, history.round)
        kind = type(fact)
        if known is None:
            self.in_flight[history.unit] = _newcomer(fact, history)
        elif kind is Completed or kind is Withdrawn:
            del self.in_flight[history.unit]
        else:
            _add(self.design, known, fact, history)

    def _retold(self, t: int) -> UnitRecord:
        """Return the record of the unit of a round, from its events."""
        first, *others = self.log.story(t)
        record = _newcomer(first, _enrolled(self.design, None, first))
        for fact in others:
            _add(self.design, record, fact, advance(self.design, record, fact))
        return record


# -- the history that a fact leads to --------------------------------------------------------------------------


def advance(design: Design, known: UnitRecord | None, fact: Fact) -> History:
    """Return the history that a fact leads to; ``known`` is the record of its unit, None if it enrols."""
    return ADVANCES[type(fact)](design, known, fact)


def _enrolled(design: Design, record: None, fact: Any) -> History:  # noqa: ARG001  # one signature
    unit, t, context = fact
    first = features_at(design, unit, 0, (context,), ())
    return new_history((unit, t, 0, (first,), (), design.tree.feasible[0], None))


def _assigned(design: Design, record: UnitRecord, fact: Assigned) -> History:
    unit, t, node, features, arms, _, outcome = record.history
    tree = design.tree
    node = tree.following[node][design.stages[len(arms)].arms.index(fact.decision.arm)]
    return new_history((unit, t, node, features, tree.arms_to[node], (), outcome))


def _responded(design: Design, record: UnitRecord, fact: Any) -> History:
    unit, _, context = fact
    _, t, node, features, arms, _, _ = record.history
    m, contexts = len(record.reported), (*record.contexts, context)
    _, condition, columns, _ = design.parsed[m]
    if context.labels == columns:
        features = (*features, features_at(design, unit, m, contexts, arms))
    enters = condition is None or condition.holds(columns_of(contexts))
    return new_history((unit, t, node, features, arms, design.tree.feasible[node] if enters else (), None))


def _completed(design: Design, record: UnitRecord, fact: Completed) -> History:  # noqa: ARG001  # one signature
    unit, t, node, features, arms, feasible, _ = record.history
    return new_history((unit, t, node, features, arms, feasible, fact.outcome))


def _withdrawn(design: Design, record: UnitRecord, fact: Withdrawn) -> History:  # noqa: ARG001  # one signature
    return record.history._replace(feasible=())


def _overridden(design: Design, record: UnitRecord, fact: Overridden) -> History:
    m, arms = design.stage_number(fact.stage), record.history.arms
    arm = design.stages[m].arms.index(fact.arm)
    node = design.tree.after((*arms[:m], arm, *arms[m + 1 :]))
    arms = design.tree.arms_to[node]
    features = all_features(design, fact.unit, record.contexts, arms)
    return record.history._replace(node=node, arms=arms, features=features, feasible=())


def _corrected(design: Design, record: UnitRecord, fact: Corrected) -> History:
    outcome, contexts = merged(design, record, fact)
    features = all_features(design, fact.unit, contexts, record.history.arms)
    return record.history._replace(outcome=outcome, features=features)


def merged(design: Design, record: UnitRecord, fact: Corrected) -> tuple[float | None, tuple[Context, ...]]:
    """Return the outcome and the contexts after a correction."""
    if fact.stage is None or fact.context is None:
        return fact.outcome, record.contexts
    m = design.stage_number(fact.stage)
    context = in_order(design, m, {**record.contexts[m], **fact.context})
    return record.history.outcome, (*record.contexts[:m], context, *record.contexts[m + 1 :])


def in_order(design: Design, m: int, accepted: dict[str, float]) -> Context:
    """Return a context as it goes on record: its columns in the order of the design."""
    columns = design.columns[m]
    known = columns if len(accepted) == len(columns) else tuple([c for c in columns if c in accepted])
    return Values(known, tuple([accepted[column] for column in known]))


ADVANCES: dict[type, Callable[[Design, Any, Any], History]] = {
    Enrolled: _enrolled,
    Assigned: _assigned,
    Responded: _responded,
    Completed: _completed,
    Withdrawn: _withdrawn,
    Overridden: _overridden,
    Corrected: _corrected,
}


# -- what is on record after it -----------------------------------------------------------------------------------


def _newcomer(fact: Any, history: History) -> UnitRecord:
    contexts = (fact.context,)
    return UnitRecord(history, contexts, contexts)


def _add(design: Design, record: UnitRecord, fact: Any, history: History) -> None:
    """Add a fact, and the history that it led to, to the record of its unit."""
    kind = type(fact)
    if kind is Assigned:
        record.decisions += (fact.decision,)
    elif kind is Responded:
        untouched = record.contexts is record.reported
        record.contexts = (*record.contexts, fact.context)
        record.reported = record.contexts if untouched else (*record.reported, fact.context)
        record.left = not history.feasible
    elif kind is Completed:
        record.outcome = fact.outcome
    elif kind is Withdrawn:
        record.withdrawn = fact
    else:
        if kind is Corrected:
            _, record.contexts = merged(design, record, fact)
        record.amendments += (fact,)
    record.history = history
