"""HTTP as it comes over a connection: uvicorn's fast protocol, with limits on what is no body, and checked headers.

No byte of a body is ever read as a request: a connection whose request was answered before its body had come is closed,
and so is one that offered an upgrade.
"""

from __future__ import annotations

import asyncio
from asyncio import BaseTransport, TimerHandle, Transport
from collections.abc import Callable, Iterable
from types import SimpleNamespace
from typing import Any, cast

import httptools
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.types import ASGIApp, Receive
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from dtrbandit.design.values import shown
from dtrbandit.service.limits import ConnectionLimiter, address_of
from dtrbandit.service.problems import MEDIA_TYPE, Refused

MOST_HEAD_BYTES = 32 * 1024  # of an address with its headers; clients send some hundred
MOST_DROPPED = 1024 * 1024  # bytes that are thrown away after a refusal
MOST_BYTES = 64 * 1024  # of a body
SECONDS_TO_READ = 10.0
FRAMING = b"content-length", b"transfer-encoding"
ONCE = frozenset(
    {b"host", b"authorization", b"idempotency-key", b"dtrbandit-log", b"content-type", b"content-encoding"}
)
VERSIONS = ("1.0", "1.1")
BODIES = frozenset({b"content-encoding", b"transfer-encoding"})
CLOSE = b"connection", b"close"  # which releases of uvicorn before 0.53 do not say by themselves


class HeadTooLarge(Exception):  # noqa: N818  # what a head is
    """The address and the headers of a request have more bytes than allowed."""


class LingeringTransport:
    """A transport whose closing is left to its connection: the rest of a request may be under way."""

    def __init__(self, transport: Transport, close: Callable[[], None]) -> None:
        self.write, self.is_closing, self.close = transport.write, transport.is_closing, close


