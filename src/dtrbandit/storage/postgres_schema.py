"""The tables of a PostgreSQL database, in the same numbered steps as those of a file (``schema.py``)."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
from psycopg.rows import TupleRow

from dtrbandit.errors import DesignError, LogError, NotFound, ProtocolError, Unavailable
from dtrbandit.record.durable import private_beside, require_absent, settle
from dtrbandit.storage import schema
from dtrbandit.storage.tables import API_KEYS

Connection = psycopg.Connection[TupleRow]

# as in a file; backslashes are doubled by ``encode``, and what is indexed must not be long
_UNIT = r"""(left(split_part(replace(replace(
    split_part(encode(text, 'escape'), '"unit":"', 2), '\\\\', '/'), '\\"', '/'), '"', 1), 500) COLLATE "C")"""
# texts of records are bytes: they come back as they were, whatever the database makes of texts
POSTGRES = schema.Dialect('TEXT COLLATE "C"', "BIGINT", "BYTEA", "DOUBLE PRECISION", _UNIT)
STEPS = POSTGRES.steps()
NUMBER = "dtrbandit_step"  # the table that says how many steps were taken
FEW = 1_000  # rows that are copied in one go


def make_tables(connection: Connection, name: str) -> None:
    """Make the tables in an empty schema. Refuse tables of another release, or of something else. In a transaction."""
    step = _step(connection, name)
    if step is None:
        _take_steps(connection, 0)
    elif step < len(STEPS):
        raise ProtocolError(
            f"the tables of {name} are of an earlier release (step {step} of {len(STEPS)}). Stop the service, then run "
            "dtrbandit trial migrate BACKUP.db --storage …, which writes a backup first"
        )


def require_tables(connection: Connection, name: str) -> None:
    """Refuse a database without tables; otherwise as ``make_tables``."""
    if _step(connection, name) is None:
        raise NotFound(f"there are no trials in {name}; look at the address, or create a trial there first")
    make_tables(connection, name)


def upgrade_tables(connection: Connection, name: str, backup: str | Path) -> int:
    """Write a backup to a file, then take the steps that are missing; return how many. In a transaction."""
    step = _step(connection, name)
    if step is None:
        raise NotFound(f"there are no trials in {name}, and so nothing to bring up to this release")
    if step < len(STEPS):
        write_backup(connection, name, backup)
        connection.execute("SET LOCAL statement_timeout = 0")  # an index of many records takes its time
        _take_steps(connection, step)
        if step < schema.WITH_KEY_EVENTS:
            rows = schema.rows_of_keys(connection.execute(API_KEYS.encode()))
            connection.cursor().executemany("INSERT INTO records VALUES (%s, %s, %s, %s)", rows)
    return len(STEPS) - step


def _step(connection: Connection, name: str) -> int | None:
    """Return how many steps were taken; None for an empty schema."""
    if connection.execute("SELECT to_regclass(%s)", [NUMBER]).fetchall() == [(None,)]:
        others = "SELECT 1 FROM pg_class WHERE relkind = 'r' AND relnamespace = current_schema()::regnamespace LIMIT 1"
        if connection.execute(others).fetchall():
            raise DesignError(f"{name} has tables of something else; give a new database, or a schema of its own")
        return None
    rows = connection.execute(f"SELECT step FROM {NUMBER}".encode()).fetchall()
    step = int(rows[0][0]) if len(rows) == 1 else 0
    if not 0 < step <= len(STEPS):
        raise LogError(f"{name} was written by a later release (tables {step}, known {len(STEPS)}); install that one")
    return step


def _take_steps(connection: Connection, step: int) -> None:
    for statements in STEPS[step:]:
        connection.execute(statements.encode())
    connection.execute(f"CREATE TABLE IF NOT EXISTS {NUMBER} (step INTEGER NOT NULL)".encode())
    connection.execute(f"DELETE FROM {NUMBER}".encode())
    connection.execute(f"INSERT INTO {NUMBER} VALUES ({len(STEPS)})".encode())


def write_backup(connection: Connection, name: str, backup: str | Path) -> None:
    """Write a new SQLite file that has taken as many steps, with all rows as they are. In a transaction."""
    require_absent(backup, "a backup")
    place, step = Path(backup).resolve(), _step(connection, name)
    with private_beside(place) as draft:
        try:
            with closing(sqlite3.connect(draft, isolation_level=None)) as copy:
                copy.execute("BEGIN")
                schema.take_steps(copy, schema.STEPS[:step])
                for (table,) in copy.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
                    _copy_rows(connection, copy, table)
                copy.execute("COMMIT")
        except sqlite3.Error as error:
            raise Unavailable(f"the backup to {backup} failed: {error}; nothing was left there") from error
        settle(draft, place)


def _copy_rows(connection: Connection, copy: sqlite3.Connection, table: str) -> None:
    columns: list[tuple[Any, ...]] = copy.execute(f"PRAGMA table_info({table})").fetchall()
    names = ", ".join(column[1] for column in columns)
    places = ", ".join("CAST(? AS TEXT)" if column[2] == "TEXT" else "?" for column in columns)
    with connection.cursor(name="copied") as rows:
        rows.execute(f"SELECT {names} FROM {table}".encode())
        while some := rows.fetchmany(FEW):
            copy.executemany(f"INSERT INTO {table} VALUES ({places})", some)
