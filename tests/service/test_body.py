"""Bodies that are too large, too slow or never whole (F9)."""

from __future__ import annotations

import asyncio
from collections.abc import MutableMapping
from typing import Any

import pytest

from dtrbandit.service.body import Gone, Receive, read_body
from dtrbandit.service.problems import Refused


def sent(*parts: bytes, then: str | None = None) -> Receive:
    """Return a connection on which these parts come, and then nothing more, or a disconnect."""
    messages = [{"type": "http.request", "body": part, "more_body": True} for part in parts]
    if then is None:
        messages[-1]["more_body"] = False
    else:
        messages.append({"type": then})

    async def receive() -> MutableMapping[str, Any]:
        if messages:
            return messages.pop(0)
        await asyncio.Event().wait()
        raise AssertionError

    return receive


def read(receive: Receive, **limits: Any) -> bytes:
    return asyncio.run(read_body(receive, **limits))


@pytest.mark.parametrize("parts", [(b"whole",), (b"wh", b"", b"ole"), (b"whole", b"")])
def test_a_body_is_read_in_however_many_parts(parts: tuple[bytes, ...]) -> None:
    assert read(sent(*parts)) == b"whole"


def test_a_request_without_a_body_has_an_empty_one() -> None:
    assert read(sent(b"")) == b""


@pytest.mark.parametrize("parts", [(b"x" * 11,), (b"x" * 10, b"x"), (b"x",) * 11])
def test_one_byte_too_many_is_refused(parts: tuple[bytes, ...]) -> None:
    with pytest.raises(Refused, match="more than 10 bytes") as refused:
        read(sent(*parts), most=10)

    assert refused.value.status == 413


def test_no_more_is_read_after_one_byte_too_many() -> None:
    receive = sent(b"x" * 11, b"never read")

    with pytest.raises(Refused):
        read(receive, most=10)

    assert asyncio.run(receive_once(receive)) == b"never read"


async def receive_once(receive: Receive) -> object:
    return (await receive())["body"]


def test_a_body_that_stops_coming_is_refused() -> None:
    async def slow() -> MutableMapping[str, Any]:
        await asyncio.Event().wait()
        raise AssertionError

    with pytest.raises(Refused, match="seconds") as refused:
        read(slow, seconds=0.01)

    assert refused.value.status == 408


def test_a_client_that_left_gets_no_answer() -> None:
    with pytest.raises(Gone):
        read(sent(b"half", then="http.disconnect"))
