"""A backup in the place of an earlier one, and of nothing else."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from dtrbandit.errors import DesignError
from dtrbandit.record.durable import beside, settle
from dtrbandit.storage import Store, connect_existing, path_of
from dtrbandit.storage.store import TrialEntry

BESIDE = "-wal", "-shm", "-journal"  # what SQLite keeps beside a file that is in use; it would spoil another file


def replace_copy(file: Path, storage: str, store: Store) -> None:
    """Copy a store to the place of an earlier copy, which stays there until the new one is whole."""
    own, place = path_of(storage), file.resolve()
    if own is not None and file.samefile(own):
        raise DesignError(f"{file} is the database itself; a backup needs a file of its own")
    _require_earlier_copy(place, store)
    with beside(place) as draft:
        store.backup(draft)
        settle(draft, place)


def _require_earlier_copy(file: Path, store: Store) -> None:
    """Refuse to replace what is no earlier copy of a store, or is in use."""
    with closing(connect_existing(f"sqlite:///{file}")) as earlier:  # which settles what a killed reader left
        foreign = [entry.name for entry in earlier.trials() if not _goes_on(earlier, store, entry)]
    if foreign:
        raise DesignError(
            f"{file} is no earlier copy of this database: its trial {foreign[0]!r} is not here, or went another way; "
            "move it away, or give another name"
        )
    left = [end for end in BESIDE if Path(f"{file}{end}").exists()]
    if left:
        raise DesignError(f"{file} is in use: there is {file.name}{left[0]} beside it; give another name")


def _goes_on(earlier: Store, store: Store, entry: TrialEntry) -> bool:
    """Say whether a store has everything that an earlier one has of a trial."""
    now = store.trial(entry.name)
    if now is None or now.rehearsal != entry.rehearsal or entry.live not in (None, now.live):
        return False
    heads = [(number, earlier.log(number).head()) for number in (entry.rehearsal, entry.live) if number is not None]
    return all(
        [each.hash for each in store.log(number).pick([head.sequence])] == [head.hash]
        for number, head in heads
        if head.sequence
    )
