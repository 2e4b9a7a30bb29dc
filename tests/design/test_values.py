"""Values from outside: as floats, and in messages."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from dtrbandit.design.values import as_float, shown


@pytest.mark.parametrize("value", [3, 3.0, np.float32(3), np.float64(3), np.int64(3), Fraction(3)])
def test_any_real_number_becomes_a_plain_float(value: object) -> None:
    assert as_float(value) == 3.0
    assert type(as_float(value)) is float


@pytest.mark.parametrize("value", [True, "3", None, 3j, [3]])
def test_anything_else_is_no_number(value: object) -> None:
    assert math.isnan(as_float(value))


@pytest.mark.parametrize("value", [10**400, -(10**400), 10**5000, Fraction(10**400)], ids="abcd")
def test_a_number_beyond_the_floats_is_infinite(value: object) -> None:
    assert math.isinf(as_float(value))


def test_a_message_shows_the_start_of_a_large_value_and_none_of_a_hopeless_one() -> None:
    nested: list[object] = []
    for _ in range(100_000):
        nested = [nested]

    assert shown("x" * 1000) == "'" + "x" * 199 + "…"
    assert shown(nested) == "something too large to show (list)"
    assert shown(10**5000) == "something too large to show (int)"
