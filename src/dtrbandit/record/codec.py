"""A log as text: one JSON document per line, numbered from 1, keys sorted, no spaces."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from dtrbandit.errors import LogError
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


def encode(event: Event) -> str:
    """Return an event as one line of JSON; floats are written by ``repr`` and read back exactly."""
    fields = event.decision._asdict() if isinstance(event, Assigned) else event._asdict()
    return _text({"event": type(event).__name__, **fields})


def decode(line: str) -> Event:
    """Return the event that ``encode`` wrote."""
    return _event(_document(line))


def write_log(path: str | Path, log: Iterable[Event]) -> None:
    """Write a log as JSON lines, each with its place in the sequence.

    Examples
    --------
    >>> encode(Completed("u1", -8.5))
    '{"event":"Completed","outcome":-8.5,"unit":"u1"}'
    """
    beside = Path(f"{path}.part")
    with beside.open("w", encoding="utf-8", newline="\n") as file:
        for sequence, event in enumerate(log, 1):
            file.write(_text({"sequence": sequence, **_document(encode(event))}) + "\n")
        file.flush()
        os.fsync(file.fileno())
    beside.replace(path)  # at no moment is there half a log under this name


def read_log(path: str | Path) -> list[Event]:
    """Read the log that ``write_log`` wrote, and refuse one with a gap, a swap or half a line."""
    events = []
    with Path(path).open(encoding="utf-8", newline="\n") as file:
        for number, line in enumerate(file, 1):
            where = f"{path}, line {number}"
            if not line.endswith("\n"):
                raise LogError(f"{where}: the log is cut off in the middle of a line; use a whole copy of it")
            try:
                document = _document(line)
                sequence = document.pop("sequence", None)
                if sequence != number:
                    raise LogError(
                        f"found sequence number {sequence}, expected {number}: "
                        "lines were lost, added or put in another order; use a whole copy of the log"
                    )
                events.append(_event(document))
            except LogError as error:
                raise LogError(f"{where}: {error}") from error
    return events


def _text(document: Mapping[str, object]) -> str:
    return json.dumps(document, sort_keys=True, separators=(",", ":"), allow_nan=False)


def _document(line: str) -> dict[str, object]:
    try:
        document = json.loads(line, object_pairs_hook=_no_key_twice, parse_constant=_no_constant)
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
    kind = KINDS.get(str(name))
    if kind is None:
        raise LogError(f"unknown event {name!r}; known are {', '.join(KINDS)}")
    try:
        if kind is Assigned:
            decision = Decision(**fields)  # type: ignore[arg-type]  # a missing or unknown field is a TypeError
            return Assigned(decision._replace(contenders=tuple(decision.contenders)))
        return kind(**fields)  # type: ignore[arg-type]
    except TypeError as error:
        raise LogError(f"a damaged {name} event ({error})") from error
