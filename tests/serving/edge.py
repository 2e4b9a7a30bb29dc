"""A real server in a thread, whose application notes every request that reaches it."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Callable, MutableMapping
from contextlib import suppress
from typing import Any

from starlette.types import ASGIApp, Receive

from dtrbandit.service.http import read_body
from dtrbandit.service.limits import ConnectionLimiter, Limits
from dtrbandit.service.server import Server, bound

Send = Callable[[MutableMapping[str, Any]], Any]
WITHIN = 30.0  # seconds, for whatever must happen
NEXT = b"POST /smuggled HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n"


class Edge:
    """The edge of a service. ``/early`` answers before it reads; ``/wait`` reads, and waits for ``go``.

    Another ``application`` may answer in its place.
    """

    def __init__(
        self, limits: Limits | None = None, *, behind_proxy: bool = False, application: ASGIApp | None = None
    ) -> None:
        self.begun: list[str] = []
        self.headers: list[list[tuple[bytes, bytes]]] = []
        self.read: list[bytes] = []
        self.go = threading.Event()
        place = bound("127.0.0.1", 0)
        self.port = place.getsockname()[1]
        self.server = Server(application or self._answer, ConnectionLimiter(limits, behind_proxy=behind_proxy))
        self._thread = threading.Thread(target=self.server.run, kwargs={"sockets": [place]}, daemon=True)
        self._thread.start()
        until(lambda: self.server.started)

    async def _answer(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        self.begun.append(scope["path"])
        self.headers.append(scope["headers"])
        body = b"" if scope["path"] == "/early" else await read_body(receive)
        self.read.append(body)
        while scope["path"] == "/wait" and not self.go.is_set():
            await asyncio.sleep(0.01)
        status = 404 if scope["path"] == "/early" else 200
        length = (b"content-length", str(len(body)).encode())
        await send({"type": "http.response.start", "status": status, "headers": [length]})
        await send({"type": "http.response.body", "body": body})

    def connect(self, address: str = "127.0.0.1") -> socket.socket:
        """Return a connection from an address of this machine."""
        return socket.create_connection(("127.0.0.1", self.port), WITHIN, source_address=(address, 0))

    def leave(self) -> None:
        """Ask it to stop, as SIGTERM does, and return once it refuses what is new."""
        self.server.should_exit = True
        until(lambda: self.server._limiter.leaving)

    def stop(self) -> None:
        """Stop it, and wait until it has."""
        self.go.set()
        self.server.should_exit = True
        self._thread.join(WITHIN)
        assert not self._thread.is_alive()


def asked(method: str, path: str, *headers: str) -> bytes:
    """Return the head of a request."""
    return ("\r\n".join([f"{method} {path} HTTP/1.1", "Host: x", *headers]) + "\r\n\r\n").encode()


def until(happened: Callable[[], object]) -> None:
    """Wait until something has happened."""
    ends = time.monotonic() + WITHIN
    while not happened():
        assert time.monotonic() < ends, "it did not happen"
        time.sleep(0.002)


def received(line: socket.socket) -> bytes:
    """Return all that comes until the other side closes; nothing where the connection was reset."""
    answer = b""
    with suppress(ConnectionError):
        while more := line.recv(65536):
            answer += more
    return answer


def answered(line: socket.socket) -> bytes:
    """Return one answer, whose length its head says; the connection may stay open."""
    answer = b""
    while b"\r\n\r\n" not in answer:
        more = line.recv(1)
        assert more, answer
        answer += more
    length = int(answer.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
    while length and (more := line.recv(length)):
        answer, length = answer + more, length - len(more)
    return answer


def sent(line: socket.socket, data: bytes) -> None:
    """Send, to somebody who may have closed."""
    with suppress(OSError):
        line.sendall(data)
