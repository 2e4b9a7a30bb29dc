"""A stored log and what it leads to, kept in step."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any

from dtrbandit.belief import Belief, opened_by
from dtrbandit.design.spec import Design
from dtrbandit.errors import LogError
from dtrbandit.policies.policy import Policy
from dtrbandit.record.chain import (
    EMPTY,
    Head,
    Record,
    Stored,
    StoredBatch,
    checked_batches,
    record_of,
    require_links,
    unlinked,
)
from dtrbandit.record.codec import Reader
from dtrbandit.record.collecting import without_collecting
from dtrbandit.record.events import Event, Fact, Opened, Taught
from dtrbandit.record.histories import History
from dtrbandit.storage.store import Storage
from dtrbandit.trial.ledger import Ledger
from dtrbandit.trial.snapshots import Snapshots
from dtrbandit.words import counted

PART = 50_000  # events that are learnt together; all at once would not fit in memory
ARRIVALS = (b'"event":"Enrolled"', b'"event":"Responded"')
Progress = Callable[[int, int], object]  # how many records are done, of how many


class StoredFacts:
    """The facts of a stored log. Those that are not stored yet are kept here; all others are read when asked for."""

    def __init__(self, storage: Storage, design: Design, opened: Opened) -> None:
        self._storage, self._reader = storage, Reader(design)
        self.ledger = Ledger(design, opened)
        self._stored = 1  # so many events are
        self._new: dict[str, list[Fact]] = {}  # by unit

    def append(self, fact: Fact, history: History) -> None:
        """Keep a fact until it is stored."""
        self.ledger.append(fact, history)
        self._new.setdefault(history.unit, []).append(fact)

    def of_unit(self, unit: str) -> list[Fact]:
        """Return all that happened to a unit. One of an earlier trial may have had the same id."""
        facts = [record.event for record in self.records_of(unit)] + self._new.get(unit, [])
        return [fact for fact in facts if not isinstance(fact, Opened | Taught)]

    def records_of(self, unit: str) -> list[Record]:
        """Return the stored records of a unit, as far as they are believed."""
        found = [(number, each) for number, each in self._storage.of_unit(unit) if number <= self._stored]
        return [record_of(each.text, number, self._reader) for number, each in checked_alone(self._storage, found)]

    def note_stored(self, sequence: int) -> None:
        """Take all that is kept here as stored; the log has so many events now."""
        self._new.clear()
        self._stored = sequence


def checked_alone(storage: Storage, found: Sequence[tuple[int, Stored]]) -> Sequence[tuple[int, Stored]]:
    """Return records of a log, each with its number and none of them the first, after a look at their hashes."""
    require_links(found, storage.pick([number - 1 for number, _ in found]))
    return found


class FollowedLog:
    """One log, read up to ``head``. What is believed counts only while it ends there too.

    ``design`` and ``policy`` are needed only where they hold Python functions. ``progress`` is told how far a long
    reading is.
    """

    def __init__(
        self,
        storage: Storage,
        *,
        design: Design | None = None,
        policy: Policy[Any] | None = None,
        snapshots: Snapshots | None = None,
        progress: Progress | None = None,
    ) -> None:
        self.storage, self._given, self._snapshots, self._progress = storage, (design, policy), snapshots, progress
        self.head = EMPTY
        self.unchecked = EMPTY  # up to here nobody has looked at the chain yet: a snapshot stood for it
        self._belief: Belief | None = None

    @property
    def belief(self) -> Belief:
        """What is believed after the last catching up."""
        assert self._belief is not None
        return self._belief

    @property
    def facts(self) -> StoredFacts:
        """The facts behind it."""
        facts = self.belief.histories.facts
        assert isinstance(facts, StoredFacts)
        return facts

    @property
    def is_ahead(self) -> bool:
        """Whether something is believed that may not be stored, after a failure."""
        belief = self._belief
        return belief is not None and (not belief.whole or belief.version != self.head.sequence)

    def catch_up(self) -> None:
        """Follow what is new. After a failure, what is believed may be ahead of what is stored: it is read again."""
        if self.is_ahead:
            self._belief, self.head = None, EMPTY
        head = self.storage.head()
        if head == self.head and self._belief is not None:
            return
        if head.sequence <= self.head.sequence:
            raise LogError(
                f"the stored log ends with record {head.sequence}, and this process knows "
                f"{counted(self.head.sequence, 'record')} that ended otherwise: the file was cut or exchanged; put it "
                "back, or restore a backup"
            )
        if self._belief is None and self._snapshots is not None:
            self._open_snapshot(self._snapshots)
        with without_collecting(head.sequence - self.head.sequence):
            for events, times, last in parts(self.storage.batches(self.head.sequence), self.head):
                self._fold(events, times)
                self.note_stored(last)
                if self._progress is not None:
                    self._progress(last.sequence, head.sequence)

    def _open_snapshot(self, snapshots: Snapshots) -> None:
        """Believe what the newest snapshot says that fits the stored log, if there is one."""
        found = snapshots.open(self.storage, *self._given, self._facts)
        if found is not None:
            self._belief, self.unchecked = found
            self.note_stored(self.unchecked)

    def _facts(self, design: Design, opened: Opened) -> StoredFacts:
        return StoredFacts(self.storage, design, opened)

    def _fold(self, events: list[Event], times: list[datetime | None]) -> None:
        first = int(self._belief is None)
        if self._belief is None:
            self._belief = opened_by(events[0], *self._given, self._facts)
        self._belief.fold(events[first:], times[first:])

    def note_stored(self, head: Head) -> None:
        """Take what is believed as stored, up to a head."""
        self.head = head
        self.facts.note_stored(head.sequence)

    def records(self) -> Iterator[Record]:
        """Give all records, checked."""
        return unlinked(self.storage.read())


def parts(batches: Iterable[StoredBatch], head: Head) -> Iterator[tuple[list[Event], list[datetime | None], Head]]:
    """Give the events after a head, whose chain was checked, with their times, many at a time, and the head after."""
    reader, records, last = Reader(), list[Record](), head
    for texts, hashes in _whole_answers(checked_batches(batches, head)):
        records += [record_of(text, number, reader) for number, text in enumerate(texts, last.sequence + 1)]
        last = Head(last.sequence + len(texts), hashes[-1])
        if len(records) >= PART:
            yield [each.event for each in records], [each.time for each in records], last
            records = []
    if records:
        yield [each.event for each in records], [each.time for each in records], last


def _whole_answers(batches: Iterable[StoredBatch]) -> Iterator[StoredBatch]:
    """Give the same records in other batches: an arrival stays with what follows it.

    Before a record is refused, all before it are given: one of them may be what is wrong first.
    """
    held = StoredBatch([], [])
    try:
        for batch in batches:
            texts, hashes = held.texts + batch.texts, held.hashes + batch.hashes
            done = len(texts) - any(name in texts[-1] for name in ARRIVALS)
            held = StoredBatch(texts[done:], hashes[done:])
            if done:
                yield StoredBatch(texts[:done], hashes[:done])
    except LogError:
        if held.texts:
            yield held
        raise
    if held.texts:
        yield held
