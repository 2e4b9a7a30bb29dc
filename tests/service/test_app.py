"""The application as a whole: what it says of itself, and whatever a machine may think of sending (F19)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from dtrbandit.service.roles import MAY, Role
from extras import needed
from serving.served import Served

MAKING_KEYS = ("create_key", "revoke_key", "rotate_key")  # which other tests hold
FEW = settings(
    max_examples=6,  # of each endpoint and role; benchmarks/soak_http.py tries more
    derandomize=True,
    database=None,
    deadline=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)


def test_every_endpoint_of_the_table_is_described(served: Served) -> None:
    document = served.get("/openapi.json", key="").json
    described = {entry["operationId"]: entry for address in document["paths"].values() for entry in address.values()}

    assert set(described) == {*MAY, "is_alive", "is_ready"} - {"explain_decisions"}
    for name, entry in described.items():
        if name in MAY:
            assert entry["security"] == [{"key": []}]
    enrol = described["enroll_unit"]["requestBody"]["content"]["application/json"]["schema"]
    assert enrol["additionalProperties"] is False
    assert set(enrol["required"]) == {"unit", "context"}
    rotation = described["rotate_key"]["requestBody"]
    overlap = rotation["content"]["application/json"]["schema"]["properties"]["overlap"]
    assert (rotation["required"], overlap["default"], overlap["minimum"], overlap["maximum"]) == (False, 24.0, 0, 720.0)


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
