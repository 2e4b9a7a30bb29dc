"""Ridge regression of one arm, against the formulas on all rows at once."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dtrbandit.estimators.observed import Observed
from dtrbandit.estimators.ridge import RidgeRegression
from dtrbandit.kernels.arrays import Array
from estimators.few_units import bare_design


def one_stage(d: int, *, penalty: float = 1.0) -> RidgeRegression:
    """Return the regression of one stage with two arms, Λ = λI."""
    fits = RidgeRegression(Observed(bare_design([(0,), (1,)], [2], [d])), penalty)
    fits.start()
    return fits


def add_rows(fits: RidgeRegression, a: int, rows: Array) -> None:
    for row in rows:
        fits.work[:] = row
        fits.rotate_in(0, a)


def fit(fits: RidgeRegression, rows: Array, targets: Array) -> None:
    """Fit the first arm."""
    add_rows(fits, 0, rows)
    fits.publish(0, 0)
    fits.moment[0, 0, :] = rows.T @ targets
    fits.solve(0, 0)


@given(st.integers(0, 12), st.integers(1, 5), st.sampled_from([0.5, 1.0, 9.0]), st.integers(0, 2**32 - 1))
def test_factor_and_weights_are_those_of_the_formulas(n: int, d: int, penalty: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows, targets = rng.normal(size=(n, d)), rng.normal(size=n)
    gram = rows.T @ rows + penalty * np.eye(d)
    fits = one_stage(d, penalty=penalty)

    fit(fits, rows, targets)

    factor = np.triu(np.asarray(fits.factor)[0, 0])
    assert factor.T @ factor == pytest.approx(gram, abs=1e-10)
    assert np.asarray(fits.reciprocal)[0, 0] == pytest.approx(1 / np.diag(factor))
    assert np.asarray(fits.weights)[0, 0] == pytest.approx(np.linalg.solve(gram, rows.T @ targets), abs=1e-10)


def test_the_newest_factor_is_not_in_use_before_it_is_published() -> None:
    fits = one_stage(2)

    add_rows(fits, 1, np.ones((1, 2)))

    assert np.asarray(fits.factor)[0, 1].tolist() == np.eye(2).tolist() != np.asarray(fits.newest)[0, 1].tolist()
    fits.publish(0, 1)
    assert np.array_equal(np.asarray(fits.factor)[0, 1], np.asarray(fits.newest)[0, 1])


def test_it_starts_again_from_a_multiple_of_the_identity() -> None:
    fits = one_stage(2, penalty=4.0)
    fit(fits, np.ones((3, 2)), np.ones(3))

    fits.start()

    assert np.asarray(fits.newest).tolist() == np.asarray(fits.factor).tolist() == [[(2 * np.eye(2)).tolist()] * 2]


def test_arrays_that_were_loaded_are_copies() -> None:
    original, copy = one_stage(2), one_stage(2)
    fit(original, np.eye(2), np.ones(2))

    copy.load(original.arrays())

    assert {name: each.tobytes() for name, each in copy.arrays().items()} == {
        name: each.tobytes() for name, each in original.arrays().items()
    }
    assert not any(np.shares_memory(each, original.arrays()[name]) for name, each in copy.arrays().items())


def test_inverting_gives_the_inverse_of_the_transposed_factor() -> None:
    fits = one_stage(3)
    fit(fits, np.random.default_rng(0).normal(size=(4, 3)), np.zeros(4))

    fits.invert(0, 0)

    assert np.asarray(fits.inverse)[0] @ np.triu(np.asarray(fits.factor)[0, 0]).T == pytest.approx(np.eye(3))


def test_a_determinant_is_compared_over_all_arms_of_a_stage() -> None:
    """With Λ = I for each of two arms and the feature 1 alone: a row for each doubles det Λ to 4, one row to 2."""
    fits = one_stage(1)

    assert not fits.doubled()
    add_rows(fits, 0, np.sqrt(np.array([[0.9]])))
    assert not fits.doubled()  # 1.9
    add_rows(fits, 1, np.sqrt(np.array([[0.1]])))
    assert fits.doubled()  # 1.9 · 1.1
    fits.publish(0, 0)
    fits.publish(0, 1)
    assert not fits.doubled()


def test_a_determinant_that_has_doubled_exactly_counts() -> None:
    fits = one_stage(1)

    add_rows(fits, 0, np.array([[1.0]]))

    assert fits.doubled()
