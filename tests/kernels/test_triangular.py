"""Least squares on the triangular factor: minimum norm, and where its rank is judged."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from dtrbandit.kernels import constants as c
from dtrbandit.kernels.arrays import Array
from dtrbandit.kernels.triangular import LeastSquares, rotation
from effort import seeded
from estimators.oracle import Both, bare_design
from plain.least_squares import least_squares

Whole = NDArray[np.object_]  # whole numbers and fractions, of any size
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


# -- the methods themselves, against the formulas ------------------------------------------------------------


def add_rows(fits: LeastSquares, p: int, rows: Array, targets: Array) -> None:
    """Add rows and their targets to a problem."""
    d = rows.shape[1]
    for row, target in zip(rows, targets, strict=True):
        np.asarray(fits.work)[p, :d] = row
        np.asarray(fits.length)[p, :d] += row**2
        fits.rotate_in(p, d, target)


def fits_of(rows: Array, targets: Array) -> LeastSquares:
    """Return least squares whose only problem has these rows."""
    fits = LeastSquares(1, rows.shape[1])
    add_rows(fits, 0, rows, targets)
    return fits


def beta(fits: LeastSquares, p: int = 0) -> Array:
    coefficients: Array = np.asarray(fits.beta)[p]
    return coefficients


def drawn(seed: int, n: int = 9, d: int = 4) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)), rng.normal(size=n)


lengths = st.floats(-1e150, 1e150).filter(lambda value: value == 0.0 or abs(value) > 1e-150)


@given(lengths, lengths.filter(bool))
def test_a_rotation_sends_its_pair_to_the_length_and_zero(upper: float, lower: float) -> None:
    cosine, sine, length = rotation(upper, lower)

    assert length == pytest.approx(np.hypot(upper, lower), rel=1e-15)
    assert cosine * upper + sine * lower == pytest.approx(length, rel=1e-15)
    assert cosine * lower - sine * upper == pytest.approx(0.0, abs=1e-15 * length)
    assert cosine**2 + sine**2 == pytest.approx(1.0)


def test_a_pair_that_needs_no_rotation_is_left_alone() -> None:
    assert rotation(5.0, 0.0) == (1.0, 0.0, 5.0)


@pytest.mark.parametrize("seed", range(5))
def test_rows_are_kept_in_their_factor_and_targets_are_carried(seed: int) -> None:
    rows, targets = drawn(seed)

    fits = fits_of(rows, targets)

    factor = np.asarray(fits.factor)[0]
    assert (factor == np.triu(factor)).all()
    assert factor.T @ factor == pytest.approx(rows.T @ rows)
    assert factor.T @ np.asarray(fits.carried)[0] == pytest.approx(rows.T @ targets)


@pytest.mark.parametrize("seed", range(5))
def test_all_ways_to_solve_give_the_coefficients_of_least_squares(seed: int) -> None:
    rows, targets = drawn(seed)
    expected, fits = np.linalg.lstsq(rows, targets, rcond=None)[0], fits_of(rows, targets)

    fits.solve_carried(0, 4)
    assert beta(fits) == pytest.approx(expected)

    beta(fits)[:] = np.nan
    np.asarray(fits.work)[0] = rows.T @ targets
    fits.solve_normal(0, 4)
    assert beta(fits) == pytest.approx(expected)

    beta(fits)[:] = np.nan
    fits.examine_rank(0, 4, True)
    fits.apply_operator(0, 4, True)
    assert beta(fits) == pytest.approx(expected)


def test_without_full_rank_the_operator_works_on_either_right_hand_side() -> None:
    rows, targets = drawn(1)
    rows[:, 3] = rows[:, 0] - 2.0 * rows[:, 1]
    expected, fits = least_squares(rows, targets).coefficients, fits_of(rows, targets)

    for carried in (True, False):
        np.asarray(fits.work)[0] = np.nan if carried else rows.T @ targets
        _, rank = fits.examine_rank(0, 4, carried)
        fits.apply_operator(0, 4, carried)

        assert rank == 3
        assert beta(fits) == pytest.approx(expected)
        assert not fits.proven(0, 4, c.RANK_TOLERANCE)


def solve_exactly(matrix: Whole, right: Whole) -> Whole:
    """Return the solution of a system in rational arithmetic, by elimination."""
    lines = [[Fraction(value) for value in (*row, last)] for row, last in zip(matrix, right, strict=True)]
    for i in range(len(lines)):
        pivot = next(k for k in range(i, len(lines)) if lines[k][i])
        lines[i], lines[pivot] = lines[pivot], lines[i]
        lines[i] = [value / lines[i][i] for value in lines[i]]
        for k in range(len(lines)):
            if k != i:
                lines[k] = [own - lines[k][i] * value for own, value in zip(lines[k], lines[i], strict=True)]
    return np.array([line[-1] for line in lines], dtype=object)


@pytest.mark.parametrize("seed", [0, 1, 2, 25, 139, 143, 172, 207, 211])
def test_the_shortest_solution_is_that_of_rational_arithmetic(seed: int) -> None:
    """Rows B C of lower rank, of whole numbers, with columns up to 1e5 apart: b = Cᵀ (C Cᵀ)⁻¹ (BᵀB)⁻¹ Bᵀy.

    Directions are made orthogonal twice. Once would leave errors above 1e-8 in all of these but the first three.
    """
    rng = np.random.default_rng([seed, 3])
    d = int(rng.integers(3, 6))
    rank = int(rng.integers(2, d))
    left, right = rng.integers(-3, 4, (9, rank)), rng.integers(-3, 4, (rank, d))
    left[:rank], right[:, :rank] = np.eye(rank), np.eye(rank)  # of full rank, both
    right *= 10 ** rng.integers(0, 6, d)
    targets = rng.integers(-5, 6, 9)
    b, c_, y = left.astype(object), right.astype(object), targets.astype(object)
    expected = (c_.T @ solve_exactly(c_ @ c_.T, solve_exactly(b.T @ b, b.T @ y))).astype(np.float64)
    rows = (left @ right).astype(np.float64)
    fits = fits_of(rows, targets.astype(np.float64))

    _, found = fits.examine_rank(0, d, True)
    fits.apply_operator(0, d, True)

    sizes = np.abs(rows).max(axis=0)
    assert found == rank
    assert np.abs(beta(fits) - expected) * sizes == pytest.approx(
        0.0, abs=1e-9 * (1.0 + np.abs(expected * sizes).max())
    )


def test_a_problem_without_rows_has_rank_zero_and_coefficients_of_zero() -> None:
    fits = LeastSquares(1, 3)

    quality, rank = fits.examine_rank(0, 3, True)
    beta(fits)[:] = np.nan
    fits.apply_operator(0, 3, True)

    assert (quality, rank) == (1.0, 0)
    assert beta(fits).tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize("seed", range(5))
def test_singular_values_are_those_of_the_rows_at_unit_length(seed: int) -> None:
    rows, targets = drawn(seed)
    rows *= [1e-6, 1.0, 1e3, 1e9]
    fits = fits_of(rows, targets)

    quality, rank = fits.examine_rank(0, 4, False)

    expected = np.linalg.svd(rows / np.sqrt((rows**2).sum(axis=0)))[1]
    assert np.asarray(fits.lengths) ** 2 == pytest.approx((rows**2).sum(axis=0))
    assert sorted(np.asarray(fits.singular), reverse=True) == pytest.approx(expected)
    assert quality == pytest.approx(expected[-1] / expected[0])
    assert rank == 4


def test_the_decomposition_has_orthogonal_rows_and_an_orthogonal_basis() -> None:
    rows, targets = drawn(3, d=5)
    fits = fits_of(rows, targets)

    fits.examine_rank(0, 5, False)  # of full rank, so that the decomposition stays as it is

    turned, basis = np.asarray(fits.turned), np.asarray(fits.basis)
    products = turned @ turned.T
    assert products == pytest.approx(np.diag(np.diag(products)), abs=1e-12)
    assert basis @ basis.T == pytest.approx(np.eye(5))
    scaled = np.asarray(fits.factor)[0] / np.asarray(fits.lengths)
    assert scaled @ basis.T == pytest.approx(turned.T)


def test_a_proof_of_the_rank_holds_until_columns_have_grown_a_great_deal() -> None:
    rows, targets = drawn(4)
    fits = fits_of(rows, targets)
    assert not fits.proven(0, 4, c.RANK_TOLERANCE)

    fits.examine_rank(0, 4, True)

    assert fits.proven(0, 4, c.RANK_TOLERANCE)
    np.asarray(fits.length)[0] *= 1e30
    assert not fits.proven(0, 4, c.RANK_TOLERANCE)


def test_a_rank_is_proven_as_far_as_the_smallest_singular_value_over_the_greatest_possible() -> None:
    """The columns have length 1, so that of d columns no singular value is above √d. One grows to twice its length."""
    rows, targets = drawn(4)
    fits = fits_of(rows, targets)
    fits.examine_rank(0, 4, True)
    smallest = np.linalg.svd(rows / np.sqrt((rows**2).sum(axis=0)))[1][-1]

    for grown in (1.0, 2.0):
        fits.length[0, 2] *= grown**2

        limit = smallest / grown / 2.0
        assert fits.proven(0, 4, 0.999 * limit)
        assert not fits.proven(0, 4, 1.001 * limit)


@seeded(40)
def test_what_is_proven_is_true(seed: int) -> None:
    """σ_min of the scaled rows never falls below what an earlier computation vouches for, whatever rows come."""
    rng = np.random.default_rng(seed)
    d, tolerance = int(rng.integers(1, 5)), 0.05
    rows, targets = drawn(seed, n=60, d=d)
    rows *= 3.0 ** np.arange(60)[:, None] ** rng.choice([0.0, 0.5], size=d)
    fits, proven = LeastSquares(1, d), 0
    add_rows(fits, 0, rows[:10], targets[:10])
    fits.examine_rank(0, d, True)

    for n in range(11, 61):
        add_rows(fits, 0, rows[n - 1 : n], targets[n - 1 : n])
        if fits.proven(0, d, tolerance):
            proven += 1
            singular = np.linalg.svd(rows[:n] / np.sqrt((rows[:n] ** 2).sum(axis=0)))[1]
            assert singular[-1] / singular[0] > tolerance

    assert proven > 0


def test_problems_do_not_touch_each_other_and_may_have_fewer_coefficients_than_there_is_room_for() -> None:
    fits, alone = LeastSquares(3, 4), []
    problems = [(p, *drawn(p, d=d)) for p, d in enumerate((4, 2, 3))]
    for p, rows, targets in problems:
        add_rows(fits, p, rows, targets)
        fits.solve_carried(p, rows.shape[1])
    for _, rows, targets in problems:
        alone.append(fits_of(rows, targets))
        alone[-1].solve_carried(0, rows.shape[1])

    for (p, rows, _), single in zip(problems, alone, strict=True):
        d = rows.shape[1]
        assert beta(fits, p)[:d].tobytes() == beta(single).tobytes()
        assert not beta(fits, p)[d:].any()
        assert not np.asarray(fits.factor)[p, d:].any()


def test_clearing_forgets_the_rows_of_one_problem_and_forgetting_all() -> None:
    fits, (rows, targets) = LeastSquares(2, 4), drawn(6)
    for p in range(2):
        add_rows(fits, p, rows, targets)
        fits.examine_rank(p, 4, True)
        fits.solve_carried(p, 4)

    fits.clear(0, 4)

    assert not np.asarray(fits.factor)[0].any()
    assert not np.asarray(fits.carried)[0].any()
    assert np.asarray(fits.factor)[1].any()
    assert np.asarray(fits.carried)[1].all()
    fits.forget()
    assert {name: array.tobytes() for name, array in fits.arrays().items()} == {
        name: array.tobytes() for name, array in LeastSquares(2, 4).arrays().items()
    }


def test_a_copy_goes_on_as_the_original_and_shares_nothing_with_it() -> None:
    rows, targets = drawn(7)
    original, copy = fits_of(rows[:5], targets[:5]), LeastSquares(1, 4)
    original.examine_rank(0, 4, True)

    copy.load(original.arrays())
    for fits in (copy, original):
        assert fits.proven(0, 4, c.RANK_TOLERANCE)
        add_rows(fits, 0, rows[5:], targets[5:])
        fits.solve_carried(0, 4)

    assert beta(copy).tobytes() == beta(original).tobytes()
    assert beta(copy) == pytest.approx(np.linalg.lstsq(rows, targets, rcond=None)[0])
