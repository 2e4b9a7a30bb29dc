"""A log in memory: facts packed into entries (``record/entries.py``), and the events of it that somebody reads.

The kind of an entry is the number of a *template*: the kind of fact, and what many facts have in common, such as
labels, arm and reason, which is kept once. What is a fact's own is numbers. Which fields are numbers, their types say.
Kinds of facts that are rare have no template, and are pickled. The round of an entry is that of its unit; facts of the
trial as a whole, and of units of an earlier one, stand in round 0.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Mapping, Sequence
from math import nan
from struct import Struct
from typing import Any, NamedTuple, get_type_hints, overload

from dtrbandit.record.entries import HEADER, Entries
from dtrbandit.record.events import (
    AMENDMENTS,
    Assigned,
    Completed,
    Context,
    Decision,
    Enrolled,
    Event,
    Excluded,
    Fact,
    Opened,
    QValues,
    Responded,
    Withdrawn,
    new,
    unit_of,
)
from dtrbandit.record.histories import History
from dtrbandit.record.values import Values

MOST_TEMPLATES = 4096  # beyond these, what facts have in common is not looked for
MOST_REASONS = 1024  # templates beyond which withdrawals get none: each may have a reason in its own words
NUMBER = Struct("=d")

Template = tuple[Any, ...]  # a kind of fact, then what many facts have in common
SHARED, OWN, LABELLED, EXCLUDED = range(
    4
)  # fields: in the template; a number; numbers whose labels are there; arms by stage


class PackedLog:
    """Events by their place, from 0, and all events of each unit. It only grows.

    ``names`` are the units by round and ``rounds`` the reverse, which whoever appends keeps up to date. Whatever
    interrupts an append, the events before it can be read.
    """

    def __init__(self, opened: Opened, names: list[str], rounds: Mapping[str, int]) -> None:
        self.opened, self._names, self._rounds = opened, names, rounds
        self.entries = Entries()
        self.templates: list[Template] = [(None,)]  # by number; 0: pickled
        self.numbers: dict[Template, int] = {}  # of templates, where they are looked for
        self.amended = False  # whether there is an amendment, or a closed arm, anywhere

    def __len__(self) -> int:
        return len(self.entries)

    # -- writing ---------------------------------------------------------------------------------------------

    def append(self, fact: Fact, history: History) -> None:
        """Pack a fact of the unit of a history, whose first one is its enrolment; or one of the trial itself."""
        self.amended = self.amended or type(fact) in AMENDMENTS
        template, own = split(fact)
        number = self.number_of(template) if template else 0
        self.entries.append(number, history.round, own if number else _pickled(fact, history.round))

    def number_of(self, template: Template) -> int:
        """Return the number of a template, 0 if there are too many."""
        return self.numbers.get(template) or self._new(template)

    def _new(self, template: Template) -> int:
        number = len(self.templates)
        if number == MOST_TEMPLATES or (number >= MOST_REASONS and template[0] is Withdrawn):
            return 0
        self.templates.append(template)
        self.numbers[template] = number  # last: a number that is known has its template
        return number

    # -- reading ---------------------------------------------------------------------------------------------

    def __getitem__(self, place: int) -> Event:
        return next(self.events(place, place + 1))

    def events(self, start: int, stop: int) -> Iterator[Event]:
        """Give the events from one place to before another."""
        if start == 0 < stop:
            yield self.opened
        yield from map(self._fact, self.entries.between(max(start, 1), stop))

    def kinds(self, start: int, stop: int) -> Iterator[tuple[type, str]]:
        """Give the kind and the unit of the events between two places; few of them must be unpacked for it."""
        if start == 0 < stop:
            yield Opened, ""
        for entry in self.entries.between(max(start, 1), stop):
            number, t, _ = HEADER.unpack_from(entry)
            yield self.templates[number][0] or type(self._fact(entry)), self._names[t - 1] if t else ""

    def of_unit(self, unit: str) -> list[Fact]:
        """Return all that happened to a unit, in order."""
        return [self._fact(entry) for entry in self.entries.of_round(self._rounds[unit])]

    def _fact(self, entry: bytes) -> Fact:
        number, t, _ = HEADER.unpack_from(entry)
        unit, own = self._names[t - 1] if t else "", entry[HEADER.size :]
        return _joined(self.templates[number], unit, t, own) if number else _unpickled(unit, t, own)


# -- a fact as a template and numbers ----------------------------------------------------------------------------------


class Layout(NamedTuple):
    """The fields of a kind of fact: the unit and perhaps its round, which stand elsewhere, and what the others are."""

    has_fields: type[Any]  # the fact, or the decision that it holds
    known: int  # how many stand elsewhere
    others: tuple[int, ...]


def layout_of(kind: type) -> Layout:
    """Return the layout of a kind of fact, by the types of its fields."""
    has_fields: type[Any] = Decision if kind is Assigned else kind
    hints = list(get_type_hints(has_fields).values())
    known = 1 + ("round" in has_fields._fields)
    return Layout(has_fields, known, tuple([BY_TYPE.get(hint, SHARED) for hint in hints[known:]]))


BY_TYPE: dict[object, int] = {
    float: OWN, float | None: OWN, Context: LABELLED, QValues: LABELLED, Excluded | None: EXCLUDED,
}  # fmt: skip
LAYOUTS = {kind: layout_of(kind) for kind in (Enrolled, Assigned, Responded, Completed, Withdrawn)}


def split(fact: Any) -> tuple[Template, bytes]:
    """Return the template of a fact, and its own numbers; an empty template for one that is pickled."""
    kind = type(fact)
    if kind not in LAYOUTS:
        return (), b""
    _, known, others = LAYOUTS[kind]
    shared: list[Any] = [kind]
    own = b""
    for what, value in zip(others, (fact.decision if kind is Assigned else fact)[known:], strict=True):
        if what == LABELLED:
            values = value if type(value) is Values else _as_values(value)
            if values is None:
                return (), b""
            shared.append(values.labels)
            own += values.packed
        elif what == OWN:
            if value is not None and (type(value) is not float or value != value):
                return (), b""
            own += NUMBER.pack(nan if value is None else value)
        else:
            shared.append(tuple(value.items()) if what == EXCLUDED and value else value)
    return tuple(shared), own


def _as_values(numbers: Mapping[str, Any]) -> Values[float | None] | None:
    """Return a dict of plain floats as Values; None for anything else."""
    plain = type(numbers) is dict and all(q is None or (type(q) is float and q == q) for q in numbers.values())
    return Values(tuple(numbers), tuple(numbers.values())) if plain else None


def _joined(template: Template, unit: str, t: int, own: bytes) -> Fact:
    """Return the fact of a template and numbers."""
    has_fields, known, others = LAYOUTS[template[0]]
    fields: list[Any] = [unit, t][:known]
    shared, place = iter(template[1:]), 0
    for what in others:
        if what == LABELLED:
            labels = next(shared)
            end = place + NUMBER.size * len(labels)
            fields.append(Values(labels, own[place:end]))
            place = end
        elif what == OWN:
            (number,) = NUMBER.unpack_from(own, place)
            fields.append(number if number == number else None)
            place += NUMBER.size
        else:
            value = next(shared)
            fields.append(dict(value) if what == EXCLUDED and value else value)
    found: Any = new(has_fields, fields)
    return new(Assigned, (found,)) if has_fields is Decision else found


def _pickled(fact: Fact, t: int) -> bytes:
    """Return a fact as bytes; the name of a unit of this trial is kept once, elsewhere."""
    fields = tuple(fact.decision if isinstance(fact, Assigned) else fact)
    return pickle.dumps((type(fact), fields[1:] if t else fields))


def _unpickled(unit: str, t: int, own: bytes) -> Fact:
    kind, fields = pickle.loads(own)
    fields = (unit, *fields) if t else fields
    fact: Fact = Assigned(Decision(*fields)) if kind is Assigned else kind(*fields)
    return fact


# -- a log as it is read ----------------------------------------------------------------------------------------------


class Log(Sequence[Event]):
    """The events from one place to another, as a sequence that does not change. A slice copies nothing.

    Examples
    --------
    >>> from dtrbandit.record.events import Opened
    >>> log = Log(PackedLog(Opened({}, {}, 0, 1), [], {}), 0, 1)
    >>> log, log[-1].seed, log[1:] == []
    (<Log of 1 event>, 0, True)
    """

    __slots__ = ("_packed", "_places")

    def __init__(self, packed: PackedLog, start: int, stop: int) -> None:
        self._packed = packed
        self._places = range(start, max(start, stop))

    def __len__(self) -> int:
        return len(self._places)

    @overload
    def __getitem__(self, place: int) -> Event: ...

    @overload
    def __getitem__(self, place: slice) -> Sequence[Event]: ...

    def __getitem__(self, place: int | slice) -> Event | Sequence[Event]:
        if not isinstance(place, slice):
            return self._packed[self._places[place]]
        places = self._places[place]
        if places.step == 1:
            return Log(self._packed, places.start, places.stop)
        return [self._packed[each] for each in places]

    def __iter__(self) -> Iterator[Event]:
        return self._packed.events(self._places.start, self._places.stop)

    @property
    def amended(self) -> bool:
        """Whether its session has an amendment: something was said anew of a unit, it is void, or an arm is closed."""
        return self._packed.amended

    def kinds(self) -> Iterator[tuple[type, str]]:
        """Give the kind and the unit of each event."""
        return self._packed.kinds(self._places.start, self._places.stop)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Log) and other._packed is self._packed and other._places == self._places:
            return True
        if not isinstance(other, Sequence):
            return NotImplemented
        return len(self) == len(other) and all(mine == theirs for mine, theirs in zip(self, other, strict=True))

    __hash__ = None  # type: ignore[assignment]  # how Python says unhashable, and mypy cannot

    def __repr__(self) -> str:
        return f"<Log of {len(self):,} event{'' if len(self) == 1 else 's'}>"


def kinds(events: Sequence[Event]) -> Iterator[tuple[type, str]]:
    """Give the kind and the unit of events that are not checked yet; an empty text where there is no unit."""
    return events.kinds() if isinstance(events, Log) else ((type(event), unit_of(event)) for event in events)


def amended_units(events: Sequence[Event]) -> set[str]:
    """Return the units that are amended in events that are not checked yet; an empty text for an arm that is closed."""
    if isinstance(events, Log) and not events.amended:
        return set()
    return {unit for kind, unit in kinds(events) if kind in AMENDMENTS}
