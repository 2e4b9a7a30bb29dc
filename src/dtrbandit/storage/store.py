"""What a live trial is kept in: event logs, each a chain of records, and the few names that lead to them.

A ``Store`` is a database: trials by name, their logs, the keys of its users. A ``Storage`` is one log of it. Whoever
writes takes a turn first, looks at what is new, and appends after it; what a turn wrote is there as a whole when the
turn has ended, or not at all.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import NamedTuple, Protocol

from dtrbandit.record.chain import Head, Stored

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
