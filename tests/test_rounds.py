"""Which rounds are looked at, and sums up to them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dtrbandit as dtr
from dtrbandit.rounds import POINTS, cumulative, times


@pytest.mark.parametrize("horizon", [1, 2, 150, 10_000])
def test_by_default_rounds_rise_from_the_first_to_the_horizon(horizon: int) -> None:
    rounds = times(horizon, None)

    assert rounds[0] == 1
    assert rounds[-1] == horizon
    assert (np.diff(rounds) > 0).all()
    assert len(rounds) <= POINTS + 1


def test_default_rounds_are_even_in_their_logarithm_where_whole_numbers_allow() -> None:
    late = times(100_000, None)[-50:]

    steps = np.diff(np.log(late))
    assert steps == pytest.approx(np.full(49, np.log(100_000) / (POINTS - 1)), rel=1e-2)


def test_all_rounds_and_given_rounds_are_those() -> None:
    assert times(4, "all").tolist() == [1, 2, 3, 4]
    assert times(4, [3, 1]).tolist() == [3, 1]


@pytest.mark.parametrize(
    ("at", "told"),
    [
        ([0], "from 1 to the horizon, 9, found"),
        ([10], "from 1 to the horizon"),
        ([], "list of whole numbers"),
        ([1.5], "list of whole numbers"),
        ([[1, 2]], "list of whole numbers"),
        ("some", "rounds, 'all' or None, found 'some'"),
    ],
)
def test_other_rounds_are_refused(at: Any, told: str) -> None:
    with pytest.raises(dtr.DesignError, match=told):
        times(9, at)


def test_sums_are_those_of_each_path_up_to_each_round() -> None:
    values = np.arange(24.0).reshape(2, 4, 3)

    sums = cumulative(values, np.array([4, 1]))

    assert sums[:, 0].tolist() == values.sum(axis=1).tolist()
    assert sums[:, 1].tolist() == values[:, 0].tolist()
