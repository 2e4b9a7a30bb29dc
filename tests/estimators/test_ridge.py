"""Ridge regression on triangular factors, against the formulas with Λ itself."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from dtrbandit.estimators.optimistic_layout import BONUS, CLIP, IN_USE, MOMENT, NOW, WEIGHTS
from dtrbandit.estimators.ridge import doubled, invert, optimistic, publish, rotate_in, solve, value_rows

Array = NDArray[np.float64]
SHAPE, D = np.array([[1, 3]]), 3


def fitted(rows: Array, targets: Array, ridge: float) -> Array:
    """Return the table of one stage and one arm, after these rows."""
    table = np.zeros((2, 1, 1, D + 3, D))
    table[NOW, 0, 0, :D] = np.sqrt(ridge) * np.eye(D)
    for row in rows:
        rotate_in(table[NOW, 0, 0], row.copy())
    publish(SHAPE, table)
    table[IN_USE, 0, 0, D + MOMENT] = rows.T @ targets
    solve(table, 0, 0, D)
    return table


def numbers(bonus: float, clip: float) -> Array:
    values = np.zeros(CLIP + 1)
    values[BONUS], values[CLIP] = bonus, clip
    return values


@given(st.integers(0, 12), st.sampled_from([0.5, 1.0, 9.0]), st.integers(0, 2**32 - 1))
def test_weights_and_values_are_those_of_the_formulas(n: int, ridge: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows, targets, phi = rng.normal(size=(n, D)), rng.normal(size=n), rng.normal(size=D)
    gram = rows.T @ rows + ridge * np.eye(D)

    table = fitted(rows, targets, ridge)
    value = optimistic(table, numbers(2.0, np.inf), 0, 0, phi, np.empty(D))

    weights = np.linalg.solve(gram, rows.T @ targets)
    assert table[IN_USE, 0, 0, D + WEIGHTS] == pytest.approx(weights, abs=1e-10)
    assert value == pytest.approx(weights @ phi + 2.0 * np.sqrt(phi @ np.linalg.solve(gram, phi)), abs=1e-10)


def test_values_are_clipped_from_above() -> None:
    table = fitted(np.zeros((0, D)), np.zeros(0), 1.0)

    assert optimistic(table, numbers(1.0, 0.5), 0, 0, np.array([3.0, 0.0, 4.0]), np.empty(D)) == 0.5  # else 5


def test_values_of_many_rows_are_the_values_one_by_one() -> None:
    rng = np.random.default_rng(2)
    table, phis = fitted(rng.normal(size=(5, D)), rng.normal(size=5), 1.0), rng.normal(size=(4, D))
    inverted, values = np.zeros((D + 1, D)), np.zeros(5)

    invert(table[IN_USE, 0, 0], inverted, D)
    value_rows(inverted, np.ascontiguousarray(phis.T), 4, 2.0, 1.5, np.empty((3, 4)), values)

    single = [optimistic(table, numbers(2.0, 1.5), 0, 0, phi, np.empty(D)) for phi in phis]
    assert values == pytest.approx([*single, 0.0])  # and no row beyond
    assert max(single) == 1.5 > min(single)  # some are clipped


def test_inverting_gives_the_inverse_of_the_transposed_factor() -> None:
    table, inverted = fitted(np.random.default_rng(0).normal(size=(4, D)), np.zeros(4), 1.0), np.zeros((D + 1, D))

    invert(table[IN_USE, 0, 0], inverted, D)

    assert inverted[:D] @ np.triu(table[IN_USE, 0, 0, :D]).T == pytest.approx(np.eye(D))


def test_a_determinant_is_compared_over_all_arms_of_a_stage() -> None:
    """With Λ = I for each of two arms and the feature 1 alone: a row for each doubles det Λ to 4, one row to 2."""
    shape, table = np.array([[2, 1]]), np.zeros((2, 1, 2, 1 + 3, 1))
    table[NOW, 0, :, 0, 0] = 1.0
    publish(shape, table)

    assert not doubled(shape, table)
    rotate_in(table[NOW, 0, 0], np.sqrt(np.array([0.9])))
    assert not doubled(shape, table)  # 1.9
    rotate_in(table[NOW, 0, 1], np.sqrt(np.array([0.1])))
    assert doubled(shape, table)  # 1.9 · 1.1
    publish(shape, table)
    assert not doubled(shape, table)
