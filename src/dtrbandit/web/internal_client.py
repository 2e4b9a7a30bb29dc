"""Calls from a page to the service's own endpoints, in the same process.

A page is a client like any other: it asks as whoever is logged in. So it can do and show nothing that the same key
could not ask for over HTTP.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from starlette.types import ASGIApp, Message, Scope

from dtrbandit.service.call import LOG_HEADER

Entries = dict[str, Any]


class Declined(Exception):  # noqa: N818  # what the service did
    """The service answered with a problem document."""

    def __init__(self, status: int, document: Entries) -> None:
        super().__init__(document.get("detail", ""))
        self.status, self.document = status, document

    @property
    def kind(self) -> str:
        """The kind of the problem, as ``service.problems`` names it."""
        return str(self.document.get("type", "")).rpartition(":")[2]


@dataclass(frozen=True)
class InternalClient:
    """Whoever asks the endpoints of a service, by the id of a key that was shown before.

    ``origin`` is the scope of the request for the page: where that came from counts, as far as addresses do.
    """

    endpoints: ASGIApp
    key_id: str
    origin: Mapping[str, Any] = field(default_factory=dict)

    async def ask(
        self,
        method: str,
        path: str,
        *,
        body: Entries | None = None,
        query: str = "",
        once: str | None = None,
        log: str | None = None,
    ) -> bytes:
        """Return what an endpoint answers; raises Declined with what it refuses with.

        ``once`` is an idempotency key, ``log`` the log that the request is meant for.
        """
        content = b"" if body is None else json.dumps(body).encode()
        scope: Scope = {
            "type": "http",
            "method": method,
            "path": path,
            "query_string": query.encode(),
            "headers": [*self._headers(once, log), (b"content-length", str(len(content)).encode())],
            "client": self.origin.get("client"),
            "key_id": self.key_id,
        }
        status, answer = await _exchange(self.endpoints, scope, content)
        if status >= 400:
            raise Declined(status, json.loads(answer) if answer else {"title": "The service did not answer"})
        return answer

    async def entries(self, method: str, path: str, **how: Any) -> Entries:
        """Return what an endpoint answers in JSON."""
        found: Entries = json.loads(await self.ask(method, path, **how))
        return found

    def _headers(self, once: str | None, log: str | None) -> Iterator[tuple[bytes, bytes]]:
        yield b"host", b"inside"
        yield b"content-type", b"application/json"
        if once is not None:
            yield b"idempotency-key", once.encode("ascii", "replace")
        if log is not None:
            yield LOG_HEADER, log.encode("ascii", "replace")
        yield from (each for each in self.origin.get("headers", ()) if each[0] == b"x-forwarded-for")


async def _exchange(service: ASGIApp, scope: Scope, content: bytes) -> tuple[int, bytes]:
    status, chunks = 500, list[bytes]()

    async def receive() -> Message:
        return {"type": "http.request", "body": content, "more_body": False}

    async def send(message: Message) -> None:
        nonlocal status
        if message["type"] == "http.response.start":
            status = message["status"]
        else:
            chunks.append(message.get("body", b""))

    await service(scope, receive, send)
    return status, b"".join(chunks)
