"""Stages as parsed: who owns a column, and where features lie among packed columns."""

from __future__ import annotations

import struct
from collections.abc import Mapping

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import dtrbandit as dtr
from dtrbandit.design.parsed import parse_stages

ARMS = ("a", "b")


def test_a_column_belongs_to_the_first_stage_that_names_it() -> None:
    stages = [
        dtr.Stage("first", ARMS, "1 + x", columns=("x", "extra")),
        dtr.Stage("second", ARMS, "1 + x + z", enter_if="r > 0 and extra > 1"),
        dtr.Stage("third", ARMS, "1 + r + C(second)", columns=("w",)),
    ]

    parsed = parse_stages(stages)

    assert [each.columns for each in parsed] == [("x", "extra"), ("z", "r"), ("w",)]
    assert [each.condition and each.condition.columns for each in parsed] == [None, ("r", "extra"), None]
    assert [each.features.names for each in parsed] == [
        ("1", "x"),
        ("1", "x", "z"),
        ("1", "r", "C(second)[b]"),
    ]


terms = st.lists(st.sampled_from(["x", "z", "w", "v"]), unique=True)


@given(st.booleans(), terms, terms)
def test_plain_features_are_pieces_of_the_packed_columns(intercept: bool, first: list[str], second: list[str]) -> None:
    stages = [
        dtr.Stage(f"stage {m}", ARMS, " + ".join([str(int(intercept or not names)), *names]))
        for m, names in enumerate((first, second))
    ]
    parsed = parse_stages(stages)
    values = {name: 10.0 + number for number, name in enumerate("xzwv")}
    known = [*parsed[0].columns, *parsed[1].columns]
    packed = struct.pack(f"{1 + len(known)}d", 1.0, *[values[name] for name in known])

    for each in parsed:
        assert each.pieces is not None
        found = np.frombuffer(b"".join(packed[piece] for piece in each.pieces))
        assert tuple(found.tolist()) == each.features.row(values, {})


def test_neighbours_are_one_piece() -> None:
    first, second = parse_stages([dtr.Stage("s", ARMS, "1 + x + z"), dtr.Stage("t", ARMS, "1 + z + w")])

    assert first.pieces == (slice(0, 24),)
    assert second.pieces == (slice(0, 8), slice(16, 32))


@pytest.mark.parametrize("features", ["x:z", "x*z", "1 + C(first)"])
def test_products_and_arms_are_no_pieces(features: str) -> None:
    parsed = parse_stages([dtr.Stage("first", ARMS, "1"), dtr.Stage("second", ARMS, features)])

    assert parsed[1].pieces is None


def test_a_function_is_asked_once_with_all_that_it_will_be_given() -> None:
    asked = []

    def features(arrays: Mapping[str, NDArray[np.float64]]) -> NDArray[np.float64]:
        asked.append(set(arrays))
        return np.ones((1, 2))

    stages = [dtr.Stage("first", ARMS, "x"), dtr.Stage("second", ARMS, features, columns=("z",), enter_if="r > 0")]

    parsed = parse_stages(stages)

    assert asked == [{"x", "z", "r", "first"}]
    assert parsed[1].columns == ("z", "r")
    assert parsed[1].pieces is None
    assert len(parsed[1].features.names) == 2


@pytest.mark.parametrize(
    ("second", "says"),
    [
        (dtr.Stage("second", ARMS, "x +"), "^stage 'second': features: expected a column"),
        (dtr.Stage("second", ARMS, "C(second)"), r"^stage 'second': features: C\(...\) takes an earlier stage"),
        (dtr.Stage("second", ARMS, "1", enter_if="x >"), "^stage 'second': enter_if: expected a column or a number"),
        (dtr.Stage("second", ARMS, "1", enter_if="second > 1"), "a condition compares columns; 'second' is a stage"),
    ],
)
def test_an_error_says_which_stage_and_which_text(second: dtr.Stage, says: str) -> None:
    with pytest.raises(dtr.DesignError, match=says):
        parse_stages([dtr.Stage("first", ARMS, "1"), second])
