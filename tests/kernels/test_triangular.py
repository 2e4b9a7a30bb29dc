"""Least squares on the triangular factor: minimum norm, and where its rank is judged."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from numpy.typing import NDArray

from dtrbandit.kernels.triangular import (
    BETA,
    CARRIED,
    FACTOR,
    LENGTH,
    MOMENT,
    RANK_TOLERANCE,
    WORK,
    add_row,
    apply_operator,
    back_substitute,
    decompose,
    examine_rank,
    jacobi,
    proven,
    rotation,
    solve_normal,
)
from effort import seeded
from estimators.oracle import Both, bare_design
from plain.least_squares import least_squares

Array = NDArray[np.float64]
both_solvers = pytest.mark.parametrize("stages", [1, 2], ids=["the last stage", "a stage before the last"])


@pytest.fixture(autouse=True)
def silent() -> Iterator[None]:
    """Let numbers overflow without a warning, as in machine code."""
    with np.errstate(all="ignore"):
        yield


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
@seeded(60)
def test_the_solution_is_the_shortest_in_original_units(stages: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    d, n = rng.integers(1, 7), rng.integers(1, 13)
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


# -- the kernels themselves, against the formulas ------------------------------------------------------------


def page_of(rows: Array, targets: Array) -> Array:
    """Return the page of an arm with these rows."""
    d = rows.shape[1]
    page = np.zeros((FACTOR + 2 * d, d))
    for row, target in zip(rows, targets, strict=True):
        add_row(page, d, row, target)
    return page


def drawn(seed: int, n: int = 9, d: int = 4) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)), rng.normal(size=n)


@pytest.mark.parametrize(("upper", "lower"), [(3.0, 4.0), (-3.0, 4.0), (4.0, -3.0), (0.0, 2.0), (5.0, 0.0)])
def test_a_rotation_sends_its_pair_to_the_length_and_zero(upper: float, lower: float) -> None:
    cosine, sine, length = rotation(upper, lower)

    assert length == pytest.approx(np.hypot(upper, lower))
    assert cosine * upper + sine * lower == pytest.approx(length)
    assert cosine * lower - sine * upper == pytest.approx(0.0, abs=1e-15)
    assert cosine**2 + sine**2 == pytest.approx(1.0)


@pytest.mark.parametrize("seed", range(5))
def test_rows_are_kept_in_their_factor_and_targets_are_carried(seed: int) -> None:
    rows, targets = drawn(seed)

    page = page_of(rows, targets)

    factor = np.triu(page[FACTOR : FACTOR + 4])
    assert factor.T @ factor == pytest.approx(rows.T @ rows)
    assert factor.T @ page[CARRIED] == pytest.approx(rows.T @ targets)
    assert page[LENGTH] == pytest.approx((rows**2).sum(axis=0))


@pytest.mark.parametrize("seed", range(5))
def test_all_ways_to_solve_give_the_coefficients_of_least_squares(seed: int) -> None:
    rows, targets = drawn(seed)
    expected, page = np.linalg.lstsq(rows, targets, rcond=None)[0], page_of(rows, targets)

    back_substitute(page, 4, CARRIED)
    assert page[BETA] == pytest.approx(expected)

    page[WORK] = rows.T @ targets
    solve_normal(page, 4)
    assert page[BETA] == pytest.approx(expected)

    examine_rank(page, 4, True)
    apply_operator(page, 4, CARRIED)
    assert page[BETA] == pytest.approx(expected)


def test_without_full_rank_the_operator_works_on_either_right_hand_side() -> None:
    rows, targets = drawn(1)
    rows[:, 3] = rows[:, 0] - 2.0 * rows[:, 1]
    expected, page = least_squares(rows, targets).coefficients, page_of(rows, targets)

    for carried, source in ((True, CARRIED), (False, MOMENT)):
        page[MOMENT] = rows.T @ targets
        _, rank = examine_rank(page, 4, carried)
        apply_operator(page, 4, source)

        assert rank == 3
        assert page[BETA] == pytest.approx(expected)


def test_singular_values_are_those_of_the_rows_at_unit_length() -> None:
    rows, targets = drawn(2)
    scaled = rows / np.sqrt((rows**2).sum(axis=0))

    _, _, singular, _ = decompose(page_of(rows, targets), 4)

    assert sorted(singular, reverse=True) == pytest.approx(np.linalg.svd(scaled)[1])


def test_jacobi_leaves_orthogonal_rows_and_an_orthogonal_basis() -> None:
    matrix = np.random.default_rng(3).normal(size=(5, 5))
    turned, basis = matrix.T.copy(), np.eye(5)

    jacobi(turned, basis)

    products = turned @ turned.T
    assert products - np.diag(np.diag(products)) == pytest.approx(np.zeros((5, 5)), abs=1e-12)
    assert basis @ basis.T == pytest.approx(np.eye(5))
    assert pytest.approx(matrix @ basis.T) == turned.T


def test_a_proof_of_the_rank_holds_until_columns_have_grown_a_great_deal() -> None:
    rows, targets = drawn(4)
    page = page_of(rows, targets)
    assert not proven(page, 4, RANK_TOLERANCE)

    examine_rank(page, 4, True)

    assert proven(page, 4, RANK_TOLERANCE)
    page[LENGTH] *= 1e30
    assert not proven(page, 4, RANK_TOLERANCE)
