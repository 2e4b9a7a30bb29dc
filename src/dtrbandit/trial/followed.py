"""A stored log and the session that it leads to, kept in step."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any

from dtrbandit.design.spec import Design
from dtrbandit.engine import Session
from dtrbandit.errors import LogError
from dtrbandit.policies.policy import Policy
from dtrbandit.record.chain import EMPTY, Head, Record, Stored, checked, entries_of, time_of, unlinked
from dtrbandit.record.collecting import without_collecting
from dtrbandit.record.events import Assigned, Enrolled, Event, Responded
from dtrbandit.record.log import Log
from dtrbandit.record.packed import PackedLog
from dtrbandit.record.reading import Reader
from dtrbandit.storage.store import Storage
from dtrbandit.words import counted

PART = 100_000  # events that are learnt together; all at once would not fit in memory


class FollowedLog:
    """One log, read up to ``head``. The session is believed only while it ends there too.

    ``design`` and ``policy`` are needed only where they hold Python functions.
    """

    def __init__(self, storage: Storage, *, design: Design | None = None, policy: Policy[Any] | None = None) -> None:
        self.storage = storage
        self.head = EMPTY
        self._design, self._policy = design, policy
        self._session: Session | None = None
        self._waiting: dict[int, tuple[int, datetime | None]] = {}

    @property
    def session(self) -> Session:
        """The session after the last catching up."""
        assert self._session is not None
        return self._session

    @property
    def is_ahead(self) -> bool:
        """Whether the session believes what may not be stored, after a failure."""
        return self._session is not None and self._session.version != self.head.sequence

    def catch_up(self) -> None:
        """Follow what is new. After a failure the session may be ahead of what is stored: then read all again."""
        if self.is_ahead:
            self._session, self.head = None, EMPTY
        head = self.storage.head()
        if head == self.head and self._session is not None:
            return
        if head.sequence <= self.head.sequence:
            raise LogError(
                f"the stored log ends with record {head.sequence}, and this process knows "
                f"{counted(self.head.sequence, 'record')} that ended otherwise: the file was cut or exchanged; put it "
                "back, or restore a backup"
            )
        with without_collecting(head.sequence - self.head.sequence):
            for events, last in parts(self.storage.read(self.head.sequence), self.head):
                if self._session is None:
                    self._session = Session.resume(events, design=self._design, policy=self._policy)
                else:
                    self._session.follow(events)
                self.head = last

    def waiting_since(self) -> dict[int, datetime | None]:
        """Return since when the units in flight wait, by round: since their last arrival, or the decision after it.

        What is on record never changes. So a time is read again only for units of which something is new.
        """
        log, before = self.session.histories.log, self._waiting
        rounds = [record.history.round for record in self.session.histories.in_flight.values()]
        last = {t: log.last_place(t) for t in rounds}
        known = {t: before[t] for t, place in last.items() if t in before and before[t][0] == place}
        new = {t: _began(log, t) for t in last if t not in known}
        stored = self.storage.pick(place + 1 for place in new.values())
        for (t, place), each in zip(new.items(), stored, strict=True):
            known[t] = last[t], time_of(each.text, place + 1)
        self._waiting = known
        return {t: time for t, (_, time) in known.items()}

    def records(self) -> Iterator[Record]:
        """Give all records, checked."""
        return unlinked(self.storage.read())

    def believe(self, session: Session, head: Head) -> None:
        """Take a session that was just stored up to a head."""
        self._session, self.head = session, head


def copied(session: Session, log: Log) -> Session:
    """Return another session after a log of this one: quicker than to read it from a store again."""
    stop, copy = 0, None
    while stop < len(log):
        start, stop = stop, min(stop + PART, len(log))
        while stop < len(log) and isinstance(log[stop], Assigned):  # a decision stays with what it answers
            stop += 1
        if copy is None:
            copy = Session.resume(list(log[start:stop]), design=session.design, policy=session.policy)
        else:
            copy.follow(list(log[start:stop]))
    assert copy is not None  # a log has at least its first event
    return copy


def _began(log: PackedLog, t: int) -> int:
    """Return the place of the fact from which on a unit waits."""
    facts = Enrolled | Responded | Assigned
    return next(place for place, fact in log.told_backwards(t) if isinstance(fact, facts))


def parts(stored: Iterable[Stored], head: Head) -> Iterator[tuple[list[Event], Head]]:
    """Give the events after a head, checked, many at a time, and the head after them.

    A decision stays with what it answers.
    """
    read, part = Reader().event, list[Event]()
    sequence, last = head
    for sequence, (text, found) in enumerate(checked(stored, head), head.sequence + 1):
        event = read(entries_of(text, sequence)["event"])
        if len(part) >= PART and type(event) is not Assigned:
            yield part, Head(sequence - 1, last)
            part = []
        part.append(event)
        last = found
    if part:
        yield part, Head(sequence, last)
