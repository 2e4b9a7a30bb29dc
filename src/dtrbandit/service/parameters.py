"""What a request may say beside its address: parameters and a body that its endpoint knows, and for which log it is."""

from __future__ import annotations

from fastapi import Request
from fastapi.routing import APIRoute

from dtrbandit.design.values import shown
from dtrbandit.service.body import read_body
from dtrbandit.service.problems import Refused

LOG_HEADER = "dtrbandit-log"  # the log that a request is meant for


async def require_known(request: Request) -> None:
    """Refuse what nobody would read: unknown parameters, or two of one name, a body, the name of a log."""
    route = request.scope["route"]
    assert isinstance(route, APIRoute)
    known = [field.alias for field in route.dependant.query_params]
    asked = [name for name, _ in request.query_params.multi_items()]
    for name in asked:
        if name not in known:
            raise Refused("parameters", f"the address has the parameter {shown(name)}; {_allowed(known)}")
        if asked.count(name) > 1:
            raise Refused("parameters", f"the address has the parameter {shown(name)} {asked.count(name)} times")
    if request.method == "POST" and "trial" not in request.path_params and LOG_HEADER in request.headers:
        remedy = "Leave the header out; it is for requests about a trial that is there. Nothing was changed."
        raise Refused("bad-request", "the request has Dtrbandit-Log, and it writes to no log of a trial", remedy=remedy)
    if "requestBody" not in (route.openapi_extra or {}) and await _says_something(request):
        remedy = "Leave the body out; /openapi.json says what this address takes. Nothing was changed."
        raise Refused("bad-request", "the request has a body, and this address takes none", remedy=remedy)


def _allowed(known: list[str]) -> str:
    return f"it may have {', '.join(known)}" if known else "it may have none"


async def _says_something(request: Request) -> bool:
    """Say whether a request has a body with anything in it: an empty object asks for nothing."""
    if request.headers.get("content-length", "0") == "0" and "transfer-encoding" not in request.headers:
        return False
    return (await read_body(request.receive)).strip() not in (b"", b"{}")
