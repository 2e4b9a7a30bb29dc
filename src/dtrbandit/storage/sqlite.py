"""Stores of SQLite, by the standard library: one in a file, whose answers survive a power cut, and one in memory.

One connection writes. A turn is a transaction that begins with the lock (``BEGIN IMMEDIATE``), so that two processes
take turns. Nothing is read over a long time, since a reader would keep others from committing.
"""

from __future__ import annotations

import os
import sqlite3
from abc import abstractmethod
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn
from weakref import finalize

from dtrbandit.errors import Conflict, LogError, ProtocolError, Unavailable
from dtrbandit.forks import at_fork, is_held, turn_in_child
from dtrbandit.record.durable import make_private, require_absent
from dtrbandit.storage.schema import SQLITE, copy_database, is_safe_for_wal, migrate
from dtrbandit.storage.store import MEMORY
from dtrbandit.storage.tables import DAMAGED, TableStore, text_of

PATIENCE = 5.0  # seconds that a turn waits for others to end theirs
_USED_AT_FORK: set[tuple[int, int]] = set()  # files that SQLite, in this child, takes for locked by itself


class SQLiteTables(TableStore):
    """A database of SQLite, wherever it is."""

    UNIT, CONTENT = SQLITE.unit, SQLITE.content
    _connection: sqlite3.Connection

    def _begin(self) -> None:
        self._require_in_place()
        if self._connection.in_transaction:  # left over from an interruption
            self._roll_back()
        self.ask("BEGIN IMMEDIATE")

    def _commit(self) -> None:
        self.ask("COMMIT")

    @abstractmethod
    def _require_in_place(self) -> None:
        """Refuse a turn if the database is not where it was."""

    def _roll_back(self) -> None:
        with suppress(sqlite3.Error):  # SQLite rolls back by itself after most failures
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")

    def ask(self, question: str, *values: object) -> list[Any]:
        """Return the rows that answer a question."""
        with self._lock:
            self._require_open()
            try:
                return self._connection.execute(question, values).fetchall()
            except sqlite3.Error as error:
                _refuse(error, self._name)

    def _require_open(self) -> None:
        if self._closed:
            raise Unavailable(f"{self._name} was closed here; open the trial again")

    def _insert(self, table: str, rows: Sequence[Sequence[object]]) -> None:
        places = ", ".join("CAST(? AS TEXT)" if isinstance(value, bytes) else "?" for value in rows[0])
        with self._lock:
            try:
                self._connection.executemany(f"INSERT INTO {table} VALUES ({places})", rows)
            except sqlite3.Error as error:
                _refuse(error, self._name)

    def check(self) -> str | None:
        """Say what SQLite finds wrong with the database."""
        try:
            found = [text_of(row[0]) for row in self.ask("PRAGMA integrity_check(3)")]
        except LogError as error:
            return str(error)
        return None if found == ["ok"] else "; ".join(found)

    def backup(self, path: str | Path) -> None:
        """Write a copy to a new file, whole or not at all, while others go on."""
        require_absent(path, "a backup")
        try:
            copy_database(self._connection, Path(path).resolve())
        except sqlite3.Error as error:
            raise Unavailable(f"the backup to {path} failed: {error}; nothing was left there") from error


