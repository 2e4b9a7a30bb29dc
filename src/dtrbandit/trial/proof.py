"""Proof that a log is whole: its chain, its order, and every decision derived again from the facts before it."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from dtrbandit.belief import without_collecting
from dtrbandit.design.spec import Design
from dtrbandit.errors import DTRError, LogError, NotFound, Unavailable
from dtrbandit.policies.policy import Policy
from dtrbandit.record.chain import EMPTY, Head, Record, Stored, checked
from dtrbandit.record.snapshot import Snapshot
from dtrbandit.record.trial_rules import Segment, segments
from dtrbandit.storage.key_events import key_fault
from dtrbandit.storage.store import Storage, Store
from dtrbandit.trial.followed import FollowedLog, Given, Progress, chunks
from dtrbandit.trial.snapshots import Snapshots, copied, differences, snapshots_of
from dtrbandit.words import counted

PATIENCE, BETWEEN = 2.0, 5.0  # seconds before the first word on progress, and between two
CHUNK = 1_000  # records that are derived together: so few stay in the processor's cache, which saves a twentieth


@dataclass(frozen=True)
class Verification:
    """What was found when a log was verified; true if all is well. Printing it reads well.

    Attributes
    ----------
    ok
        Whether everything that this release can check is as it must be.
    records
        How many were found to be in order.
    first_bad
        The number of the first record that is not; None if there is none, or if it is not one record.
    problem
        What is wrong, in words; None if nothing is.
    segments
        The parts of the log by the release that decided. Only those of this release's numerics are derived again.
    flags
        What is no fault and worth a look: clocks that went back.
    """

    ok: bool
    records: int
    first_bad: int | None
    problem: str | None
    segments: tuple[Segment, ...]
    flags: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return self.ok

    def __str__(self) -> str:
        if not self.ok:
            where = "" if self.first_bad is None else f" First bad record: {self.first_bad}."
            return f"Not in order: {self.problem}.{where} In order before it: {counted(self.records, 'record')}."
        many = counted(self.records, "record")
        lines = [f"{many}: the chain is whole, and every decision follows from the facts before it."]
        for part in self.segments:
            if not part.own:
                lines[0] = f"{many}: the chain is whole."
                lines.append(f"Records {part.first} to {part.last}: verify their decisions by release {part.release}.")
        return "\n".join([*lines, *self.flags])


class LogCheck:
    """One look at a log from its beginning. Snapshots do not count; the newest must agree with what is derived."""

    def __init__(self, storage: Storage, given: Given, snapshots: Snapshots | None = None) -> None:
        self._storage, self._snapshots = storage, snapshots
        self._log = FollowedLog(storage, given)
        self._flags: list[str] = []
        self._latest: datetime | None = None

    @property
    def head(self) -> Head:
        """The head of what was found to be in order."""
        return self._log.head

    @property
    def rehearsal(self) -> str | None:
        """The hash of the rehearsal that a log which is in order names."""
        return self._log.belief.histories.opened.rehearsal

    def run(self, against: Head | None, progress: Progress | None) -> Verification:
        """Check all records; with ``against``, also that the log goes on from that head."""
        try:
            self._derive(against or EMPTY, progress)
        except Unavailable:
            raise  # that says nothing about the log
        except DTRError as error:
            bad = getattr(error, "sequence", None) or self.head.sequence + 1
            return Verification(False, bad - 1, bad, str(error).removesuffix("."), (), tuple(self._flags))
        found = segments(self._log.belief.histories)
        return Verification(True, self.head.sequence, None, None, found, tuple(self._flags))

    def _derive(self, against: Head, progress: Progress | None) -> None:
        """Derive every decision again. What is needed of the facts before it is read from storage."""
        total = self._storage.head().sequence
        newest = next(self._snapshots.fitting(self._storage), None) if self._snapshots else None
        stop = 0 if newest is None else newest[0].sequence
        stored = _goes_on_from(against, checked(self._storage.read()))
        with without_collecting(total):
            for records, head in chunks(stored, EMPTY, size=CHUNK, stop=stop):
                for record in records:
                    self._look_at(record)
                self._log.fold(records, decide_again=True)
                self._log.note_stored(head)
                if newest is not None and head.sequence == stop:
                    self._compare(*newest)
                if progress is not None:
                    progress(head.sequence, total)
        if self.head == EMPTY:
            raise LogError("the log is empty: it has not even been opened", sequence=1)

    def _look_at(self, record: Record) -> None:
        """Flag a clock that went back. Decisions never depend on it."""
        if record.time is None:
            return
        if self._latest is not None and record.time < self._latest:
            self._flags.append(
                f"Record {record.sequence}: the clock went back by {self._latest - record.time}, to {record.time}."
            )
        self._latest = record.time

    def _compare(self, head: Head, found: Snapshot) -> None:
        """Refuse a snapshot that says something else than what was derived."""
        own = copied(self._log.belief, head, found.header["opened"]).snapshot()
        if names := differences(found, own):
            raise LogError(
                f"the snapshot of record {head.sequence} says something else than its log leads to "
                f"({', '.join(names)}); delete it, and find out who changed it",
                sequence=head.sequence,
            )


def _goes_on_from(head: Head, stored: Iterable[Stored]) -> Iterator[Stored]:
    """Give records as they are. Refuse those of a log that does not go on from an exported head."""
    sequence = 0
    for sequence, each in enumerate(stored, 1):
        if sequence == head.sequence and each.hash != head.hash:
            raise LogError(
                f"record {sequence} has the hash {each.hash}, the exported head {head.hash}: this is another log",
                sequence=sequence,
            )
        yield each
    if sequence < head.sequence:
        cut = f"the log ends with record {sequence}, the exported head is {head.sequence}: it was cut"
        raise LogError(cut, sequence=sequence + 1)


def verify_stored(
    store: Store,
    name: str,
    *,
    against: Head | None = None,
    design: Design | None = None,
    policy: Policy[Any] | None = None,
    progress: Progress | None = None,
) -> Verification:
    """Verify a trial in a store, also one that is too damaged to be opened, and what happened to the store's keys.

    ``against`` is a head that was exported earlier. ``progress`` is told how far it is; by default, a line is written
    on standard error now and then.
    """
    entry = store.trial(name)
    if entry is None:
        raise NotFound(f"there is no trial {name!r} in this store")
    progress = progress or say_progress(f"verifying {name}")
    fault = store.check() or key_fault(store)
    rehearsal = LogCheck(store.log(entry.rehearsal), (design, policy), snapshots_of(store, entry.rehearsal))
    if entry.live is None:
        return _with_fault(rehearsal.run(against, progress), fault, store.log(entry.rehearsal))
    before = rehearsal.run(None, progress)
    live = LogCheck(store.log(entry.live), (design, policy), snapshots_of(store, entry.live))
    found = live.run(against, progress)
    if found.ok and not before.ok:
        return replace(
            found, ok=False, problem=f"of the rehearsal before it, record {before.first_bad}: {before.problem}"
        )
    if found.ok and live.rehearsal != rehearsal.head.hash:
        problem = f"the live log names a rehearsal that ends with {live.rehearsal}, found {rehearsal.head.hash}"
        return replace(found, ok=False, first_bad=1, problem=problem)
    return _with_fault(found, fault, store.log(entry.live))


def _with_fault(found: Verification, fault: str | None, storage: Storage) -> Verification:
    """Add what is wrong beside the log, if that is all."""
    if not found.ok:
        return found
    last = found.records + 1
    lost = [key.key for key in storage.all_keys() if not 1 < key.sequence < key.sequence + key.facts <= last]
    if fault is None and lost:
        fault = f"the idempotency key {lost[0]!r} belongs to records that are not there"
    return found if fault is None else replace(found, ok=False, problem=fault)


def say_progress(what: str) -> Progress:
    """Return what writes a line on standard error now and then, from two seconds on."""
    began = time.monotonic()
    said = began + PATIENCE - BETWEEN

    def say(done: int, total: int) -> None:
        nonlocal said
        now = time.monotonic()
        if now - said >= BETWEEN:
            said = now
            print(f"{what}: {done:,} of {counted(total, 'record')}, {now - began:,.0f} s", file=sys.stderr, flush=True)

    return say
