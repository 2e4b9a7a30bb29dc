"""Server-sent events: a message when the log of a trial has grown. What has happened is not in it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from dtrbandit.errors import DTRError
from dtrbandit.service.problems import Busy, Refused
from dtrbandit.web.desk import Page
from dtrbandit.web.looks import Looks

SECONDS = 0.5  # between two looks at the version
SILENCE = 15.0  # seconds after which a comment keeps the connection open
MOST = 200  # open at a time
MOVED = b"event: moved\ndata:\n\n"

open_streams: set[asyncio.Task[object] | None] = set()


async def follow(request: Request) -> Response:
    """Tell a page when to look again, until it leaves. A site is told nothing: what others do is a count."""
    page = Page(request)
    trial = await page.trial("read_head")
    if len(open_streams) >= MOST:
        raise Busy(f"{MOST} pages are being kept up to date already; this one is when it is loaded again")
    headers = {"X-Accel-Buffering": "no"}
    return StreamingResponse(_messages(page, trial["name"]), media_type="text/event-stream", headers=headers)


async def _messages(page: Page, trial: str) -> AsyncIterator[bytes]:
    looks, leaving = page.desk.looks, page.desk.service.leaving
    me = asyncio.current_task()
    open_streams.add(me)
    try:
        yield b"retry: 2000\n\n"
        version, silent = await version_of(looks, trial, None), 0.0
        while not leaving():
            await asyncio.sleep(SECONDS)
            page.require("read_head")
            found, silent = await version_of(looks, trial, version), silent + SECONDS
            if found != version:
                version, silent = found, 0.0
                yield MOVED
            elif silent >= SILENCE:
                silent = 0.0
                yield b": nothing new\n\n"
    except Refused:  # the key or the login has ended: so does this
        return
    finally:
        open_streams.discard(me)


async def version_of(looks: Looks, trial: str, before: int | None) -> int | None:
    """Return how many records there are; while the database is away, as many as before."""
    try:
        return await looks.version(trial)
    except DTRError:  # a page that asks is told
        return before


routes = [Route("/ui/trials/{trial}/events", follow)]
