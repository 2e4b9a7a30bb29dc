"""Texts of a design, token by token: what an error says and where it points."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dtrbandit.design.formula import parse_formula
from dtrbandit.design.grammar import Reader, Token
from dtrbandit.errors import DesignError


@given(st.integers(0, 200), st.integers(0, 200))
def test_an_error_quotes_a_little_of_the_text_with_the_caret_below_the_place(before: int, after: int) -> None:
    text = "x +" + " " * before + "\n\t? " + "y" * after

    with pytest.raises(DesignError) as raised:
        parse_formula(text, earlier={}, where="here")

    message, quoted, caret = str(raised.value).split("\n")
    assert f"position {text.index('?') + 1}" in message
    assert quoted[caret.index("^")] == "?"
    assert len(quoted) <= 4 + 82


def test_an_error_quotes_the_end_of_a_long_text() -> None:
    with pytest.raises(DesignError) as raised:
        parse_formula("x + " * 100, earlier={}, where="here")

    _, quoted, caret = str(raised.value).split("\n")
    assert quoted == "    …" + "x + " * 10
    assert caret.index("^") == len(quoted)


def test_an_error_shortens_a_long_word() -> None:
    with pytest.raises(DesignError, match=re.escape(f"found '{'y' * 40}…' at position 3")):
        parse_formula(f"x {'y' * 5000}", earlier={}, where="here")


def tokens(text: str) -> list[Token]:
    reader = Reader(text, where="here")
    found: list[Token] = []
    while reader.token.kind != "end":
        found.append(reader.take())
    return found


def test_a_text_is_read_as_names_numbers_and_symbols_with_their_places() -> None:
    assert tokens("größe.1 <=-1.5e3 ** .5(") == [
        ("name", "größe.1", 0),
        ("symbol", "<=", 8),
        ("symbol", "-", 10),
        ("number", "1.5e3", 11),
        ("symbol", "**", 17),
        ("number", ".5", 20),
        ("symbol", "(", 22),
    ]


@given(st.text(max_size=40))
def test_every_character_that_is_no_space_is_in_a_token(text: str) -> None:
    assert "".join(each for _, each, _ in tokens(text)) == "".join(text.split())
    assert all(text[place : place + len(each)] == each for _, each, place in tokens(text))


def test_the_end_is_never_passed() -> None:
    reader = Reader("x", where="here")

    assert reader.take_if("y", "z") is None
    assert reader.take_if("x")
    assert reader.take() == reader.take() == ("end", "", 1)
    assert reader.take_if("") is None
    with pytest.raises(DesignError, match=r"^here: expected '\)', the text ends at position 2"):
        reader.expect(")")


@pytest.mark.parametrize(
    ("text", "says"),
    [(3, "here must be text, found 3"), ("x" * 10_001, "here may have 10000 characters, found 10001")],
)
def test_what_is_no_text_or_too_long_is_refused(text: Any, says: str) -> None:
    with pytest.raises(DesignError, match=f"^{says}"):
        Reader(text, where="here")
