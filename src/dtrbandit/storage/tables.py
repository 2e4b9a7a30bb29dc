"""What a store in a database asks and writes: the same tables and the same questions for every database.

A question has ``?`` where a value goes. Which database it is, and how its turns begin and end, is for the final class.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar

from dtrbandit.errors import Conflict, LogError, Unavailable
from dtrbandit.forks import NotInChild, Refusal, at_fork, keep_for_good, new_turn
from dtrbandit.record.chain import EMPTY, Head, Stored, entries_of
from dtrbandit.record.events import new
from dtrbandit.storage.store import ApiKey, Check, IdempotencyKey, TrialEntry
from dtrbandit.words import counted

DAMAGED = "the database is damaged; restore a backup. The server's log says where"
AT_ONCE = 1_024  # records that are read in one go: others wait for it
LAST = 2**63 - 1  # no record has a higher number
FIRST = 128  # records that are read at first: many need no more
MOST_VALUES = 500  # in one question; releases of SQLite differ in what they allow
KEYS_AT_ONCE = 200  # idempotency keys that are looked up by one question


def _cut_off() -> Unavailable:
    return Unavailable(
        "this process was forked from the one that opened the database, and must not use its connection; nothing was "
        "recorded. Open the trial again in this process"
    )


class TableStore(ABC):
    """A database of trials, without what is particular to one kind of database.

    Attributes
    ----------
    UNIT, CONTENT
        The expression of the index on units, and the type of the texts of records.
    """

    UNIT: ClassVar[str]
    CONTENT: ClassVar[str]
    _connection: Any

    def __init__(self, name: object) -> None:
        self._name = name  # as it is shown
        self._closed = False
        self._lock = new_turn()  # whoever has a turn has it
        self._depth = 0  # 1 in a turn
        self._heads: dict[int, Head] = {}  # of logs, as far as the present turn knows them
        at_fork(self, TableStore.leave_to_parent)

    def leave_to_parent(self, refusal: Refusal = _cut_off) -> None:
        """Leave the connection to the parent, in a child: a database cannot tell the two apart."""
        keep_for_good(vars(self).get("_connection"))
        self._lock, self._depth = new_turn(), 0
        vars(self)["_connection"] = NotInChild(refusal)

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Let nobody else write meanwhile: one transaction, also for a turn within a turn."""
        with self._lock:
            if self._depth:
                yield
                return
            try:
                self._begin()
                self._depth = 1
                yield
                self._commit()
            except BaseException:  # Ctrl-C too
                self._roll_back()
                raise
            finally:
                self._depth = 0
                self._heads.clear()

    @abstractmethod
    def _begin(self) -> None:
        """Begin a transaction as the only one who may write."""

    @abstractmethod
    def _commit(self) -> None:
        """Make what was written count."""

    @abstractmethod
    def _roll_back(self) -> None:
        """Undo what was written, as far as the database has not done so itself."""

    @abstractmethod
    def ask(self, question: str, *values: object) -> list[Any]:
        """Return the rows that answer a question. Outside a turn it only reads."""

    def add_rows(self, table: str, rows: Iterable[Sequence[object]]) -> None:
        """Insert rows, in a turn; Conflict, at the end of the turn at the latest, if one is there already."""
        many = list(rows)
        if many:
            self._insert(table, many)

    @abstractmethod
    def _insert(self, table: str, rows: Sequence[Sequence[object]]) -> None:
        """Insert some rows, which all have the same types."""

    @property
    @abstractmethod
    def snapshots(self) -> Path | None:
        """A private folder for snapshots of what its logs lead to; None if it has no place for any."""

    @abstractmethod
    def check(self) -> str | None:
        """Say what is wrong with the database itself; None if it is in order."""

    @abstractmethod
    def backup(self, path: str | Path) -> None:
        """Write a copy to a new file, whole or not at all, while others go on."""

    def close(self) -> None:
        """Let go of the database."""
        with self._lock:
            self._closed = True
            self._connection.close()

    @property
    def of_unit(self) -> str:
        """The question for the records of the same unit as a given text, of a log, up to a number.

        The plus keeps SQLite, which does not know how long logs are, from taking the primary key instead.
        """
        asked = f"SELECT {self.UNIT} FROM (SELECT CAST(? AS {self.CONTENT}) AS text) AS asked"
        found = f"SELECT sequence, text, hash FROM records WHERE {self.UNIT} = ({asked})"
        return f"{found} AND +log = ? AND sequence <= ?"

    def log(self, number: int) -> TableLog:
        """Return a log."""
        return TableLog(self, number)

    def head(self, number: int) -> Head:
        """Return the head of a log. In a turn nobody else changes it, so that it is asked for once."""
        with self._lock:
            head = self._heads.get(number)
            if head is None:
                question = "SELECT sequence, hash FROM records WHERE log = ? ORDER BY sequence DESC LIMIT 1"
                rows = self.ask(question, number)
                head = Head(rows[0][0], text_of(rows[0][1])) if rows else EMPTY
            if self._depth:
                self._heads[number] = head
            return head

    def note_head(self, number: int, head: Head) -> None:
        """Remember, in a turn, the head of a log to which records were added."""
        self._heads[number] = head

    def trials(self) -> list[TrialEntry]:
        """Return all trials by name."""
        rows = self.ask("SELECT name, rehearsal, live FROM trials ORDER BY name")
        return [TrialEntry(text_of(name), rehearsal, live) for name, rehearsal, live in rows]

    def trial(self, name: str) -> TrialEntry | None:
        """Return a trial, None if there is none of this name."""
        if not name.isprintable():  # no trial has such a name, and not every database can be asked for it
            return None
        rows = self.ask("SELECT rehearsal, live FROM trials WHERE name = ?", name)
        return TrialEntry(name, *rows[0]) if rows else None

    def add_trial(self, name: str) -> TrialEntry:
        """Add a trial with an empty log for its rehearsal."""
        with self.turn():
            if self.trial(name) is not None:
                raise Conflict(f"there is a trial {name!r} already")
            entry = TrialEntry(name, self._new_log(), None)
            self.add_rows("trials", [entry])
            return entry

    def add_live(self, name: str) -> TrialEntry:
        """Add the empty live log of a trial."""
        with self.turn():
            before = self.trial(name)
            if before is None or before.live is not None:
                raise Conflict(f"the trial {name!r} is not there, or has its live log already")
            entry = before._replace(live=self._new_log())
            self.ask("UPDATE trials SET live = ? WHERE name = ?", entry.live, name)
            return entry

    def _new_log(self) -> int:
        ((rehearsal, live),) = self.ask("SELECT max(rehearsal), max(live) FROM trials")
        return max(rehearsal or 0, live or 0) + 1

    def api_keys(self) -> list[ApiKey]:
        """Return all API keys in the order of their ids."""
        return [api_key(row) for row in self.ask(API_KEYS)]

    def put_api_key(self, key: ApiKey) -> None:
        """Add an API key, or replace the one of the same id."""
        with self.turn():
            self.ask("DELETE FROM keys WHERE id = ?", key.id)
            self.add_rows("keys", [key])

    def last_checks(self) -> list[Check]:
        """Return the latest check of each kind for each trial, by kind and trial."""
        rows = self.ask("SELECT what, trial, time, ok FROM checks ORDER BY what, trial")
        return [Check(text_of(what), text_of(trial), time, bool(ok)) for what, trial, time, ok in rows]

    def note_check(self, check: Check) -> None:
        """Remember the latest check of its kind for its trial."""
        with self.turn():
            self.ask("DELETE FROM checks WHERE what = ? AND trial = ?", check.what, check.trial)
            self.add_rows("checks", [(check.what, check.trial, check.time, int(check.ok))])


