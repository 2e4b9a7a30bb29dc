"""Records and their chain: a fact with its place, who reported it and when, and a hash over all that came before.

The text of a record is one JSON line with sorted keys. It is stored as it is and never written anew. Its hash is the
SHA-256 of the hash before it, as 64 hexadecimal digits, followed by the text. So one hash stands for a whole log.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from functools import lru_cache
from hashlib import sha256
from typing import NamedTuple, Protocol

from dtrbandit.design.values import shown
from dtrbandit.errors import LogError
from dtrbandit.record.codec import Entries, Reader, described, document, text_of
from dtrbandit.record.events import Event, new

NOTHING = "0" * 64  # the hash before the first record
KEYS = ("actor", "event", "sequence", "time")
TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T([01][0-9]|2[0-3]):[0-9]{2}:[0-9]{2}\.[0-9]{6}Z")


class Record(NamedTuple):
    """A fact as it is stored: its number, from 1, who reported it, and when; None where nobody said."""

    sequence: int
    actor: str | None
    time: datetime | None
    event: Event

    @property
    def text(self) -> str:
        """The record as it is stored."""
        event = described(self.event)
        time = None if self.time is None else time_text(self.time)
        return text_of({"actor": self.actor, "event": event, "sequence": self.sequence, "time": time}, event)


class Written(Protocol):
    """Whatever is stored as a line of a log."""

    @property
    def text(self) -> str:
        """The line."""


class Stored(NamedTuple):
    """A record as a log keeps it: its text, as bytes, and its hash."""

    text: bytes
    hash: str


class Head(NamedTuple):
    """The end of a log, which stands for the whole of it: the number of records, and the hash of the last."""

    sequence: int
    hash: str


EMPTY = Head(0, NOTHING)


def chained(previous: str, text: bytes) -> str:
    """Return the hash of a record's text after the hash before it.

    Examples
    --------
    >>> from dtrbandit.record.events import Completed
    >>> chained(NOTHING, Record(1, None, None, Completed("u1", 2.0)).text.encode())[:8]
    '2d6438c1'
    """
    return sha256(previous.encode("ascii") + text).hexdigest()


def linked(records: Iterable[Written], head: Head = EMPTY) -> Iterator[Stored]:
    """Give records as they are stored after a head."""
    previous = head.hash
    for record in records:
        text = record.text.encode("utf-8")
        previous = chained(previous, text)
        yield Stored(text, previous)


def checked(stored: Iterable[Stored], head: Head = EMPTY) -> Iterator[Stored]:
    """Give the records that follow a head as they are. Refuse the first whose hash is not the one that must follow."""
    due = head.hash
    for sequence, each in enumerate(stored, head.sequence + 1):
        due = chained(due, each.text)
        if due != (found := each.hash):
            raise LogError(
                f"the hash of record {sequence} is {shown(found)}, and what is stored leads to {due}: this record, its "
                "hash or one before it was changed, lost or moved; use a whole copy of the log",
                sequence=sequence,
            )
        yield each


def unlinked(stored: Iterable[Stored], head: Head = EMPTY) -> Iterator[Record]:
    """Give the records that follow a head. Refuse the first whose hash or number is not the one that must follow."""
    reader = Reader()
    for sequence, each in enumerate(checked(stored, head), head.sequence + 1):
        yield record_of(each.text, sequence, reader)


def require_links(found: Iterable[tuple[int, Stored]], before: Iterable[Stored]) -> None:
    """Refuse the first of some records, each with its number, whose hash does not follow from the one before it."""
    for (sequence, (text, known)), previous in zip(found, before, strict=True):
        if chained(previous.hash, text) != known:
            raise LogError(
                f"record {sequence} was changed: it does not have its hash; restore a backup", sequence=sequence
            )


def record_of(text: bytes, sequence: int, reader: Reader | None = None) -> Record:
    """Return the record that a text holds. It must have this number, by which a refusal names it."""
    try:
        found = entries_of(text, sequence)
        event = (reader or Reader()).event(found["event"])
        actor = found["actor"]
        if actor is not None and type(actor) is not str:
            raise LogError(f"record {sequence}: the actor is {shown(actor)}, expected a text or null")
        return new(Record, (sequence, actor, _time(found["time"], sequence), event))
    except LogError as error:
        error.sequence = sequence
        raise


def time_of(text: bytes, sequence: int) -> datetime | None:
    """Return the time of the record that a text holds, without a look at its event."""
    return _time(entries_of(text, sequence)["time"], sequence)


def entries_of(text: bytes, sequence: int) -> Entries:
    """Return the entries of a record's text. They must have this number, by which a refusal names it, and an event."""
    try:
        found = document(text)
        if tuple(found) != KEYS and found.keys() != {*KEYS}:
            raise LogError(f"record {sequence} has the entries {shown(sorted(found))}, expected {[*KEYS]}")
        number, event = found["sequence"], found["event"]
        if type(number) is not int or number != sequence:
            raise LogError(
                f"found sequence number {shown(number)}, expected {sequence}: "
                "records were lost, added or put in another order; use a whole copy of the log"
            )
        if not isinstance(event, dict):
            raise LogError(f"record {sequence}: found {shown(event)}, expected an event")
    except LogError as error:
        error.sequence = sequence
        raise
    return found


def time_text(time: datetime) -> str:
    """Return a time as it is stored: UTC, with microseconds.

    Examples
    --------
    >>> time_text(datetime(2026, 11, 17, 9, tzinfo=UTC))
    '2026-11-17T09:00:00.000000Z'
    """
    return _utc_text(time.astimezone(UTC))


@lru_cache(maxsize=64)  # an arrival has the time of its decision; other zones may have the same hour twice
def _utc_text(time: datetime) -> str:
    return time.isoformat(timespec="microseconds").removesuffix("+00:00") + "Z"


def _time(found: object, sequence: int) -> datetime | None:
    time = _read_time(found) if type(found) is str else None
    if time is not None or found is None:
        return time
    raise LogError(
        f"record {sequence}: the time is {shown(found)}, expected one as 2026-11-17T09:00:00.000000Z, or null",
        sequence=sequence,
    )


@lru_cache(maxsize=64)  # an arrival has the time of its decision, and both that of their commit
def _read_time(found: str) -> datetime | None:
    """Return a time as ``time_text`` writes it; None for anything else."""
    with suppress(ValueError):
        return datetime.fromisoformat(found) if TIME.fullmatch(found) else None
    return None
