"""A stored log and what it leads to, kept in step: opened by a snapshot, followed, and checked in the background."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from itertools import islice
from typing import Any

from dtrbandit.belief import Belief, opened_by, without_collecting
from dtrbandit.design.spec import Design
from dtrbandit.errors import LogError, Unavailable
from dtrbandit.policies.policy import Policy
from dtrbandit.policies.registry import is_builtin
from dtrbandit.record.chain import EMPTY, Head, Record, Stored, checked, record_of
from dtrbandit.record.codec import Reader
from dtrbandit.record.events import Assigned, Enrolled, Responded, new
from dtrbandit.storage.store import Storage
from dtrbandit.trial.ledger import StoredFacts
from dtrbandit.trial.snapshots import AT_THE_END, EVERY, Snapshots, believed_by, copied
from dtrbandit.words import counted

CHUNK = 50_000  # records that are learnt together; all at once would not fit in memory
Given = tuple[Design | None, Policy[Any] | None]  # what a log cannot hold
Progress = Callable[[int, int], object]  # how many records are done, of how many

logger = logging.getLogger("dtrbandit.trial")


class FollowedLog:
    """One log, read up to ``head``. What is believed counts only while it ends there too.

    ``given`` are design and policy, where they hold Python functions. ``progress`` is told how far a long reading is.
    ``unchecked`` is the head of the snapshot that it was opened by: it stood for the chain before it.
    """

    def __init__(
        self,
        storage: Storage,
        given: Given = (None, None),
        *,
        snapshots: Snapshots | None = None,
        progress: Progress | None = None,
    ) -> None:
        self.storage, self._given, self._snapshots, self._progress = storage, given, snapshots, progress
        self.worker = SnapshotWorker(snapshots)
        self._refused: tuple[Head, LogError] | None = None  # the log up to a head, read from its beginning
        self._forget()

    def _forget(self) -> None:
        self._belief: Belief | None = None
        self.head = self.unchecked = EMPTY

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
            self._forget()
        head = self.storage.head()
        if self._belief is None:
            self._open(head)
        elif head != self.head:
            self._require_growth(head)
            try:
                self._read(head.sequence)
            except LogError:
                if self.unchecked == EMPTY:
                    raise
                self._open(head)  # what a snapshot led to may be at fault
        self.worker.look(self)

    def _require_growth(self, head: Head) -> None:
        if head.sequence <= self.head.sequence:
            raise LogError(
                f"the stored log ends with record {head.sequence}, and this process knows "
                f"{counted(self.head.sequence, 'record')} that ended otherwise: the file was cut or exchanged; put it "
                "back, or restore a backup"
            )

    def _open(self, head: Head) -> None:
        """Read the log up to a head, from the newest snapshot that fits. Any doubt means: from its beginning.

        What is refused then is not read again before the log has grown: others wait for it.
        """
        if self._refused is not None and self._refused[0] == head:
            raise _again(self._refused[1])
        if self._snapshots is not None and self._open_by(self._snapshots, head.sequence):
            return
        self._forget()
        try:
            self._read(head.sequence)
        except LogError as error:
            self._refused = head, error
            raise
        if self._belief is None:
            raise LogError("the log is empty: it has not even been opened; restore a backup", sequence=1)

    def _open_by(self, snapshots: Snapshots, last: int) -> bool:
        """Say whether a snapshot, and the records after it, led to a belief."""
        for head, found in snapshots.fitting(self.storage):
            try:
                self._belief = believed_by(found, self.storage, *self._given)
                self.unchecked = head
                self.note_stored(head)
                self._read(last)
            except Unavailable:
                raise  # that says nothing about the snapshot
            except Exception as error:  # noqa: BLE001  # whatever is wrong with it, the log has everything
                snapshots.pass_over(head.sequence, f"cannot be used: {error!r}; the log is read instead")
            else:
                return True
        return False

    def _read(self, last: int) -> None:
        """Follow the stored records after the head, up to a record."""
        with without_collecting(last - self.head.sequence):
            stored = checked(self.storage.read(self.head.sequence), self.head)
            for records, head in chunks(stored, self.head, size=CHUNK):
                self.fold(records)
                self.note_stored(head)
                if self._progress is not None:
                    self._progress(head.sequence, last)

    def fold(self, records: list[Record], *, decide_again: bool = False) -> None:
        """Believe records that follow on those before; with ``decide_again``, only what the policy would decide."""
        events, times = [each.event for each in records], [each.time for each in records]
        first = int(self._belief is None)
        if self._belief is None:
            self._belief = opened_by(events[0], *self._given, lambda design, _: StoredFacts(self.storage, design))
        self._belief.fold(events[first:], times[first:], decide_again=decide_again)

    def note_stored(self, head: Head) -> None:
        """Take what is believed as stored, up to a head."""
        self.head = head
        self.facts.note_stored(head.sequence)

    def note_appended(self, head: Head) -> None:
        """Take what is believed as stored, after it was appended here; a snapshot may be due."""
        self.note_stored(head)
        self.worker.look(self)

    def require_whole(self) -> None:
        """Refuse to go on with a log that was found to be damaged."""
        damage = self.worker.damage
        if damage is not None:
            raise _again(damage)

    def close(self) -> None:
        """Take a last snapshot if it is worth while, and wait until it is written. Nothing is lost without it."""
        self.worker.close(self)


def _again(error: LogError) -> LogError:
    """Return the same refusal, which keeps no other alive."""
    return LogError(str(error), sequence=error.sequence, outside=error.outside)


def chunks(stored: Iterable[Stored], head: Head, *, size: int, stop: int = 0) -> Iterator[tuple[list[Record], Head]]:
    """Give the records after a head many at a time, a decision with what it answers, and the head after each chunk.

    What precedes a record that is refused is given first: it may be wrong, too. A chunk ends after record ``stop``,
    which is no arrival.
    """
    reader, chunk = Reader(), list[Record]()
    try:
        for sequence, (text, known) in enumerate(stored, head.sequence + 1):
            record = record_of(text, sequence, reader)
            if chunk and (sequence == stop + 1 or (len(chunk) >= size and type(record.event) is not Assigned)):
                yield chunk, head
                chunk = []
            chunk.append(record)
            head = new(Head, (sequence, known))
    except LogError:
        if chunk and isinstance(chunk[-1].event, Enrolled | Responded):  # its decision may be what is at fault
            chunk.pop()
        if chunk:
            yield chunk, head
        raise
    if chunk:
        yield chunk, head


class SnapshotWorker:
    """Looks after the snapshots of one log, in threads. Whoever calls it has the trial's turn.

    ``damage`` is what the check of the chain has found to be wrong; None if nothing is.
    """

    def __init__(self, snapshots: Snapshots | None) -> None:
        self._snapshots = snapshots
        self._last = 0  # the record of the latest snapshot
        self._checked = EMPTY  # the head up to which the chain is checked, or is being checked
        self._threads: list[threading.Thread] = []
        self._closed = False
        self.damage: LogError | None = None

    def look(self, log: FollowedLog) -> None:
        """Take a snapshot if enough is new, and check what was opened by one. It never fails: facts are stored."""
        if log.is_ahead:
            return
        try:
            if log.unchecked not in (EMPTY, self._checked):
                self._checked = head = log.unchecked
                self._last = max(self._last, head.sequence)
                self._start(lambda: self._check(log.storage, head))
            if log.head.sequence - self._last >= EVERY:
                self._take(log)
        except Exception:  # its caller has stored a fact, and must answer
            logger.exception("no snapshot could be taken, or the chain could not be checked")

    def close(self, log: FollowedLog) -> None:
        """Take a last snapshot if it is worth while, and wait until it is written. Nothing is lost without it."""
        self._closed = True
        try:
            if not log.is_ahead and log.head.sequence - self._last >= AT_THE_END:
                self._take(log)
        except Exception:  # a trial that cannot be closed would keep its database open
            logger.exception("no last snapshot could be taken")
        for thread in self._threads:
            thread.join()

    def _take(self, log: FollowedLog) -> None:
        """Copy what is believed, and let it be written. What was stored stays so if the database is away now."""
        snapshots = self._snapshots
        if snapshots is None or not is_builtin(log.belief.policy):
            self._last = log.head.sequence
            return
        with suppress(Unavailable):  # the next look tries again
            (first,) = log.storage.pick([1])
            found = copied(log.belief, log.head, first.hash)
            self._last = log.head.sequence
            self._start(lambda: snapshots.write(found))

    def _check(self, storage: Storage, head: Head) -> None:
        """Hold the stored records up to a head against their hashes."""
        try:
            self._require_chain(storage, head)
        except Unavailable:
            self._checked = EMPTY  # that says nothing about the log: the next look begins anew
        except LogError as error:
            self.damage = error
        except Exception as error:  # noqa: BLE001  # a chain that nobody can check is not gone on with
            self.damage = LogError(f"the stored log cannot be checked: {error!r}; run trial verify")

    def _require_chain(self, storage: Storage, head: Head) -> None:
        """Refuse a chain that is damaged, or that does not lead to a head; not if the trial is closed meanwhile."""
        last = EMPTY
        for sequence, each in enumerate(checked(islice(storage.read(), head.sequence)), 1):
            last = Head(sequence, each.hash)
            if self._closed:
                return
        if last.sequence < head.sequence:
            raise LogError(f"the log ends with record {last.sequence}, and {head.sequence} were known; use a backup")
        if last != head:
            raise LogError(f"record {head.sequence} is another one by now; restore a backup")

    def _start(self, act: Callable[[], None]) -> None:
        self._threads = [thread for thread in self._threads if thread.is_alive()]
        thread = threading.Thread(target=act, name="dtrbandit-snapshots", daemon=True)
        self._threads.append(thread)
        thread.start()
