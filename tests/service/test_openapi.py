"""What the service says of its endpoints."""

from __future__ import annotations

from typing import Any

from extras import needed
from serving.served import Served

needed("starlette")
needed("pydantic")

from dtrbandit.service.endpoints import ENDPOINTS, PERMISSIONS  # noqa: E402
from dtrbandit.service.openapi import described, document  # noqa: E402

OF_NAME = {each.name: each for each in ENDPOINTS}


def test_every_endpoint_of_the_table_is_described(served: Served) -> None:
    document = served.get("/openapi.json", key="").json
    described = {entry["operationId"]: entry for address in document["paths"].values() for entry in address.values()}

    assert set(described) == {*PERMISSIONS, "is_alive", "is_ready"} - {"explain_decisions"}
    for name, entry in described.items():
        if name in PERMISSIONS:
            assert entry["security"] == [{"key": []}]
    enrol = described["enroll_unit"]["requestBody"]["content"]["application/json"]["schema"]
    assert enrol["additionalProperties"] is False
    assert set(enrol["required"]) == {"unit", "context"}
    rotation = described["rotate_key"]["requestBody"]
    overlap = rotation["content"]["application/json"]["schema"]["properties"]["overlap"]
    assert (rotation["required"], overlap["default"], overlap["minimum"], overlap["maximum"]) == (False, 24.0, 0, 720.0)


def test_an_endpoint_says_its_parameters_its_replies_and_how_it_refuses() -> None:
    said = described(OF_NAME["read_log"])

    path, since, most = said["parameters"]
    assert (path["name"], path["in"], path["required"]) == ("trial", "path", True)
    assert (since["schema"]["minimum"], since["schema"]["default"]) == (0, 0)
    assert (most["schema"]["maximum"], most["required"]) == (5000, False)
    assert set(said["responses"]) == {"200", "4XX", "503"}
    assert set(said["responses"]["4XX"]["content"]) == {"application/problem+json"}
    assert "requestBody" not in said


def test_ids_with_slashes_are_plain_parameters() -> None:
    assert "/trials/{trial}/units/{unit}/outcome" in document()["paths"]


def test_every_reference_leads_to_a_schema() -> None:
    def references(value: Any) -> set[str]:
        if isinstance(value, dict):
            own = {value["$ref"]} if "$ref" in value else set()
            return own.union(*map(references, value.values()))
        return set().union(*map(references, value)) if isinstance(value, list) else set()

    schemas = document()["components"]["schemas"]

    found = references(document())
    assert "#/components/schemas/Problem" in found
    assert {each.removeprefix("#/components/schemas/") for each in found} <= set(schemas)
