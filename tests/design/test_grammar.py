"""Texts of a design, token by token: what an error says and where it points."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dtrbandit.design.formula import parse_formula
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
