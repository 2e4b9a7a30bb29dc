"""What the endpoints act on: the trials of one database, its keys, the writer and the figures."""

from __future__ import annotations

import asyncio
import gc
import logging
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, TypeVar

from dtrbandit.design import Design
from dtrbandit.errors import DTRError, ProtocolError, Unavailable
from dtrbandit.policies.policy import Policy
from dtrbandit.service.keys import Holder, KeyRing
from dtrbandit.service.limits import WrongKeys, address_of, names_a_key
from dtrbandit.service.problems import Busy, Refused
from dtrbandit.service.writer import WriteProbe, Writer
from dtrbandit.storage import Store, connect
from dtrbandit.trial import Trial
from dtrbandit.trial.batch import Clock
from dtrbandit.trial.trial import utc_now

BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)  # seconds of answers, for metrics
SECONDS_BETWEEN_POLLS = 1.0  # a key that is revoked by another process still opens for so long

Done = TypeVar("Done")
log = logging.getLogger("dtrbandit.service")


class Requests:
    """How many requests came, how they ended and how long they took, by endpoint. For one thread."""

    def __init__(self) -> None:
        self.counts: Counter[tuple[str, int]] = Counter()
        self.times: dict[str, list[int]] = defaultdict(lambda: [0] * (len(BOUNDS) + 1))  # answers up to each bound
        self.sums: dict[str, float] = defaultdict(float)

    def count(self, endpoint: str, status: int, seconds: float) -> None:
        """Take in one request that was answered."""
        self.counts[endpoint, status] += 1
        self.times[endpoint][bisect_left(BOUNDS, seconds)] += 1
        self.sums[endpoint] += seconds


class Service:
    """The trials of one database, for one process. A patient one begins only once it is ready.

    ``clock`` gives the times on record. ``behind_proxy``: what a proxy in front says of the addresses of clients is
    trusted.
    """

    def __init__(self, url: str, *, clock: Clock = utc_now, behind_proxy: bool = False, patient: bool = False) -> None:
        self.url, self.clock, self.behind_proxy, self._patient = url, clock, behind_proxy, patient
        self.leaving: Callable[[], bool] = lambda: False  # whether the server is about to stop
        self.wrong_keys = WrongKeys()
        self.writer, self.requests, self.keys = Writer(), Requests(), KeyRing()
        self.ready = False
        self.probe = WriteProbe(self.writer, lambda: self.store)
        self._store: Store | None = None
        self._trials: dict[str, Trial] = {}
        self._tasks: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        """Begin: answer at once, and be ready once the trials are read."""
        self.writer.start()
        self._store = await self._once_there("the database", lambda: connect(self.url))
        await self._once_there("the keys", self._take_keys)
        self._tasks = [asyncio.create_task(work()) for work in (self._warm_up, self._keep_up)]
        if self._patient:
            await self._tasks[0]

    async def stop(self) -> None:
        """Finish what is asked, and end."""
        self.ready = False
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self.writer.stop()
        for trial in self._trials.values():
            await asyncio.to_thread(trial.close)  # it may write a snapshot
        if self._store is not None:
            self._store.close()

    async def _warm_up(self) -> None:
        for name in await self._once_there("the trials", lambda: Trial.names(self.store)):
            try:
                await self._open(name)
            except DTRError as error:  # the other trials go on; whoever asks about this one is reported
                log.error("the trial %r cannot be opened: %s", name, error)
        gc.collect()
        gc.freeze()  # what was read stays: no collection walks through it while a request waits
        self.ready = True

    async def _once_there(self, what: str, act: Callable[[], Done]) -> Done:
        """Do what a start needs, as soon as the database is there; say once what is wrong until then."""
        reported = ""
        while True:
            try:
                return await self.writer.do(act)
            except Unavailable as error:
                if self.leaving():
                    raise
                if reported != str(error):
                    log.error("%s cannot be read yet: %s", what, error)
                reported = str(error)
                await asyncio.sleep(SECONDS_BETWEEN_POLLS)

    async def _keep_up(self) -> None:
        """Take what other processes have stored: keys, and facts, so that no decision waits for many of them."""
        reported: dict[str, str] = {}  # what was last logged as wrong
        while True:
            await asyncio.sleep(SECONDS_BETWEEN_POLLS)
            updates = {f"the trial {name!r}": trial.catch_up for name, trial in self.trials.items()}
            for what, update in {"the keys": self._take_keys, **updates}.items():
                try:
                    await self.writer.do(update)
                    reported.pop(what, None)
                except Exception as error:  # noqa: BLE001  # if this task ended, revoked keys would stay open
                    if reported.get(what) != str(error):
                        log.error("what is new in %s cannot be read: %s", what, error)
                    reported[what] = str(error)

    def holder(self, authorization: str | None, scope: Mapping[str, Any]) -> Holder:
        """Return who sent a header ``Authorization``, or refuse. A wrong key counts against its address."""
        try:
            return self.keys.holder(authorization, now=datetime.now(UTC))
        except Refused:
            if names_a_key(authorization):
                self.wrong_keys.note(address_of(scope, behind_proxy=self.behind_proxy))
            raise

    async def read_keys(self) -> None:
        """Take the keys as the database has them."""
        await self.writer.do(self._take_keys)

    def _take_keys(self) -> None:
        self.keys.replace(self.store.api_keys())

    @property
    def store(self) -> Store:
        """The database of the trials and keys."""
        if self._store is None:
            raise Busy("the service is starting; try again in a moment")
        return self._store

    @property
    def trials(self) -> dict[str, Trial]:
        """The trials that are open, by name."""
        return dict(self._trials)

    async def trial(self, name: str) -> Trial:
        """Return a trial by its name; one that another process has created is opened now."""
        found = self._trials.get(name)
        if found is not None:
            return found
        if not self.ready:
            raise Busy("the service is still reading its trials; try again in a moment")
        return await self._open(name)

    async def _open(self, name: str) -> Trial:
        def opened() -> Trial:
            if name not in self._trials:
                self._trials[name] = Trial.open(name, storage=self.store, clock=self.clock)
            return self._trials[name]

        return await self.writer.do(opened)

    async def reading(self, name: str, read: Callable[[Trial], Done]) -> Done:
        """Return what a function reads of a trial; decisions do not wait for it."""
        return await asyncio.to_thread(read, await self.trial(name))

    async def create(self, name: str, design: Design, policy: Policy[Any], *, actor: str) -> Trial:
        """Create a trial, and keep it open. One that is there already must be the same."""

        def created() -> Trial:
            with self.store.turn():  # another process may create the same one
                if name not in Trial.names(self.store):
                    trial = Trial.create(name, design, policy, storage=self.store, actor=actor, clock=self.clock)
                else:
                    trial = self._trials.get(name) or Trial.open(name, storage=self.store, clock=self.clock)
            # after the turn: whoever reads the trial has its lock, and waits for the store
            if (trial.design, trial.policy) != (design, policy):
                raise ProtocolError(f"there is a trial {name!r} already, of another design or policy")
            self._trials[name] = trial
            return trial

        return await self.writer.do(created)
