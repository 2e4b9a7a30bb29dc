"""The front takes frequent requests to the endpoint that FastAPI would choose."""

from __future__ import annotations

import asyncio
from collections.abc import MutableMapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extras import needed

needed("fastapi")

from dtrbandit.service.app import create_app  # noqa: E402
from dtrbandit.service.front import answered, frequent  # noqa: E402
from dtrbandit.service.service import Service  # noqa: E402

APP = create_app(Service("memory://"))
SEGMENTS = st.sampled_from(["", "trials", "units", "u1", "a/b", "outcome", "responses", "void", "x"])


def asked(path: str, method: str = "POST") -> dict[str, Any]:
    headers = [(b"content-length", b"2")]
    return {"type": "http", "method": method, "path": path, "query_string": b"", "headers": headers, "root_path": ""}


def sent_to(scope: dict[str, Any]) -> str | None:
    """Return the endpoint that the inner application chooses, by its name."""

    async def receive() -> MutableMapping[str, Any]:
        return {"type": "http.request", "body": b"{}", "more_body": False}

    async def send(_: MutableMapping[str, Any]) -> None:
        return None

    scope["service"] = Service("memory://")

    async def run() -> None:
        await APP._inner(scope, receive, send)

    asyncio.run(run())
    return getattr(scope.get("route"), "operation_id", None)


@given(st.lists(SEGMENTS, min_size=1, max_size=6), st.sampled_from(["POST", "GET"]))
def test_it_chooses_as_fastapi_does(parts: list[str], method: str) -> None:
    path = "/" + "/".join(parts)

    found = frequent(asked(path, method))

    if found is not None:
        assert found[0].__name__ == sent_to(asked(path, method))


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/trials/t/units", "enroll_unit"),
        ("/trials/t/units/u/responses", "record_response"),
        ("/trials/t/units/a/b/outcome", "record_outcome"),
    ],
)
def test_the_frequent_ones_are_found(path: str, name: str) -> None:
    found = frequent(asked(path))

    assert found is not None
    assert found[0].__name__ == name


def test_whoever_sends_parameters_goes_the_usual_way() -> None:
    assert frequent({**asked("/trials/t/units"), "query_string": b"explain=true"}) is None


def test_a_failure_is_a_document_and_a_line_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    async def broken(_: object) -> None:
        raise ZeroDivisionError("a secret")

    response = asyncio.run(answered(None, broken, {}))  # type: ignore[arg-type]

    assert response.status_code == 500
    assert b"secret" not in response.body
    assert "a request failed" in caplog.text
