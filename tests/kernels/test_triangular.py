"""Least squares on the triangular factor: minimum norm, and where its rank is judged."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from estimators.oracle import Both, bare_design
from plain.least_squares import least_squares

Array = NDArray[np.float64]
both_solvers = pytest.mark.parametrize("stages", [1, 2], ids=["the last stage", "a stage before the last"])


def fit(rows: Array, targets: Array, stages: int) -> Array:
    """Return the learner's coefficients of the first stage's only arm, its targets being outcomes."""
    both = Both(bare_design([(0,) * stages], [1] * stages, [rows.shape[1]] + [1] * (stages - 1)))
    for unit, (row, target) in enumerate(zip(rows, targets, strict=True)):
        both.arrive(unit, 0, 0, row)
        both.give(unit, 0, 0)
        both.complete(unit, 0, target)
    coefficients: Array = both.coefficients()[0][0]
    return coefficients


def nearly_collinear(ratio: float) -> tuple[Array, Array, Array]:
    """Return two columns whose scaled singular values have this ratio, targets, and their exact coefficients."""
    angle = 2 * np.arctan(ratio)
    one, other = np.array([1.0, 0.0, 0.0]), np.array([0.0, 1.0, 0.0])
    rows = np.column_stack([one, np.cos(angle) * one + np.sin(angle) * other])
    return rows, np.array([1.0, 0.0, 0.0]), np.array([1.0, 0.0])


@both_solvers
@given(d=st.integers(1, 6), n=st.integers(1, 12), seed=st.integers(0, 2**32 - 1))
@settings(max_examples=60)
def test_the_solution_is_the_shortest_in_original_units(stages: int, d: int, n: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    rank = rng.integers(0, d + 1)
    rows = rng.normal(size=(n, rank)) @ rng.normal(size=(rank, d)) * 10.0 ** rng.integers(-3, 4, d)
    targets = rng.normal(size=n)

    found = fit(rows, targets, stages)

    expected = least_squares(rows, targets).coefficients
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-8 * (1 + np.abs(expected).max()))


@both_solvers
@pytest.mark.parametrize("ratio", [1e-5, 1e-8, 5e-10])
def test_singular_values_above_one_in_ten_thousand_million_count(ratio: float, stages: int) -> None:
    rows, targets, exact = nearly_collinear(ratio)

    found = fit(rows, targets, stages)

    assert found == pytest.approx(exact, abs=1e-15 / ratio)


@both_solvers
@pytest.mark.parametrize("ratio", [2e-11, 1e-12, 1e-13])
def test_singular_values_below_one_in_ten_thousand_million_do_not(ratio: float, stages: int) -> None:
    rows, targets, _ = nearly_collinear(ratio)

    found = fit(rows, targets, stages)

    assert found == pytest.approx([0.5, 0.5], abs=1e-9)  # the shortest of all that fit (1, 1)·b = 1


@both_solvers
def test_columns_of_scales_1_and_1e12_have_full_rank(stages: int) -> None:
    rng = np.random.default_rng(0)
    rows = np.column_stack([np.ones(9), 1e12 * rng.normal(size=9), rng.normal(size=9)])
    exact = np.array([5.0, 3e-12, -2.0])

    found = fit(rows, rows @ exact, stages)

    assert found == pytest.approx(exact, rel=1e-9)


@both_solvers
def test_two_groups_of_collinear_columns_share_each_its_own_coefficient(stages: int) -> None:
    """b minimises |b|² given b₀ + 2b₁ = p and b₂ − 3b₃ = q: (p, 2p)/5 and (q, −3q)/10."""
    rng = np.random.default_rng(1)
    one, other = rng.normal(size=8), 1e3 * rng.normal(size=8)
    rows = np.column_stack([one, 2 * one, other, -3 * other])

    found = fit(rows, 4.0 * one - 0.7 * other, stages)

    assert found == pytest.approx([0.8, 1.6, -0.07, 0.21], rel=1e-9)


@both_solvers
def test_fewer_rows_than_columns_are_met_exactly_by_the_shortest_solution(stages: int) -> None:
    found = fit(np.array([[1.0, 2.0, 2.0]]), np.array([9.0]), stages)

    assert found == pytest.approx([1.0, 2.0, 2.0], rel=1e-12)


@both_solvers
def test_rows_of_zeros_have_zero_coefficients(stages: int) -> None:
    assert fit(np.zeros((3, 2)), np.ones(3), stages).tolist() == [0.0, 0.0]


@both_solvers
def test_the_rank_is_judged_anew_when_a_column_grows(stages: int) -> None:
    """After many huge rows along one direction the small one is below the tolerance: no longer determined."""
    rows = np.array([[1.0, 0.0], [0.0, 1.0], *[[1e12, 1e12 * (1 + 1e-12)]] * 3])
    targets = np.array([1.0, 2.0, 1e12, 1e12, 1e12])

    found = fit(rows, targets, stages)

    assert found == pytest.approx(least_squares(rows, targets).coefficients, rel=1e-6)
