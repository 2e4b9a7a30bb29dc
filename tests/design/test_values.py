"""Values from outside: as floats, and in messages."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest

from dtrbandit.design.values import as_float, check_fields, each, positive, real, shown, spread, whole
from dtrbandit.errors import DesignError


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


# -- parameters of policies and environments -----------------------------------------------------------------------


@pytest.mark.parametrize("value", [3, 3.0, np.float32(3), np.float64(3), np.int64(3), Fraction(3)])
def test_any_real_number_is_a_parameter_as_a_plain_float(value: object) -> None:
    for number in (positive(value, "q"), real(value, "q", low=0), each(value, "q", positive)):
        assert number == 3.0
        assert type(number) is float


def test_a_positive_integer_becomes_a_plain_int() -> None:
    assert type(whole(np.int64(7), "q", low=1, high=1_000_000)) is int
    assert whole(1_000_000, "q", low=1, high=1_000_000) == 1_000_000


@pytest.mark.parametrize("value", [0, 8, 1.0, True, "3", None])
def test_what_is_no_whole_number_between_the_bounds_is_refused(value: object) -> None:
    with pytest.raises(DesignError, match=rf"^q must be a whole number from 1 to 7, found {value!r}$"):
        whole(value, "q", low=1, high=7)


def test_bounds_are_inclusive_and_named() -> None:
    assert [whole(value, "q", low=1, high=7) for value in (1, 7)] == [1, 7]
    assert [real(value, "p", high=1) for value in (0, 1)] == [0.0, 1.0]
    with pytest.raises(DesignError, match=r"^p must be a finite number from 0 to 1, found 1\.5$"):
        real(1.5, "p", high=1)
    with pytest.raises(DesignError, match=r"^p must be a finite number of at least 0, found nan$"):
        real(np.nan, "p")
    with pytest.raises(DesignError, match=r"^d must be a finite number above 0, found 0$"):
        positive(0, "d")


def test_one_value_or_a_list_is_checked_one_by_one() -> None:
    assert each(2, "delta", positive) == 2.0
    assert each([1, 2], "delta", positive) == (1.0, 2.0)
    with pytest.raises(DesignError, match=r"^delta\[1\] must be a finite number above 0, found '2'$"):
        each([1, "2"], "delta", positive)


def test_one_value_serves_for_all_and_a_list_must_fit() -> None:
    given: float | tuple[float, ...] = (1.0, 2.0)

    assert spread(0.5, 3, "delta") == (0.5, 0.5, 0.5)
    assert spread(given, 2, "delta") == given
    with pytest.raises(DesignError, match=r"^delta must be one value or 3, found 2: \(1\.0, 2\.0\)$"):
        _: tuple[float, ...] = spread(given, 3, "delta")


@dataclass(frozen=True)
class Dose:
    """Something with parameters."""

    amount: float
    count: int = 1

    def __post_init__(self) -> None:
        check_fields(self, positive, "amount", "count")


def test_fields_become_what_a_check_makes_of_them_and_errors_name_them() -> None:
    dose = Dose(np.float64(2))

    assert (dose.amount, type(dose.amount), dose.count) == (2.0, float, 1.0)
    with pytest.raises(DesignError, match=r"^Dose: count must be a finite number above 0, found 0$"):
        Dose(2.0, 0)
