"""The application with its pages: they stand in front of the service's endpoints, under ``/ui``."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dtrbandit.errors import DTRError
from dtrbandit.service.app import failed
from dtrbandit.service.call import must_stay_blind
from dtrbandit.service.json_body import ClientDisconnected
from dtrbandit.service.problems import Refused, refusal
from dtrbandit.service.service import Service
from dtrbandit.web import bedside_routes, entry_routes, reader_routes, stream
from dtrbandit.web.cache import TrialCache
from dtrbandit.web.internal_client import Declined
from dtrbandit.web.logins import Logins
from dtrbandit.web.page import Dashboard, go_to, rendered

POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
Work = Callable[[], AbstractAsyncContextManager[None]]


class Pages:
    """Pages in front of the endpoints of a service.

    Parameters
    ----------
    endpoints
        The application that answers everything else.
    secret
        What signs logins; the workers of a service share one.
    secure
        Whether the pages are reached by TLS: then cookies travel by TLS alone.
    guests
        Keys that a rehearsal's login page offers, by role.
    work
        What goes on while the service runs: the patients of a rehearsal.
    """

    def __init__(
        self,
        endpoints: ASGIApp,
        service: Service,
        *,
        secret: bytes,
        secure: bool = False,
        guests: Mapping[str, str] | None = None,
        work: Work | None = None,
    ) -> None:
        self._endpoints, self._service, self._work = endpoints, service, work
        self.dashboard = Dashboard(service, endpoints, TrialCache(service), Logins(secret), secure, guests or {})
        routes = [*entry_routes.routes, *stream.routes, *bedside_routes.routes, *reader_routes.routes]
        self.app = Starlette(routes=routes, exception_handlers=_HANDLERS)
        self.app.router.redirect_slashes = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request for a page; leave all others to the endpoints."""
        if scope["type"] == "lifespan" and self._work is not None:
            await self._live(scope, receive, send, self._work)
        elif scope["type"] == "http" and (scope["path"] == "/" or f"{scope['path']}/".startswith("/ui/")):
            await self._answer(scope, receive, send)
        else:
            await self._endpoints(scope, receive, send)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        began, status = time.perf_counter(), 500
        scope["service"], scope["dashboard"] = self._service, self.dashboard

        async def guarded(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                own = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
                message["headers"] = [*message.get("headers", []), *own]
            await send(message)

        try:
            await self.app(scope, receive, guarded)
        finally:
            if not scope["path"].endswith("/events"):  # which lasts as long as somebody looks
                self._service.requests.count("page", status, time.perf_counter() - began)

    async def _live(self, scope: Scope, receive: Receive, send: Send, work: Work) -> None:
        """Let the work begin once the service has started, and end before it stops."""
        async with AsyncExitStack() as going:

            async def told() -> Message:
                message = await receive()
                if message["type"] == "lifespan.shutdown":
                    await going.aclose()
                return message

            async def tell(message: Message) -> None:
                if message["type"] == "lifespan.startup.complete":
                    await going.enter_async_context(work())
                await send(message)

            await self._endpoints(scope, told, tell)


# -- what is wrong, as a page ------------------------------------------------------------------------------------


def _handler(document: Callable[[Any], tuple[int, Mapping[str, object]]]) -> Callable[..., Awaitable[Response]]:
    async def handle(request: Request, error: Exception) -> Response:
        if isinstance(error, DTRError):
            error = refusal(error, blind=must_stay_blind(request.scope))
        status, found = document(error)
        if status == 401 and request.method == "GET":
            return go_to("/ui/login")
        response = rendered(request.scope["dashboard"], "problem.html", status, problem=found)
        response.headers.update(getattr(error, "headers", None) or {})  # Allow, Retry-After
        return response

    return handle


def _of_refused(error: Refused) -> tuple[int, Mapping[str, object]]:
    return error.status, error.document()


def _of_status(error: HTTPException) -> tuple[int, Mapping[str, object]]:
    kind = "method" if error.status_code == 405 else "not-found"
    return _of_refused(Refused(kind, "there is no such page"))


async def _no_answer(_: Request, __: Exception) -> Response:
    return Response(status_code=400)  # which nobody reads


_HANDLERS: dict[Any, Any] = {
    Refused: _handler(_of_refused),
    DTRError: _handler(_of_refused),
    Declined: _handler(lambda error: (error.status, error.document)),
    HTTPException: _handler(_of_status),
    Exception: _handler(lambda error: _of_refused(failed(error))),
    ClientDisconnected: _no_answer,
}
