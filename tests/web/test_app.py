"""Pages in front of the endpoints: headers, refusals, and endpoints that stay as they are."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, MutableMapping
from typing import Any

import pytest

from dtrbandit.errors import LogError
from extras import needed
from serving.served import Served
from serving.surfer import Surfer

for module in ("starlette", "jinja2", "uvicorn"):
    needed(module)

from starlette.requests import Request  # noqa: E402
from starlette.responses import Response  # noqa: E402
from starlette.routing import Route  # noqa: E402

from dtrbandit.service.app import Application  # noqa: E402
from dtrbandit.service.keys import Holder, Role  # noqa: E402
from dtrbandit.service.service import Service  # noqa: E402
from dtrbandit.web.app import HEADERS, POLICY, Pages  # noqa: E402


@pytest.mark.parametrize("path", ["/", "/ui/login", "/ui/trials", "/ui/nothing", "/ui/static/dashboard.js"])
def test_every_page_is_guarded(served: Served, path: str) -> None:
    shown = Surfer(served).send("GET", path)

    for name, value in HEADERS.items():
        assert [found for header, found in shown.headers if header == name] == [value]


def test_the_policy_allows_nothing_inline_and_nothing_from_elsewhere() -> None:
    assert "unsafe" not in POLICY
    assert "data:" not in POLICY
    assert "*" not in POLICY
    for rule in ("default-src 'none'", "frame-ancestors 'none'", "base-uri 'none'", "form-action 'self'"):
        assert rule in POLICY


def test_endpoints_are_what_they_were(served: Served, trial: str) -> None:
    answer = served.get(f"/trials/{trial}")

    assert answer.json["name"] == trial
    assert "content-security-policy" not in answer.headers
    assert served.get("/uix").status == 404


def test_a_page_is_not_an_endpoint_with_another_door(served: Served, trial: str, keys: dict[str, str]) -> None:
    """A key in a header opens endpoints; a cookie opens pages. Neither opens the other."""
    by_header = served.get(f"/ui/trials/{trial}", key=keys["statistician"])
    surfer = Surfer(served)
    surfer.log_in(keys["statistician"])

    assert by_header.headers["location"] == "/ui/login"
    assert surfer.send("GET", f"/trials/{trial}").status == 401


@pytest.mark.parametrize(("role", "blind"), [(Role.SITE, True), (Role.AUDITOR, False)])
def test_a_page_for_a_site_does_not_say_what_an_error_tells_of_the_log(role: Role, blind: bool) -> None:
    service = Service("memory://")
    pages = Pages(Application(service), service, secret=b"secret")

    async def fails(request: Request) -> Response:
        request.scope["holder"] = Holder("0" * 12, role, "somebody")
        raise LogError("record 4711 of log 2 is missing")

    shown = asyncio.run(_body(pages, Route("/ui/fails", fails)))

    assert (b"4711" in shown) is not blind
    assert b"The log cannot be continued" in shown


async def _body(pages: Pages, route: Route) -> bytes:
    """Return what an additional page shows."""
    parts: list[bytes] = []

    async def send(message: MutableMapping[str, Any]) -> None:
        parts.append(message.get("body", b""))

    async def receive() -> MutableMapping[str, Any]:
        return {"type": "http.request"}

    pages.app.router.routes.append(route)
    scope = {"type": "http", "method": "GET", "path": route.path, "headers": [], "query_string": b""}
    await pages(scope, receive, send)
    return b"".join(parts)


def test_a_page_that_does_not_know_a_method_names_those_that_it_knows(served: Served) -> None:
    shown = Surfer(served).send("PUT", "/ui/trials")

    assert (shown.status, {*shown.header("allow").split(", ")}) == (405, {"GET", "HEAD"})


@pytest.mark.parametrize(("path", "status"), [("/ui/nothing", 404), ("/ui/trials/a/b/c", 404)])
def test_an_address_that_is_not_there_is_a_page_too(somebody: Callable[[str], Surfer], path: str, status: int) -> None:
    shown = somebody("auditor").get(path)

    assert shown.status == status
    assert "Back to the beginning" in shown.text


def test_another_method_is_refused(served: Served) -> None:
    assert Surfer(served).send("POST", "/ui/trials").status == 405
    assert Surfer(served).send("GET", "/ui/logout").status == 405


@pytest.mark.parametrize("body", [b"x" * (64 * 1024 + 1), b"a=1&a=2", b"%FF=1", b"\xff"])
def test_a_body_that_cannot_be_a_form_is_refused(served: Served, trial: str, body: bytes, keys: dict[str, str]) -> None:
    surfer = Surfer(served)
    surfer.log_in(keys["site"])

    assert surfer.send("POST", f"/ui/trials/{trial}/enrol", body).status in (400, 403, 413)
    assert served.records(f"/trials/{trial}") == 1


def test_behind_tls_cookies_travel_by_tls_alone() -> None:
    service = Service("memory://")

    assert Pages(Application(service), service, secret=b"s", secure=True).dashboard.cookie == "__Host-dtrbandit"


def test_pages_are_counted(served: Served, somebody: Callable[[str], Surfer]) -> None:
    somebody("auditor").get("/ui/trials")

    assert 'dtrbandit_requests_total{endpoint="page",status="200"}' in served.get("/metrics").body.decode()
