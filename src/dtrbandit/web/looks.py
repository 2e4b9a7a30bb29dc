"""Looks at a trial for pages: computed once per version of the log, and at most once a second, for all together."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Hashable
from typing import Any, NamedTuple, TypeVar

from dtrbandit.service.service import Service
from dtrbandit.trial import Trial, TrialState
from dtrbandit.web.ledger import Ledger

FRESH = 1.0  # seconds for which a look is shown again, whatever has happened since
LASTING = 10.0  # seconds for which it is shown while the log stands still: units become overdue by the clock

Found = TypeVar("Found")
Find = Callable[[Ledger, Trial], Found]
State = Callable[[Ledger], Hashable]


def by_version(ledger: Ledger) -> int:
    """Return how many records there are."""
    return ledger.version


class Kept(NamedTuple):
    """What was found, by which state of the ledger, and when."""

    state: Hashable
    time: float
    found: Any


class KeptState(NamedTuple):
    """Where a trial stood, when that was looked up, and when it was first seen to stand there."""

    time: float
    found: TrialState
    changed: float


class Looks:
    """The ledgers of all trials of a service, and what was last found in them."""

    def __init__(self, service: Service, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._service, self._clock = service, clock
        self._ledgers: dict[str, Ledger] = {}
        self._kept: dict[tuple[str, Hashable], Kept] = {}
        self._states: dict[str, KeptState] = {}
        self._turns: dict[Hashable, threading.Lock] = {}

    async def at(self, trial: str, what: Hashable, find: Find[Found], state: State = by_version) -> Found:
        """Return what ``find`` gives for a trial's ledger. Calls with the same ``what`` share it.

        It is found again when ``state`` is another one. Nothing older is returned than what ``state()`` has told.
        """
        kept, told = self._kept.get((trial, what)), self._states.get(trial)
        changed = told.changed if told else 0.0
        if kept is not None and kept.time >= changed and self._clock() - kept.time < FRESH:
            found: Found = kept.found
            return found
        return await self._service.reading(trial, lambda opened: self._look(opened, what, find, state))

    async def state(self, trial: str) -> TrialState:
        """Return where a trial stands, as it was less than a second ago. No ledger is needed for it."""
        kept = self._states.get(trial)
        if kept is None or self._clock() - kept.time >= FRESH:
            kept = await self._service.reading(trial, self._look_at_state)
        return kept.found

    def _look_at_state(self, opened: Trial) -> KeptState:
        with self._turns.setdefault((opened.name, "state"), threading.Lock()):
            kept, now = self._states.get(opened.name), self._clock()
            if kept is None or now - kept.time >= FRESH:
                found = opened.state
                changed = kept.changed if kept is not None and kept.found == found else self._clock()
                kept = self._states[opened.name] = KeptState(now, found, changed)
            return kept

    def _look(self, opened: Trial, what: Hashable, find: Find[Found], state: State) -> Found:
        with self._turns.setdefault(opened.name, threading.Lock()):
            now = self._clock()  # what is stored from here on may be missing
            ledger = self._ledgers.get(opened.name) or Ledger(opened.design, opened.session_log()[0])
            self._ledgers[opened.name] = ledger = ledger.follow(opened)
            kept = self._kept.get((opened.name, what))
            own = ledger.opened, state(ledger)
            if kept is None or kept.state != own or (state is by_version and now - kept.time >= LASTING):
                kept = Kept(own, now, find(ledger, opened))
                self._kept[opened.name, what] = kept
            found: Found = kept.found
            return found
