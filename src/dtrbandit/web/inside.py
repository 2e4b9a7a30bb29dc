"""Calls from a page to the service's own endpoints, in the same process.

A page is a client like any other: it sends the key of whoever is logged in. So it can do and show nothing that the same
key could not ask for over HTTP.
"""

from __future__ import annotations

import json
from typing import Any

from dtrbandit.service.front import Application, Message

Entries = dict[str, Any]


class Declined(Exception):  # noqa: N818  # what the service did
    """The service answered with a problem document."""

    def __init__(self, status: int, document: Entries) -> None:
        super().__init__(document.get("detail", ""))
        self.status, self.document = status, document


async def ask(
    service: Application,
    key: str,
    method: str,
    path: str,
    *,
    body: Entries | None = None,
    query: str = "",
    once: str | None = None,
) -> bytes:
    """Return what an endpoint answers; raises Declined with what it refuses with.

    ``once`` is an idempotency key.
    """
    headers = [(b"authorization", b"Bearer " + key.encode()), (b"host", b"inside")]
    if once is not None:
        headers.append((b"idempotency-key", once.encode("ascii", "replace")))
    content = b"" if body is None else json.dumps(body).encode()
    scope: Message = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(errors="surrogatepass"),
        "root_path": "",
        "query_string": query.encode(),
        "headers": [*headers, (b"content-length", str(len(content)).encode())],
        "client": None,
        "server": None,
    }
    status, answer = await _exchange(service, scope, content)
    if status >= 400:
        raise Declined(status, json.loads(answer) if answer else {"title": "The service did not answer"})
    return answer


async def entries(service: Application, key: str, method: str, path: str, **how: Any) -> Entries:
    """Return what an endpoint answers in JSON."""
    found: Entries = json.loads(await ask(service, key, method, path, **how))
    return found


async def _exchange(service: Application, scope: Message, content: bytes) -> tuple[int, bytes]:
    status, parts = 500, list[bytes]()

    async def receive() -> Message:
        return {"type": "http.request", "body": content, "more_body": False}

    async def send(message: Message) -> None:
        nonlocal status
        if message["type"] == "http.response.start":
            status = message["status"]
        else:
            parts.append(message.get("body", b""))

    await service(scope, receive, send)
    return status, b"".join(parts)
