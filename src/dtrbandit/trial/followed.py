"""A stored log and the session that it leads to, kept in step."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from dtrbandit import belief
from dtrbandit.design.spec import Design
from dtrbandit.engine import Session
from dtrbandit.errors import LogError
from dtrbandit.policies.policy import Policy
from dtrbandit.record.blanks import BUILT_FROM
from dtrbandit.record.chain import EMPTY, Head, Record, StoredBatch, checked_batches, unlinked
from dtrbandit.record.collecting import without_collecting
from dtrbandit.record.events import Event
from dtrbandit.record.forms import Forms
from dtrbandit.record.sequences import Pieces
from dtrbandit.storage.store import Storage
from dtrbandit.summary import Standing
from dtrbandit.trial.units import UnitStatus
from dtrbandit.trial.waiting import Waiting
from dtrbandit.words import counted

PART = 100_000  # events that are learnt together; all at once would not fit in memory
ARRIVALS = (b'"event":"Enrolled"', b'"event":"Responded"')


class FollowedLog:
    """One log, read up to ``head``. The session is believed only while it ends there too.

    ``design`` and ``policy`` are needed only where they hold Python functions.
    """

    def __init__(self, storage: Storage, *, design: Design | None = None, policy: Policy[Any] | None = None) -> None:
        self.storage = storage
        self.head = EMPTY
        self._design, self._policy = design, policy
        self._session: Session | None = None
        self._waiting = Waiting()

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
        """Follow what is new. After a failure the session may be ahead of what is stored: then it goes back first."""
        if self.is_ahead:
            self._go_back()
        head = self.storage.head()
        if head == self.head and self._session is not None:
            return
        if head.sequence <= self.head.sequence:
            raise LogError(
                f"the stored log ends with record {head.sequence}, and this process knows "
                f"{counted(self.head.sequence, 'record')} that ended otherwise: the file was cut or exchanged; put it "
                "back, or restore a backup"
            )
        count = head.sequence - self.head.sequence
        quick = self._session is None and BUILT_FROM != b""
        with without_collecting(count):
            for events, last in parts(self.storage.batches(self.head.sequence), self.head, quick=quick):
                if self._session is None:
                    self._session = Session.resume(events, design=self._design, policy=self._policy)
                else:
                    self._session.follow(events)
                self.head = last

    def _go_back(self) -> None:
        """Believe what was stored when it was last looked at, from the session's own log: nothing is read for it.

        A log that goes on otherwise, as when a standby takes over, is read again from its beginning.
        """
        known, head, goes_on = self.session.log[: self.head.sequence], self.head, self._is_stored(self.head)
        self._session, self.head, self._waiting = None, EMPTY, Waiting()  # if this is interrupted, all is read again
        if goes_on:
            self.believe(Session.resume(known, design=self._design, policy=self._policy), head)

    def _is_stored(self, head: Head) -> bool:
        """Say whether the stored log leads to a head, or beyond it."""
        stored = self.storage.head()
        if not 0 < head.sequence < stored.sequence:
            return head == stored
        (record,) = self.storage.pick([head.sequence])
        return record.hash == head.hash

    def list_in_flight(self) -> list[UnitStatus] | None:
        """Return the units in flight; None if there is more to look at first, which the next calls do."""
        return self._waiting() if self._waiting.follow(self.session, self.storage) else None

    def standing(self) -> Standing | None:
        """Return what a summary is made of; None if there is more to look at first, which the next calls do."""
        return self.session.standing() if self.session.histories.look_on() else None

    def note_stored(self, head: Head, times: Mapping[int, datetime]) -> None:
        """Take what the session believes as stored, with the times of the new records by their numbers."""
        self.head = head
        try:
            self._waiting.take(self.session, times)
        except Exception:  # noqa: BLE001  # what is stored must be answered; the next look makes its list anew
            self._waiting = Waiting()

    def records(self) -> Iterator[Record]:
        """Give all records, checked."""
        return unlinked(self.storage.read())

    def believe(self, session: Session, head: Head) -> None:
        """Take a session that was just stored up to a head."""
        self._session, self.head = session, head


def parts(batches: Iterable[StoredBatch], head: Head, *, quick: bool) -> Iterator[tuple[Pieces, Head]]:
    """Give the events after a head, whose chain was checked, many at a time, and the head after them.

    ``quick``: many records are read in one step. It pays where that is compiled, and from the beginning of a log.
    """
    forms, pieces, read, last = Forms(), list[Sequence[Event]](), 0, head
    for texts, hashes in _whole_answers(checked_batches(batches, head)):
        first, last = last.sequence + 1, Head(last.sequence + len(texts), hashes[-1])
        pieces += forms.pieces(texts, first, belief.SHORTEST) if quick else [forms.one_by_one(texts, first)]
        read += len(texts)
        if read >= PART:
            yield Pieces(pieces), last
            pieces, read = [], 0
    if pieces:
        yield Pieces(pieces), last


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
