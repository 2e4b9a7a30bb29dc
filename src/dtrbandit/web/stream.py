"""Server-sent events: which phase a trial is in, and that its log has grown. What has happened is not in them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from dtrbandit.errors import DTRError
from dtrbandit.service.problems import Busy, Refused
from dtrbandit.trial import TrialState
from dtrbandit.web.cache import TrialCache
from dtrbandit.web.page import Page, banner_of

SECONDS = 0.5  # between two polls of the trial
SILENCE = 15.0  # seconds after which a comment keeps the connection open
MOST = 500  # open at a time; the service takes twice as many connections
MOVED = b"event: moved\ndata:\n\n"

open_streams: set[asyncio.Task[object] | None] = set()


async def follow(request: Request) -> Response:
    """Tell a page the phase of its trial, and when to load again, until it leaves.

    A site hears the phase alone: when a log grows is a count of what others do.
    """
    page = Page(request)
    trial = await page.trial("show_trial")
    if len(open_streams) >= MOST:
        raise Busy(f"{MOST} pages are being kept up to date already; this one is when it is loaded again")
    headers = {"X-Accel-Buffering": "no"}
    return StreamingResponse(_event_stream(page, trial["name"]), media_type="text/event-stream", headers=headers)


async def _event_stream(page: Page, trial: str) -> AsyncIterator[bytes]:
    cache, leaving = page.dashboard.cache, page.dashboard.service.leaving
    me = asyncio.current_task()
    open_streams.add(me)
    try:
        yield b"retry: 2000\n\n"
        known, silent = None, 0.0
        while not leaving():
            page.require("show_trial")
            state, silent = await state_of(cache, trial, known), silent + SECONDS
            for message in messages(known, state, simulated=bool(page.dashboard.guests), grows=page.may("read_head")):
                silent = 0.0
                yield message
            known = state
            if silent >= SILENCE:
                silent = 0.0
                yield b": nothing new\n\n"
            await asyncio.sleep(SECONDS)
    except Refused:  # the key or the login has ended: so does this
        return
    finally:
        open_streams.discard(me)


def messages(known: TrialState | None, state: TrialState | None, *, simulated: bool, grows: bool) -> Iterator[bytes]:
    """Give the messages for whoever knows one state and is now to know another. ``grows``: also that the log has grown.

    The first state is sent too: the trial may have been locked after the page was made.
    """
    if state is None or state == known:
        return
    if known is None or (known.phase, known.log) != (state.phase, state.log):
        content = {**banner_of(state.phase, simulated=simulated)._asdict(), "log": state.log}
        yield b"event: phase\ndata: %s\n\n" % json.dumps(content).encode()
    if grows and known is not None:
        yield MOVED


async def state_of(cache: TrialCache, trial: str, known: TrialState | None) -> TrialState | None:
    """Return where a trial stands; while the database is away, what was known before."""
    try:
        return await cache.state(trial)
    except DTRError:  # a page that is loaded says so
        return known


routes = [Route("/ui/trials/{trial}/events", follow)]
