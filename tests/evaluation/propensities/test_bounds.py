"""Bounds for fitted probabilities: kept, with sums of 1, for any number of options."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dtrbandit.errors import DesignError
from dtrbandit.evaluation.propensities.bounds import as_bounds, bounded, least


@given(
    st.integers(2, 6),
    st.floats(0.001, 0.999),
    st.floats(0.001, 0.999),
    st.lists(st.sampled_from([0.0, 1e-12, 0.3, 1.0, 5.0]), min_size=6, max_size=6),
)
def test_bounds_are_kept_and_probabilities_sum_to_one(
    options: int, below: float, above: float, shares: list[float]
) -> None:
    clip = (below / options, 1 / options + above * (1 - 1 / options))
    p = np.array([shares[:options]]) + np.where(sum(shares[:options]), 0.0, 1.0)
    p /= p.sum()

    found = bounded(p, least(clip, options, where="here"))

    assert found.sum() == pytest.approx(1, abs=1e-12)
    assert clip[0] - 1e-12 <= found.min()
    assert found.max() <= clip[1] + 1e-12
    assert (np.diff(found[0, np.argsort(p[0])]) >= -1e-12).all()  # what was more probable still is


def test_two_options_are_moved_to_the_nearest_bound_and_otherwise_left_alone() -> None:
    p = np.array([[0.01, 0.99], [0.3, 0.7], [0.96, 0.04]])

    assert bounded(p, least((0.05, 0.95), 2, where="here")) == pytest.approx(
        np.array([[0.05, 0.95], [0.3, 0.7], [0.95, 0.05]])
    )


def test_if_one_of_two_options_may_not_have_more_the_other_has_no_less() -> None:
    assert least((0.05, 0.9), 2, where="here") == pytest.approx(0.1)
    assert least((0.05, 0.7), 4, where="here") == pytest.approx(0.1)
    assert least((0.2, 0.7), 4, where="here") == 0.2


def test_more_options_are_drawn_towards_equal_shares() -> None:
    p = np.array([[0.0, 0.25, 0.75]])

    assert bounded(p, 0.1) == pytest.approx(0.1 + (1 - 3 * 0.1) * p)
    assert bounded(p, 0.0).tolist() == p.tolist()


@pytest.mark.parametrize(("clip", "options"), [((0.4, 0.9), 3), ((1 / 3, 0.9), 3), ((0.01, 0.3), 3), ((0.1, 0.4), 2)])
def test_bounds_that_no_probabilities_can_keep_are_refused(clip: tuple[float, float], options: int) -> None:
    with pytest.raises(
        DesignError, match=rf"^here: probabilities of {options} .*; low must be below 1/{options}, and high above it$"
    ):
        least(clip, options, where="here")


@pytest.mark.parametrize("clip", [(0.0, 0.9), (0.1, 1.0), (0.6, 0.4), (0.1,), 0.1, "ab", (None, 0.5)])
def test_what_is_no_pair_of_bounds_is_refused(clip: object) -> None:
    with pytest.raises(DesignError, match="clip must be two numbers, 0 < low < high < 1, or None; found "):
        as_bounds(clip)
    assert as_bounds([0.1, 0.9]) == (0.1, 0.9)
