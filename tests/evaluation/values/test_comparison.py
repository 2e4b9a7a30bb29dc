"""Comparisons of several regimes, against closed forms of the normal and Student's distribution."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import NormalDist

import numpy as np
import pytest

from dtrbandit.evaluation.values.comparison import contenders, differences, joint_reach
from dtrbandit.evaluation.values.estimate import Estimate, Support, of_influence
from dtrbandit.intervals import student_quantile
from dtrbandit.kernels.arrays import Matrix

MANY = 1e6  # degrees of freedom: the normal distribution


def estimates(values: Sequence[float], influence: Matrix, freedom: float | Sequence[float] = MANY) -> list[Estimate]:
    """Return estimates of regimes 0, 1, ..., with a column of ``influence`` (n, R) each."""
    own = np.broadcast_to(freedom, len(values)).tolist()
    return [
        of_influence(str(d), "weighted", (value, influence[:, d]), Support(9, 9.0, 0.1), freedom=own[d])
        for d, value in enumerate(values)
    ]


def test_independent_regimes_reach_as_far_as_sidak_says() -> None:
    for count in (1, 3):
        expected = NormalDist().inv_cdf((1 + 0.95 ** (1 / count)) / 2)

        assert joint_reach(estimates([0.0] * count, np.eye(count)), seed=3) == pytest.approx(expected, abs=0.04)


def test_few_degrees_of_freedom_reach_as_far_as_student_says() -> None:
    assert joint_reach(estimates([0.0], np.eye(1), 5), seed=3) == pytest.approx(student_quantile(5), abs=0.06)
    assert joint_reach(estimates([0.0, 0.0], np.ones((4, 2)), [5, 60]), seed=3) == pytest.approx(
        student_quantile(5), abs=0.06
    )  # those of the regime with fewest


def test_the_same_regime_twice_needs_no_further_reach() -> None:
    assert joint_reach(estimates([0.0, 0.0], np.ones((4, 2))), seed=0) == pytest.approx(1.96, abs=0.04)


def test_values_that_depend_on_each_other_linearly_are_compared() -> None:
    influence = np.array([[1.0, 2.0, 3.0], [0.0, 1.0, 1.0], [2.0, -1.0, 1.0]])  # the third is the sum: singular

    found = differences(estimates([0.0, 0.0, 1.0], influence), seed=1)

    assert list(found) == [("0", "1"), ("0", "2"), ("1", "2")]
    assert found["0", "2"][:2] == pytest.approx((-1.0, np.sqrt(6)))  # what the second adds: (2, 1, −1)
    assert found["1", "2"][1] == pytest.approx(np.sqrt(5))


def test_a_difference_has_the_freedom_of_its_smaller_side() -> None:
    found = differences(estimates([1.0, 0.0, 0.0], np.eye(3), [10, 20, 5]), seed=0)

    for pair, freedom in ((("0", "1"), 10), (("0", "2"), 5), (("1", "2"), 5)):
        difference, error, low, high, joint_low, joint_high = found[pair]
        assert error == pytest.approx(np.sqrt(2))
        assert (low, high) == pytest.approx(
            (difference - student_quantile(freedom) * error, difference + student_quantile(freedom) * error)
        )
        assert joint_low < difference - student_quantile(5) * error  # for all pairs, with the fewest
        assert joint_high - difference == pytest.approx(difference - joint_low)


def test_all_differences_of_independent_regimes_reach_as_far_as_tukey_says() -> None:
    """The studentised range of three with many degrees of freedom is 3.314 (tables); over √2 for a difference."""
    found = differences(estimates([0.0] * 3, np.eye(3)), seed=0)

    for difference, error, _, _, _, joint_high in found.values():
        assert (joint_high - difference) / error == pytest.approx(3.314 / np.sqrt(2), abs=0.04)


def test_two_regimes_are_compared_one_sided() -> None:
    influence, reach = np.array([[1.0, 0.0], [0.0, 1.0]]), 1.645 * np.sqrt(2)

    near = contenders(estimates([0.0, 2.2], influence), seed=0)
    far = contenders(estimates([0.0, 2.45], influence), seed=0)

    assert [kept for kept, _ in near.values()] == [True, True]
    assert [kept for kept, _ in far.values()] == [False, True]
    assert [loses for _, loses in far.values()] == pytest.approx([2.45 + reach, max(0.0, reach - 2.45)], abs=0.06)


def test_regimes_that_cannot_differ_are_both_kept() -> None:
    assert contenders(estimates([1.0, 1.0], np.ones((5, 2))), seed=0) == {"0": (True, 0.0), "1": (True, 0.0)}


def test_one_regime_is_its_own_best_and_none_has_none() -> None:
    assert contenders(estimates([1.0], np.ones((5, 1))), seed=0) == {"0": (True, 0.0)}
    assert contenders([], seed=0) == {}
    assert differences(estimates([1.0], np.ones((5, 1))), seed=0) == {}


def test_a_best_regime_is_kept_as_often_as_promised() -> None:
    """Four equal regimes; each is to be kept with 95 %. With 200 repetitions two errors are 3 %."""
    rng, kept = np.random.default_rng(5), []
    for _ in range(200):
        influence = rng.normal(size=(50, 4))
        found = contenders(estimates((rng.normal(size=50) @ influence).tolist(), influence), seed=0)
        kept.append([each for each, _ in found.values()])

    assert np.mean(kept, axis=0).min() > 0.95 - 0.04
