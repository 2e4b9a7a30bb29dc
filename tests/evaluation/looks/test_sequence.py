"""The confidence sequence: against the formula, when there are limits, and what is printed and drawn."""

from __future__ import annotations

from math import log, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib import pyplot as plt

from dtrbandit.evaluation.looks.sequence import FEWEST, Looks, reach, sequence, tightest_root

ENOUGH = np.array([10, 10])


@pytest.mark.parametrize("alpha", [0.01, 0.05, 0.2])
def test_u_is_the_root_above_one(alpha: float) -> None:
    u = tightest_root(alpha)

    assert u > 1
    assert log((u + 1) / alpha**2) == pytest.approx(u)


def test_limits_are_tightest_at_the_number_asked_for() -> None:
    """In standard errors of a single look: 1.55 times as wide there, and wider before and after."""
    t = np.arange(1, 5_001)

    wide = reach(t, alpha=0.05, tightest=500) * np.sqrt(t) / 1.959964

    assert t[wide.argmin()] == 500
    assert wide.min() == pytest.approx(1.55, abs=0.005)
    assert wide[99] == pytest.approx(1.71, abs=0.005)


@given(
    scores=st.lists(st.floats(-100, 100), min_size=20, max_size=60),
    alpha=st.floats(0.01, 0.3),
    tightest=st.integers(1, 1_000),
)
def test_limits_are_those_of_the_formula(scores: list[float], alpha: float, tightest: int) -> None:
    at = np.arange(1, len(scores) + 1)

    mean, low, high = sequence(np.array(scores), at, np.tile(ENOUGH, (len(at), 1)), alpha=alpha, tightest=tightest)

    rho_2 = tightest_root(alpha) / tightest
    for t in (5, 20, len(scores)):
        own = np.array(scores[:t])
        inside = 2 * (t * rho_2 + 1) / (t**2 * rho_2) * log(sqrt(t * rho_2 + 1) / alpha)
        half = own.std(ddof=1) * sqrt(inside)
        assert mean[t - 1] == pytest.approx(own.mean(), abs=1e-9)
        if own.std() > 1e-6:
            assert low[t - 1] == pytest.approx(own.mean() - half, rel=1e-6, abs=1e-6)
            assert high[t - 1] == pytest.approx(own.mean() + half, rel=1e-6, abs=1e-6)


def test_there_are_no_limits_before_ten_on_each_side_nor_where_scores_do_not_vary() -> None:
    followed = np.array([[10, 9], [9, 10], [10, 10]])

    _, low, _ = sequence(np.array([1.0, 2, 3, 4]), np.array([2, 3, 4]), followed, alpha=0.05, tightest=500)
    _, flat, _ = sequence(np.full(4, 0.1), np.array([2, 3, 4]), followed, alpha=0.05, tightest=500)
    mean, none, _ = sequence(np.zeros(0), np.array([0]), np.array([[0, 0]]), alpha=0.05, tightest=500)

    assert np.isfinite(low).tolist() == [False, False, True]
    assert np.isnan(flat).all()
    assert np.isnan(none).all()
    assert np.isnan(mean).all()


def test_the_limits_hold_at_all_looks_together_and_repeated_single_looks_do_not() -> None:
    """500 null trials of 300 looks: nominal 5 %, within three Monte-Carlo errors; 1.96 is to miss in over a tenth."""
    rng, t = np.random.default_rng(5), np.arange(20, 301)
    missed, repeated = 0, 0
    for _ in range(500):
        scores = rng.normal(size=300)
        mean, low, high = sequence(scores, t, np.tile(ENOUGH, (len(t), 1)), alpha=0.05, tightest=500)
        missed += bool(((low > 0) | (high < 0)).any())
        errors = np.array([scores[:k].std(ddof=1) / sqrt(k) for k in t])
        repeated += bool((np.abs(mean) > 1.96 * errors).any())

    assert missed / 500 <= 0.05 + 3 * sqrt(0.05 * 0.95 / 500)
    assert repeated / 500 > 0.1


# -- printed and drawn -------------------------------------------------------------------------------------------


def looks(low: list[float], high: list[float], followed: tuple[int, int] = (12, 11)) -> Looks:
    count = len(low)
    middle = (np.array(low) + np.array(high)) / 2
    at = np.arange(30, 30 + count)
    return Looks(
        ("new", "old"), at + 5, at, np.tile(followed, (count, 1)), np.nan_to_num(middle), np.array(low),
        np.array(high), 0.05, 500, ("EpsilonGreedy gave the arms.",),
    )  # fmt: skip


def test_a_board_reads_the_difference_its_limits_and_that_it_is_advice() -> None:
    said = " ".join(str(looks([-1.0, -0.5], [3.0, 2.5])).split())

    assert "'new' minus that under 'old' is 1.000 (95 % limits -0.5000 to 2.500), from 31 units" in said
    assert "12 followed only the first and 11 only the second" in said
    assert "No look so far excluded a difference of 0." in said
    assert "hold at all looks together" in said
    assert "nothing is stopped by it" in said
    assert said.endswith("EpsilonGreedy gave the arms.")


@pytest.mark.parametrize(("last", "words"), [(0.2, "still do"), (-0.1, "no longer do")])
def test_the_first_look_that_excluded_zero_is_told(last: float, words: str) -> None:
    said = " ".join(str(looks([-1.0, 0.1, last], [3.0, 2.5, 2.5])).split())

    assert f"first excluded a difference of 0 at the look after 36 units, and {words}." in said


def test_without_limits_it_says_how_many_units_are_missing() -> None:
    none = looks([np.nan], [np.nan], (FEWEST - 3, 14))

    said = " ".join(str(none).split())

    assert "No limits yet: of 30 units with a score 7 followed only 'new', 14 only 'old'." in said
    assert "10 on each side are needed; missing are 3 for 'new'." in said
    assert "Their scores do not vary." in " ".join(str(looks([np.nan], [np.nan])).split())


def test_a_table_has_a_row_for_each_look() -> None:
    frame = looks([-1.0, -0.5], [3.0, 2.5]).to_frame()

    assert frame.columns.tolist() == [
        "units", "scored", "followed_first", "followed_second", "difference", "low", "high"
    ]  # fmt: skip
    assert frame["units"].tolist() == [35, 36]
    assert frame["high"].tolist() == [3.0, 2.5]


def test_the_picture_has_the_difference_its_limits_and_who_chose_the_arms() -> None:
    ax = looks([np.nan, -1.0, -0.5], [np.nan, 3.0, 2.5]).plot()
    empty = looks([np.nan], [np.nan]).plot()

    assert "95 % limits that hold at every look; advice only" in ax.get_xlabel()
    assert ax.get_ylabel() == "'new' minus 'old'"
    assert ax.lines[-1].get_xydata()[:, 1].tolist() == [1.0, 1.0]  # type: ignore[union-attr, index]  # as drawn
    assert ax.get_title(loc="left") == "EpsilonGreedy gave the arms."
    assert [text.get_text() for text in empty.texts] == ["no limits yet"]
    assert [line.get_ydata().tolist() for line in looks([0.0] * 30, [1.0] * 30).plot().lines[1:]] == [[0.5] * 30]  # type: ignore[union-attr]  # as drawn
    plt.close("all")
