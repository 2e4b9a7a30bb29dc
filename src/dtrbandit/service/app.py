"""The application: its endpoints, what it answers when something is wrong, and what it counts."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from fastapi import Depends, FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from dtrbandit._version import __version__
from dtrbandit.design.values import shown
from dtrbandit.errors import DTRError
from dtrbandit.service import health_routes, key_routes, trial_routes, unit_routes
from dtrbandit.service.body import Gone
from dtrbandit.service.front import Front, failed, problem
from dtrbandit.service.parameters import require_known
from dtrbandit.service.problems import OF_KEYS, Refused, refusal
from dtrbandit.service.requests import must_stay_blind
from dtrbandit.service.service import Service

ABOUT = "Response-adaptive multi-stage trials: units enrol and respond, the reply is the arm to give."


def create_app(service: Service) -> Front:
    """Return the application for the trials of a service."""

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        await service.start()
        try:
            yield
        finally:
            await service.stop()

    app = FastAPI(
        title="dtrbandit",
        version=__version__,
        description=ABOUT,
        lifespan=lifespan,
        docs_url=None,  # its page would load scripts from elsewhere
        redoc_url=None,
        redirect_slashes=False,
        dependencies=[Depends(require_known)],
    )
    for routes in (health_routes, trial_routes, unit_routes, key_routes):
        app.include_router(routes.routes)
    app.openapi()["components"]["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
    _answer_errors(app)
    return Front(app, service)


def _answer_errors(app: FastAPI) -> None:
    app.add_exception_handler(DTRError, _refuse)
    kinds = {
        Refused: lambda error: error,
        RequestValidationError: _wrong_parameters,
        HTTPException: _no_such_address,
        Exception: failed,
    }
    for kind, refused in kinds.items():
        app.add_exception_handler(kind, _handler(refused))
    app.add_exception_handler(Gone, _no_answer)


def _handler(refused: Callable[[Any], Refused]) -> Callable[[Request, Exception], Awaitable[Response]]:
    async def handle(_: Request, error: Exception) -> Response:
        return problem(refused(error), getattr(error, "headers", None))

    return handle


async def _refuse(request: Request, error: Exception) -> Response:
    assert isinstance(error, DTRError)
    refused = refusal(error, blind=must_stay_blind(request))
    if request.scope["path"].startswith("/keys"):
        refused.remedy = OF_KEYS.get(refused.kind, refused.remedy)
    return problem(refused)


async def _no_answer(_: Request, __: Exception) -> Response:
    return Response(status_code=400)  # which nobody reads


def _wrong_parameters(error: RequestValidationError) -> Refused:
    wrong = [
        f"{'.'.join(map(str, each['loc']))}: {each['msg']}, found {shown(each['input'])}" for each in error.errors()
    ]
    return Refused("parameters", "; ".join(wrong))


def _no_such_address(error: HTTPException) -> Refused:
    if error.status_code == 405:
        return Refused("method", "this address does not know the method of the request; /openapi.json describes all")
    if error.status_code == 404:
        return Refused("not-found", "there is no such address; /openapi.json describes all of them")
    return Refused("bad-request", str(error.detail))
