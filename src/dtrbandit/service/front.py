"""The front of the application: it counts every request, and takes the frequent ones straight to their endpoint.

FastAPI needs three times as long to find and call an endpoint as the endpoint needs to answer. So enrolments, responses
and outcomes without parameters are called here. FastAPI describes the same functions, and calls them otherwise.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import Any

from fastapi import Request, Response

from dtrbandit.errors import DTRError
from dtrbandit.service.body import Gone, Receive
from dtrbandit.service.problems import MEDIA_TYPE, Refused, refusal
from dtrbandit.service.requests import must_stay_blind
from dtrbandit.service.service import Service
from dtrbandit.service.unit_routes import enroll_unit, record_outcome, record_response

Message = MutableMapping[str, Any]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Message, Receive, Send], Awaitable[None]]

ABOUT_A_UNIT = {"responses": record_response, "outcome": record_outcome}


log = logging.getLogger("dtrbandit.service")
Endpoint = Callable[..., Awaitable[Response]]


class Front:
    """An application in front of another one, which it calls ``inner``."""

    def __init__(self, inner: Application, service: Service) -> None:
        self._inner, self._service = inner, service

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Answer a request, or let the inner application do it, and note how it ended."""
        if scope["type"] != "http":
            await self._inner(scope, receive, send)
            return
        began, exchange = time.perf_counter(), Exchange(send)
        scope["service"] = self._service
        found = frequent(scope)
        try:
            if found is None:
                await self._inner(scope, receive, exchange.send)
            else:
                response = await answered(Request(scope, receive), *found)
                await response(scope, receive, exchange.send)
        finally:
            name = found[0].__name__ if found else getattr(scope.get("route"), "operation_id", None)
            self._service.requests.count(name or "other", exchange.status, time.perf_counter() - began)


class Exchange:
    """The answer to a request as it passes by."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.status = 500

    async def send(self, message: Message) -> None:
        """Pass on what goes out."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
        await self._send(message)


def frequent(scope: Message) -> tuple[Endpoint, dict[str, str]] | None:
    """Return the endpoint of a frequent request and what its address says; None for any other.

    Examples
    --------
    >>> asked = {"method": "POST", "path": "/trials/stard/units/u/1/outcome", "query_string": b""}
    >>> frequent(asked)[1]
    {'trial': 'stard', 'unit': 'u/1'}
    """
    if scope["method"] != "POST" or scope["query_string"]:
        return None
    parts = scope["path"].split("/", 4)
    if len(parts) < 4 or parts[0] or parts[1] != "trials" or not parts[2] or parts[3] != "units":
        return None
    if len(parts) == 4:
        return enroll_unit, {"trial": parts[2]}
    unit, _, what = parts[4].rpartition("/")
    endpoint = ABOUT_A_UNIT.get(what)
    return None if endpoint is None or not unit else (endpoint, {"trial": parts[2], "unit": unit})


async def answered(request: Request, endpoint: Endpoint, address: dict[str, str]) -> Response:
    """Return what an endpoint answers, refusals and failures included."""
    try:
        return await endpoint(request, **address)
    except Refused as error:
        return problem(error)
    except DTRError as error:
        return problem(refusal(error, blind=must_stay_blind(request)))
    except Gone:
        return Response(status_code=400)  # which nobody reads
    except Exception as error:  # noqa: BLE001  # the edge: a client gets a document, the server's log the rest
        return problem(failed(error))


def failed(error: Exception) -> Refused:
    """Return the refusal for an error that should not be, and write it to the server's log."""
    log.error("a request failed", exc_info=error)
    return Refused("internal", "something in the service failed that should not")


def problem(refused: Refused, headers: Mapping[str, str] | None = None) -> Response:
    """Return a refusal as a response."""
    return Response(refused.body(), refused.status, {**refused.headers, **(headers or {})}, MEDIA_TYPE)
