"""Snapshots of a trial: files from which it opens in little time. They are a cache, and the log alone decides.

A snapshot is taken up only if it is whole, of this release, and of the very log that is stored: its head is the hash of
the stored record with its number. Any doubt means that the log is read from its beginning.
"""

from __future__ import annotations

import json
import logging
import re
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from numpy.typing import NDArray

from dtrbandit._version import FORMAT, NUMERICS
from dtrbandit.belief import Belief, opened_by
from dtrbandit.design.spec import Design
from dtrbandit.errors import LogError, Unavailable
from dtrbandit.kernels.arrays import Named, under, within
from dtrbandit.policies.policy import Policy
from dtrbandit.policies.registry import is_builtin
from dtrbandit.policies.state import PolicyState
from dtrbandit.record.chain import NOTHING, Head, chained, record_of
from dtrbandit.record.durable import private_beside, settle
from dtrbandit.record.events import Opened
from dtrbandit.record.snapshot import Frozen, Snapshot, frozen, restore
from dtrbandit.storage.store import Storage, Store
from dtrbandit.trial.ledger import StoredFacts

EVERY = 50_000  # events between two of them
AT_THE_END = 1_000  # events that make another one worth while when a trial is closed
KEPT = 2  # the newest of a log
STATE, LEDGER = "state", "ledger"  # what names of arrays begin with
NAME = re.compile(r"log-(\d+)-(\d+)\.snapshot")
DRAFT = re.compile(rf"\.{NAME.pattern}-[0-9a-f]+")
ABANDONED = 3_600.0  # seconds after which nobody writes to a draft any more: whoever began it was killed

log = logging.getLogger("dtrbandit.trial")


class Copied(NamedTuple):
    """What is believed, copied while verbs wait. To encode and to write it takes longer, and nobody waits for that."""

    head: Head
    opened: str  # the hash of the first record
    histories: Frozen
    arrays: Named

    def snapshot(self) -> Snapshot:
        """Return it as a snapshot."""
        own = self.histories.snapshot()
        key = {"head": [*self.head], "opened": self.opened, "numerics": NUMERICS, "format": FORMAT}
        return Snapshot({**key, **own.header}, {**own.arrays, **self.arrays})


def copied(belief: Belief, head: Head, opened: str) -> Copied:
    """Return a copy of what is believed at a head of a log; ``opened`` is the hash of its first record."""
    arrays = {name: array.copy() for name, array in belief.state.arrays().items()}
    own = {**under(STATE, arrays), **under(LEDGER, _facts(belief).ledger.arrays())}
    return Copied(head, opened, frozen(belief.histories), own)


def _facts(belief: Belief) -> StoredFacts:
    facts = belief.histories.facts
    assert isinstance(facts, StoredFacts)
    return facts


class Snapshots:
    """The snapshots of one log, in a private folder."""

    def __init__(self, folder: Path, number: int) -> None:
        self.folder, self._number = folder, number
        self._warnings: set[str] = set()  # in the log already
        self._passed_over: set[int] = set()  # the records whose snapshots were

    def sequences(self) -> list[int]:
        """Return the numbers of the records that there are snapshots of, the newest first."""
        names = [NAME.fullmatch(path.name) for path in self._listed()]
        return sorted((int(found[2]) for found in names if found and int(found[1]) == self._number), reverse=True)

    def _listed(self) -> list[Path]:
        try:
            return list(self.folder.iterdir())
        except OSError:
            return []

    def path(self, sequence: int) -> Path:
        """Return where the snapshot of a record lies."""
        return self.folder / f"log-{self._number}-{sequence}.snapshot"

    def fitting(self, storage: Storage) -> Iterator[tuple[Head, Snapshot]]:
        """Give the snapshots that fit a stored log, the newest first, and their heads."""
        for sequence in self.sequences():
            try:
                found = Snapshot.from_bytes(self.path(sequence).read_bytes())
                head = Head(*found.header["head"])
                _require_fit(found, head, storage)
            except FileNotFoundError:
                continue  # another worker has a newer one by now
            except Unavailable:
                raise  # that says nothing about the snapshot
            except Exception as error:  # noqa: BLE001  # whatever is wrong with it, the log has everything
                self.pass_over(sequence, f"is passed over: {error}")
                continue
            yield head, found

    def pass_over(self, sequence: int, why: str) -> None:
        """Count on the snapshot of a record no more, and say why."""
        self._passed_over.add(sequence)
        self._warn(f"the snapshot {self.path(sequence)} {why}")

    def write(self, snapshot: Copied) -> None:
        """Write a snapshot unless there is one as new, and keep the newest two. What fails is said once.

        Those that were passed over count for nothing: they make room, and may have any number.
        """
        try:
            if snapshot.head.sequence in self._good()[:1]:
                return
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            place = self.path(snapshot.head.sequence)
            with private_beside(place) as draft:
                draft.write_bytes(snapshot.snapshot().to_bytes())
                settle(draft, place)
            self._passed_over.discard(snapshot.head.sequence)
            for sequence in {*self.sequences()} - {*self._good()[:KEPT]}:
                with suppress(OSError):  # another worker was faster, or it is no file
                    self.path(sequence).unlink()
            self._sweep()
        except OSError as error:
            self._warn(
                f"no snapshot can be written to {self.folder}: {error}. The trial goes on, and opens more slowly"
            )

    def _sweep(self) -> None:
        """Remove drafts that were left behind."""
        for path in self._listed():
            with suppress(FileNotFoundError):
                if DRAFT.fullmatch(path.name) and time.time() - path.stat().st_mtime > ABANDONED:
                    path.unlink()

    def _good(self) -> list[int]:
        return [sequence for sequence in self.sequences() if sequence not in self._passed_over]

    def _warn(self, what: str) -> None:
        """Say once what is wrong."""
        if what not in self._warnings:
            self._warnings.add(what)
            log.warning("%s", what)


