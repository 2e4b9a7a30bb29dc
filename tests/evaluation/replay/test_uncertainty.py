"""The interval over cohorts, against its formula written out, and what it becomes without a spread of cohorts."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dtrbandit.evaluation.replay.uncertainty import COHORTS, PATHS, mean_interval, over_cohorts, over_paths, worth
from dtrbandit.intervals import interval


def plainly(values: list[float], resampled: list[list[float]]) -> tuple[float, float]:
    """Return the mean and σ by the formula, number by number."""

    def variance(numbers: list[float]) -> float:
        mean = sum(numbers) / len(numbers)
        return sum((x - mean) ** 2 for x in numbers) / (len(numbers) - 1)

    means = [sum(paths) / len(paths) for paths in resampled]
    luck = sum(variance(paths) / len(paths) for paths in resampled) / len(resampled)
    square = max(0.0, variance(means) - luck) + variance(values) / len(values)
    return sum(values) / len(values), math.sqrt(square)


@given(st.integers(2, 6), st.integers(2, 5), st.integers(2, 4), st.integers(0, 2**32 - 1))
def test_the_standard_error_is_that_of_the_formula(paths: int, cohorts: int, each: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    values = rng.normal(size=paths)
    resampled = rng.normal(size=(cohorts, 1)) * rng.integers(2) + rng.normal(size=(cohorts, each))

    found = over_cohorts(values, resampled)

    mean, sigma = plainly(values.tolist(), resampled.tolist())
    assert found.estimate == pytest.approx(mean)
    assert found.std_error == pytest.approx(sigma)
    assert (found.low, found.high) == pytest.approx((mean - 1.959964 * sigma, mean + 1.959964 * sigma))


def test_curves_have_an_interval_at_each_round() -> None:
    rng = np.random.default_rng(0)
    values, resampled = rng.normal(size=(4, 3)), rng.normal(size=(6, 2, 3))

    found = over_cohorts(values, resampled)

    for t in range(3):
        assert found.std_error[t] == pytest.approx(over_cohorts(values[:, t], resampled[:, :, t]).std_error)


def test_where_cohorts_do_not_differ_only_the_luck_of_paths_is_left() -> None:
    values, same = np.array([0.0, 2.0]), np.array([[0.0, 2.0]] * 30)

    assert over_cohorts(values, same).std_error == pytest.approx(1.0)


def test_without_resampled_cohorts_it_is_the_interval_over_paths_and_those_not_played_are_left_out() -> None:
    values, resampled = np.arange(20.0) ** 2, np.random.default_rng(1).normal(size=(8, 3))
    lost = np.vstack([resampled, np.full((1, 3), np.nan)])

    assert mean_interval(values, None) == interval(values)
    assert mean_interval(values, lost) == over_cohorts(values, resampled)


def test_the_number_of_paths_alone_decides_what_an_interval_over_paths_is_worth() -> None:
    values = np.random.default_rng(2).normal(size=(40, 2))

    assert [worth(paths, PATHS) for paths in (19, 20, 60)] == ["too few paths for an interval", "about 90 %", "95 %"]
    assert worth(2, COHORTS) == "95 %"
    assert np.isnan(over_paths(values[:19])[1:4]).all()
    assert over_paths(values[:19]).estimate.tolist() == values[:19].mean(axis=0).tolist()
    np.testing.assert_array_equal(over_paths(values, level=0.99)[:4], interval(values, level=0.99)[:4])
