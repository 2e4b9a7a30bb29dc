"""The application as a whole: what it says of itself, and whatever a machine may think of sending (F19)."""

from __future__ import annotations

import asyncio
from collections.abc import MutableMapping
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from extras import needed
from serving.served import Served

needed("starlette")
needed("pydantic")

from dtrbandit.service.app import Application, problem  # noqa: E402
from dtrbandit.service.keys import Role  # noqa: E402
from dtrbandit.service.metrics import of_requests  # noqa: E402
from dtrbandit.service.service import Service  # noqa: E402

MAKING_KEYS = ("create_key", "revoke_key", "rotate_key")  # which other tests hold
FEW = settings(
    max_examples=6,  # of each endpoint and role; benchmarks/soak_http.py tries more
    derandomize=True,
    database=None,
    deadline=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)


def routed(service: Service, method: str, path: str) -> tuple[str | None, int, dict[str, str]]:
    """Return the endpoint that a request without a key comes to, the status of its answer, and its headers."""
    answer: dict[str, Any] = {}

    async def receive() -> MutableMapping[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: MutableMapping[str, Any]) -> None:
        answer.update(message)

    scope: dict[str, Any] = {"type": "http", "method": method, "path": path, "query_string": b"", "headers": []}
    asyncio.run(Application(service)(scope, receive, send))
    headers = {name.decode(): value.decode() for name, value in answer["headers"]}
    return getattr(scope.get("endpoint"), "name", None), answer["status"], headers


@pytest.mark.parametrize(
    ("method", "path", "name"),
    [
        ("POST", "/trials/t/units", "enroll_unit"),
        ("GET", "/trials/t/units", "list_units"),
        ("POST", "/trials/t/units/u/responses", "record_response"),
        ("POST", "/trials/t/units/a/b/outcome", "record_outcome"),
        ("POST", "/trials/t/units/outcome/outcome", "record_outcome"),
        ("GET", "/trials/t/units/a/b", "show_unit"),
        ("GET", "/trials/t/units/u/outcome", "show_unit"),
        ("GET", "/trials/t/units/", "show_unit"),
        ("GET", "/keys/events", "read_key_events"),
    ],
)
def test_a_request_comes_to_its_endpoint_also_if_ids_have_slashes(method: str, path: str, name: str) -> None:
    assert routed(Service("memory://"), method, path)[:2] == (name, 401)


@pytest.mark.parametrize("method", ["PUT", "HEAD", "OPTIONS"])
def test_a_method_that_is_not_there_is_told_which_is(method: str) -> None:
    _, status, headers = routed(Service("memory://"), method, "/trials/t/head")

    assert (status, headers["allow"]) == (405, "GET")


def test_a_failure_is_a_document_and_a_line_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    response = problem(ZeroDivisionError("a secret"), {"path": "/trials"})

    assert response.status_code == 500
    assert b"secret" not in response.body
    assert "a request failed" in caplog.text


def test_every_request_is_counted_once_under_its_endpoint() -> None:
    service = Service("memory://")

    for path in ("/live", "/trials", "/nowhere", "/openapi.json"):
        routed(service, "GET", path)

    counted = {
        line.rpartition("{")[2] for line in of_requests(service.requests) if line.startswith("dtrbandit_requests_")
    }
    assert counted == {
        'endpoint="is_alive",status="200"} 1.0',
        'endpoint="list_trials",status="401"} 1.0',
        'endpoint="other",status="404"} 1.0',
        'endpoint="other",status="200"} 1.0',
    }


def test_addresses_and_methods_that_are_not_there_are_problems(served: Served) -> None:
    for method, path, status in (
        ("GET", "/nowhere", 404),
        ("DELETE", "/trials", 405),
        ("PUT", "/trials/x/units", 405),
        ("GET", "/docs", 404),
        ("GET", "/trials/", 404),
    ):
        answer = served.send(method, path)
        assert answer.status == status, path
        assert answer.headers["content-type"] == "application/problem+json"


def test_a_refusal_about_a_key_says_where_keys_are_listed(served: Served) -> None:
    old = served.post("/keys", {"role": "auditor", "label": "inspector"}).json["id"]
    served.post(f"/keys/{old}/revocation", None)

    again, unknown = (served.post(f"/keys/{name}/rotation", None) for name in (old, "unknown"))

    assert (again.status, unknown.status) == (409, 404)
    assert again.json["remedy"] == "Look at the key: GET /keys lists them all. Nothing was changed."
    assert "GET /keys lists the keys" in unknown.json["remedy"]


def test_nothing_tells_what_serves_it(served: Served) -> None:
    assert "server" not in served.get("/live").headers


@pytest.mark.parametrize("role", list(Role))
def test_whatever_is_sent_is_never_a_failure(served: Served, trial: str, keys: dict[str, str], role: Role) -> None:
    schemathesis = needed("schemathesis")
    schema = schemathesis.openapi.from_dict(served.get("/openapi.json").json)
    name, headers = trial.removeprefix("/trials/"), {"Authorization": f"Bearer {keys[role]}"}

    def check(case: Any) -> None:
        case.path_parameters = {**(case.path_parameters or {}), "trial": name}
        answer = case.call(base_url=f"http://127.0.0.1:{served.port}", headers=headers)
        assert answer.status_code < 500, (case, answer.content)

    for found in schema.get_all_operations():
        operation = found.ok()
        if operation.definition.raw.get("operationId") not in MAKING_KEYS:
            drawn: Any = given(operation.as_strategy())
            FEW(drawn(lambda case: check(case)))()
