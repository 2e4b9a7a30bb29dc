"""Weighted least squares: against plain formulas, and by hand."""

from __future__ import annotations

import numpy as np
import pytest

from dtrbandit.evaluation.induction.regression import Regression, regress


def std_errors(fit: Regression) -> np.ndarray:
    return np.asarray(np.sqrt((fit.influence**2).sum(axis=1)))


def hc3_by_loops(rows: np.ndarray, targets: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return HC3 standard errors, with explicit inverse and sums."""
    d = rows.shape[1]
    gram, moment = np.zeros((d, d)), np.zeros(d)
    for x, y, w in zip(rows, targets, weights, strict=True):
        gram += w * np.outer(x, x)
        moment += w * y * x
    inverse = np.linalg.inv(gram)
    beta, meat = inverse @ moment, np.zeros((d, d))
    for x, y, w in zip(rows, targets, weights, strict=True):
        leverage = w * float(x @ inverse @ x)
        meat += (w * float(y - x @ beta) / (1 - leverage)) ** 2 * np.outer(x, x)
    return np.asarray(np.sqrt(np.diag(inverse @ meat @ inverse)))


@pytest.mark.parametrize("seed", range(5))
def test_standard_errors_are_hc3_by_the_plain_formula(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows, weights = rng.normal(size=(30, 4)) * [1.0, 100.0, 0.01, 3.0], rng.uniform(0.2, 5.0, size=30)
    targets = rows[:, 0] + rng.normal(size=30) * np.abs(rows[:, 3])

    found = regress(rows, targets, weights)

    root = np.sqrt(weights)
    plain = np.linalg.lstsq(rows * root[:, None], targets * root, rcond=None)[0]
    assert found.coefficients == pytest.approx(plain, rel=1e-9)
    assert std_errors(found) == pytest.approx(hc3_by_loops(rows, targets, weights), rel=1e-9)


def test_the_standard_error_of_a_weighted_mean_is_what_the_hand_finds() -> None:
    y, w = np.array([1.0, 4.0, 7.0, 2.0]), np.array([1.0, 2.0, 1.0, 4.0])

    found = regress(np.ones((4, 1)), y, w)

    # mean 24/8 = 3, residuals −2, 1, 4, −1, leverages 1/8, 1/4, 1/8, 1/2
    scores = [1 * 2 / (7 / 8), 2 * 1 / (3 / 4), 1 * 4 / (7 / 8), 4 * 1 / (1 / 2)]
    assert found.coefficients == pytest.approx([3.0])
    assert std_errors(found) == pytest.approx([np.sqrt(sum(score**2 for score in scores)) / 8])
    assert found.r_squared == pytest.approx(0.0, abs=1e-12)


def test_an_unweighted_mean_has_the_standard_error_root_of_squares_over_n_less_one() -> None:
    y = np.array([3.0, 5.0, 4.0, 9.0, -1.0])

    found = regress(np.ones((5, 1)), y, np.ones(5))

    assert std_errors(found) == pytest.approx([np.sqrt(((y - 4.0) ** 2).sum()) / 4])


def test_a_weight_of_two_estimates_what_the_row_twice_does() -> None:
    rng = np.random.default_rng(1)
    rows, targets, weights = rng.normal(size=(20, 3)), rng.normal(size=20), rng.integers(1, 4, size=20)

    weighted = regress(rows, targets, weights.astype(float))

    repeated = np.repeat(np.arange(20), weights)
    again = regress(rows[repeated], targets[repeated], np.ones(len(repeated)))
    assert weighted.coefficients == pytest.approx(again.coefficients, rel=1e-10)
    assert weighted.r_squared == pytest.approx(again.r_squared, rel=1e-10)
    assert std_errors(weighted) != pytest.approx(std_errors(again), rel=0.01)  # one unit that stands for two is not two


def test_a_common_factor_of_the_weights_changes_nothing() -> None:
    rng = np.random.default_rng(2)
    rows, targets, weights = rng.normal(size=(20, 3)), rng.normal(size=20), rng.uniform(1, 2, size=20)

    found, scaled = (regress(rows, targets, factor * weights) for factor in (1.0, 1e-9))

    assert scaled.coefficients == pytest.approx(found.coefficients, rel=1e-10)
    assert std_errors(scaled) == pytest.approx(std_errors(found), rel=1e-10)


@pytest.mark.parametrize(
    "rows",
    [
        np.array([[1.0, 2.0, 3.0], [1.0, 4.0, -1.0]]),  # fewer rows than columns
        np.array([[1.0, 2.0, 4.0], [1.0, 3.0, 6.0], [1.0, 5.0, 10.0], [1.0, 0.0, 0.0]]),  # a column twice another
        np.array([[1.0, 2e6, 0.0], [1.0, 5e6, 0.0], [1.0, -1e6, 0.0], [1.0, 1.0, 0.0]]),  # a column of zeros
    ],
)
def test_of_several_solutions_the_shortest_is_taken_without_standard_errors(rows: np.ndarray) -> None:
    targets, weights = np.arange(1.0, len(rows) + 1), np.arange(1.0, len(rows) + 1)

    found = regress(rows, targets, weights)

    root = np.sqrt(weights)
    assert found.coefficients == pytest.approx(np.linalg.pinv(rows * root[:, None]) @ (targets * root), rel=1e-8)
    assert found.rank == 2
    assert not found.varies


def test_a_row_that_determines_a_coefficient_alone_leaves_no_standard_errors() -> None:
    rows = np.array([[1.0, 0.0], [1.0, 0.0], [1.0, 0.0], [1.0, 1.0]])

    found = regress(rows, np.array([1.0, 2.0, 4.0, 9.0]), np.ones(4))

    assert found.alone.tolist() == [False, False, False, True]
    assert not found.varies


def test_a_perfect_fit_leaves_no_residuals() -> None:
    x = np.random.default_rng(0).normal(11, 37, 50)
    rows = np.column_stack([np.ones(50), x])

    assert not regress(rows, 0.3 * x, np.ones(50)).residuals.any()
    constant = regress(rows, np.full(50, 0.1), np.linspace(0.3, 2.0, 50))
    assert not constant.residuals.any()
    assert np.isnan(constant.r_squared)