def _require_fit(found: Snapshot, head: Head, storage: Storage) -> None:
    """Refuse a snapshot of another release, or of another log than the one that is stored."""
    own = found.header["numerics"], found.header["format"]
    if own != (NUMERICS, FORMAT):
        raise LogError(f"it has numerics and format {own}, this release has {(NUMERICS, FORMAT)}")
    if not 0 < head.sequence <= storage.head().sequence:
        raise LogError("it is of a record that is not stored")
    first, last = storage.pick([1, head.sequence])
    if first.hash != found.header["opened"] or last.hash != head.hash:
        raise LogError("it is of another log")


def _first(storage: Storage) -> Opened:
    """Return the first event of a log."""
    (stored,) = storage.pick([1])
    if chained(NOTHING, stored.text) != stored.hash:
        raise LogError("the first record of the log is damaged", sequence=1)
    event = record_of(stored.text, 1).event
    assert isinstance(event, Opened)
    return event


def believed_by(found: Snapshot, storage: Storage, design: Design | None, policy: Policy[Any] | None) -> Belief:
    """Return what a snapshot of a log leads to. Design and policy are needed only where the log cannot hold them."""
    belief = opened_by(_first(storage), design, policy, lambda design, _: StoredFacts(storage, design))
    if not is_builtin(belief.policy):
        raise LogError(f"{belief.policy!r} is no policy of this package")
    restore(belief.histories, found)
    belief.state = PolicyState.from_arrays(belief.policy, belief.design, within(STATE, found.arrays))
    belief.version = belief.histories.count
    ledger = _facts(belief).ledger
    ledger.load([*belief.histories.tally.reasons], within(LEDGER, found.arrays))
    observed, units = belief.state.observed, len(belief.histories)
    if not units == ledger.units == observed.units - observed.taught:
        raise LogError(
            f"it has {units} names, {ledger.units} rows of units, and {observed.units - observed.taught} learnt"
        )
    return belief


def snapshots_of(store: Store, number: int) -> Snapshots | None:
    """Return the snapshots of a log of a store; None if the store has no place for any."""
    folder = store.snapshots
    return None if folder is None else Snapshots(folder, number)


def differences(found: Snapshot, expected: Snapshot) -> list[str]:
    """Return the names of what differs in two snapshots. How much room a policy has for more units does not matter."""
    one, other = _listed(found.header), _listed(expected.header)
    names = [name for name in {**other, **one} if one.get(name) != other.get(name)]
    if found.arrays.keys() != expected.arrays.keys():
        return [*names, "arrays"]
    return names + [name for name, own in expected.arrays.items() if not _same(name, found.arrays[name], own)]


def _listed(value: Any) -> Any:
    return json.loads(json.dumps(value))  # tuples are lists in a file


def _same(name: str, one: NDArray[Any], other: NDArray[Any]) -> bool:
    if one.dtype != other.dtype or one.ndim != other.ndim:
        return False
    if not name.startswith(f"{STATE}."):
        return one.shape == other.shape and one.tobytes() == other.tobytes()
    both = tuple(slice(min(lengths)) for lengths in zip(one.shape, other.shape, strict=True))
    return one[both].tobytes() == other[both].tobytes()
