"""Intervals of means over paths, against plain versions, tables and closed forms."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dtrbandit.intervals import (
    ENOUGH,
    FEWEST,
    RESAMPLES,
    STREAM,
    TOO_FEW,
    all_pairs_reach,
    band,
    bootstrap_t,
    interval,
    mean_interval,
    mean_over_paths,
    over_cohorts,
    over_paths,
    spread_of_paths,
)
from dtrbandit.kernels.arrays import Array
from effort import scaled


@pytest.mark.parametrize(
    ("freedom", "expected"),
    [
        (1, 12.7062047),
        (2, 4.3026527),
        (3, 3.1824463),
        (4, 2.7764451),
        (9, 2.2621572),
        (30, 2.0422725),
        (999, 1.9623415),
    ],
)
def test_limits_are_standard_errors_times_the_quantiles_of_the_tables(freedom: int, expected: float) -> None:
    found = interval(np.arange(freedom + 1.0))

    assert (found.high - found.estimate) / found.std_error == pytest.approx(expected, abs=5e-7)


def test_with_one_degree_of_freedom_the_quantile_is_a_tangent() -> None:
    found = interval(np.array([0.0, 2.0]), level=0.8)

    assert found.high == pytest.approx(1 + np.tan(0.4 * np.pi))


def test_a_single_path_has_no_interval() -> None:
    found = interval(np.array([3.0]))

    assert float(found.estimate) == 3.0
    assert found.level == TOO_FEW
    assert np.isnan([found.std_error, found.low, found.high]).all()


def test_intervals_cover_the_mean_as_often_as_they_say() -> None:
    """19 in 20 of 4,000 intervals, give or take five standard deviations of 0.0034."""
    means = interval(np.random.default_rng(1).normal(size=(4, 4000)))

    covered = ((means.low < 0) & (means.high > 0)).mean()
    assert abs(covered - 0.95) < 5 * np.sqrt(0.95 * 0.05 / 4000)


def plain_t(values: Array, seed: int) -> list[float]:
    """t* of each resample of paths, one after the other; those of equal paths are left out."""
    n, rng = len(values), np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(STREAM,)))
    found = []
    for _ in range(RESAMPLES):
        drawn = values[rng.integers(n, size=n)]
        if len(set(drawn.tolist())) > 1:
            found.append((drawn.mean() - values.mean()) / (drawn.std(ddof=1) / np.sqrt(n)))
    return found


@settings(max_examples=scaled(8), deadline=None)
@given(
    seed=st.integers(0, 2**32),
    values=st.lists(
        st.sampled_from([0.0, 0.0, 1.0, 2.5, 100.0]) | st.integers(-1000, 1000).map(float), min_size=2, max_size=30
    ),
)
def test_bootstrap_t_is_that_of_resamples_drawn_one_by_one(seed: int, values: list[float]) -> None:
    x = np.array(values)

    low, high = bootstrap_t(x, seed=seed)

    t, std_error = plain_t(x, seed), x.std(ddof=1) / np.sqrt(len(x))
    ends = np.quantile(t, [0.975, 0.025]) if t else np.zeros(2)
    assert (low, high) == pytest.approx(tuple(x.mean() - ends * std_error), rel=1e-6, abs=1e-6)


def test_each_point_of_a_curve_has_the_interval_it_would_have_alone() -> None:
    curves = np.random.default_rng(2).exponential(size=(250, 3, 2))

    low, high = bootstrap_t(curves, seed=4)

    assert low.shape == (3, 2)
    assert (low[2, 1], high[2, 1]) == pytest.approx(bootstrap_t(curves[:, 2, 1], seed=4))


def test_many_paths_in_several_pieces_give_what_one_piece_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.random.default_rng(3).exponential(size=(300, 2))
    whole = bootstrap_t(values, seed=1)

    monkeypatch.setattr("dtrbandit.intervals.AT_ONCE", 300 * 7)

    assert np.allclose(whole, bootstrap_t(values, seed=1))


def test_the_number_of_paths_alone_decides_whether_there_is_an_interval() -> None:
    values = np.arange(float(ENOUGH))

    few, some, enough = (mean_over_paths(values[:n], seed=0) for n in (FEWEST - 1, FEWEST, ENOUGH))

    assert few.level == TOO_FEW
    assert np.isnan([few.std_error, few.low, few.high]).all()
    assert (some.level, enough.level) == ("about 90 %", "95 %")
    assert some.low < some.estimate < some.high


def test_paths_that_are_all_equal_have_an_interval_of_no_width() -> None:
    found = mean_over_paths(np.full(200, 3.7), seed=0)

    assert (found.low, found.estimate, found.high) == pytest.approx((3.7, 3.7, 3.7))


def test_bootstrap_t_covers_a_skewed_mean_as_often_as_it_says() -> None:
    """19 in 20 of 400 samples of 500 lognormal values, give or take four standard deviations of 0.011."""
    samples = np.random.default_rng(5).lognormal(size=(500, 400))

    low, high = bootstrap_t(samples, seed=0)

    covered = ((low < np.exp(0.5)) & (np.exp(0.5) < high)).mean()
    assert abs(covered - 0.95) < 4 * np.sqrt(0.95 * 0.05 / 400)


def test_the_reach_of_all_pairs_holds_for_the_largest_of_their_differences() -> None:
    """At least 19 in 20 of 150 samples of four equal columns, less three standard deviations of 0.018.

    1.96 would hold in 80 % of them: the studentised range of four exceeds 2.77 in 20 % (tables).
    """
    rng, held, plain = np.random.default_rng(6), 0, 0
    for seed in range(150):
        values = rng.normal(size=(200, 4))
        ordered = values[:, np.argsort(values.mean(axis=0))]
        difference = ordered[:, 3] - ordered[:, 0]
        off = difference.mean() / (difference.std(ddof=1) / np.sqrt(200))
        held += off <= all_pairs_reach(values, seed=seed)
        plain += off <= 1.96

    assert held / 150 >= 0.95 - 3 * np.sqrt(0.95 * 0.05 / 150)
    assert plain / 150 < 0.9


def test_the_spread_is_that_of_the_paths_whatever_their_number() -> None:
    values = np.arange(101.0)

    assert list(map(float, spread_of_paths(values))) == [50, 5, 95]
    assert tuple(band(values, seed=0)) == (5, 95, "mean; band: 5 to 95 % of paths")
    low, high, words = band(np.arange(500.0), seed=0)
    assert words == "mean, 95 % band"
    assert 225 < low < 249.5 < high < 274  # 2 standard errors of 6.5


# -- The interval over cohorts, against its formula written out, and what it becomes without a spread of cohorts


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

    assert mean_interval(values, None)[:4] == interval(values)[:4]
    assert mean_interval(values, lost) == over_cohorts(values, resampled)


def test_the_number_of_paths_alone_decides_what_an_interval_over_paths_is_worth() -> None:
    values = np.random.default_rng(2).normal(size=(40, 2))

    printed = [mean_interval(np.arange(float(paths)), None).level for paths in (19, 20, 60)]
    assert printed == ["too few paths for an interval", "about 90 %", "95 %"]
    assert mean_interval(values[:2, 0], values[:30]).level == "95 %"
    assert np.isnan(over_paths(values[:19])[1:4]).all()
    assert over_paths(values[:19]).estimate.tolist() == values[:19].mean(axis=0).tolist()
    np.testing.assert_array_equal(over_paths(values, level=0.99)[:4], interval(values, level=0.99)[:4])
