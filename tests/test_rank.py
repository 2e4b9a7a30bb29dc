"""The rank of rows, on columns of any scale, and which coefficients they determine."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dtrbandit.kernels.constants import RANK_TOLERANCE
from dtrbandit.rank import scaled_rows, unit_determinant


@given(st.integers(0, 6), st.integers(1, 5), st.integers(0, 10**6))
def test_the_decomposition_gives_the_rows_back(n: int, d: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n, d)) * 10.0 ** rng.integers(-8, 9, size=d)

    scale, left, singular, right, rank = scaled_rows(rows)

    kept = len(singular)
    assert rows == pytest.approx((left[:, :kept] * singular) @ right[:kept] * scale, rel=1e-9, abs=1e-9 * scale.max())
    assert rank == min(n, d)
    assert right.shape == (d, d)


@given(st.integers(1, 4), st.integers(1, 3), st.integers(0, 10**6))
def test_the_rank_does_not_depend_on_the_units_of_the_columns(rank: int, extra: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    basis = rng.normal(size=(20, rank))
    rows = np.column_stack([basis, basis @ rng.normal(size=(rank, extra))])

    assert scaled_rows(rows * 10.0 ** rng.integers(-8, 9, size=rank + extra)).rank == rank


def test_a_gram_matrix_would_have_lost_what_the_rows_still_tell() -> None:
    nearly = np.array([[1.0, 1.0], [1.0, 1.0 + 1e-9]])  # squared, 1e-18 is below the precision of a float

    assert scaled_rows(nearly).rank == 2
    assert np.linalg.matrix_rank(nearly.T @ nearly) == 1


def test_singular_values_below_the_tolerance_do_not_count() -> None:
    def rank(gap: float) -> int:
        return scaled_rows(np.array([[1.0, 1.0], [1.0, 1.0 + gap]])).rank

    assert rank(10 * RANK_TOLERANCE) == 2
    assert rank(RANK_TOLERANCE) == 1


def test_columns_that_say_the_same_are_not_determined_and_the_others_are() -> None:
    x = np.array([1.0, 2.0, 4.0])

    fit = scaled_rows(np.column_stack([np.ones(3), x, 3 * x, np.zeros(3)]))

    assert (fit.rank, fit.determined) == (2, (True, False, False, False))


def test_no_rows_and_rows_of_zeros_determine_nothing() -> None:
    for rows in (np.zeros((0, 2)), np.zeros((3, 2))):
        assert (scaled_rows(rows).rank, scaled_rows(rows).determined) == (0, (False, False))


def test_the_determinant_of_a_gram_matrix_does_not_depend_on_the_units_of_the_columns() -> None:
    rows = np.random.default_rng(0).normal(size=(20, 3))
    units = rows * [1e-6, 1.0, 1e6]
    zero = rows * [1.0, 0.0, 1.0]

    found = unit_determinant(np.array([each.T @ each for each in (rows, units, zero)]))

    lengths = np.linalg.norm(rows, axis=0)
    assert found[:2] == pytest.approx(np.linalg.det(rows.T @ rows) / np.prod(lengths) ** 2)
    assert np.isnan(found[2])
