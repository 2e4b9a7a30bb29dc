"""What a form may bring, and what is wrong with it."""

from __future__ import annotations

import asyncio
import math

import pytest

from extras import needed

for module in ("starlette", "jinja2", "uvicorn"):
    needed(module)

from starlette.types import Message  # noqa: E402

from dtrbandit.service.problems import Refused  # noqa: E402
from dtrbandit.web.forms import Typed, new_once, read_form, require_own  # noqa: E402


def form(body: bytes) -> dict[str, str]:
    async def receive() -> Message:
        return {"type": "http.request", "body": body}

    return dict(asyncio.run(read_form(receive)))


def test_fields_are_read_by_name() -> None:
    assert form(b"unit=a%2Fb+c&column.x=&x=%E2%80%AE") == {"unit": "a/b c", "column.x": "", "x": "\u202e"}


@pytest.mark.parametrize("body", [b"a=1&a=2", b"a=%FF", "a=ü".encode(), b"&".join(b"f%d=" % k for k in range(501))])
def test_what_two_readers_could_read_differently_is_refused(body: bytes) -> None:
    with pytest.raises(Refused):
        form(body)


def test_a_form_must_bring_back_the_token_of_its_login() -> None:
    require_own({"token": "right"}, "right")
    for wrong in ({}, {"token": ""}, {"token": "wrong"}, {"token": "ü"}):
        with pytest.raises(Refused, match="this login"):
            require_own(wrong, "right")


@pytest.mark.parametrize(
    ("text", "value"), [("12.5", 12.5), (" -3 ", -3.0), ("+.5", 0.5), ("1e3", 1000.0), ("7.", 7.0)]
)
def test_numbers_are_read(text: str, value: float) -> None:
    typed = Typed({"x": text})

    assert typed.number("x") == value
    assert typed.wrong == {}


@pytest.mark.parametrize("text", ["", "12,5", "nan", "inf", "1_000", "0x1", "١٢", "1e9999", "=1+1", "1 2"])
def test_what_is_no_number_is_told_at_its_field(text: str) -> None:
    typed = Typed({"x": text})

    assert math.isnan(typed.number("x"))
    assert set(typed.wrong) == {"x"}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("1e-400", "found the number 1e-400, which is so small that it would be read as 0; send 0"),
        ("+1E-9999", "found the number +1E-9999, which is so small that it would be read as 0; send 0"),
        ("1e400", "found the number 1e400, which is beyond what a float can hold"),
    ],
)
def test_a_number_that_a_float_cannot_hold_is_told_in_the_words_of_strict_json(text: str, told: str) -> None:
    typed = Typed({"x": text})

    assert math.isnan(typed.number("x"))
    assert typed.wrong == {"x": told}


@pytest.mark.parametrize("text", ["0", "+0.0", "-0e-400", "0e9999"])
def test_a_zero_is_a_zero_however_it_is_written(text: str) -> None:
    typed = Typed({"x": text})

    assert typed.number("x") == 0
    assert typed.wrong == {}


def test_a_context_may_leave_out_what_was_not_observed_where_that_is_allowed() -> None:
    fields = {"column.x": "1", "column.z": " "}

    strict, loose = Typed(fields), Typed(fields)

    assert loose.context(["x", "z"], some=True) == {"x": 1.0}
    assert strict.context(["x", "z"])["x"] == 1.0
    assert set(strict.wrong) == {"column.z"}


def test_a_text_must_be_there() -> None:
    typed = Typed({"reason": "  "})

    assert typed.text("reason", "the reason") == ""
    assert typed.wrong == {"reason": "the reason is missing"}


def test_no_two_forms_have_the_same_key() -> None:
    assert len({new_once() for _ in range(100)}) == 100
