"""Parameters of policies and environments: plain numbers, or what was found and what is allowed."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from dtrbandit.design.parameters import each, positive, real, spread, whole
from dtrbandit.errors import DesignError


@pytest.mark.parametrize("value", [3, 3.0, np.float32(3), np.float64(3), np.int64(3), Fraction(3)])
def test_any_real_number_becomes_a_plain_float(value: object) -> None:
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