class SQLiteStore(SQLiteTables):
    """A database file of trials; it is made if it is not there.

    Attributes
    ----------
    journal_mode
        ``"wal"``, or ``"delete"`` where this SQLite could lose data in the other mode.
    """

    def __init__(self, path: str | Path, *, patience: float = PATIENCE) -> None:
        super().__init__(path)
        self.path = Path(path)
        try:
            if self.path.exists() and self._identity() in _USED_AT_FORK:
                raise self._used_at_fork()
            if not self.path.exists():  # who opens and closes one that is in use lets go of SQLite's locks
                make_private(self.path)  # the seed is in it
            self._connection = sqlite3.connect(
                self.path, timeout=patience, isolation_level=None, check_same_thread=False
            )
        except (OSError, sqlite3.Error) as error:
            raise Unavailable(
                f"cannot open {self.path}: {error}; give the path of a file that can be written"
            ) from error
        self._connection.text_factory = bytes  # damaged bytes are found by their hash, and must be read for that
        try:
            self.journal_mode = self._set_up()
        except sqlite3.Error as error:
            self._connection.close()
            _refuse(error, self.path)
        except BaseException:
            self._connection.close()
            raise
        self._file = self._identity()
        at_fork(self, SQLiteStore._begin_in_child)

    def _begin_in_child(self) -> None:
        if self._closed or not (self.journal_mode == "wal" or self._depth or is_held(self._lock)):
            self.leave_to_parent()
        else:
            _USED_AT_FORK.add(self._file)
            self.leave_to_parent(self._used_at_fork)

    def _used_at_fork(self) -> Unavailable:
        return Unavailable(
            f"{self.path} was in use when this process was forked, and SQLite could lose data if this one opened it "
            "too. Fork before it is opened, or start a new process instead (multiprocessing: spawn)"
        )

    def _set_up(self) -> str:
        wanted = "wal" if is_safe_for_wal(sqlite3.sqlite_version_info) else "delete"
        for pragma in ("trusted_schema = OFF", "cell_size_check = ON", "fullfsync = ON"):
            self._connection.execute(f"PRAGMA {pragma}")
        migrate(self._connection, self.path)
        (found,) = self._connection.execute(f"PRAGMA journal_mode = {wanted}").fetchone()
        mode = text_of(found).lower()
        if mode != wanted and wanted == "delete":
            raise Unavailable(
                f"{self.path} is in journal mode {mode}, in which SQLite {sqlite3.sqlite_version} can lose data, and "
                "another process has it open; close that one, then open this one again"
            )
        # DELETE keeps a committed transaction over a power cut only if the folder is synced as well
        self._connection.execute(f"PRAGMA synchronous = {'FULL' if mode == 'wal' else 'EXTRA'}")
        return mode

    def _identity(self) -> tuple[int, int]:
        found = os.stat(self.path)
        return found.st_dev, found.st_ino

    def _require_in_place(self) -> None:
        self._require_open()
        try:
            moved = self._identity() != self._file
        except OSError:
            moved = True
        if moved:
            raise Unavailable(f"{self.path} was moved, removed or replaced; put it back, or open the trial again")

    @property
    def snapshots(self) -> Path | None:
        """The folder beside the file; in a backup there is none."""
        place = self.path.resolve()
        return place.with_name(f"{place.name}.snapshots")


class MemoryStore(SQLiteTables):
    """A database in memory, for tests and trials of an afternoon: it is gone with the last that refers to it.

    Examples
    --------
    >>> store = MemoryStore()
    >>> with store.turn():
    ...     trial = store.add_trial("depression")
    >>> store.log(trial.rehearsal).head().sequence
    0
    """

    def __init__(self) -> None:
        super().__init__(MEMORY)
        self._connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        self._connection.text_factory = bytes
        finalize(self, self._connection.close)
        migrate(self._connection, Path(MEMORY))
        at_fork(self, MemoryStore._begin_in_child)

    def _begin_in_child(self) -> None:
        self._lock = turn_in_child(self._lock, _half_changed)  # a child has a database of its own

    def _require_in_place(self) -> None: ...

    @property
    def snapshots(self) -> Path | None:
        """None: there is no place for any."""
        return None

    def close(self) -> None:
        """Do nothing: whoever opened it may still need it."""


def _half_changed() -> ProtocolError:
    return ProtocolError(
        "another thread was in a turn of this store in memory when this process was forked: what it holds here may be "
        "half changed; create the trial anew"
    )


def _refuse(error: sqlite3.Error, name: object) -> NoReturn:
    """Raise what a failure of SQLite means to a caller."""
    if isinstance(error, sqlite3.IntegrityError):
        raise Conflict(f"{name}: somebody else wrote meanwhile ({error}); follow what is new") from error
    if isinstance(error, sqlite3.OperationalError | sqlite3.ProgrammingError):
        raise Unavailable(
            f"{name} cannot be read or written now: {error}. Nothing was recorded; look at the disk and at other "
            "processes, then try again"
        ) from error
    raise LogError(f"{name} is damaged: {error}; restore a backup", outside=DAMAGED) from error
