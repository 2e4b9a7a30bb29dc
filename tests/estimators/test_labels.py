"""Labels, and the cross moments that are kept by label."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from dtrbandit.estimators.exact_layout import ROWS, Beliefs, create
from dtrbandit.estimators.labels import add_cross, arm_of, clear_cross, flip, label_of
from dtrbandit.kernels.triangular import BETA, FACTOR
from estimators.few_units import observed_units, small_design
from estimators.oracle import bare_design

Array = NDArray[np.float64]
THREE = bare_design([(0,), (1,), (2,)], [3], [2])
SHAPE = np.array([[3, 2]])
numbers = st.integers(-3, 3).map(float)


def believing(coefficients: list[tuple[float, float]], rows: list[int]) -> Beliefs:
    """Return beliefs with these coefficients of three arms, and so many rows behind each."""
    beliefs = create(THREE)
    beliefs.pages[0, :, BETA] = coefficients
    beliefs.tallies[0, :, ROWS] = rows
    return beliefs


@given(
    st.lists(st.tuples(numbers, numbers), min_size=3, max_size=3),
    st.lists(st.integers(0, 1), min_size=3, max_size=3),
    st.lists(st.sampled_from([-1, 1]), min_size=3, max_size=3),
    st.tuples(numbers, numbers),
)
def test_the_label_is_the_lowest_of_the_best_arms_that_are_feasible_and_have_rows(
    coefficients: list[tuple[float, float]], rows: list[int], child: list[int], psi: tuple[float, float]
) -> None:
    beliefs, features = believing(coefficients, rows), np.array(psi)

    label, lead, contenders = label_of(beliefs.pages, beliefs.tallies, np.array([child]), SHAPE, 0, 0, features)

    values = {a: float(np.dot(coefficients[a], psi)) for a in range(3) if rows[a] and child[a] >= 0}
    ranked = sorted(values.values(), reverse=True)
    assert contenders == len(values)
    assert label == (min(values, key=lambda a: (-values[a], a)) if values else -1)
    if len(ranked) > 1:
        assert lead == ranked[0] - ranked[1]


def test_arms_are_numbers_of_one_type() -> None:
    seen = observed_units(small_design(), 3)

    assert type(arm_of(seen, 1, 0)) is np.int64
    assert arm_of(seen, 1, 0) == seen.arms[1, 0]


def cross(beliefs: Beliefs, arm: int, label: int) -> Array:
    """Return Σ ψ₁ ψ₀ᵀ of an arm's rows with a label, (d₁, d₀)."""
    top = FACTOR + (2 + label) * 3
    return beliefs.pages[0, arm, top : top + 3, :2]


def test_cross_moments_are_sums_over_the_rows_of_an_arm_and_a_label() -> None:
    design = small_design()
    seen, beliefs = observed_units(design, 8), create(design)

    for unit in range(8):
        page, (psi, later) = beliefs.pages[0, seen.arms[unit, 0]], seen.features[unit]
        add_cross(page, seen.shape, 0, unit % 2, psi, later)

    for arm in range(2):
        for label in range(2):
            own = [unit for unit in range(8) if seen.arms[unit, 0] == arm and unit % 2 == label]
            expected = seen.features[own, 1].T @ seen.features[own, 0, :2]
            assert cross(beliefs, arm, label) == pytest.approx(expected)


def test_a_flip_moves_a_row_from_one_label_to_the_other() -> None:
    design = small_design()
    seen, flipped, added = observed_units(design, 1), create(design), create(design)
    arm = arm_of(seen, 0, 0)
    psi, later = seen.features[0]
    add_cross(flipped.pages[0, arm], seen.shape, 0, 0, psi, later)
    add_cross(added.pages[0, arm], seen.shape, 0, 1, psi, later)

    flip(flipped.pages, seen.features, seen.shape, 0, arm, 0, 0, 1)

    assert flipped.pages.tolist() == added.pages.tolist()


def test_clearing_leaves_the_factor_and_other_stages_alone() -> None:
    beliefs = create(small_design())
    beliefs.pages[:] = 1.0

    clear_cross(beliefs.pages, 0)

    assert (beliefs.pages[0, :, FACTOR + 2 * 3 :] == 0.0).all()
    assert (beliefs.pages[0, :, : FACTOR + 2 * 3] == 1.0).all()
    assert (beliefs.pages[1] == 1.0).all()
