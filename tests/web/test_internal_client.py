"""Calls from a page to the endpoints: as whoever is logged in would make them."""

from __future__ import annotations

import asyncio
import json
from datetime import UTC, datetime
from typing import Any

import pytest

from extras import needed

for module in ("starlette", "jinja2", "uvicorn"):
    needed(module)

from dtrbandit.service.app import Application  # noqa: E402
from dtrbandit.service.key_store import first_key  # noqa: E402
from dtrbandit.service.service import Service  # noqa: E402
from dtrbandit.web.internal_client import Declined, InternalClient  # noqa: E402
from serving.served import TRIAL  # noqa: E402


def asked(*calls: tuple[Any, ...], key_id: str | None = None) -> list[Any]:
    """Return what a new service answers to some calls, one after the other; a refusal is its status."""

    async def ask() -> list[Any]:
        service = Service("memory://")
        await service.start()
        try:
            own = first_key(service.store, now=datetime.now(UTC))
            await service.read_keys()
            assert own is not None
            found: list[Any] = []
            app = Application(service)
            while not service.ready:
                await asyncio.sleep(0.01)
            for method, path, how in calls:
                try:
                    found.append(await InternalClient(app, key_id or own.row.id).entries(method, path, **how))
                except Declined as error:
                    found.append((error.status, error.document["title"]))
            return found
        finally:
            await service.stop()

    return asyncio.run(ask())


CREATE = ("POST", "/trials", {"body": {"name": "pilot", **TRIAL}})


def test_an_endpoint_is_asked_and_answers() -> None:
    created, listed, unit = asked(
        CREATE,
        ("GET", "/trials", {}),
        ("POST", "/trials/pilot/units", {"body": {"unit": "a/b", "context": {"x": 1.0}}}),
    )

    assert created["phase"] == "rehearsal"
    assert listed == {"trials": ["pilot"]}
    assert unit["unit"] == "a/b"


def test_a_refusal_is_the_problem_document() -> None:
    (refused,) = asked(("GET", "/trials/none", {}))

    assert refused == (404, "There is no such thing")


def test_the_key_decides() -> None:
    (refused,) = asked(("GET", "/trials", {}), key_id="000000000000")

    assert refused == (401, "No valid key")


def test_the_same_key_of_a_form_acts_once() -> None:
    send = ("POST", "/trials/pilot/units", {"body": {"unit": "u1", "context": {"x": 1.0}}, "once": "form-1"})
    other = ("POST", "/trials/pilot/units", {"body": {"unit": "u2", "context": {"x": 1.0}}, "once": "form-1"})

    _, first, again, refused, head = asked(CREATE, send, send, other, ("GET", "/trials/pilot/head", {}))

    assert first == again
    assert refused[0] == 409
    assert head["sequence"] == 3


def test_a_query_is_sent() -> None:
    _, units = asked(CREATE, ("GET", "/trials/pilot/units", {"query": "overdue=true"}))

    assert json.dumps(units) == '{"units": []}'


@pytest.mark.parametrize("path", ["/trials/pilot/units/\x00", "/trials/../keys/x", "/trials/pilot/units/%2e%2e"])
def test_strange_addresses_are_refused_not_followed(path: str) -> None:
    _, refused = asked(CREATE, ("GET", path, {}))

    assert refused[0] in (404, 405)
