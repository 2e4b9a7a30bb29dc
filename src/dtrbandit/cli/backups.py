"""The commands that copy whole databases: back up, restore, copy, migrate."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from time import sleep, time
from typing import TYPE_CHECKING, Annotated

import typer

import dtrbandit as dtr
from dtrbandit.cli.error_handling import until_stopped
from dtrbandit.cli.options import DEFAULT, Storage, existing, existing_or_new
from dtrbandit.cli.trial import WRONG, head_text, note_check, trial
from dtrbandit.errors import DesignError

if TYPE_CHECKING:
    from dtrbandit.storage import Store
    from dtrbandit.storage.store import TrialEntry

BESIDE = "-wal", "-shm", "-journal"  # what SQLite keeps beside a file that is in use; it would spoil another file


@trial.command()
def backup(
    file: Annotated[Path, typer.Argument(help="The file to write, a new one; with --every a folder.")],
    every: Annotated[float | None, typer.Option(help="Again every so many seconds, until Ctrl-C.", min=1.0)] = None,
    keep: Annotated[int, typer.Option(help="With --every: how many to keep.", min=1)] = 30,
    replace: Annotated[
        bool, typer.Option("--replace", help="Let it take the place of an earlier backup of this name.")
    ] = False,
    storage: Storage = DEFAULT,
) -> None:
    """Copy the whole database while the service goes on. The copy is whole or not there."""
    if every is None:
        _copy(file, storage, replace=replace)
        return
    if replace:
        raise DesignError(
            "--replace is for one copy: with --every each has a name of its own; leave out one of the two"
        )
    file.mkdir(parents=True, exist_ok=True)
    with until_stopped():
        while True:
            _copy(file / f"backup-{datetime.now(UTC):%Y%m%dT%H%M%S.%fZ}.db", storage)
            for old in sorted(file.glob("backup-*Z.db"))[:-keep]:
                old.unlink()
            sleep(every)


def _copy(file: Path, storage: str, *, replace: bool = False) -> None:
    from dtrbandit.storage import Check

    with existing(storage) as store:
        if replace and file.exists():
            _replace_copy(file, storage, store)
        else:
            store.backup(file)
        for name in dtr.Trial.names(store):
            note_check(store, Check("backup", name, time(), True))
    typer.echo(f"Written: {file}")


def _replace_copy(file: Path, storage: str, store: Store) -> None:
    """Copy a store to the place of an earlier copy, which stays there until the new one is whole."""
    from dtrbandit.record.durable import beside, settle
    from dtrbandit.storage import path_of

    own, place = path_of(storage), file.resolve()
    if own is not None and file.samefile(own):
        raise DesignError(f"{file} is the database itself; a backup needs a file of its own")
    _require_earlier_copy(place, store)
    with beside(place) as draft:
        store.backup(draft)
        settle(draft, place)


def _require_earlier_copy(file: Path, store: Store) -> None:
    """Refuse to replace what is no earlier copy of a store, or is in use."""
    with existing(f"sqlite:///{file}") as earlier:  # which settles what a killed reader left
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


@trial.command()
def restore(file: Annotated[Path, typer.Argument(help="A backup.")], storage: Storage = DEFAULT) -> None:
    """Make a database from a backup, and verify it. A database that is there is never overwritten."""
    _verify_all(dtr.Trial.restore(file, storage), storage)


@trial.command()
def copy(
    source: Annotated[str, typer.Option("--from", help="The database that has the trials.", show_default=False)],
    target: Annotated[str, typer.Option("--to", help="An empty one, of any kind.", show_default=False)],
) -> None:
    """Copy all trials and keys to an empty database, such as from SQLite to PostgreSQL, and verify the copy.

    Nothing is written to the first database meanwhile. Stop its service before: what it takes later is not copied.
    """
    from dtrbandit.storage.store import copy_store

    with existing(source) as here, existing_or_new(target) as there:
        copy_store(here, there)
    _verify_all(dtr.Trial.names(target), target)


def _verify_all(names: list[str], storage: str) -> None:
    """Verify trials, and end with the exit code 1 if something is wrong with one."""
    code = 0
    for name in names:
        with dtr.Trial.open(name, storage=storage) as found:
            verified = found.verify()
            typer.echo(f"{name}: {verified} Its head is {head_text(found.head)}")
            code = code if verified.ok else WRONG
    raise typer.Exit(code)


@trial.command()
def migrate(
    backup: Annotated[Path, typer.Argument(help="The file to write before anything is changed.")],
    storage: Storage = DEFAULT,
) -> None:
    """Bring the tables of a PostgreSQL database of an earlier release up to this one, after a backup.

    A file needs no such command: it is backed up and brought up when it is opened.
    """
    from dtrbandit.storage import upgrade_tables

    steps = upgrade_tables(storage, backup)
    typer.echo(f"Written: {backup}\nSteps taken: {steps}" if steps else "The tables are those of this release.")
