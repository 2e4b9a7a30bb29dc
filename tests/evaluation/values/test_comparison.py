"""Comparisons of several regimes: closed forms of the normal distribution."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np
import pytest

from dtrbandit.evaluation.values.comparison import contenders, drawn, joint_reach


def test_draws_have_the_covariance_of_the_influences() -> None:
    influence = np.array([[1.0, 2.0, 3.0], [0.0, 1.0, 1.0], [2.0, -1.0, 1.0]])  # the third is the sum: singular

    draws = drawn(influence, seed=1)

    # Over 20,000 draws a variance v has the error v √(2 / 20,000) = v / 100.
    assert np.cov(draws.T) == pytest.approx(influence.T @ influence, abs=0.05 * 11)
    assert draws[:, 0] + draws[:, 1] == pytest.approx(draws[:, 2])


def test_independent_regimes_reach_as_far_as_sidak_says() -> None:
    for count in (1, 3):
        expected = NormalDist().inv_cdf((1 + 0.95 ** (1 / count)) / 2)

        assert joint_reach(np.eye(count), seed=3) == pytest.approx(expected, abs=0.04)


def test_the_same_regime_twice_needs_no_further_reach() -> None:
    assert joint_reach(np.ones((4, 2)), seed=0) == pytest.approx(1.96, abs=0.04)


def test_two_regimes_are_compared_one_sided() -> None:
    influence, reach = np.array([[1.0, 0.0], [0.0, 1.0]]), 1.645 * np.sqrt(2)

    near = contenders(np.array([0.0, 2.2]), influence, seed=0)
    far = contenders(np.array([0.0, 2.45]), influence, seed=0)

    assert near.kept.tolist() == [True, True]
    assert far.kept.tolist() == [False, True]
    assert far.loses_at_most == pytest.approx([2.45 + reach, max(0.0, reach - 2.45)], abs=0.06)


def test_regimes_that_cannot_differ_are_both_kept() -> None:
    found = contenders(np.array([1.0, 1.0]), np.ones((5, 2)), seed=0)

    assert found.kept.tolist() == [True, True]
    assert found.loses_at_most.tolist() == [0.0, 0.0]


def test_one_regime_is_its_own_best() -> None:
    found = contenders(np.array([1.0]), np.ones((5, 1)), seed=0)

    assert found.kept.tolist() == [True]
    assert found.loses_at_most.tolist() == [0.0]


def test_a_best_regime_is_kept_as_often_as_promised() -> None:
    """Four equal regimes; each is to be kept with 95 %. With 200 repetitions two errors are 3 %."""
    rng, kept = np.random.default_rng(5), []
    for _ in range(200):
        influence = rng.normal(size=(50, 4))
        kept.append(contenders(rng.normal(size=50) @ influence, influence, seed=0).kept)

    assert np.mean(kept, axis=0).min() > 0.95 - 0.04
