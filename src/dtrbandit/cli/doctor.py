"""The command ``doctor``: whether this machine can be trusted with a live trial, and whether its logs are whole."""

from __future__ import annotations

import shutil
import sqlite3
import stat
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path

from dtrbandit import build
from dtrbandit.cli.findings import GOOD, MISSING, NOTE, WRONG, Finding, report
from dtrbandit.errors import DTRError, NotFound
from dtrbandit.storage import SQLiteStore, Store, connect_existing, is_postgres, path_of, without_secret
from dtrbandit.storage.key_events import describe_keys, key_fault
from dtrbandit.storage.schema import is_safe_for_wal
from dtrbandit.trial import Trial
from dtrbandit.trial.proof import verify_stored
from dtrbandit.words import counted

LEAST_FREE = 500_000_000  # bytes on the disk of a database
EARLIEST = datetime(2026, 11, 1, tzinfo=UTC)  # this release is not older


def examine(storage: str, *, as_json: bool) -> int:
    """Print what was found; return the exit code: 1 if something is wrong, 2 if there was no log to check."""
    return report(list(all_findings(storage)), as_json=as_json)


def all_findings(storage: str) -> Iterator[Finding]:
    """Look at everything, one after the other; what cannot be looked at is a finding too."""
    path = path_of(storage)
    if not is_postgres(storage):
        yield sqlite_of_this_machine(sqlite3.sqlite_version_info)
        yield disk(Path.cwd() if path is None else path)
    yield kernels(build.states())
    if path is not None and path.exists():
        yield permissions(path)
    try:
        store = connect_existing(storage)
    except NotFound:
        yield clock(None, datetime.now(UTC))
        message = f"there is none at {without_secret(storage)}: no log was looked at; give --storage, or create a trial"
        yield Finding("database", MISSING, message)
        return
    except DTRError as error:
        yield Finding("database", WRONG, str(error))
        return
    try:
        yield from database(store)
    finally:
        store.close()


def sqlite_of_this_machine(version: tuple[int, ...]) -> Finding:
    """Say in which mode SQLite keeps what was committed."""
    number = ".".join(map(str, version))
    if is_safe_for_wal(version):
        return Finding("SQLite", GOOD, f"{number}: safe in WAL mode, which is used")
    return Finding("SQLite", GOOD, f"{number}: can lose data in WAL mode, so DELETE mode is used")


def disk(path: Path) -> Finding:
    """Say whether there is room for the database to grow."""
    folder = path.resolve()
    while not folder.exists():
        folder = folder.parent
    free = shutil.disk_usage(folder).free
    needed = max(LEAST_FREE, 2 * path.stat().st_size if path.is_file() else 0)
    found = f"{free / 1e9:.1f} GB free where the database is"
    if free < needed:
        return Finding("disk", WRONG, f"{found}; make it at least {needed / 1e9:.1f} GB")
    return Finding("disk", GOOD, found)


def clock(last: datetime | None, now: datetime) -> Finding:
    """Say whether the clock can be right: after this release, and after the last record."""
    if now < EARLIEST:
        return Finding("clock", WRONG, f"it says {now:%Y-%m-%d %H:%M}Z, before this release was made; set it")
    if last is not None and now < last:
        return Finding("clock", WRONG, f"it says {now:%Y-%m-%d %H:%M}Z, and the last record {last:%Y-%m-%d %H:%M}Z")
    return Finding("clock", GOOD, f"it says {now:%Y-%m-%d %H:%M}Z; decisions do not depend on it")


def kernels(found: Mapping[str, str]) -> Finding:
    """Say whether the kernels are compiled, all of them, from the sources that are installed."""
    if other := build.stale(found):
        message = f"compiled from other sources than those beside them: {', '.join(other)}; install dtrbandit again"
        return Finding("kernels", WRONG, message)
    match sorted(set(found.values())):
        case [build.COMPILED]:
            return Finding("kernels", GOOD, f"{counted(len(found), 'module')}, compiled from the sources beside them")
        case [build.CHECKED]:
            return Finding("kernels", NOTE, "compiled with bounds checks, for tests; the same results, slower")
        case [build.PLAIN]:
            message = (
                "plain Python: the same results, studies 150 times slower; install dtrbandit where a C compiler is"
            )
            return Finding("kernels", NOTE, message)
    return Finding("kernels", WRONG, "some are compiled and some are not; install dtrbandit again")


def permissions(path: Path) -> Finding:
    """Say whether others can read the file: it holds the seed, and so the next arms."""
    mode = path.stat().st_mode
    if mode & (stat.S_IRWXG | stat.S_IRWXO):
        return Finding("permissions", WRONG, f"others may open {path}, which holds the seed; chmod 600 {path}")
    return Finding("permissions", GOOD, "nobody else may open the database")


def database(store: Store) -> Iterator[Finding]:
    """Look at a database and at each of its trials."""
    wrong = store.check()
    mode = f"journal mode {store.journal_mode}" if isinstance(store, SQLiteStore) else type(store).__name__
    keys = counted(len(store.api_keys()), "key")
    yield Finding("database", WRONG if wrong else GOOD, wrong or f"in order, {mode}, {keys}")
    fault = key_fault(store)
    yield Finding("keys", WRONG if fault else GOOD, fault or describe_keys(store))
    times: list[datetime] = []
    for name in Trial.names(store):
        try:
            verified = verify_stored(store, name)
            yield Finding(f"trial {name}", GOOD if verified.ok else WRONG, str(verified))
            if verified.ok:  # what is not in order cannot be opened either, and was said
                times += _last_time(store, name)
        except DTRError as error:
            yield Finding(f"trial {name}", WRONG, str(error))
    yield clock(max(times, default=None), datetime.now(UTC))


def _last_time(store: Store, name: str) -> list[datetime]:
    """Return the time of the last record of a trial, if it has one."""
    trial = Trial.open(name, storage=store)
    return [record.time for record in trial.records(max(0, trial.head.sequence - 1)) if record.time]
