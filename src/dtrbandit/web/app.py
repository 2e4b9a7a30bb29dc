"""The pages of a service, under ``/ui``: their routes, the headers that guard them, and what is wrong as a page."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dtrbandit.errors import DTRError
from dtrbandit.service.app import refused_of
from dtrbandit.service.problems import Refused
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
    """The pages of a service.

    Parameters
    ----------
    endpoints
        The application that has the endpoints, which pages ask.
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
        self._work = work
        self.dashboard = Dashboard(service, endpoints, TrialCache(service), Logins(secret), secure, guests or {})
        routes = [*entry_routes.routes, *stream.routes, *bedside_routes.routes, *reader_routes.routes]
        self.app = Starlette(routes=routes, exception_handlers=_HANDLERS)
        self.app.router.redirect_slashes = False

    def lifespan(self) -> AbstractAsyncContextManager[None]:
        """Let the work go on while the service runs."""
        return nullcontext() if self._work is None else self._work()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request for a page."""
        scope["dashboard"] = self.dashboard

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                own = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
                message["headers"] = [*message.get("headers", []), *own]
            await send(message)

        await self.app(scope, receive, guarded)


# -- what is wrong, as a page ------------------------------------------------------------------------------------


async def _show_problem(request: Request, error: Exception) -> Response:
    if isinstance(error, Declined):
        status, document = error.status, error.document
    else:
        refused = refused_of(error, request.scope)
        if isinstance(error, HTTPException):
            refused.detail = "there is no such page"
        status, document = refused.status, refused.document()
    if status == 401 and request.method == "GET":
        return go_to("/ui/login")
    response = rendered(request.scope["dashboard"], "problem.html", status, problem=document)
    response.headers.update(getattr(error, "headers", None) or {})  # Allow, Retry-After
    return response


async def _no_answer(_: Request, __: Exception) -> Response:
    return Response(status_code=400)  # which nobody reads


_HANDLERS: dict[Any, Any] = {
    **dict.fromkeys((Refused, DTRError, Declined, HTTPException, Exception), _show_problem),
    ClientDisconnect: _no_answer,
}
