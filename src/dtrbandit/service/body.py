"""Reading the body of a request: no more bytes than allowed, and no longer than allowed."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from dtrbandit.service.problems import Refused

Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]

MOST_BYTES = 64 * 1024
SECONDS_TO_READ = 10.0


class Gone(Exception):  # noqa: N818  # what the client is
    """The client closed the connection before its request was whole: there is nobody to answer."""


async def read_body(receive: Receive, *, most: int = MOST_BYTES, seconds: float = SECONDS_TO_READ) -> bytes:
    """Return the body, however it is sent; what it claims about its own length counts for nothing."""
    try:
        async with asyncio.timeout(seconds):
            return await _whole(receive, most)
    except TimeoutError:
        raise Refused("slow", f"the body was not there after {seconds:g} seconds") from None


async def _whole(receive: Receive, most: int) -> bytes:
    body: bytes = b""
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Gone
        body += message.get("body", b"")
        if len(body) > most:
            raise Refused("too-large", f"the body has more than {most:,} bytes")
        if not message.get("more_body"):
            return body
