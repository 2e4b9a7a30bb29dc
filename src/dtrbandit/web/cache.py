"""A cache of what pages show of a trial: computed once per version of the log, at most once a second, for all."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Hashable
from typing import Any, NamedTuple, TypeVar

from dtrbandit.service.service import Service
from dtrbandit.trial import Trial, TrialState
from dtrbandit.trial.ledger import Ledger

FRESH = 1.0  # seconds for which an entry is shown again, whatever has happened since
LASTING = 10.0  # seconds for which it is shown while the log stands still: units become overdue by the clock

Found = TypeVar("Found")
Find = Callable[[Ledger, Trial], Found]
State = Callable[[Ledger], Hashable]


def by_version(ledger: Ledger) -> int:
    """Return how many records there are."""
    return ledger.version


class Entry(NamedTuple):
    """What was found, by which state of the ledger, and when."""

    state: Hashable
    time: float
    found: Any


class StateEntry(NamedTuple):
    """Where a trial stood, when that was looked up, and when it was first seen to stand there."""

    time: float
    found: TrialState
    changed: float


class TrialCache:
    """What was last found in the ledgers of the trials of a service."""

    def __init__(self, service: Service, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._service, self._clock = service, clock
        self._entries: dict[tuple[str, Hashable], Entry] = {}
        self._states: dict[str, StateEntry] = {}
        self._locks: dict[Hashable, threading.Lock] = {}

    async def get(self, trial: str, what: Hashable, find: Find[Found], state: State = by_version) -> Found:
        """Return what ``find`` gives for a trial's ledger. Calls with the same ``what`` share it.

        It is found again when ``state`` is another one. Nothing older is returned than what ``state()`` has returned.
        """
        entry, latest = self._entries.get((trial, what)), self._states.get(trial)
        changed = latest.changed if latest else 0.0
        if entry is not None and entry.time >= changed and self._clock() - entry.time < FRESH:
            found: Found = entry.found
            return found
        return await self._service.reading(trial, lambda opened: self._refresh(opened, what, find, state))

    async def state(self, trial: str) -> TrialState:
        """Return where a trial stands, as it was less than a second ago. No ledger is needed for it."""
        entry = self._states.get(trial)
        if entry is None or self._clock() - entry.time >= FRESH:
            entry = await self._service.reading(trial, self._refresh_state)
        return entry.found

    def _refresh_state(self, opened: Trial) -> StateEntry:
        with self._locks.setdefault((opened.name, "state"), threading.Lock()):
            entry, now = self._states.get(opened.name), self._clock()
            if entry is None or now - entry.time >= FRESH:
                found = opened.state
                changed = entry.changed if entry is not None and entry.found == found else self._clock()
                entry = self._states[opened.name] = StateEntry(now, found, changed)
            return entry

    def _refresh(self, opened: Trial, what: Hashable, find: Find[Found], state: State) -> Found:
        with self._locks.setdefault(opened.name, threading.Lock()):
            now = self._clock()  # what is stored from here on may be missing
            ledger = opened.ledger()
            entry = self._entries.get((opened.name, what))
            own = ledger.opened, state(ledger)
            if entry is None or entry.state != own or (state is by_version and now - entry.time >= LASTING):
                entry = Entry(own, now, find(ledger, opened))
                self._entries[opened.name, what] = entry
            found: Found = entry.found
            return found
