"""Weights: how much they leave of a sample."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dtrbandit.evaluation.weights import effective_sample_size, largest_weight


@given(st.lists(st.floats(1e-3, 1e3), min_size=1, max_size=30))
def test_the_effective_sample_size_lies_between_one_and_the_number_of_units(weights: list[float]) -> None:
    w = np.array(weights)

    size = effective_sample_size(w)

    assert 1 - 1e-9 <= size <= len(w) * (1 + 1e-9)
    assert 1 / len(w) - 1e-12 <= largest_weight(w) <= 1
    assert effective_sample_size(7 * w) == pytest.approx(size)


def test_equal_weights_are_worth_as_many_and_one_weight_is_worth_one() -> None:
    assert effective_sample_size(np.full(7, 0.3)) == pytest.approx(7)
    assert largest_weight(np.full(7, 0.3)) == pytest.approx(1 / 7)
    assert effective_sample_size(np.array([5.0, 0.0, 0.0])) == largest_weight(np.array([5.0, 0.0, 0.0])) == 1


@pytest.mark.parametrize("size", [1e-200, 1e200])
def test_weights_whose_squares_are_no_floats_do(size: float) -> None:
    weights = size * np.array([1.0, 3.0])

    assert effective_sample_size(weights) == pytest.approx(16 / 10)
    assert largest_weight(weights) == pytest.approx(3 / 4)
