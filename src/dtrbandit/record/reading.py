"""Quick reading of long logs: the same events that ``codec`` reads, in a fraction of the time.

JSON is decoded by orjson. It would let pass an object that has a key twice. So what it read is written again, and must
be the text, byte for byte; otherwise ``codec`` reads the text, and says what is wrong with it, if anything. Events of
the four usual kinds are taken as they are when all their fields are of the usual types. All others go to ``codec``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import nan
from struct import Struct
from typing import Any

import orjson

from dtrbandit.design.spec import Design
from dtrbandit.errors import DTRError
from dtrbandit.record.codec import SINCE, document, event_of
from dtrbandit.record.events import Assigned, Completed, Decision, Enrolled, Event, Opened, Responded, new
from dtrbandit.record.values import Values

Entries = dict[str, Any]
# what the fields hold that a text leaves out
ENROLLED, RESPONDED, DECIDED = (tuple(kind._field_defaults.values()) for kind in (Enrolled, Responded, Decision))
WITHOUT_SITE = ENROLLED[:-1]
# of a decision, sorted
ASSIGNED = ("arm", "contenders", "event", "propensity", "q_hat", "q_tilde", "reason", "round", "stage", "unit")
MOST_CONTENDERS = 4096  # sets of contenders that are kept once


def quick_document(text: bytes) -> Entries:
    """Return the JSON object that a text in ASCII holds, as ``codec.document`` does.

    Examples
    --------
    >>> quick_document(b'{"outcome":2.5,"unit":"u1"}')
    {'outcome': 2.5, 'unit': 'u1'}
    """
    found = plain_document(text)
    return document(text.decode("ascii")) if found is None else found


def plain_document(text: bytes) -> Entries | None:
    """Return the JSON object that a text holds; None unless orjson writes it as it stands there."""
    try:
        found = orjson.loads(text)
        if type(found) is dict and orjson.dumps(found, None, orjson.OPT_SORT_KEYS) == text:
            return found
    except (orjson.JSONDecodeError, orjson.JSONEncodeError):
        pass
    return None


class Reader:
    """Reads the events of one log, whose first event says in which order numbers are kept.

    ``columns`` has the order of a stage's columns, ``first`` that of the first stage, and ``arms`` that of its arms.
    """

    def __init__(self) -> None:
        self.columns: dict[str, Order] = {}
        self.first: Order | None = None
        self.arms: dict[str, Order] = {}
        self._contenders: dict[tuple[str, ...], tuple[str, ...]] = {}
        self._quick: dict[str, Callable[[Entries], Event | None]] = {
            "Enrolled": self._enrolled,
            "Responded": self._responded,
            "Assigned": self._assigned,
            "Completed": _completed,
        }

    def event(self, entries: Entries) -> Event:
        """Return the event that a JSON object describes, as ``codec.event_of`` does."""
        kind = entries.get("event")
        quick = self._quick.get(kind) if type(kind) is str else None
        event = None if quick is None else quick(entries)
        if event is None:
            event = event_of(entries)
            if type(event) is Opened:
                self._begin(event)
        return event

    def _begin(self, opened: Opened) -> None:
        try:
            design = Design.from_dict(opened.design)
        except DTRError:  # its features are Python functions, or it is damaged: then mappings stay what they are
            return
        self.columns = {s.name: Order(c) for s, c in zip(design.stages, design.columns, strict=True)}
        self.arms = {stage.name: Order(stage.arms) for stage in design.stages}
        self.first = Order(design.columns[0])

    def _enrolled(self, entries: Entries) -> Event | None:
        context = None if self.first is None else self.first.numbers(entries.get("context"))
        unit, t = entries.get("unit"), entries.get("round")
        if context is None or type(unit) is not str or type(t) is not int:
            return None
        if len(entries) == 4:
            return new(Enrolled, (unit, t, context, *ENROLLED))
        site, number = entries.get("site"), entries.get("format")
        usual = len(entries) == 6 and type(site) is str and type(number) is int and number == SINCE["Enrolled.site"]
        return new(Enrolled, (unit, t, context, *WITHOUT_SITE, site)) if usual else None

    def _responded(self, entries: Entries) -> Event | None:
        unit, stage = entries.get("unit"), entries.get("stage")
        order = self.columns.get(stage) if type(stage) is str else None
        if order is None or len(entries) != 4 or type(unit) is not str:
            return None
        context = order.numbers(entries.get("context"))
        return None if context is None else new(Responded, (unit, stage, context, *RESPONDED))

    def _assigned(self, entries: Entries) -> Event | None:
        if tuple(entries) != ASSIGNED:
            return None
        arm, contenders, _, propensity, hat, tilde, reason, t, stage, unit = entries.values()
        order = self.arms.get(stage) if type(stage) is str else None
        if order is None or not type(unit) is type(arm) is type(reason) is str or type(t) is not int:
            return None
        q_tilde, q_hat, among = order.estimates(tilde), order.estimates(hat), self._known(contenders)
        if q_tilde is None or q_hat is None or among is None or type(propensity) is not float:
            return None
        decision = new(Decision, (unit, t, stage, arm, reason, propensity, q_tilde, q_hat, among, *DECIDED))
        return new(Assigned, (decision,))

    def _known(self, contenders: object) -> tuple[str, ...] | None:
        """Return a list of texts as a tuple, the same one each time."""
        if type(contenders) is not list:
            return None
        key: tuple[str, ...] = tuple(contenders)
        try:
            known = self._contenders.get(key)
        except TypeError:  # what cannot be hashed is no text
            return None
        if known is None:
            if not all(type(each) is str for each in key):
                return None
            known = key
            if len(self._contenders) < MOST_CONTENDERS:
                self._contenders[key] = key
        return known


class Order:
    """Labels in the order in which their numbers are kept, and in that of a text, which is sorted."""

    __slots__ = ("_is_sorted", "_pack", "as_text", "labels")

    def __init__(self, labels: Sequence[str]) -> None:
        self.labels = tuple(labels)
        self.as_text = tuple(sorted(labels))
        self._is_sorted = self.labels == self.as_text
        self._pack = Struct(f"{len(labels)}d").pack

    def numbers(self, found: Any) -> Values[float] | None:
        """Return numbers by label, all of them floats; None if this is anything else."""
        if type(found) is not dict or tuple(found) != self.as_text:
            return None
        numbers = found.values() if self._is_sorted else [found[label] for label in self.labels]
        for number in numbers:
            if type(number) is not float:
                return None
        return Values(self.labels, self._pack(*numbers))

    def estimates(self, found: Any) -> Values[float | None] | None:
        """Return numbers by label, floats or null; None if this is anything else."""
        numbers = self.numbers(found)
        if numbers is not None or type(found) is not dict or tuple(found) != self.as_text:
            return numbers
        known = [found[label] for label in self.labels]
        for number in known:
            if number is not None and type(number) is not float:
                return None
        return Values(self.labels, self._pack(*[nan if number is None else number for number in known]))


def _completed(entries: Entries) -> Event | None:
    unit, outcome = entries.get("unit"), entries.get("outcome")
    usual = len(entries) == 3 and type(unit) is str and type(outcome) is float
    return new(Completed, (unit, outcome)) if usual else None
