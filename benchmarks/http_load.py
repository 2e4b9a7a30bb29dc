"""Many connections that each send a request, wait for the answer, and send the next: the load of the benchmarks."""

from __future__ import annotations

import asyncio
import json
import time
from array import array
from collections.abc import Iterator, Mapping
from typing import NamedTuple


class Load(NamedTuple):
    """What came back: nanoseconds of each answer, how many had which status, and seconds in all."""

    took: array[int]
    statuses: Mapping[int, int]
    seconds: float


class Sender(asyncio.Protocol):
    """One connection."""

    def __init__(self, requests: Iterator[bytes], took: array[int], statuses: dict[int, int]) -> None:
        self._requests, self._took, self._statuses = requests, took, statuses
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._rest = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Send the first request."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._send()

    def _send(self) -> None:
        request = next(self._requests, None)
        if request is None:
            self._transport.close()
            return
        self._sent = time.perf_counter_ns()
        self._transport.write(request)

    def data_received(self, data: bytes) -> None:
        """Take an answer, once it is whole, and send the next request."""
        self._rest += data
        head, found, body = self._rest.partition(b"\r\n\r\n")
        if not found or len(body) < int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0]):
            return
        self._took.append(time.perf_counter_ns() - self._sent)
        status = int(head[9:12])
        self._statuses[status] = self._statuses.get(status, 0) + 1
        self._rest = b""
        self._send()

    def connection_lost(self, exc: Exception | None) -> None:
        """End; a connection that broke is an error of the run."""
        if exc is None:
            self.done.set_result(None)
        else:
            self.done.set_exception(exc)


def drive(host: str, port: int, requests: Iterator[bytes], *, connections: int) -> Load:
    """Send requests over so many connections until there are none left."""
    took: array[int] = array("q")
    statuses: dict[int, int] = {}

    async def run() -> None:
        loop = asyncio.get_running_loop()
        senders = [
            await loop.create_connection(lambda: Sender(requests, took, statuses), host, port)
            for _ in range(connections)
        ]
        await asyncio.gather(*(sender.done for _, sender in senders))

    began = time.perf_counter()
    asyncio.run(run())
    return Load(took, statuses, time.perf_counter() - began)


def request(method: str, path: str, key: str, body: object = None, *, idempotency_key: str | None = None) -> bytes:
    """Return the bytes of a request."""
    content = b"" if body is None else json.dumps(body).encode()
    kind = "Content-Type: application/json\r\n" if content else ""
    keyed = f"Idempotency-Key: {idempotency_key}\r\n" if idempotency_key else ""
    head = f"{method} {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {key}\r\n{keyed}{kind}"
    return f"{head}Content-Length: {len(content)}\r\n\r\n".encode() + content
