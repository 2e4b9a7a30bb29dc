"""An event as text: one JSON document, keys sorted, no spaces, in UTF-8.

orjson reads and writes. Of an object that has a key twice it would read the last. So what it read is written again, and
must be the text, byte for byte. If it is not, as in lines of earlier releases with other letters or exponents, the
standard library reads the text, and says what is wrong with it, if anything. Either way the tables of
``record/fields.py`` make an event of it.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from math import isfinite
from typing import Any, get_args

import orjson

from dtrbandit._version import FORMAT, __version__
from dtrbandit.design.spec import Design
from dtrbandit.design.values import shown
from dtrbandit.errors import DTRError, LogError
from dtrbandit.record.events import BEYOND_ASCII, SINCE, Assigned, Decision, Event, Fact, Opened, new
from dtrbandit.record.fields import CONTEXT, ESTIMATES, Labels, Read, fields_of, order_of, plain

Entries = dict[str, Any]  # of a JSON object


@dataclass(frozen=True, slots=True)
class Shape:
    """A kind of event as the tables have it: its fields, with how each is read and written."""

    name: str
    kind: type[Any]  # what has the fields: the event, or the decision that it holds
    fields: tuple[tuple[str, type | None, Read], ...]
    optional: tuple[tuple[str, type | None, Read, object, int], ...]  # with what is left out, and the format
    defaults: tuple[object, ...]  # of the optional ones
    writes: tuple[tuple[str, Callable[[Any], object]], ...]
    since: int  # the format that it needs without optional fields
    has_labels: bool  # whether it has numbers by the labels of a stage


def shape_of(event: type) -> Shape:
    """Return the shape of a kind of event."""
    kind: Any = Decision if event is Assigned else event
    needed, optional = fields_of(kind)
    defaults = tuple(kind._field_defaults.values())
    return Shape(
        event.__name__,
        kind,
        tuple((name, field.plain, field.read) for name, field in needed.items()),
        tuple(
            (name, field.plain, field.read, left_out, SINCE.get(f"{event.__name__}.{name}", 2))
            for (name, field), left_out in zip(optional.items(), defaults, strict=True)
        ),
        defaults,
        tuple((name, field.write) for name, field in needed.items() if field.write is not None),
        SINCE.get(event.__name__, 1),
        not {CONTEXT, ESTIMATES}.isdisjoint(needed.values()),
    )


SHAPES = {kind.__name__: shape_of(kind) for kind in (Opened, *get_args(Fact))}


# -- writing -----------------------------------------------------------------------------------------------------------


def encode(event: Event) -> str:
    """Return an event as one line of JSON. Floats have as many digits as it takes to read them back exactly.

    Examples
    --------
    >>> from dtrbandit.record.events import Completed, Held
    >>> encode(Completed("u1", -8.5))
    '{"event":"Completed","outcome":-8.5,"unit":"u1"}'
    >>> encode(Held("a safety report"))
    '{"event":"Held","format":2,"reason":"a safety report"}'
    """
    entries = described(event)
    return text_of(entries, entries)


def described(event: Event) -> Entries:
    """Return what stands in an event's JSON, with the format that reading it needs unless that is the first."""
    shape = SHAPES[type(event).__name__]
    entries: Entries = event.decision._asdict() if type(event) is Assigned else event._asdict()
    needed = shape.since
    for name, _, _, _, since in shape.optional:
        if entries[name]:
            needed = max(needed, since)
        else:
            del entries[name]
    for name, write in shape.writes:
        entries[name] = write(entries[name])
    entries["event"] = shape.name
    if needed > 1:
        entries["format"] = needed
    return entries


def text_of(document: Entries, event: Entries) -> str:
    """Return a document, which is or holds the entries of an event, as a line. Beyond ASCII, the event says so."""
    line = _dumped(document)
    if not line.isascii():
        event["format"] = BEYOND_ASCII
        line = _dumped(document)
    return line.decode()


def _dumped(document: Entries) -> bytes:
    try:
        return orjson.dumps(document, plain, orjson.OPT_SORT_KEYS)  # NaN is null: no estimate
    except orjson.JSONEncodeError:  # half a character, which UTF-8 cannot hold, or an integer beyond 64 bits
        known = json.loads(json.dumps(document, default=plain), parse_constant=lambda _: None)
        return json.dumps(known, sort_keys=True, separators=(",", ":")).encode("ascii")


# -- reading -----------------------------------------------------------------------------------------------------------


def decode(line: str) -> Event:
    """Return the event that ``encode`` wrote."""
    return Reader().event(document(line.encode("utf-8", "surrogatepass")))


def document(text: bytes) -> Entries:
    """Return a JSON object. Constants such as NaN, keys that come twice and deep nesting are refused.

    Examples
    --------
    >>> document(b'{"outcome":2.5,"unit":"u1"}')
    {'outcome': 2.5, 'unit': 'u1'}
    """
    try:
        found = orjson.loads(text)
        if type(found) is dict and orjson.dumps(found) == text:
            return found
    except (orjson.JSONDecodeError, orjson.JSONEncodeError):
        pass
    return _careful_document(text)


