"""A log as a file: one record per line, each with its hash."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path

from dtrbandit.design.values import shown
from dtrbandit.errors import LogError
from dtrbandit.record.chain import Record, Stored, linked, unlinked
from dtrbandit.record.codec import Entries, Reader, document
from dtrbandit.record.durable import beside, settle
from dtrbandit.record.events import Event

HASH = b',"hash":"'  # stands before the 64 digits at the end of a line
TAIL = len(HASH) + 64 + len(b'"}')


def write_log(path: str | Path, log: Iterable[Event]) -> None:
    """Write a log as JSON lines, each with its place in the sequence and a hash over all lines up to it.

    A log that was there before is replaced in one step, after the new one is on the disk.

    Examples
    --------
    >>> import tempfile
    >>> from dtrbandit.record.events import Completed
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_log(f"{folder}/log", [Completed("u1", -8.5)])
    ...     print(Path(f"{folder}/log").read_text()[:92])
    {"actor":null,"event":{"event":"Completed","outcome":-8.5,"unit":"u1"},"sequence":1,"time":n
    """
    records = (Record(sequence, None, None, event) for sequence, event in enumerate(log, 1))
    write_records(path, linked(records))


def write_records(path: str | Path, records: Iterable[Stored]) -> None:
    """Write records as they are stored, as ``write_log`` does."""
    place = Path(path).resolve()  # a link stays one
    with beside(place) as draft:
        with draft.open("wb") as file:
            file.writelines(line_of(stored) + b"\n" for stored in records)
        settle(draft, place)


def line_of(stored: Stored) -> bytes:
    """Return a record as a line of a file: its text, with the hash in front of the last brace."""
    return stored.text[:-1] + HASH + stored.hash.encode("ascii") + b'"}'


def stored_of(line: bytes) -> Stored:
    """Return the record of a line, with the bytes that were stored."""
    text, tail = line[:-TAIL], line[-TAIL:]
    if not tail.startswith(HASH) or not tail.endswith(b'"}'):
        raise LogError("it does not end with a hash; use a whole copy of the log")
    return Stored(text + b"}", tail[len(HASH) : -2].decode("latin-1"))


def read_log(path: str | Path) -> list[Event]:
    """Return the log that ``write_log`` wrote. A file with a changed byte, a gap, a swap or half a line is refused.

    Lines without hashes, as earlier releases wrote them, are read too. They cannot prove that nothing was changed.
    """
    events: list[Event] = []
    with Path(path).open("rb") as file:
        try:
            lines = _whole(file)
            first = next(lines, b"")
            read = _chained if first.startswith(b'{"actor":') else _plain
            events.extend(read(chain([first] if first else [], lines)))
        except LogError as error:
            raise LogError(f"{path}, line {len(events) + 1}: {error}") from error
    return events


def _whole(file: Iterable[bytes]) -> Iterator[bytes]:
    """Give lines without what ends them."""
    for line in file:
        if not line.endswith(b"\n"):
            raise LogError("the log is cut off in the middle of a line; use a whole copy of it")
        yield line[:-1]


def _chained(lines: Iterable[bytes]) -> Iterator[Event]:
    return (record.event for record in unlinked(map(stored_of, lines)))


def _plain(lines: Iterable[bytes]) -> Iterator[Event]:
    """Read lines without hashes: an event each, with its number among its entries."""
    reader = Reader()
    return (reader.event(_numbered(line, number)) for number, line in enumerate(lines, 1))


def _numbered(line: bytes, number: int) -> Entries:
    """Return the entries of a line without its number, which must be this."""
    entries = document(line)
    sequence = entries.pop("sequence", None)
    if type(sequence) is not int or sequence != number:
        raise LogError(
            f"found sequence number {shown(sequence)}, expected {number}: "
            "lines were lost, added or put in another order; use a whole copy of the log"
        )
    return entries
