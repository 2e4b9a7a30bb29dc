"""Events that are not checked yet, cut into stretches and brought side by side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from types import NoneType
from typing import Any

import numpy as np

from dtrbandit.record.bundle import Bundle, HeadCounter, Unusual, require_usual, side_by_side
from dtrbandit.record.contraindications import accept_exclude
from dtrbandit.record.events import Assigned, Completed, Decision, Enrolled, Event, Fact, Responded, Withdrawn
from dtrbandit.record.histories import Histories
from dtrbandit.record.log import Log
from dtrbandit.record.packed import SAYS_ROUND, SPLITS, width_of
from dtrbandit.record.rules import accept, what_is_wrong
from dtrbandit.record.sequences import Bundled, Pieces, types, usual_runs
from dtrbandit.record.values import Values

USUAL = frozenset((Enrolled, Responded, Assigned, Completed, Withdrawn))


def stretches(events: Sequence[Event], most: int, shortest: int) -> Iterator[tuple[bool, Sequence[Event]]]:
    """Cut events into stretches; say of each whether it may be looked at side by side.

    They are cut after so many events, and where the kinds of events are not usual. A decision stays with what it
    answers, if it follows at once.
    """
    for piece in events.pieces if isinstance(events, Pieces) else _cut(events, most):
        for usual, start, stop in usual_runs([kind in USUAL for kind in types(piece)], shortest):
            yield usual, piece[start:stop]


def _cut(events: Sequence[Event], most: int) -> Iterator[Sequence[Event]]:
    start = 0
    while start < len(events):
        stop = min(start + most, len(events))
        if stop < len(events) and type(events[stop]) is Assigned:
            stop += 1
        yield events[start:stop]
        start = stop


def side_by_side_of(histories: Histories, events: Sequence[Event]) -> Bundle:
    """Return events side by side, as they go on record; Unusual or a DTRError if that cannot be."""
    if isinstance(events, Bundled):
        return events.bundle
    if isinstance(events, Log):
        with suppress(Unusual):  # of too many heads in a log, some are no heads
            return events.bundle()
    return _Bundling(histories).bundle(events)


class _Bundling:
    """Takes facts one by one, and has them hold what goes on record."""

    def __init__(self, histories: Histories) -> None:
        self._histories, self._design = histories, histories.design

    def bundle(self, events: Sequence[Event]) -> Bundle:
        number_of, which, packed = HeadCounter(), list[int](), list[bytes]()
        units, said = list[str](), list[int]()
        for event in events:
            fact = self._as_recorded(event)
            named: Any = fact.decision if type(fact) is Assigned else fact
            head, own = SPLITS[type(fact)](fact)
            which.append(number_of(head))
            packed.append(own)
            units.append(named[0])
            said.append(named[1] if type(fact) in SAYS_ROUND else 0)
        require_usual({int}.issuperset(map(type, said)) and max(said, default=0) < 2**63)
        chosen, widths = np.array(which, dtype=np.int64), [width_of(head) for head in number_of.heads]
        numbers = side_by_side(chosen, packed, widths)
        return Bundle(number_of.heads, chosen, units, np.array(said, dtype=np.int64), numbers)

    def _as_recorded(self, event: Any) -> Fact:
        """Return a fact as it goes on record, as far as that can be told without its unit's story."""
        kind = type(event)
        if kind is Enrolled and type(event.site) in (NoneType, str):
            return self._arrival(event, 0)
        if kind is Responded:
            return self._arrival(event, self._stage(event.stage))
        if kind is Assigned:
            self._require_decision(event.decision)
        elif kind is Enrolled or kind not in USUAL or (kind is Completed and type(event.outcome) is not float):
            raise Unusual
        fact: Fact = event
        return fact

    def _arrival(self, fact: Any, m: int) -> Fact:
        context, columns = fact.context, self._design.columns[m]
        if type(context) is not Values or context.labels != columns:
            fact = fact._replace(context=accept(self._histories, fact.unit, m, context))
        if fact.exclude is not None or fact.reason is not None:
            exclude, reason = accept_exclude(self._design, fact.unit, m, fact.exclude, fact.reason)
            fact = fact._replace(exclude=exclude, reason=reason)
        accepted: Fact = fact
        return accepted

    def _require_decision(self, decision: object) -> None:
        if type(decision) is not Decision:
            raise Unusual
        require_usual(type(decision.reason) is str)  # equal heads must have equal types
        require_usual(type(decision.contenders) is tuple and type(decision.infeasible) is tuple)
        if type(decision.q_tilde) is type(decision.q_hat) is Values and type(decision.propensity) is float:
            return  # what is left to check is common to many decisions, or numbers
        stage = self._design.stages[self._stage(decision.stage)]
        require_usual(what_is_wrong(decision, stage.arms) is None)

    def _stage(self, name: str) -> int:
        require_usual(type(name) is str)  # likewise
        return self._design.stage_number(name)
