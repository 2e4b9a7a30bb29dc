"""What a request's body may say (F7)."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dtrbandit.service.strict_json import DEEPEST, NotStrict, strict_json

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
