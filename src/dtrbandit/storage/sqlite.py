"""A store in one SQLite file, by the standard library: what was acknowledged survives a power cut.

One connection writes. A turn is a transaction that begins with the lock (``BEGIN IMMEDIATE``), so that two processes
take turns. Nothing is read over a long time, since a reader would keep others from committing.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NoReturn

from dtrbandit.errors import Conflict, LogError, Unavailable
from dtrbandit.record.chain import EMPTY, Head, Stored
from dtrbandit.record.durable import beside, settle
from dtrbandit.storage.schema import is_safe_for_wal, migrate
from dtrbandit.storage.store import ApiKey, IdempotencyKey, TrialEntry

PATIENCE = 5.0  # seconds that a turn waits for others to end theirs
AT_ONCE = 4_096  # records that are read in one go
MOST_VALUES = 500  # in one question; releases of SQLite differ in what they allow
PAGES = 4_096  # that a backup copies in one go


class SQLiteStore:
    """A database file of trials; it is made if it is not there.

    Attributes
    ----------
    journal_mode
        ``"wal"``, or ``"delete"`` where this SQLite could lose data in the other mode.
    """

    def __init__(self, path: str | Path, *, patience: float = PATIENCE) -> None:
        self.path = Path(path)
        self._lock = threading.RLock()
        self._depth = 0
        try:
            if not self.path.exists():
                os.close(os.open(self.path, os.O_CREAT | os.O_RDWR, 0o600))  # the seed is in it
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

    def _set_up(self) -> str:
        wanted = "wal" if is_safe_for_wal(sqlite3.sqlite_version_info) else "delete"
        for pragma in ("trusted_schema = OFF", "cell_size_check = ON", "fullfsync = ON"):
            self._connection.execute(f"PRAGMA {pragma}")
        migrate(self._connection, self.path)
        (found,) = self._connection.execute(f"PRAGMA journal_mode = {wanted}").fetchone()
        mode = _text(found).lower()
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

    # -- turns -----------------------------------------------------------------------------------------------

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Let nobody else write meanwhile: one transaction, also for a turn within a turn."""
        with self._lock:
            if self._depth:
                yield
                return
            self._begin()
            self._depth = 1
            try:
                yield
                self._run("COMMIT")
            except BaseException:  # Ctrl-C too
                self._roll_back()
                raise
            finally:
                self._depth = 0

    def _begin(self) -> None:
        try:
            moved = self._identity() != self._file
        except OSError:
            moved = True
        if moved:
            raise Unavailable(f"{self.path} was moved, removed or replaced; put it back, or open the trial again")
        if self._connection.in_transaction:  # left over from an interruption
            self._roll_back()
        self._run("BEGIN IMMEDIATE")

    def _roll_back(self) -> None:
        with suppress(sqlite3.Error):  # SQLite rolls back by itself after most failures
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")

    def _run(self, statement: str, values: Sequence[object] = ()) -> list[Any]:
        with self._lock:
            try:
                return self._connection.execute(statement, values).fetchall()
            except sqlite3.Error as error:
                _refuse(error, self.path)

    def run_many(self, statement: str, rows: Iterable[Sequence[object]]) -> None:
        """Run a statement that changes something, once for each row."""
        with self._lock:
            try:
                self._connection.executemany(statement, rows)
            except sqlite3.Error as error:
                _refuse(error, self.path)

    def ask(self, question: str, *values: object) -> list[Any]:
        """Return the rows that answer a question."""
        return self._run(question, values)

    # -- trials ----------------------------------------------------------------------------------------------

    def log(self, number: int) -> SQLiteLog:
        """Return a log."""
        return SQLiteLog(self, number)

    def trials(self) -> list[TrialEntry]:
        """Return all trials by name."""
        rows = self.ask("SELECT name, rehearsal, live FROM trials ORDER BY name")
        return [TrialEntry(_text(name), rehearsal, live) for name, rehearsal, live in rows]

    def trial(self, name: str) -> TrialEntry | None:
        """Return a trial, None if there is none of this name."""
        rows = self.ask("SELECT rehearsal, live FROM trials WHERE name = ?", name)
        return TrialEntry(name, *rows[0]) if rows else None

    def add_trial(self, name: str) -> TrialEntry:
        """Add a trial with an empty log for its rehearsal."""
        with self.turn():
            if self.trial(name) is not None:
                raise Conflict(f"there is a trial {name!r} already")
            entry = TrialEntry(name, self._new_log(), None)
            self.run_many("INSERT INTO trials VALUES (?, ?, ?)", [entry])
            return entry

    def add_live(self, name: str) -> TrialEntry:
        """Add the empty live log of a trial."""
        with self.turn():
            before = self.trial(name)
            if before is None or before.live is not None:
                raise Conflict(f"the trial {name!r} is not there, or has its live log already")
            entry = before._replace(live=self._new_log())
            self.run_many("UPDATE trials SET live = ? WHERE name = ?", [(entry.live, name)])
            return entry

    def _new_log(self) -> int:
        rows = self.ask("SELECT max(max(rehearsal), coalesce(max(live), 0)) FROM trials")
        return int(rows[0][0] or 0) + 1

    def api_keys(self) -> list[ApiKey]:
        """Return all API keys in the order of their ids."""
        rows = self.ask("SELECT id, sha256, role, label, created, expires, revoked, trial, site FROM keys ORDER BY id")
        return [ApiKey(*(None if each is None else _text(each) for each in row)) for row in rows]  # type: ignore[arg-type]  # as the columns are

    def put_api_key(self, key: ApiKey) -> None:
        """Add an API key, or replace the one of the same id."""
        with self.turn():
            self.run_many("INSERT OR REPLACE INTO keys VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", [key])

    # -- the file --------------------------------------------------------------------------------------------

    def check(self) -> str | None:
        """Say what SQLite finds wrong with the file."""
        try:
            found = [_text(row[0]) for row in self.ask("PRAGMA integrity_check(3)")]
        except LogError as error:
            return str(error)
        return None if found == ["ok"] else "; ".join(found)

    def backup(self, path: str | Path) -> None:
        """Write a copy to a file, whole or not at all, while others go on."""
        place = Path(path).resolve()
        with beside(place) as draft:
            os.close(os.open(draft, os.O_CREAT | os.O_RDWR, 0o600))
            try:
                copy = sqlite3.connect(draft)
                try:
                    self._connection.backup(copy, pages=PAGES, sleep=0.01)  # between turns, without one of its own
                    copy.execute("PRAGMA journal_mode = DELETE")  # one file, without another beside it
                finally:
                    copy.close()
            except sqlite3.Error as error:
                raise Unavailable(f"the backup to {path} failed: {error}; nothing was left there") from error
            settle(draft, place)

    def close(self) -> None:
        """Let go of the file."""
        with self._lock:
            self._connection.close()


