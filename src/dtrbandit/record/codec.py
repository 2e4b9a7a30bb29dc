"""An event as text: one JSON document, keys sorted, no spaces."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from math import isfinite

from dtrbandit._version import FORMAT, __version__
from dtrbandit.design.values import as_float, shown
from dtrbandit.errors import LogError
from dtrbandit.record.events import (
    ArmClosed,
    Assigned,
    Completed,
    Corrected,
    Decision,
    Ended,
    Enrolled,
    Event,
    Held,
    Opened,
    Overridden,
    Released,
    Responded,
    Taught,
    Unblinded,
    Upgraded,
    Voided,
    Withdrawn,
)
from dtrbandit.record.values import Values

USUAL = Opened, Enrolled, Assigned, Overridden, Responded, Completed, Withdrawn, Corrected
GUARDRAILS = Held, Released, ArmClosed, Voided, Taught
OF_A_LIVE_TRIAL = Ended, Upgraded, Unblinded
KINDS = {kind.__name__: kind for kind in (*USUAL, *GUARDRAILS, *OF_A_LIVE_TRIAL)}

Read = Callable[[object, str], object]  # from what was found, and the words for it in a message


def encode(event: Event) -> str:
    """Return an event as one line of JSON. Floats are written by ``repr``, so they are read back exactly.

    Examples
    --------
    >>> encode(Completed("u1", -8.5))
    '{"event":"Completed","outcome":-8.5,"unit":"u1"}'
    """
    return _text(_entries(event))


def decode(line: str) -> Event:
    """Return the event that ``encode`` wrote."""
    return event_of(document(line))


def _entries(event: Event) -> dict[str, object]:
    fields = event.decision._asdict() if isinstance(event, Assigned) else event._asdict()
    name = type(event).__name__
    for unsaid in OPTIONAL.get(name, ()):
        if not fields[unsaid]:
            del fields[unsaid]
    return with_format({"event": name, **fields})


def with_format(entries: dict[str, object]) -> dict[str, object]:
    """Return the entries of a line, with the format that reading it needs unless that is the first.

    Examples
    --------
    >>> encode(Held("a safety report"))
    '{"event":"Held","format":2,"reason":"a safety report"}'
    """
    name = str(entries["event"])
    needed = max(SINCE.get(name, 1), *(SINCE.get(f"{name}.{field}", 1) for field in entries))
    return entries if needed == 1 else {**entries, "format": needed}


def _text(document: Mapping[str, object]) -> str:
    return ENCODER.encode(document)


def _plain(value: object) -> dict[object, object]:
    """Return a mapping that is no dict as one."""
    if type(value) is Values:
        return {label: number if number == number else None for label, number in value.pairs()}
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"an event cannot hold {shown(value)} ({type(value).__name__})")


ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False, default=_plain)


def document(line: str) -> dict[str, object]:
    """Return a JSON object. Constants such as NaN, keys that come twice and deep nesting are refused."""
    try:
        found = json.loads(line, object_pairs_hook=_no_key_twice, parse_constant=_no_constant)
    except RecursionError:
        raise LogError("not the JSON of an event: nested too deeply; use a whole copy of the log") from None
    except ValueError as error:
        raise LogError(f"not valid JSON ({error})") from error
    if not isinstance(found, dict):
        raise LogError(f"expected a JSON object, found {line.strip()[:80]!r}")
    return found


def _no_key_twice(pairs: list[tuple[str, object]]) -> dict[str, object]:
    entries = dict(pairs)
    if len(entries) < len(pairs):
        twice = next(key for i, (key, _) in enumerate(pairs) if key in dict(pairs[:i]))
        raise ValueError(f"an object has {twice!r} twice")
    return entries


def _no_constant(name: str) -> object:
    raise ValueError(f"{name} is not a number")


def event_of(entries: Mapping[str, object]) -> Event:
    """Return the event that a JSON object describes."""
    fields = dict(entries)
    _require_format(fields.pop("format", 1))
    name = fields.pop("event", None)
    kind = KINDS.get(name) if isinstance(name, str) else None
    if kind is None:
        raise LogError(f"unknown event {shown(name)}; known are {', '.join(KINDS)}")
    if kind is Assigned:
        return Assigned(Decision(**_fields(fields, "Assigned")))  # type: ignore[arg-type]  # checked by _fields
    return kind(**_fields(fields, kind.__name__))  # type: ignore[arg-type]  # checked likewise


def _require_format(found: object) -> None:
    """Refuse a line that needs a newer release. Lines of the first format, which say nothing, any release can read."""
    if type(found) is not int or found < 1:
        raise LogError(f"the format of a line must be a whole number from 1 on, found {shown(found)}")
    if found > FORMAT:
        raise LogError(
            f"this line has the log format {found}, and dtrbandit {__version__} reads formats up to {FORMAT}: a newer "
            "release wrote it; use that release, or a later one"
        )


def _fields(found: Mapping[str, object], event: str) -> dict[str, object]:
    """Return the fields of an event, each of its type, numbers as floats and lists as tuples."""
    readers = FIELDS[event] | {name: read for name, read in OPTIONAL.get(event, {}).items() if name in found}
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


def _read_pairs(value: object, what: str) -> tuple[tuple[str, ...], ...]:
    if not isinstance(value, list):
        raise _refused(value, what, "a list of pairs of texts")
    pairs = tuple(_read_texts(each, f"{what}[{place}]") for place, each in enumerate(value))
    if not pairs or any(len(pair) != 2 for pair in pairs):
        raise _refused(value, what, "a list of pairs of texts")
    return pairs


def _each(read: Read) -> Read:
    """Return a reader of objects whose entries ``read`` reads."""
    return lambda value, what: {
        name: read(entry, f"{what}[{shown(name)}]") for name, entry in _read_object(value, what).items()
    }


def _read_contexts(value: object, what: str) -> tuple[object, ...]:
    if not isinstance(value, list):
        raise _refused(value, what, "a list of objects")
    return tuple(_each(_read_number)(each, f"{what}[{place}]") for place, each in enumerate(value))


def _or_null(read: Read) -> Read:
    """Return a reader of what ``read`` reads, or null."""

    def read_or_null(value: object, what: str) -> object:
        try:
            return None if value is None else read(value, what)
        except LogError as error:
            raise LogError(f"{error}, or null") from None

    return read_or_null


FIELDS: Mapping[str, dict[str, Read]] = {
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
    "ArmClosed": {"stage": _read_text, "arm": _read_text, "reason": _read_text},
    "Taught": {
        "unit": _read_text,
        "contexts": _read_contexts,
        "arms": _read_texts,
        "outcome": _or_null(_read_number),
    },
    "Held": {"reason": _read_text},
    "Released": {"reason": _read_text},
    "Ended": {"reason": _read_text},
    "Upgraded": {"numerics": _read_integer, "release": _read_text, "reason": _read_text},
    "Voided": {"unit": _read_text, "reason": _read_text},
    "Unblinded": {"unit": _read_text, "reason": _read_text},
}

# left out where there is nothing to say
OPTIONAL: Mapping[str, dict[str, Read]] = {
    "Opened": {"rehearsal": _read_text},
    "Enrolled": {"exclude": _each(_read_texts), "reason": _read_text, "site": _read_text},
    "Held": {"site": _read_text},
    "Released": {"site": _read_text},
    "Assigned": {"infeasible": _read_pairs},
    "Responded": {"exclude": _each(_read_texts), "reason": _read_text},
}

# the format that an event, or "Event.field", came with; others: 1
SINCE = {
    **{kind.__name__: 2 for kind in (*GUARDRAILS, *OF_A_LIVE_TRIAL)},
    **{f"{event}.{field}": 2 for event, fields in OPTIONAL.items() for field in fields},
}
