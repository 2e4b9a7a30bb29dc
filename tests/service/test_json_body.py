"""Bodies that are too large, too slow or never whole (F9), and what a body may say (F7)."""

from __future__ import annotations

import asyncio
import json
from collections.abc import MutableMapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extras import needed

needed("pydantic")

from dtrbandit.service.json_body import (  # noqa: E402
    DEEPEST,
    ClientDisconnected,
    NotStrict,
    Receive,
    read_body,
    require_json,
    strict_json,
)
from dtrbandit.service.problems import Refused  # noqa: E402

# -- bytes -------------------------------------------------------------------------------------------------------


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
    with pytest.raises(ClientDisconnected):
        read(sent(b"half", then="http.disconnect"))


# -- content -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("said", [None, "application/json", "Application/JSON;charset=UTF-8", "application/json ;"])
def test_a_body_may_say_that_it_is_json_or_nothing(said: str | None) -> None:
    require_json(said)


@pytest.mark.parametrize("said", ["", "text/plain", "application/x-www-form-urlencoded", "application/json; charset=x"])
def test_a_body_that_says_it_is_something_else_is_refused(said: str) -> None:
    with pytest.raises(Refused, match="Content-Type is") as refused:
        require_json(said)

    assert refused.value.status == 415
    assert "--json" in refused.value.remedy


REFUSED = {
    "a byte order mark": (b'\xef\xbb\xbf{"x":1}', "byte order mark"),
    "bad UTF-8": (b'{"x":"\xff"}', "UTF-8"),
    "UTF-16": ('{"x":1}'.encode("utf-16"), "UTF-8"),
    "a surrogate in UTF-8": (b'{"x":"\xed\xa0\x80"}', "UTF-8"),
    "half a pair": (b'{"x":"\\ud800"}', "surrogate"),
    "half a pair in a key": (b'{"\\udc00":1}', "surrogate"),
    "NaN": (b'{"x":NaN}', "NaN"),
    "Infinity": (b'{"x":Infinity}', "Infinity"),
    "minus Infinity": (b'{"x":-Infinity}', "-Infinity"),
    "1e400": (b'{"x":1e400}', "1e400"),
    "1e-400": (b'{"x":1e-400}', "1e-400, which is so small"),
    "a small number without an exponent": (b'{"x":-0.' + b"0" * 400 + b"1}", "would be read as 0"),
    "an integer beyond 2**53": (b'{"x":9007199254740993}', "2**53"),
    "an integer below -2**53": (b'{"x":-9007199254740993}', "2**53"),
    "an integer of many digits": (b'{"x":' + b"9" * 10_000 + b"}", "2**53"),
    "a key twice": (b'{"x":1,"x":1}', "'x' twice"),
    "a key twice, written otherwise": (b'{"x":1,"\\u0078":1}', "'x' twice"),
    "a key twice further in": (b'{"a":[{"x":1,"x":2}]}', "'x' twice"),
    "nesting": (b"[" * 10**5 + b"]" * 10**5, "nested"),
    "nesting in objects": (b'{"a":' * 10**5 + b"1" + b"}" * 10**5, "nested"),
    "nesting that never ends": (b"[" * 10**5, "nested"),
    "a text that never ends": (b'{"x":"' + b"x" * 100, "not JSON"),
    "nothing": (b"", "not JSON"),
    "two documents": (b"{}{}", "not JSON"),
    "a comment": (b"{} // unit", "not JSON"),
    "a control character": (b'{"x":"\n"}', "not JSON"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_it_is_refused_with_what_was_found(case: str) -> None:
    body, word = REFUSED[case]

    with pytest.raises(NotStrict, match=word.replace("*", r"\*")):
        strict_json(body)


def test_brackets_in_a_text_are_no_nesting() -> None:
    text = 'a "quoted" \\ [[[[{{{{' * 20

    assert strict_json(json.dumps([text]).encode()) == [text]


def test_the_deepest_that_is_allowed_is_read() -> None:
    assert strict_json(b"[" * DEEPEST + b"]" * DEEPEST) is not None


values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=12,
)


@given(values, st.booleans())
def test_what_json_writes_is_read_as_it_was(value: object, ascii_only: bool) -> None:
    assert strict_json(json.dumps(value, ensure_ascii=ascii_only).encode()) == value


@given(st.binary(max_size=60))
def test_any_bytes_are_read_or_refused(body: bytes) -> None:
    try:
        value = strict_json(body)
    except NotStrict:
        return
    assert value == json.loads(body)


@pytest.mark.parametrize("zero", [b"0", b"-0", b"0.0", b"-0.000", b"0e5", b"0.0E-400"])
def test_a_zero_is_a_zero_however_it_is_written(zero: bytes) -> None:
    assert strict_json(zero) == 0


def test_the_smallest_number_is_read() -> None:
    assert strict_json(b"5e-324") == 5e-324