def _careful_document(text: bytes) -> Entries:
    try:
        line = text.decode("utf-8")
        found = json.loads(
            line, object_pairs_hook=_no_key_twice, parse_constant=_no_constant, parse_float=_finite_float
        )
    except RecursionError:
        raise LogError("not the JSON of an event: nested too deeply; use a whole copy of the log") from None
    except UnicodeDecodeError as error:
        raise LogError(f"not valid UTF-8 ({error}); use a whole copy of the log") from error
    except ValueError as error:
        raise LogError(f"not valid JSON ({error})") from error
    if not isinstance(found, dict):
        raise LogError(f"expected a JSON object, found {line.strip()[:80]!r}")
    return found


def _no_key_twice(pairs: list[tuple[str, object]]) -> Entries:
    entries = dict(pairs)
    if len(entries) < len(pairs):
        twice = next(key for i, (key, _) in enumerate(pairs) if key in dict(pairs[:i]))
        raise ValueError(f"an object has {twice!r} twice")
    return entries


def _no_constant(name: str) -> object:
    raise ValueError(f"{name} is not a number")


def _finite_float(text: str) -> float:
    number = float(text)
    if not isfinite(number):
        raise ValueError(f"{shown(text)} is no finite number that a float can hold")
    return number


class Reader:
    """Reads the events of one log. The design says in which order numbers are kept: this one, or the first event's."""

    def __init__(self, design: Design | None = None) -> None:
        self.labels: dict[str, Labels] = {}  # by stage; of the first also where none is named
        if design is not None:
            self._learn(design)

    def event(self, entries: Entries) -> Event:
        """Return the event that a JSON object describes."""
        name = entries.get("event")
        shape = SHAPES.get(name) if type(name) is str else None
        if shape is None or "format" in entries:
            _require_format(entries.get("format", 1))
        if shape is None:
            raise LogError(f"unknown event {shown(name)}; known are {', '.join(SHAPES)}")
        labels = None
        if shape.has_labels and type(stage := entries.get("stage", "")) is str:
            labels = self.labels.get(stage)
        values: list[object] = []
        try:
            for field, exactly, read in shape.fields:
                value = entries[field]
                values.append(value if type(value) is exactly else read(value, labels))
            values += shape.defaults if len(entries) == len(values) + 1 else _optional_values(entries, shape)
        except (KeyError, LogError):
            raise _refusal(entries, shape) from None
        if shape.kind is Decision:
            return new(Assigned, (new(Decision, values),))
        event: Event = new(shape.kind, values)
        if type(event) is Opened:
            self._begin(event)
        return event

    def _begin(self, opened: Opened) -> None:
        try:
            self._learn(Design.from_dict(opened.design))
        except DTRError:  # its features are Python functions, or it is damaged: then mappings stay what they are
            return

    def _learn(self, design: Design) -> None:
        for stage, columns in reversed(list(zip(design.stages, design.columns, strict=True))):
            self.labels[stage.name] = self.labels[""] = Labels(order_of(columns), order_of(stage.arms))


def _require_format(found: object) -> None:
    """Refuse a line that needs a newer release. Lines of the first format, which say nothing, any release can read."""
    if type(found) is not int or found < 1:
        raise LogError(f"the format of a line must be a whole number from 1 on, found {shown(found)}")
    if found > FORMAT:
        raise LogError(
            f"this line has the log format {found}, and dtrbandit {__version__} reads formats up to {FORMAT}: a newer "
            "release wrote it; use that release, or a later one"
        )


def _optional_values(entries: Entries, shape: Shape) -> list[object]:
    """Return the values of optional fields. An entry that is no field is a KeyError."""
    values: list[object] = []
    found = len(shape.fields) + 1 + ("format" in entries)
    for name, exactly, read, value, _ in shape.optional:
        if name in entries:
            found += 1
            value = entries[name]
            value = value if type(value) is exactly else read(value, None)
        values.append(value)
    if found != len(entries):
        raise KeyError
    return values


def _refusal(entries: Entries, shape: Shape) -> LogError:
    """Return what is wrong with an event: the names of its fields, or else the first value that cannot be read."""
    fields = [*shape.fields, *(each[:3] for each in shape.optional if each[0] in entries)]
    known = [name for name, _, _ in fields]
    missing = [name for name in known if name not in entries]
    unknown = [name for name in entries if name not in (*known, "event", "format")]
    if not missing and not unknown:
        for name, exactly, read in fields:
            try:
                if type(entries[name]) is not exactly:
                    read(entries[name], None)
            except LogError as error:
                return LogError(f"{shape.name}, field {name!r}{error}")
    return LogError(
        f"a damaged {shape.name} event: missing {missing}, unknown {shown(unknown)}; "
        f"its fields are {', '.join(known)}; use a whole copy of the log"
    )
