"""The application: every request is routed, answered and counted here; what is wrong becomes a problem document."""

from __future__ import annotations

import json
import logging
import time
from asyncio import CancelledError
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from typing import Protocol

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route, Router
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dtrbandit.errors import DTRError
from dtrbandit.service.call import Call
from dtrbandit.service.endpoints import ENDPOINTS, Endpoint
from dtrbandit.service.http import refusing
from dtrbandit.service.openapi import document
from dtrbandit.service.problems import MEDIA_TYPE, OF_KEYS, Refused, refusal
from dtrbandit.service.service import Service

CUT_OFF = Refused(
    "stopping",
    "the service had to stop before this was answered; whether it was recorded is not known",
    remedy="Repeat the same request in a moment: what was recorded is answered as it was.",
)
log = logging.getLogger("dtrbandit.service")


class Pages(Protocol):
    """Pages for a browser, beside the endpoints; they answer what is wrong by themselves."""

    def lifespan(self) -> AbstractAsyncContextManager[None]:
        """Do what goes on while the service runs."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request for a page."""


PagesFor = Callable[[ASGIApp, Service], Pages]  # the pages of a service, which ask these endpoints


class Application:
    """The endpoints of a service, and its pages if there are any, as an ASGI application."""

    def __init__(self, service: Service, pages: PagesFor | None = None) -> None:
        self._service = service
        self._pages = None if pages is None else pages(self, service)
        routes = [*map(_route, ENDPOINTS), Route("/openapi.json", _describe)]
        self._router = Router(routes, redirect_slashes=False, lifespan=self._lifespan)

    @asynccontextmanager
    async def _lifespan(self, _: object) -> AsyncIterator[None]:
        await self._service.start()
        try:
            async with nullcontext() if self._pages is None else self._pages.lifespan():
                yield
        finally:
            await self._service.stop()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, and count it."""
        if scope["type"] != "http":
            await self._router(scope, receive, send)
            return
        began, answer = time.perf_counter(), Answer(send)
        scope["app"], scope["service"] = self, self._service  # with an app, the router raises what it does not find
        pages = self._pages if _is_page(scope["path"]) else None
        try:
            await (pages or self._router)(scope, receive, answer.send)
        except CancelledError:  # the server stops: its time to finish is over
            if answer.status is not None:
                raise
            await refusing(CUT_OFF)(scope, receive, answer.send)
        except Exception as error:  # the edge: a client gets a document, the server's log the rest
            if answer.status is not None:
                raise
            await problem(error, scope)(scope, receive, answer.send)
        finally:
            name = "page" if pages else getattr(scope.get("endpoint"), "name", "other")
            if not (pages and scope["path"].endswith("/events")):  # which lasts as long as a page is open
                self._service.requests.count(name, answer.status or 500, time.perf_counter() - began)


def _is_page(path: str) -> bool:
    return path == "/" or f"{path}/".startswith("/ui/")


class Answer:
    """The answer to a request, as it goes out; ``status`` is None until it begins."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.status: int | None = None

    async def send(self, message: Message) -> None:
        """Pass on what goes out."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
        await self._send(message)


class Routed:
    """An endpoint as the router calls it: the caller, its parameters and body, the handler, and its answer."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.name, self._endpoint, self._permission = endpoint.name, endpoint, endpoint.permission
        self._defaults = None if endpoint.query is None else endpoint.query()  # of parameters that are left out

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        endpoint = self._endpoint
        call = Call(scope, receive, self._permission)
        call.require_no_log()
        query = call.parameters(endpoint.query) if scope["query_string"] else self._defaults
        given: list[object] = []
        if query is not None:
            given.append(query)
        if endpoint.body is None:
            await call.require_no_body()
        elif endpoint.command is None:
            given.append(await call.body(endpoint.body))
        else:
            given.append(await call.command(endpoint.command, endpoint.body))
        response = await endpoint.handler(call, *given)
        await response(scope, receive, send)


def _route(endpoint: Endpoint) -> Route:
    route = Route(endpoint.path, Routed(endpoint), methods=[endpoint.method])
    route.methods = {endpoint.method}  # Starlette would let HEAD ask what GET does
    return route


async def _describe(_: Request) -> Response:
    return Response(json.dumps(document()), media_type="application/json")


# -- what is wrong -----------------------------------------------------------------------------------------------


def problem(error: Exception, scope: Scope) -> Response:
    """Return the answer to a request that failed: a problem document."""
    if isinstance(error, ClientDisconnect):
        return Response(status_code=400)  # which nobody reads
    refused = refused_of(error, scope)
    headers = {**refused.headers, **(getattr(error, "headers", None) or {})}
    return Response(refused.body(), refused.status, headers, MEDIA_TYPE)


def refused_of(error: Exception, scope: Scope) -> Refused:
    """Return the refusal for whatever went wrong with a request."""
    if isinstance(error, Refused):
        return error
    if isinstance(error, DTRError):
        refused = refusal(error, blind="holder" in scope and scope["holder"].must_stay_blind)
        if scope["path"].startswith("/keys"):
            refused.remedy = OF_KEYS.get(refused.kind, refused.remedy)
        return refused
    if isinstance(error, HTTPException) and error.status_code == 405:
        return Refused("method", "this address does not know the method of the request; /openapi.json describes all")
    if isinstance(error, HTTPException) and error.status_code == 404:
        return Refused("not-found", "there is no such address; /openapi.json describes all of them")
    log.error("a request failed", exc_info=error)
    return Refused("internal", "something in the service failed that should not")
