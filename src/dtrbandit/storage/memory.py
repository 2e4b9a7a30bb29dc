"""A store in memory: for tests and trials of an afternoon. It is gone with its process."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from dtrbandit.errors import Conflict, ProtocolError
from dtrbandit.forks import at_fork, new_turn, turn_in_child
from dtrbandit.record.chain import EMPTY, Head, Stored, StoredBatch, entries_of, in_batches
from dtrbandit.storage.store import KEY_LOG, ApiKey, Check, IdempotencyKey, TrialEntry
from dtrbandit.words import counted


class MemoryStore:
    """Lists and dictionaries, as plain as can be.

    Examples
    --------
    >>> store = MemoryStore()
    >>> with store.turn():
    ...     trial = store.add_trial("depression")
    >>> store.log(trial.rehearsal).head().sequence
    0
    """

    def __init__(self) -> None:
        self._trials: dict[str, TrialEntry] = {}
        self._logs: dict[int, MemoryLog] = {KEY_LOG: MemoryLog(self, KEY_LOG)}
        self._api_keys: dict[str, ApiKey] = {}
        self._checks: dict[tuple[str, str], Check] = {}
        self._lock = new_turn()
        self._depth = 0
        self._undo: list[Callable[[], object]] = []  # what takes back the present turn, last step first
        at_fork(self, MemoryStore._begin_in_child)

    def _begin_in_child(self) -> None:
        self._lock = turn_in_child(self._lock, _cut_off)

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Let nobody else write meanwhile; an error takes back what was written."""
        with self._lock:
            self._depth += 1
            try:
                yield
            except BaseException:  # Ctrl-C too
                while self._undo and self._depth == 1:
                    self._undo.pop()()
                raise
            finally:
                self._depth -= 1
                if not self._depth:
                    self._undo.clear()

    def log(self, number: int) -> MemoryLog:
        """Return a log."""
        return self._logs[number]

    def trials(self) -> list[TrialEntry]:
        """Return all trials by name."""
        return [self._trials[name] for name in sorted(self._trials)]

    def trial(self, name: str) -> TrialEntry | None:
        """Return a trial, None if there is none of this name."""
        return self._trials.get(name)

    def add_trial(self, name: str) -> TrialEntry:
        """Add a trial with an empty log for its rehearsal."""
        with self.turn():
            if name in self._trials:
                raise Conflict(f"there is a trial {name!r} already")
            self._undo.append(lambda: self._trials.pop(name, None))
            self._trials[name] = TrialEntry(name, self._new_log(), None)
            return self._trials[name]

    def add_live(self, name: str) -> TrialEntry:
        """Add the empty live log of a trial."""
        with self.turn():
            before = self._trials.get(name)
            if before is None or before.live is not None:
                raise Conflict(f"the trial {name!r} is not there, or has its live log already")
            self._undo.append(lambda: self._trials.update({name: before}))
            self._trials[name] = before._replace(live=self._new_log())
            return self._trials[name]

    def _new_log(self) -> int:
        number = max(self._logs) + 1
        self._undo.append(lambda: self._logs.pop(number, None))
        self._logs[number] = MemoryLog(self, number)
        return number

    def api_keys(self) -> list[ApiKey]:
        """Return all API keys in the order of their ids."""
        return [self._api_keys[name] for name in sorted(self._api_keys)]

    def put_api_key(self, key: ApiKey) -> None:
        """Add an API key, or replace the one of the same id."""
        with self.turn():
            before = dict(self._api_keys)
            self._undo.append(lambda: setattr(self, "_api_keys", before))
            self._api_keys[key.id] = key

    def last_checks(self) -> list[Check]:
        """Return the latest check of each kind for each trial, by kind and trial."""
        return [self._checks[key] for key in sorted(self._checks)]

    def note_check(self, check: Check) -> None:
        """Remember the latest check of its kind for its trial."""
        with self.turn():
            before = dict(self._checks)
            self._undo.append(lambda: setattr(self, "_checks", before))
            self._checks[check.what, check.trial] = check

    def take_back(self, step: Callable[[], object]) -> None:
        """Remember what takes back a step of the present turn."""
        self._undo.append(step)

    def check(self) -> str | None:
        """Nothing can be wrong with it."""
        return None

    def backup(self, path: str | Path) -> None:
        """Write a copy to a new SQLite file."""
        from dtrbandit.storage.copying import write_copy

        write_copy(self, path)

    def close(self) -> None:
        """Do nothing: whoever opened it may still need it."""


def _cut_off() -> ProtocolError:
    return ProtocolError(
        "another thread was in a turn of this store in memory when this process was forked: what it holds here may be "
        "half changed; create the trial anew"
    )


class MemoryLog:
    """One log of a store in memory."""

    def __init__(self, store: MemoryStore, number: int) -> None:
        self._store, self._number = store, number
        self._records: list[Stored] = []
        self._keys: dict[tuple[str, str], IdempotencyKey] = {}

    def append(self, records: Sequence[Stored], expected: int, keys: Sequence[IdempotencyKey] = ()) -> None:
        """Add records after the first ``expected`` ones."""
        with self._store.turn():
            length, known = len(self._records), dict.fromkeys((key.owner, key.key) for key in keys)
            if length != expected or len(known) < len(keys) or known.keys() & self._keys.keys():
                raise Conflict(
                    f"log {self._number} has {counted(length, 'record')}, expected {expected}, or a key is in use"
                )
            self._store.take_back(lambda: self._cut(length, known))
            self._records += records
            self._keys.update({(key.owner, key.key): key for key in keys})

    def _cut(self, length: int, keys: Iterable[tuple[str, str]]) -> None:
        del self._records[length:]
        for key in keys:
            self._keys.pop(key, None)

    def read(self, since: int = 0) -> Iterator[Stored]:
        """Give the records after the first ``since`` ones."""
        return iter(self._records[since:])

    def batches(self, since: int = 0) -> Iterator[StoredBatch]:
        """Give the same, some at a time."""
        return in_batches(self.read(since))

    def pick(self, sequences: Iterable[int]) -> list[Stored]:
        """Return the records with these numbers."""
        return [self._records[sequence - 1] for sequence in sequences]

    def of_unit(self, unit: str) -> list[tuple[int, Stored]]:
        """Return the records of a unit."""
        records = enumerate(self._records, 1)
        return [each for each in records if entries_of(each[1].text, each[0])["event"].get("unit") == unit]

    def head(self) -> Head:
        """Return how many records there are, and the hash of the last."""
        return Head(len(self._records), self._records[-1].hash) if self._records else EMPTY

    def keys(self, asked: Sequence[tuple[str, str]]) -> list[IdempotencyKey]:
        """Return those of these keys, each an owner and a key, under which something was asked."""
        return [self._keys[each] for each in asked if each in self._keys]

    def all_keys(self) -> list[IdempotencyKey]:
        """Return all idempotency keys, by owner and key."""
        return sorted(self._keys.values())
