"""A log as text: one JSON document per line, numbered from 1, keys sorted, no spaces."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from math import isfinite
from pathlib import Path

from dtrbandit.design.values import as_float, shown
from dtrbandit.errors import LogError
from dtrbandit.record.durable import beside, settle
from dtrbandit.record.events import (
    Assigned,
    Completed,
    Corrected,
    Decision,
    Enrolled,
    Event,
    Opened,
    Overridden,
    Responded,
    Withdrawn,
)

KINDS = {
    kind.__name__: kind for kind in (Opened, Enrolled, Assigned, Overridden, Responded, Completed, Withdrawn, Corrected)
}

Read = Callable[[object, str], object]  # from what was found, and the words for it in a message


def encode(event: Event) -> str:
    """Return an event as one line of JSON. Floats are written by ``repr``, so they are read back exactly."""
    return _text(_entries(event))


def decode(line: str) -> Event:
    """Return the event that ``encode`` wrote."""
    return _event(_document(line))


def write_log(path: str | Path, log: Iterable[Event]) -> None:
    """Write a log as JSON lines, each with its place in the sequence.

    A log that was there before is replaced in one step, after the new one is on the disk.

    Examples
    --------
    >>> encode(Completed("u1", -8.5))
    '{"event":"Completed","outcome":-8.5,"unit":"u1"}'
    """
    place = Path(path).resolve()  # a link stays one
    with beside(place) as draft:
        with draft.open("w", encoding="utf-8", newline="\n") as file:
            for sequence, event in enumerate(log, 1):
                file.write(_text({"sequence": sequence, **_entries(event)}) + "\n")
        settle(draft, place)


def read_log(path: str | Path) -> list[Event]:
    """Return the log that ``write_log`` wrote. A file with a gap, a swap or half a line is refused."""
    events = []
    with Path(path).open("rb") as file:
        for number, line in enumerate(file, 1):
            try:
                events.append(_numbered(line, number))
            except LogError as error:
                raise LogError(f"{path}, line {number}: {error}") from error
    return events


def _numbered(line: bytes, number: int) -> Event:
    """Return the event of a line, which must be whole and carry this number."""
    if not line.endswith(b"\n"):
        raise LogError("the log is cut off in the middle of a line; use a whole copy of it")
    try:
        document = _document(line.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise LogError(f"not valid UTF-8 ({error}); use a whole copy of the log") from error
    sequence = document.pop("sequence", None)
    if type(sequence) is not int or sequence != number:
        raise LogError(
            f"found sequence number {shown(sequence)}, expected {number}: "
            "lines were lost, added or put in another order; use a whole copy of the log"
        )
    return _event(document)


def _entries(event: Event) -> dict[str, object]:
    fields = event.decision._asdict() if isinstance(event, Assigned) else event._asdict()
    return {"event": type(event).__name__, **fields}


def _text(document: Mapping[str, object]) -> str:
    return json.dumps(document, sort_keys=True, separators=(",", ":"), allow_nan=False, default=_plain)


def _plain(value: object) -> dict[object, object]:
    """Return a mapping that is no dict as one."""
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"an event cannot hold {shown(value)} ({type(value).__name__})")


def _document(line: str) -> dict[str, object]:
    try:
        document = json.loads(line, object_pairs_hook=_no_key_twice, parse_constant=_no_constant)
    except RecursionError:
        raise LogError("not the JSON of an event: nested too deeply; use a whole copy of the log") from None
    except ValueError as error:
        raise LogError(f"not valid JSON ({error})") from error
    if not isinstance(document, dict):
        raise LogError(f"expected a JSON object, found {line.strip()[:80]!r}")
    return document


def _no_key_twice(pairs: list[tuple[str, object]]) -> dict[str, object]:
    entries = dict(pairs)
    if len(entries) < len(pairs):
        twice = next(key for i, (key, _) in enumerate(pairs) if key in dict(pairs[:i]))
        raise ValueError(f"an object has {twice!r} twice")
    return entries


def _no_constant(name: str) -> object:
    raise ValueError(f"{name} is not a number")


def _event(document: Mapping[str, object]) -> Event:
    fields = dict(document)
    name = fields.pop("event", None)
    kind = KINDS.get(name) if isinstance(name, str) else None
    if kind is None:
        raise LogError(f"unknown event {shown(name)}; known are {', '.join(KINDS)}")
    if kind is Assigned:
        return Assigned(Decision(**_fields(fields, "Assigned")))  # type: ignore[arg-type]  # checked by _fields
    return kind(**_fields(fields, kind.__name__))  # type: ignore[arg-type]  # checked likewise


def _fields(found: Mapping[str, object], event: str) -> dict[str, object]:
    """Return the fields of an event, each of its type, numbers as floats and lists as tuples."""
    readers = FIELDS[event]
    if found.keys() != readers.keys():
        missing = [name for name in readers if name not in found]
        unknown = [name for name in found if name not in readers]
        raise LogError(
            f"a damaged {event} event: missing {missing}, unknown {shown(unknown)}; "
            f"its fields are {', '.join(readers)}; use a whole copy of the log"
        )
    return {name: read(found[name], f"{event}, field {name!r}") for name, read in readers.items()}


def _refused(value: object, what: str, expected: str) -> LogError:
    return LogError(f"{what}: found {shown(value)} ({type(value).__name__}), expected {expected}")


def _read_text(value: object, what: str) -> str:
    if not isinstance(value, str):
        raise _refused(value, what, "text")
    return value


def _read_integer(value: object, what: str) -> int:
    if type(value) is not int:
        raise _refused(value, what, "a whole number")
    return value


def _read_number(value: object, what: str) -> float:
    number = as_float(value)
    if not isfinite(number) or number != value:
        raise _refused(value, what, "a finite number that a float can hold")
    return number


def _read_object(value: object, what: str) -> dict[str, object]:
    if not isinstance(value, dict):
        raise _refused(value, what, "an object")
    return value


def _read_texts(value: object, what: str) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise _refused(value, what, "a list of texts")
    return tuple(_read_text(each, f"{what}[{place}]") for place, each in enumerate(value))


def _each(read: Read) -> Read:
    """Return a reader of objects whose entries ``read`` reads."""
    return lambda value, what: {
        name: read(entry, f"{what}[{shown(name)}]") for name, entry in _read_object(value, what).items()
    }


def _or_null(read: Read) -> Read:
    """Return a reader of what ``read`` reads, or null."""

    def read_or_null(value: object, what: str) -> object:
        try:
            return None if value is None else read(value, what)
        except LogError as error:
            raise LogError(f"{error}, or null") from None

    return read_or_null


FIELDS: Mapping[str, Mapping[str, Read]] = {
    "Opened": {
        "design": _read_object,
        "policy": _read_object,
        "seed": _read_integer,
        "numerics": _read_integer,
    },
    "Enrolled": {"unit": _read_text, "round": _read_integer, "context": _each(_read_number)},
    "Assigned": {
        "unit": _read_text,
        "round": _read_integer,
        "stage": _read_text,
        "arm": _read_text,
        "reason": _read_text,
        "propensity": _or_null(_read_number),
        "q_tilde": _each(_or_null(_read_number)),
        "q_hat": _each(_or_null(_read_number)),
        "contenders": _read_texts,
    },
    "Overridden": {"unit": _read_text, "stage": _read_text, "arm": _read_text, "reason": _read_text},
    "Responded": {"unit": _read_text, "stage": _read_text, "context": _each(_read_number)},
    "Completed": {"unit": _read_text, "outcome": _read_number},
    "Withdrawn": {"unit": _read_text, "reason": _read_text},
    "Corrected": {
        "unit": _read_text,
        "outcome": _or_null(_read_number),
        "stage": _or_null(_read_text),
        "context": _or_null(_each(_read_number)),
        "reason": _read_text,
    },
}
