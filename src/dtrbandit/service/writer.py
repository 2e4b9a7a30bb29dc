"""The one thread that writes: it gathers the requests that wait, and commits them together.

A disk needs about as long for fifty decisions as for one. While it writes, the next requests arrive and wait; they are
the next commit. A reply is sent only after the commit that holds it.

Clients that were just answered soon ask again. If the next commit began with the first of them, the others would wait
for two commits. So it waits for as many as may come, for at most half of the time that the last commit took. A client
that is alone never waits.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from itertools import groupby
from queue import Empty, SimpleQueue
from typing import Any, NamedTuple, Protocol, TypeVar

from dtrbandit.errors import DTRError, Unavailable
from dtrbandit.service.problems import Busy, Refused, refusal
from dtrbandit.storage import Check, Store

MOST_TOGETHER = 256
MOST_WAITING = 2000
SECONDS_BETWEEN_POLLS = 0.0005
SECONDS_BETWEEN_PROBES = 1.0  # however many ask
SECONDS_OF_COOLDOWN = 2.0  # after a commit that failed: a small write may still fit where a decision does not
PROBE = "write"  # how the row is called, beside checks such as verify and backup

Done = TypeVar("Done")


class Takes(Protocol):
    """A trial, as far as the writer knows it."""

    def take(self, asks: list[Any], /) -> list[Any]:
        """Answer all in one transaction: a reply or an error for each."""


class _Job(NamedTuple):
    """Other work that writes, as the writer knows a trial. It is never taken together with another."""

    act: Callable[[], object]

    def take(self, _: list[Any]) -> list[Any]:
        return [self.act()]


class _Asked(NamedTuple):
    trial: Takes
    ask: object
    reply: asyncio.Future[Any]


class Writer:
    """A thread that lets trials take what is asked, many at a time, and does other work that writes in between."""

    def __init__(self) -> None:
        self._waiting: SimpleQueue[_Asked | None] = SimpleQueue()  # None: no more comes
        self._thread = threading.Thread(target=self._work, name="dtrbandit-writer", daemon=True)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopped = False
        self._expected, self._took = 0, 0.0  # requests that may come together, seconds of the last turn
        self.failed: float | None = None  # when the last commit failed, by the monotonic clock; None if it did not
        self._came: int | None = None  # requests that wait when the first replies of a turn are sent

    def start(self) -> None:
        """Begin, for the event loop that runs now."""
        self._loop = asyncio.get_running_loop()
        self._thread.start()

    async def stop(self) -> None:
        """Do what is waiting, take nothing more, and end."""
        self._stopped = True
        self._waiting.put(None)
        await asyncio.to_thread(self._thread.join)

    async def ask(self, trial: Takes, ask: object) -> Any:
        """Return what a trial replies, once it is committed; raises what it refuses with."""
        if self._stopped:
            raise Busy("the service is stopping; nothing was decided")
        if self._waiting.qsize() >= MOST_WAITING:
            raise Busy(f"{MOST_WAITING} requests are waiting already; nothing was decided")
        reply: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting.put(_Asked(trial, ask, reply))
        return await reply

    async def do(self, act: Callable[[], Done]) -> Done:
        """Return what a function gives that writes something else."""
        done: Done = await self.ask(_Job(act), None)
        return done

    # -- in the thread ---------------------------------------------------------------------------------------

    def _work(self) -> None:
        more = True
        while more:
            gathered = self._gather()
            began, self._came = time.monotonic(), None
            more = self._turn(gathered)
            self._took = time.monotonic() - began
            self._expected = len(gathered) + (self._came or 0)

    def _gather(self) -> list[_Asked | None]:
        """Wait for something, and take with it what else is there or comes soon."""
        gathered = [self._waiting.get()]
        ends = time.monotonic() + self._took / 2
        while self._waiting.qsize() + 1 < min(self._expected, MOST_TOGETHER) and time.monotonic() < ends:
            time.sleep(SECONDS_BETWEEN_POLLS)
        try:
            while len(gathered) < MOST_TOGETHER:
                gathered.append(self._waiting.get_nowait())
        except Empty:
            pass
        return gathered

    def _turn(self, gathered: list[_Asked | None]) -> bool:
        """Do all of it in order, what follows each other for one trial together; say whether there may be more."""
        asked = [each for each in gathered if each is not None]
        for _, together in groupby(asked, key=lambda each: id(each.trial)):
            self._commit(list(together))
        return len(asked) == len(gathered)

    def _commit(self, together: list[_Asked]) -> None:
        """Let a trial take what is asked of it. If that fails, the requests fail, and the thread goes on."""
        trial, failed = together[0].trial, None
        try:
            replies = trial.take([each.ask for each in together])
        except Exception as error:  # noqa: BLE001  # whoever waits for it raises it again
            replies = [error] * len(together)
            failed = time.monotonic() if isinstance(error, Unavailable) else None
        if not isinstance(trial, _Job):
            self.failed = failed
        self._deliver([(each.reply, reply) for each, reply in zip(together, replies, strict=True)])

    def _deliver(self, replies: list[tuple[asyncio.Future[Any], Any]]) -> None:
        assert self._loop is not None  # start() was called, or no thread would run
        if self._came is None:  # afterwards, who was answered may ask again, and would count twice
            self._came = self._waiting.qsize()
        with suppress(RuntimeError):  # the loop has ended: nobody waits
            self._loop.call_soon_threadsafe(_settle, replies)


def _settle(replies: Iterable[tuple[asyncio.Future[Any], Any]]) -> None:
    for waiting, reply in replies:
        if waiting.done():  # cancelled: its client left
            continue
        if isinstance(reply, Exception):
            waiting.set_exception(reply)
        else:
            waiting.set_result(reply)


# -- whether the database takes writes ---------------------------------------------------------------------------


class WriteProbe:
    """A row of no meaning, which is written when somebody asks, at most once in so many seconds.

    After a commit that failed, nothing is believed to be writable for some seconds of ``cooldown``.
    """

    def __init__(
        self,
        writer: Writer,
        store: Callable[[], Store],
        *,
        seconds: float = SECONDS_BETWEEN_PROBES,
        cooldown: float = SECONDS_OF_COOLDOWN,
    ) -> None:
        self._writer, self._store = writer, store
        self._seconds, self._cooldown = seconds, cooldown
        self._latest: asyncio.Task[None] | None = None
        self._began = 0.0

    async def require_writable(self) -> None:
        """Refuse if nothing can be stored for good. The server's log says why."""
        failed = self._writer.failed
        if failed is not None and time.monotonic() - failed < self._cooldown:
            raise _refused()
        if self._latest is None or time.monotonic() - self._began >= self._seconds:
            self._began, self._latest = time.monotonic(), asyncio.create_task(self._probe())
        try:
            await asyncio.shield(self._latest)  # which others wait for, too
        except Busy:
            raise
        except DTRError as error:
            refusal(error)  # which tells the log
            raise _refused() from None

    async def _probe(self) -> None:
        await self._writer.do(lambda: self._store().note_check(Check(PROBE, "", time.time(), True)))


def _refused() -> Refused:
    return Refused(
        "unavailable",
        "the database cannot be written now; the server's log says why",
        remedy="Look at the disk and at the database. This answers 200 as soon as a write succeeds.",
    )
