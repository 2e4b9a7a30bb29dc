"""Least squares against NumPy's, and the minimum norm where that is not enough."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from plain.least_squares import least_squares

grid = st.integers(-3, 3).map(float)


@given(st.integers(1, 8), st.integers(1, 4), st.data())
def test_the_fit_is_numpys_minimum_norm_solution_on_like_scales(n: int, d: int, data: st.DataObject) -> None:
    rows = data.draw(arrays(np.float64, (n, d), elements=grid))
    targets = data.draw(arrays(np.float64, n, elements=grid))

    fit = least_squares(rows, targets)

    expected, _, rank, _ = np.linalg.lstsq(rows, targets, rcond=1e-10)
    assert fit.rank == rank
    assert fit.coefficients == pytest.approx(expected, abs=1e-9)


@given(st.integers(2, 8), st.integers(0, 4), st.integers(0, 8), st.data())
def test_scaling_a_column_scales_its_coefficient_when_the_rank_is_full(
    n: int, small: int, large: int, data: st.DataObject
) -> None:
    rows = data.draw(arrays(np.float64, (n, 2), elements=grid))
    targets = data.draw(arrays(np.float64, n, elements=grid))
    assume(np.linalg.matrix_rank(rows) == 2)
    scale = np.array([10.0**-small, 10.0**large])

    fit = least_squares(rows * scale, targets)

    assert fit.rank == 2
    assert fit.coefficients * scale == pytest.approx(least_squares(rows, targets).coefficients, abs=1e-8)


def test_the_norm_is_that_of_coefficients_in_original_units() -> None:
    fit = least_squares(np.array([[1.0, 1e4]]), np.array([1.0]))

    assert fit.coefficients == pytest.approx(np.array([1.0, 1e4]) / (1 + 1e8), rel=1e-12)


def test_unlike_scales_do_not_pass_for_rank_deficiency() -> None:
    rows = np.array([[1.0, 1e12], [1.0, 2e12], [1.0, 4e12]])

    fit = least_squares(rows, rows @ np.array([5.0, 3e-12]))

    assert fit.rank == 2
    assert fit.coefficients == pytest.approx(np.array([5.0, 3e-12]), rel=1e-9)


def test_a_collinear_column_is_named_as_not_determined() -> None:
    x = np.arange(5.0)

    fit = least_squares(np.column_stack([np.ones(5), x, 2 * x]), x)

    assert (fit.rank, fit.determined) == (2, (True, False, False))
    assert fit.coefficients == pytest.approx([0.0, 0.2, 0.4], abs=1e-12)


def test_rows_of_zeros_have_rank_zero() -> None:
    fit = least_squares(np.zeros((3, 2)), np.ones(3))

    assert (fit.rank, fit.coefficients.tolist()) == (0, [0.0, 0.0])
