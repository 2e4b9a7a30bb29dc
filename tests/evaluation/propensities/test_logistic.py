"""Logistic models against a plain Newton iteration, and what is said when there is no maximum."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from dtrbandit.evaluation.propensities.logistic import fit_logistic, independent, separated
from dtrbandit.kernels.arrays import Array
from evaluation.plain_logistic import multinomial, newton

RNG = np.random.default_rng(0)
N = 400
COLUMNS = RNG.normal(size=(N, 3)) * [1.0, 100.0, 0.01] + [0.0, 1000.0, 0.0]
X = np.column_stack([np.ones(N), COLUMNS])
NAMES = ("1", "a", "b", "c")
Y = (RNG.random(N) < 1 / (1 + np.exp(-COLUMNS[:, 0] - 0.01 * (COLUMNS[:, 1] - 1000)))).astype(np.int64)
ONES = np.ones(N)


@pytest.mark.parametrize("penalty", [0.0, 1.0, 0.02])
def test_two_outcomes_are_fitted_as_by_a_plain_newton_iteration_on_columns_of_any_scale(penalty: float) -> None:
    weights = np.random.default_rng(1).integers(0, 4, N).astype(np.float64)

    fit = fit_logistic(X, NAMES, Y, weights, penalty=penalty)

    expected = newton(X, Y.astype(np.float64), weights, ridge=np.array([0.0, 1, 1, 1]) * penalty)
    assert fit.coef[0] == pytest.approx(expected, rel=1e-8, abs=1e-10)
    assert fit.probabilities[:, 1] == pytest.approx(1 / (1 + np.exp(-X @ expected)), abs=1e-10)


@pytest.mark.parametrize("penalty", [0.0, 1.0])
def test_three_outcomes_are_fitted_as_by_a_plain_newton_iteration(penalty: float) -> None:
    x = X / [1, 1, 100, 0.01]
    kinds = np.random.default_rng(1).integers(0, 3, N)

    fit = fit_logistic(x, NAMES, kinds, ONES, penalty=penalty)

    assert fit.probabilities == pytest.approx(multinomial(x, kinds, penalty), abs=1e-9)
    assert fit.coef.shape == (2, 4)


def test_a_formula_without_an_intercept_has_none() -> None:
    fit = fit_logistic(X[:, 1:2], ("a",), Y, ONES, penalty=0.0)

    assert fit.coef[0] == pytest.approx(newton(X[:, 1:2], Y.astype(np.float64)), abs=1e-10)


def test_an_intercept_alone_gives_the_weighted_shares() -> None:
    weights = np.arange(1.0, N + 1)
    kinds = np.random.default_rng(1).integers(0, 3, N)

    fit = fit_logistic(X[:, :1], ("1",), kinds, weights, penalty=1.0)

    assert fit.probabilities[0] == pytest.approx(np.bincount(kinds, weights) / weights.sum())


def test_constant_and_collinear_columns_are_dropped_the_later_ones_first() -> None:
    more = np.column_stack([X, np.full(N, 7.0), X[:, 1] - 2 * X[:, 2], np.random.default_rng(1).normal(size=N)])

    fit = fit_logistic(more, (*NAMES, "seven", "a - 2b", "d"), Y, ONES, penalty=0.0)

    assert fit.names == (*NAMES, "d")
    assert fit.dropped == ("seven", "a - 2b")
    alone = fit_logistic(more[:, [0, 1, 2, 3, 6]], "1abcd", Y, ONES, penalty=0.0)
    assert fit.probabilities == pytest.approx(alone.probabilities, abs=1e-12)


@given(st.integers(1, 5), st.integers(1, 5), st.integers(0, 10**6))
def test_as_many_columns_are_kept_as_the_rank_says(rank: int, extra: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    base = rng.normal(size=(20, rank))
    features = np.column_stack([base, base @ rng.normal(size=(rank, extra))])[:, rng.permutation(rank + extra)]

    kept = independent(features)

    assert len(kept) == rank
    assert np.linalg.matrix_rank(features[:, kept]) == rank


def overlap_on_a_line(x: Array, y: NDArray[np.int64]) -> bool:
    """Whether both kinds lie on both sides of every point, by hand: what one column with an intercept needs."""
    low, high = x[y == 0], x[y == 1]
    return bool(low.max() > high.min() and high.max() > low.min())


@given(st.lists(st.tuples(st.integers(0, 4), st.booleans()), min_size=4, max_size=12))
def test_one_column_separates_exactly_if_the_two_kinds_share_at_most_a_point(rows: list[tuple[int, bool]]) -> None:
    x, y = np.array([r[0] for r in rows], dtype=np.float64), np.array([r[1] for r in rows]).astype(np.int64)
    if len(set(y.tolist())) < 2 or len(set(x.tolist())) < 2:
        return

    found = separated(np.column_stack([np.ones(len(x)), x]), y)

    assert found == (not overlap_on_a_line(x, y))


def test_a_group_that_always_went_one_way_is_named() -> None:
    group = (np.arange(N) % 10 == 0).astype(np.float64)

    fit = fit_logistic(np.column_stack([X, group]), (*NAMES, "group"), np.where(group == 1, 1, Y), ONES, penalty=0.0)

    assert fit.separating == ("group",)


def test_columns_that_separate_only_together_are_found_too() -> None:
    together = (COLUMNS[:, 0] + (COLUMNS[:, 1] - 1000) / 100 > 0).astype(np.int64)

    fit = fit_logistic(X, NAMES, together, ONES, penalty=0.0)

    assert fit.separating == ()


def test_three_kinds_of_which_one_is_set_apart_are_separated() -> None:
    kinds = np.where(X[:, 1] > 1.5, 2, np.random.default_rng(1).integers(0, 2, N))

    assert separated(X[:, :2], kinds)
    assert not separated(X[:, :2], np.random.default_rng(1).integers(0, 3, N))


def test_probabilities_near_one_are_no_separation() -> None:
    steep = (np.random.default_rng(1).random(N) < 1 / (1 + np.exp(-6 * COLUMNS[:, 0]))).astype(np.int64)

    fit = fit_logistic(X[:, :2], ("1", "a"), steep, ONES, penalty=0.0)

    assert fit.probabilities.min() < 1e-4
    assert fit.converged
    assert fit.separating is None


def test_with_a_penalty_there_is_always_a_minimum() -> None:
    fit = fit_logistic(X, NAMES, (COLUMNS[:, 0] > 0).astype(np.int64), ONES, penalty=1.0)

    assert fit.converged
    assert fit.separating is None