class CappedHttp(HttpToolsProtocol):
    """One connection, which is closed when a head goes on for ever: uvicorn would keep all of it, and wait for it.

    It counts the bytes of a head that the parser has reported, and those that came since it last reported the end of a
    head or a part of a body. The second count finds a single header, a trailer or an extension of a chunk without end.
    """

    _head = 0
    _unreported = 0
    _begun = False  # a head, of which the end has not come
    _in_body = False
    _may_stay = False  # whether the connection may stay open, once the body has come
    _over = False  # nothing more is read
    _dropped = 0
    _admitted = False
    _turned_away = False
    _deadline: TimerHandle | None = None  # of the head that is awaited

    def __init__(self, *args: Any, limiter: ConnectionLimiter, **more: Any) -> None:
        super().__init__(*args, **more)
        self._limiter = limiter

    # -- the connection --------------------------------------------------------------------------------------

    def connection_made(self, transport: BaseTransport) -> None:
        """Take in a connection, or say that there is no room."""
        super().connection_made(cast(Transport, transport))
        self._address = address_of({"client": self.client}, behind_proxy=False)
        refused = self._limiter.enter(self._address)
        if refused is None:
            self._admitted = True
            self._watch()
        elif self._limiter.turn_away():
            self._turned_away = True
            self._refuse(refused)
        else:
            self._over = True
            self.transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """End."""
        super().connection_lost(exc)
        self._unwatch()
        if self._admitted:
            self._limiter.leave(self._address)
        if self._turned_away:
            self._limiter.forget()

    def data_received(self, data: bytes) -> None:
        """Let the parser take what came, and close the connection if it keeps too much."""
        if self._over:
            self._drop(len(data))
            return
        if self.timeout_keep_alive_task is not None:
            self.timeout_keep_alive_task.cancel()
            self.timeout_keep_alive_task = None
        self._unreported += len(data)
        self._parse(data)
        if self._unreported > MOST_HEAD_BYTES and not self._over:
            self.send_400_response("")
        if self._begun or (self._unreported and not self._in_body):
            self._watch()
        else:
            self._unwatch()

    def _parse(self, data: bytes) -> None:
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade as offer:
            self._decline(data[offer.args[0] :])
        except httptools.HttpParserError:
            self.send_400_response("")

    def _decline(self, rest: bytes) -> None:
        """Go on with HTTP/1.1. The parser takes an offer to upgrade for accepted: another one reads the body."""
        framing = b"".join(b"%s: %s\r\n" % each for each in self.headers if each[0] in FRAMING)
        self.parser = httptools.HttpRequestParser(
            SimpleNamespace(on_body=self.on_body, on_message_complete=self._complete)
        )
        self.parser.set_dangerous_leniencies(lenient_data_after_close=True)
        self._parse(b"POST / HTTP/1.1\r\nconnection: close\r\n" + framing + b"\r\n" + rest)

    # -- what the parser reports ------------------------------------------------------------------------------

    def on_message_begin(self) -> None:
        """Begin a request."""
        self._head, self._begun = 0, True
        super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        """Take a part of the address."""
        self._count(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header. A trailer comes after the headers were checked, and is thrown away."""
        self._count(len(name) + len(value) + 4)
        if not self._in_body:
            super().on_header(name, value)

    def _count(self, more: int) -> None:
        self._head += more
        if self._head > MOST_HEAD_BYTES:
            raise HeadTooLarge  # which ends the parser, so that no application sees the request

    def on_headers_complete(self) -> None:
        """Begin to answer. Until the body has come, the answer says that it is the last."""
        refused = (
            self._limiter.closed()
            if self._limiter.leaving
            else wrong_headers(self.headers, self.parser.get_http_version())
        )
        if refused is not None:
            self.app = refusing(refused)
        super().on_headers_complete()
        self.cycle.transport = cast(Transport, LingeringTransport(self.transport, self._close))
        self._unreported, self._begun, self._in_body = 0, False, True
        self._may_stay = self.cycle.keep_alive and not self.parser.should_upgrade()
        self._stay(False)

    def on_body(self, body: bytes) -> None:
        """Take a part of the body, which the application limits."""
        self._unreported = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        """End a request, unless it offers an upgrade: then its body is still to come."""
        if not self.parser.should_upgrade():
            self._complete()

    def _complete(self) -> None:
        self._unreported, self._in_body = 0, False
        self._stay(self._may_stay and not self._limiter.leaving)
        super().on_message_complete()

    def _stay(self, stays: bool) -> None:
        """Let the connection stay open after the answer under way, or close; the answer says so (CLOSE)."""
        self.cycle.keep_alive = stays
        default = self.server_state.default_headers
        self.cycle.default_headers = default if stays else [*default, CLOSE]

    # -- what is too slow, too much or no HTTP ---------------------------------------------------------------

    def _watch(self) -> None:
        if self._deadline is None and not self._over:
            self._deadline = self.loop.call_later(self._limiter.limits.seconds_for_head, self._too_slow)

    def _unwatch(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _too_slow(self) -> None:
        self._deadline = None
        if self._begun or self._unreported:
            seconds = self._limiter.limits.seconds_for_head
            self._refuse(Refused("slow", f"address and headers were not there after {seconds:g} seconds"))
        else:  # nothing came, and an answer could be taken for that of a later request
            self.transport.close()

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002  # uvicorn's words are not what a client needs
        """Say what is wrong, and close the connection."""
        if max(self._head, self._unreported) > MOST_HEAD_BYTES:
            self._refuse(Refused("headers", f"address and headers have more than {MOST_HEAD_BYTES:,} bytes"))
        else:
            self._refuse(Refused("bad-request", "what came is no request in HTTP/1.1"))

    def _refuse(self, refused: Refused) -> None:
        """Read nothing more, and answer with a refusal; requests that came whole before are answered first."""
        self._over = True
        self._unwatch()
        if self._is_answering() and not self._in_body:
            self.cycle.keep_alive = False  # a refusal would be taken for its answer
        elif self.pipeline:  # the request whose body is wrong waits there for its turn
            self.pipeline[0] = self.cycle, cast(Any, refusing(refused))
        elif self.cycle is not None and self._in_body and self.cycle.response_started:
            self.transport.close()
        else:
            self._write_refusal(refused)

    def _is_answering(self) -> bool:
        return self.cycle is not None and not (self.cycle.response_complete or self.cycle.disconnected)

    def _write_refusal(self, refused: Refused) -> None:
        """Write a refusal, and end the connection."""
        self.transport.write(as_http(refused))
        if self._is_answering():
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        self._linger()

    def _close(self) -> None:
        """End the connection after an answer; if that came before the body, so that it arrives."""
        if self._in_body and not self.transport.is_closing():
            self._over = True
            self.flow.resume_reading()
            self._linger()
        else:
            self.transport.close()

    def _linger(self) -> None:
        """Close the connection a little later: closed at once, what comes meanwhile would reset it."""
        if self.transport.can_write_eof():
            self.transport.write_eof()
        self.loop.call_later(self._limiter.limits.seconds_to_linger, self.transport.close)

    def _drop(self, size: int) -> None:
        self._dropped += size
        if self._dropped > MOST_DROPPED and not self._is_answering():
            self.transport.close()


# -- bodies -----------------------------------------------------------------------------------------------------


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
            raise ClientDisconnect
        body += message.get("body", b"")
        if len(body) > most:
            raise Refused("too-large", f"the body has more than {most:,} bytes")
        if not message.get("more_body"):
            return body


# -- headers -----------------------------------------------------------------------------------------------------


def wrong_headers(headers: Iterable[tuple[bytes, bytes]], version: str = "1.1") -> Refused | None:
    """Return what is wrong with the headers of a request; their names are in small letters. None if nothing is.

    Examples
    --------
    >>> wrong_headers([(b"host", b"trials.example.org")])
    >>> wrong_headers([(b"host", b"a"), (b"host", b"b")]).detail
    'the request has the header host twice'
    """
    if version not in VERSIONS:
        return Refused("bad-request", f"the request is in HTTP/{version}, and this service speaks HTTP/1.1")
    found = set()
    for name, value in headers:
        if name in ONCE:
            if name in found:
                remedy = f"Send {_written(name)} once; nothing was changed."
                return Refused("bad-request", f"the request has the header {name.decode()} twice", remedy=remedy)
            found.add(name)
        if name in BODIES and (refused := _wrong_encoding(name, value.strip().lower(), version)):
            return refused
    if b"host" not in found and version != "1.0":
        remedy = "Send Host with the name in the address; HTTP/1.1 needs it. Nothing was changed."
        return Refused("bad-request", "the request has no header host", remedy=remedy)
    return None


def _wrong_encoding(name: bytes, value: bytes, version: str) -> Refused | None:
    if name == b"transfer-encoding" and version == "1.0":
        return Refused("bad-request", "the request is in HTTP/1.0, which has no Transfer-Encoding")
    if value == (b"chunked" if name == b"transfer-encoding" else b"identity"):
        return None
    found = f"{_written(name)} is {shown(value.decode('latin-1'))}"
    return Refused("media-type", f"{found}; a body is read as it is", remedy="Send the body as it is, not compressed.")


def _written(name: bytes) -> str:
    return name.decode().title()


# -- refusals ----------------------------------------------------------------------------------------------------


def refusing(refused: Refused) -> ASGIApp:
    """Return an application that refuses a request."""
    return Response(refused.body(), refused.status, {**refused.headers, "connection": "close"}, MEDIA_TYPE)


def as_http(refused: Refused) -> bytes:
    """Return a refusal as it goes over a connection, which it ends."""
    body = refused.body()
    head = f"HTTP/1.1 {refused.status} Refused\r\ncontent-type: {MEDIA_TYPE}\r\ncontent-length: {len(body)}\r\n"
    more = "".join(f"{name.lower()}: {value}\r\n" for name, value in refused.headers.items())
    return f"{head}{more}connection: close\r\n\r\n".encode() + body