class SQLiteLog:
    """One log of a database file. The primary key, of log and sequence, is the lock: nothing is there twice."""

    def __init__(self, store: SQLiteStore, number: int) -> None:
        self._store, self._number = store, number

    def append(self, records: Sequence[Stored], expected: int, keys: Sequence[IdempotencyKey] = ()) -> None:
        """Add records after the first ``expected`` ones."""
        with self._store.turn():
            found = self.head().sequence
            if found != expected:
                raise Conflict(f"log {self._number} has {found} records, expected {expected}; follow what is new")
            number = self._number
            rows = ((number, sequence, *stored) for sequence, stored in enumerate(records, expected + 1))
            self._store.run_many("INSERT INTO records VALUES (?, ?, CAST(? AS TEXT), ?)", rows)
            self._store.run_many("INSERT INTO requests VALUES (?, ?, ?, ?, ?, ?)", ((number, *key) for key in keys))

    def read(self, since: int = 0) -> Iterator[Stored]:
        """Give the records after the first ``since`` ones, some thousands at a time."""
        while True:
            rows = self._store.ask(
                "SELECT sequence, text, hash FROM records WHERE log = ? AND sequence > ? ORDER BY sequence LIMIT ?",
                self._number, since, AT_ONCE,
            )  # fmt: skip
            if not rows:
                return
            for sequence, text, found in rows:
                since += 1
                if sequence != since:
                    raise self._missing(since)
                yield _stored(text, found)

    def pick(self, sequences: Iterable[int]) -> list[Stored]:
        """Return the records with these numbers."""
        wanted, found = list(sequences), dict[int, Stored]()
        for start in range(0, len(wanted), MOST_VALUES):
            part = wanted[start : start + MOST_VALUES]
            marks = ",".join("?" * len(part))
            question = f"SELECT sequence, text, hash FROM records WHERE log = ? AND sequence IN ({marks})"
            for sequence, *stored in self._store.ask(question, self._number, *part):
                found[sequence] = _stored(*stored)
        for sequence in wanted:
            if sequence not in found:
                raise self._missing(sequence)
        return [found[sequence] for sequence in wanted]

    def _missing(self, sequence: int) -> LogError:
        return LogError(f"record {sequence} of log {self._number} is missing; restore a backup", sequence=sequence)

    def head(self) -> Head:
        """Return how many records there are, and the hash of the last."""
        question = "SELECT sequence, hash FROM records WHERE log = ? ORDER BY sequence DESC LIMIT 1"
        rows = self._store.ask(question, self._number)
        return Head(rows[0][0], _text(rows[0][1])) if rows else EMPTY

    def key(self, owner: str, key: str) -> IdempotencyKey | None:
        """Return what was asked under a key."""
        question = "SELECT fingerprint, sequence, facts FROM requests WHERE log = ? AND owner = ? AND key = ?"
        rows = self._store.ask(question, self._number, owner, key)
        return IdempotencyKey(owner, key, _text(rows[0][0]), *rows[0][1:]) if rows else None

    def all_keys(self) -> list[IdempotencyKey]:
        """Return all idempotency keys, by owner and key."""
        question = "SELECT owner, key, fingerprint, sequence, facts FROM requests WHERE log = ? ORDER BY owner, key"
        rows = self._store.ask(question, self._number)
        return [IdempotencyKey(_text(row[0]), _text(row[1]), _text(row[2]), *row[3:]) for row in rows]


def _stored(text: object, found: object) -> Stored:
    """Return a record; of a damaged row, whose columns may hold anything, one that its hash does not fit."""
    if type(text) is type(found) is bytes:
        return Stored(text, found.decode("utf-8", "replace"))
    return Stored(text if type(text) is bytes else b"", _text(found))


def _text(found: object) -> str:
    """Return what a column of texts holds; a damaged one as it is, so that it is found to be wrong."""
    return found.decode("utf-8", "replace") if isinstance(found, bytes) else str(found)


def _refuse(error: sqlite3.Error, path: Path) -> NoReturn:
    """Raise what a failure of SQLite means to a caller."""
    if isinstance(error, sqlite3.IntegrityError):
        raise Conflict(f"{path}: somebody else wrote meanwhile ({error}); follow what is new") from error
    if isinstance(error, sqlite3.OperationalError | sqlite3.ProgrammingError):
        raise Unavailable(
            f"{path} cannot be read or written now: {error}. Nothing was recorded; look at the disk and at other "
            "processes, then try again"
        ) from error
    raise LogError(f"{path} is damaged: {error}; restore a backup") from error
