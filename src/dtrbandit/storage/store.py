"""What a live trial is kept in: event logs, each a chain of records, the few names that lead to them, and addresses.

A ``Store`` is a database: trials by name, their logs, the keys of its users. A ``Storage`` is one log of it. Whoever
writes takes a turn first, looks at what is new, and appends after it; what a turn wrote is there as a whole when the
turn has ended, or not at all.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from itertools import islice
from pathlib import Path
from typing import NamedTuple, Protocol

from dtrbandit.design.values import shown
from dtrbandit.errors import DesignError, ProtocolError
from dtrbandit.record.chain import Head, Stored

SQLITE, MEMORY, POSTGRES = "sqlite:///", "memory://", "postgresql://"
ALLOWED = f"{SQLITE}trial.db, {POSTGRES}user@host/database or {MEMORY}"
AT_ONCE = 10_000  # records that are copied in one go
KEY_LOG = 0  # the number of the log of what happened to API keys; those of trials have others


class IdempotencyKey(NamedTuple):
    """A key under which a request was made, and the facts that it led to.

    Attributes
    ----------
    owner
        The API key of whoever asked; empty without one.
    fingerprint
        A hash of what was asked.
    sequence, facts
        The number of the first record that it led to, and how many there are.
    """

    owner: str
    key: str
    fingerprint: str
    sequence: int
    facts: int


class ApiKey(NamedTuple):
    """A key that opens the service to somebody: only its SHA-256 is kept. Times are texts, None where there is none.

    Attributes
    ----------
    trial
        The one trial that it opens; None: all trials of the database.
    site
        The site whose units it opens; None: those of all sites.
    salt
        What the key was made from, beside the key of whoever asked for it; None for one made by chance alone.
    """

    id: str
    sha256: str
    role: str
    label: str
    created: str
    expires: str | None
    revoked: str | None
    trial: str | None = None
    site: str | None = None
    salt: str | None = None


class Check(NamedTuple):
    """What was done (``verify``, ``backup``, ``write``) for which trial, when (Unix time), and whether all was well."""

    what: str
    trial: str
    time: float
    ok: bool


class TrialEntry(NamedTuple):
    """A trial's name and the numbers of its logs, from 1; ``live`` is None until it is locked."""

    name: str
    rehearsal: int
    live: int | None


class Storage(Protocol):
    """One log."""

    def append(self, records: Sequence[Stored], expected: int, keys: Sequence[IdempotencyKey] = ()) -> None:
        """Add records after the first ``expected`` ones; Conflict if the log does not have exactly so many."""

    def read(self, since: int = 0) -> Iterator[Stored]:
        """Give the records after the first ``since`` ones, in order; if one cannot be read, those before it first."""

    def pick(self, sequences: Iterable[int]) -> list[Stored]:
        """Return the records with these numbers."""

    def of_unit(self, unit: str, until: int | None = None) -> list[tuple[int, Stored]]:
        """Return the records whose event is about a unit, in order, each with its number; none after ``until``."""

    def head(self) -> Head:
        """Return how many records there are, and the hash of the last."""

    def keys(self, asked: Sequence[tuple[str, str]]) -> list[IdempotencyKey]:
        """Return those of these keys, each an owner and a key, under which something was asked."""

    def all_keys(self) -> list[IdempotencyKey]:
        """Return all idempotency keys, by owner and key."""


class Store(Protocol):
    """A database of trials."""

    @property
    def snapshots(self) -> Path | None:
        """A private folder for snapshots of what its logs lead to; None if it has no place for any."""

    def turn(self) -> AbstractContextManager[None]:
        """Let nobody else write meanwhile. What is written counts when the turn ends, unless it ends by an error.

        Raises
        ------
        Unavailable
            Somebody else does not end their turn, or nothing can be stored for good. Then nothing was.
        """

    def log(self, number: int) -> Storage:
        """Return a log: one of a trial, or ``KEY_LOG``, which every store has."""

    def trials(self) -> list[TrialEntry]:
        """Return all trials by name."""

    def trial(self, name: str) -> TrialEntry | None:
        """Return a trial, None if there is none of this name."""

    def add_trial(self, name: str) -> TrialEntry:
        """Add a trial with an empty log for its rehearsal; Conflict if there is one of this name."""

    def add_live(self, name: str) -> TrialEntry:
        """Add the empty live log of a trial; Conflict if it has one."""

    def api_keys(self) -> list[ApiKey]:
        """Return all API keys in the order of their ids."""

    def put_api_key(self, key: ApiKey) -> None:
        """Add an API key, or replace the one of the same id. ``key_events.change_keys`` records it, too."""

    def last_checks(self) -> list[Check]:
        """Return the latest check of each kind for each trial, by kind and trial."""

    def note_check(self, check: Check) -> None:
        """Remember the latest check of its kind for its trial."""

    def check(self) -> str | None:
        """Say what is wrong with the database itself; None if it is in order."""

    def backup(self, path: str | Path) -> None:
        """Write a copy to a new file, which ``connect`` opens. Others may write meanwhile.

        A file that is there already is a ProtocolError, and stays as it was.
        """

    def close(self) -> None:
        """Let go of the database."""


# -- copies -----------------------------------------------------------------------------------------------------------


def copy_store(source: Store, target: Store) -> None:
    """Copy all trials and their logs, the keys and what happened to them: to an empty store, all or nothing."""
    if target.trials() or target.api_keys() or target.log(KEY_LOG).head().sequence:
        raise ProtocolError("a copy needs an empty store, and this one has trials or keys; give another")
    with source.turn(), target.turn():
        for entry in source.trials():
            copy = target.add_trial(entry.name)
            _copy_log(source.log(entry.rehearsal), target.log(copy.rehearsal))
            if entry.live is not None:
                copy = target.add_live(entry.name)
                assert copy.live is not None
                _copy_log(source.log(entry.live), target.log(copy.live))
        _copy_log(source.log(KEY_LOG), target.log(KEY_LOG))
        for key in source.api_keys():
            target.put_api_key(key)


def _copy_log(source: Storage, target: Storage) -> None:
    records, count = source.read(), 0
    while some := list(islice(records, AT_ONCE)):
        target.append(some, count)
        count += len(some)
    target.append((), count, source.all_keys())


# -- addresses --------------------------------------------------------------------------------------------------------


def is_postgres(address: str) -> bool:
    """Say whether an address leads to a PostgreSQL server."""
    return isinstance(address, str) and address.startswith(POSTGRES)


def path_of(address: str) -> Path | None:
    """Return the path of an address of a file; None of one in memory or on a server.

    Examples
    --------
    >>> path_of("sqlite:////data/trial.db").as_posix(), path_of("memory://")
    ('/data/trial.db', None)
    """
    if address == MEMORY or is_postgres(address):
        return None
    path = address.removeprefix(SQLITE) if isinstance(address, str) and address.startswith(SQLITE) else ""
    if not path or "\0" in path:
        raise DesignError(f"a storage address is {ALLOWED}, found {without_secret(shown(address))}")
    return Path(path)


def without_secret(address: str) -> str:
    """Return an address as it may be shown: what could be a password is left out.

    Examples
    --------
    >>> without_secret("postgresql://nurse:secret@db.example.org/trials?password=secret&sslmode=require")
    'postgresql://nurse:***@db.example.org/trials?password=***&sslmode=require'
    """
    address = re.sub(r"(//[^:/?#]*):.*@", r"\1:***@", address)
    return re.sub(r"((?:pass|key|cert)\w*=)[^&]*", r"\1***", address)
