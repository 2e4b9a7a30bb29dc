"""Snapshots that tests take, change and look for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dtrbandit.record.snapshot import Snapshot
from dtrbandit.trial import Trial
from dtrbandit.trial.snapshots import Copied, Snapshots, copied, snapshots_of


def files_of(trial: Trial) -> Snapshots:
    """Return the snapshots of the log that a trial writes, as another process has them."""
    found = snapshots_of(trial._store, trial._number)
    assert found is not None
    return found


def copy_of(trial: Trial) -> Copied:
    """Return a copy of what a trial believes."""
    trial.catch_up()
    log = trial._log
    (first,) = log.storage.pick([1])
    return copied(log.belief, log.head, first.hash)


def take_snapshot(trial: Trial) -> Path:
    """Write a snapshot of a trial as it is, and return its file."""
    own = copy_of(trial)
    files_of(trial).write(own)
    place = files_of(trial).path(own.head.sequence)
    assert place.is_file()
    return place


def rewrite(place: Path, arrays: dict[str, Any] | None = None, **header: Any) -> None:
    """Change what a snapshot says; it is whole again afterwards. None leaves an entry of the header out."""
    found = Snapshot.from_bytes(place.read_bytes())
    changed = {name: value for name, value in {**found.header, **header}.items() if value is not None}
    place.write_bytes(Snapshot(changed, {**found.arrays, **(arrays or {})}).to_bytes())


def opened_from(trial: Trial) -> int:
    """Return the number of the record whose snapshot a trial was opened by; 0 if it was opened by its log alone."""
    return trial._log.unchecked.sequence
