"""The tables of a database file, in numbered steps: a file of an earlier release takes the steps that it lacks."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Iterable, Sequence
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from dtrbandit.errors import DesignError, LogError
from dtrbandit.record.durable import private_beside, settle
from dtrbandit.storage.key_events import found_before
from dtrbandit.storage.store import KEY_LOG
from dtrbandit.storage.tables import API_KEYS, api_key

log = logging.getLogger("dtrbandit.storage")
PAGES = 4_096  # that a copy takes in one go
APPLICATION = 0x44545242  # "DTRB": whose file it is, in its header


class Dialect(NamedTuple):
    """How a database calls what the tables are made of.

    Attributes
    ----------
    name
        A text by which rows are found, and in whose order they come.
    number
        A number that may become large.
    content
        The text of a record.
    time
        A time in seconds.
    unit
        The unit of a record, as its text spells it: an index of it cannot differ from the texts, and no damaged text is
        refused. No event has another entry "unit" that is a text.
    kept
        How rows are kept.
    """

    name: str
    number: str
    content: str
    time: str
    unit: str
    kept: str = ""

    def steps(self) -> tuple[str, ...]:
        """Return the statements that make the tables, step by step."""
        name, number, content, time, unit, kept = self
        tables = f"""
            CREATE TABLE trials (name {name} PRIMARY KEY NOT NULL, rehearsal INTEGER NOT NULL, live INTEGER) {kept};
            CREATE TABLE records (
                log INTEGER NOT NULL, sequence {number} NOT NULL, text {content} NOT NULL, hash TEXT NOT NULL,
                PRIMARY KEY (log, sequence)
            ) {kept};
            CREATE TABLE requests (
                log INTEGER NOT NULL, owner {name} NOT NULL, key {name} NOT NULL,
                fingerprint TEXT NOT NULL, sequence {number} NOT NULL, facts INTEGER NOT NULL,
                PRIMARY KEY (log, owner, key)
            ) {kept};
            CREATE TABLE keys (
                id {name} PRIMARY KEY NOT NULL, sha256 TEXT NOT NULL, role TEXT NOT NULL, label TEXT NOT NULL,
                created TEXT NOT NULL, expires TEXT, revoked TEXT, trial TEXT, site TEXT
            ) {kept};
            CREATE TABLE checks (
                what {name} NOT NULL, trial {name} NOT NULL, time {time} NOT NULL, ok INTEGER NOT NULL,
                PRIMARY KEY (what, trial)
            ) {kept};
        """
        salt = "ALTER TABLE keys ADD COLUMN salt TEXT"
        return tables, salt, f"CREATE INDEX records_by_unit ON records ({unit})"


# SQLite 3.40 refuses JSON functions in a schema that is not trusted, as ours is not
_FROM_UNIT = """substr(text, instr(text, '"unit":"') + 8)"""
_PLAIN = rf"""replace(replace({_FROM_UNIT}, '\\', '/'), '\"', '/')"""  # a quote within the id does not end it
_UNIT = f"""substr({_PLAIN}, 1, instr({_PLAIN}, '"') - 1)"""
SQLITE = Dialect("TEXT", "INTEGER", "TEXT", "REAL", _UNIT, "WITHOUT ROWID")
STEPS = SQLITE.steps()
WITH_KEY_EVENTS = 2  # the step from which on it is recorded what happens to keys


def is_safe_for_wal(version: tuple[int, ...]) -> bool:
    """Say whether a version of SQLite keeps what was committed in WAL mode.

    From 3.7.0 to 3.51.2 it can lose it when two connections write. The repair was also made in 3.50.7 and 3.44.6.

    Examples
    --------
    >>> is_safe_for_wal((3, 40, 1)), is_safe_for_wal((3, 50, 7)), is_safe_for_wal((3, 51, 2))
    (False, True, False)
    """
    return version >= (3, 51, 3) or (3, 50, 7) <= version < (3, 51) or (3, 44, 6) <= version < (3, 45)


def migrate(connection: sqlite3.Connection, path: Path) -> None:
    """Bring the tables of a file up to this release, all steps or none. Refuse a file that is not ours.

    A file with tables of an earlier release is copied first, to a file beside it.
    """
    if _numbers(connection) == (APPLICATION, len(STEPS)):
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        application, step = _numbers(connection)  # again: another process may have come first
        (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        if application != APPLICATION and (application, step, tables) != (0, 0, 0):
            raise DesignError(f"{path} is a database of something else; give the path of a new file")
        if step > len(STEPS):
            raise LogError(
                f"{path} was written by a later release (tables {step}, known {len(STEPS)}); install that one"
            )
        if 0 < step < len(STEPS):
            _copy_before(path, step)
        take_steps(connection, STEPS[step:])
        if 0 < step < WITH_KEY_EVENTS:
            rows = rows_of_keys(connection.execute(API_KEYS))
            connection.executemany("INSERT INTO records VALUES (?, ?, CAST(? AS TEXT), ?)", rows)
        connection.execute(f"PRAGMA user_version = {len(STEPS)}")
        connection.execute("COMMIT")
    except BaseException:  # Ctrl-C too
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def take_steps(connection: sqlite3.Connection, steps: Sequence[str]) -> None:
    """Take steps in the transaction under way. A new file has taken as many as these then, and is ours."""
    for statements in steps:
        for statement in statements.split(";"):  # executescript would commit first
            connection.execute(statement)
    connection.execute(f"PRAGMA application_id = {APPLICATION}")
    connection.execute(f"PRAGMA user_version = {len(steps)}")


def rows_of_keys(keys: Iterable[Sequence[object]]) -> list[tuple[int, int, bytes, str]]:
    """Return the rows which record that the keys of an earlier release, as rows of their table, are there."""
    found = found_before(map(api_key, keys), datetime.now(UTC))
    return [(KEY_LOG, sequence, *stored) for sequence, stored in enumerate(found, 1)]


def _copy_before(path: Path, step: int) -> None:
    """Copy a file as it is, to a name that says its step and the time, and say so."""
    place = path.resolve().with_name(f"{path.name}.step-{step}-{datetime.now(UTC):%Y%m%dT%H%M%S%fZ}")
    with closing(sqlite3.connect(path)) as source:
        copy_database(source, place)
    log.warning("%s has tables of an earlier release. It was copied to %s before they were changed.", path, place.name)


def copy_database(source: sqlite3.Connection, place: Path) -> None:
    """Copy a database to a file, whole or not at all, some pages at a time. The seed is in it."""
    with private_beside(place) as draft:
        with closing(sqlite3.connect(draft)) as copy:
            source.backup(copy, pages=PAGES, sleep=0.01)  # between turns, without one of its own
            copy.execute("PRAGMA journal_mode = DELETE")  # one file, without another beside it
        settle(draft, place)


def _numbers(connection: sqlite3.Connection) -> tuple[int, int]:
    """Return whose file it is, and how many steps it has taken."""
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (step,) = connection.execute("PRAGMA user_version").fetchone()
    return application, step
