"""Parameters of policies and environments: plain numbers, or what was found and what is allowed."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from dtrbandit.design.parameters import each, positive, real, whole


@pytest.mark.parametrize("value", [3, 3.0, np.float32(3), np.float64(3), np.int64(3), Fraction(3)])
def test_any_real_number_becomes_a_plain_float(value: object) -> None:
    for number in (positive(value, "q"), real(value, "q", low=0), each(value, "q", positive)):
        assert number == 3.0
        assert type(number) is float


def test_a_positive_integer_becomes_a_plain_int() -> None:
    assert type(whole(np.int64(7), "q", low=1, high=1_000_000)) is int
    assert whole(1_000_000, "q", low=1, high=1_000_000) == 1_000_000
