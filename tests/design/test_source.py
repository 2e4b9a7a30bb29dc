"""The source of a function: found again, whatever is written around it."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from types import FunctionType
from typing import Any

import pytest

from dtrbandit.design.source import source_of


def passed_on(function: Callable[..., object]) -> Callable[..., object]:
    @wraps(function)
    def wrapper(*args: object) -> object:
        return function(*args)

    return wrapper


def left(x: Any) -> Any:
    """Add one."""
    return x + 1


class Holder:
    def left(self: Any) -> Any:  # another argument, so another source
        return self + 1

    class Inner:
        @staticmethod
        def left(x: Any) -> Any:
            return x + 1  # ä: columns count bytes


@passed_on
def decorated(x: Any) -> Any:
    return x + 1


umlauts = {"ä": lambda x: x + 1, "ö": (lambda x: x + 1), "ü": lambda x: "ü" + x, "ß": lambda x: x + 2}


def test_a_function_is_found_by_its_place() -> None:
    found, method, inner = source_of(left), source_of(Holder.left), source_of(Holder.Inner.left)  # type: ignore[arg-type]

    assert found
    assert method
    assert inner
    assert found.digest != method.digest != inner.digest
    assert "x" in found.names
    assert "self" in method.names


def test_a_decorated_function_is_known_by_its_wrapper() -> None:
    assert isinstance(decorated, FunctionType)
    source = source_of(decorated)

    assert source
    assert {"function", "args"} <= source.names


def test_lambdas_are_found_by_their_columns() -> None:
    digests = [source and source.digest for source in map(source_of, umlauts.values())]  # type: ignore[arg-type]

    assert None not in digests
    assert [digests.index(digest) for digest in digests] == [0, 0, 2, 3]


@pytest.mark.parametrize("text", ["lambda x: x", "(lambda: lambda: 0)()"])
def test_what_was_not_written_in_a_file_has_no_source(text: str) -> None:
    assert source_of(eval(text)) is None