class TableLog:
    """One log of a database. The primary key, of log and sequence, is the lock: nothing is there twice."""

    def __init__(self, store: TableStore, number: int) -> None:
        self._store, self._number = store, number

    def append(self, records: Sequence[Stored], expected: int, keys: Sequence[IdempotencyKey] = ()) -> None:
        """Add records after the first ``expected`` ones."""
        with self._store.turn():
            found = self.head().sequence
            if found != expected:
                raise Conflict(
                    f"log {self._number} has {counted(found, 'record')}, expected {expected}; follow what is new"
                )
            number = self._number
            rows = ((number, sequence, *stored) for sequence, stored in enumerate(records, expected + 1))
            self._store.add_rows("records", rows)
            self._store.add_rows("requests", ((number, *key) for key in keys))
            if records:
                self._store.note_head(number, Head(expected + len(records), records[-1].hash))

    def read(self, since: int = 0) -> Iterator[Stored]:
        """Give the records after the first ``since`` ones: few are read at first, then a thousand in one go."""
        due, most = since + 1, FIRST
        while most:
            rows = self._store.ask(
                "SELECT sequence, text, hash FROM records WHERE log = ? AND sequence >= ? ORDER BY sequence LIMIT ?",
                self._number, due, most,
            )  # fmt: skip
            for sequence, text, known in rows:
                if sequence != due:
                    raise self._missing(due)
                yield new(Stored, (_text(text), text_of(known)))
                due += 1
            most = min(2 * most, AT_ONCE) if len(rows) == most else 0

    def pick(self, sequences: Iterable[int]) -> list[Stored]:
        """Return the records with these numbers."""
        wanted, found = list(sequences), dict[int, Stored]()
        for start in range(0, len(wanted), MOST_VALUES):
            part = wanted[start : start + MOST_VALUES]
            question = f"SELECT sequence, text, hash FROM records WHERE log = ? AND sequence IN ({_places(part)})"
            for sequence, text, known in self._store.ask(question, self._number, *part):
                found[sequence] = Stored(_text(text), text_of(known))
        for sequence in wanted:
            if sequence not in found:
                raise self._missing(sequence)
        return [found[sequence] for sequence in wanted]

    def of_unit(self, unit: str, until: int | None = None) -> list[tuple[int, Stored]]:
        """Return the records of a unit. The index may find more than those, and events decide."""
        found = dict[int, Stored]()
        for spelled in {json.dumps(unit), json.dumps(unit, ensure_ascii=False)}:  # é may be written as \u00e9, or as é
            asked = f'"unit":{spelled}'.encode("utf-8", "surrogatepass")
            last = LAST if until is None else until
            for sequence, text, known in self._store.ask(self._store.of_unit, asked, self._number, last):
                found[sequence] = Stored(_text(text), text_of(known))
        return [
            (sequence, stored)
            for sequence, stored in sorted(found.items())
            if entries_of(stored.text, sequence)["event"].get("unit") == unit
        ]

    def _missing(self, sequence: int) -> LogError:
        return LogError(f"record {sequence} of log {self._number} is missing; restore a backup", sequence=sequence)

    def head(self) -> Head:
        """Return how many records there are, and the hash of the last."""
        return self._store.head(self._number)

    def keys(self, asked: Sequence[tuple[str, str]]) -> list[IdempotencyKey]:
        """Return those of these keys, each an owner and a key, under which something was asked."""
        rows: list[Any] = []
        for start in range(0, len(asked), KEYS_AT_ONCE):
            some = asked[start : start + KEYS_AT_ONCE]
            places = ", ".join(["(?, ?)"] * len(some))
            question = f"{KEYS} AND (owner, key) IN (VALUES {places})"
            rows += self._store.ask(question, self._number, *(text for pair in some for text in pair))
        return [_key(row) for row in rows]

    def all_keys(self) -> list[IdempotencyKey]:
        """Return all idempotency keys, by owner and key."""
        return [_key(row) for row in self._store.ask(f"{KEYS} ORDER BY owner, key", self._number)]


def _places(values: Sequence[object]) -> str:
    return ", ".join("?" * len(values))


API_KEYS = f"SELECT {', '.join(ApiKey._fields)} FROM keys ORDER BY id"
KEYS = "SELECT owner, key, fingerprint, sequence, facts FROM requests WHERE log = ?"


def _key(row: Sequence[Any]) -> IdempotencyKey:
    return IdempotencyKey(text_of(row[0]), text_of(row[1]), text_of(row[2]), *row[3:])


def api_key(row: Sequence[object]) -> ApiKey:
    """Return an API key as a row of its table has it."""
    return ApiKey._make(None if each is None else text_of(each) for each in row)


def _text(found: object) -> bytes:
    """Return the text of a record; nothing, whose hash is another, for what a damaged row holds."""
    return found if type(found) is bytes else b""


def text_of(found: object) -> str:
    """Return what a column of texts holds; a damaged one as it is, so that it is found to be wrong."""
    return found.decode("utf-8", "replace") if isinstance(found, bytes) else str(found)
