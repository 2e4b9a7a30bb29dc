"""Whether the database takes writes: what the last commit found, and a small write to see for oneself."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from dtrbandit.errors import DTRError
from dtrbandit.service.problems import Busy, Refused, refusal
from dtrbandit.service.writer import Writer
from dtrbandit.storage import Check, Store

SECONDS_BETWEEN_PROBES = 1.0  # however many ask
SECONDS_OF_DOUBT = 2.0  # after a commit that failed: a small write may still fit where a decision does not
WHAT = "write"  # how the row is called, beside checks such as verify and backup


class WriteProbe:
    """A row of no meaning, which is written when somebody asks, at most once in so many seconds.

    After a commit that failed, nothing is believed to be writable for some seconds of ``doubt``.
    """

    def __init__(
        self,
        writer: Writer,
        store: Callable[[], Store],
        *,
        seconds: float = SECONDS_BETWEEN_PROBES,
        doubt: float = SECONDS_OF_DOUBT,
    ) -> None:
        self._writer, self._store = writer, store
        self._seconds, self._doubt = seconds, doubt
        self._latest: asyncio.Task[DTRError | None] | None = None
        self._began = 0.0

    async def require_writable(self) -> None:
        """Refuse if nothing can be stored for good. The server's log says why."""
        failed = self._writer.failed
        if failed is not None and time.monotonic() - failed < self._doubt:
            raise _refused()
        if self._latest is None or time.monotonic() - self._began >= self._seconds:
            self._began, self._latest = time.monotonic(), asyncio.create_task(self._probe())
        error = await asyncio.shield(self._latest)
        if isinstance(error, Busy):
            raise error
        if error is not None:
            refusal(error)  # which tells the log
            raise _refused()

    async def _probe(self) -> DTRError | None:
        try:
            await self._writer.do(lambda: self._store().note_check(Check(WHAT, "", time.time(), True)))
        except DTRError as error:
            return error
        return None


def _refused() -> Refused:
    return Refused(
        "unavailable",
        "the database cannot be written now; the server's log says why",
        remedy="Look at the disk and at the database. This answers 200 as soon as a write succeeds.",
    )
