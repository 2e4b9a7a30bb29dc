"""Stages: plain values, labels, and what a message says of anything else."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import dtrbandit as dtr
from dtrbandit.design.identity import identity
from dtrbandit.design.stages import parse_stages
from dtrbandit.design.values import labels


def test_a_stage_holds_plain_values_whatever_was_given() -> None:
    arms = list(np.array(["a", "b"]))

    stage = dtr.Stage(np.str_("s"), arms, "1", columns=[np.str_("x")], expected_days=np.int64(84))  # type: ignore[arg-type]  # numpy's

    assert stage == dtr.Stage("s", ("a", "b"), "1", columns=("x",), expected_days=84.0)
    assert {type(text) for text in (stage.name, *stage.arms, *(stage.columns or ()))} == {str}
    assert type(stage.expected_days) is float


def squares(columns: Mapping[str, NDArray[np.float64]]) -> NDArray[np.float64]:
    return np.column_stack([columns["x"] ** 2])


@pytest.mark.parametrize(
    ("stage", "says"),
    [
        (lambda: dtr.Stage("s", ("a", "b"), squares), "columns="),
        (lambda: dtr.Stage("s", "ab", "x"), "list"),  # type: ignore[arg-type]  # wrong on purpose
        (lambda: dtr.Stage("s", (), "x"), "at least 1"),
        (lambda: dtr.Stage("", ("a",), "x"), "printable"),
        (lambda: dtr.Stage(" s", ("a",), "x"), r"name must not begin or end with a space, found ' s'; write 's'"),
        (lambda: dtr.Stage("s", ("a", "a "), "x"), r"arms: each must not .* a space, found 'a '; write 'a'"),
        (lambda: dtr.Stage("s", ("a",), "x", columns=(" z",)), r"columns: each must not .* found ' z'; write 'z'"),
        (lambda: dtr.Stage("s", ("a",), "x", expected_days=-3), "above 0, found -3"),
        (lambda: dtr.Stage("s", ("a",), "x", expected_days=True), "above 0, found True"),
        (lambda: dtr.Stage("s", ("a",), "x", expected_days=10**400), "above 0"),
        (lambda: dtr.Stage("s", tuple(map(str, range(65))), "x"), "64 at most, found 65"),
    ],
)
def test_a_stage_that_makes_no_sense_is_refused(stage: object, says: str) -> None:
    with pytest.raises(dtr.DesignError, match=says):
        stage()  # type: ignore[operator]  # wrong on purpose


def test_a_stage_survives_a_dict_and_leaves_out_what_was_not_given() -> None:
    small = dtr.Stage("s", ("a", "b"), "1 + x")
    full = dtr.Stage("t", ("a",), "1", columns=("z",), enter_if="x > 0", expected_days=84)

    assert small.to_dict() == {"name": "s", "arms": ["a", "b"], "features": "1 + x"}
    for stage in (small, full):
        assert dtr.Stage.from_dict(stage.to_dict(), number=1) == stage


@pytest.mark.parametrize(
    ("entries", "says"),
    [
        ("s", "stage 2 must be a table, found 's'"),
        ({"name": "s", "arms": ["a"]}, "stage 2: 'features' is missing; needed are name, arms, features"),
        (
            {"name": "s", "arms": ["a"], "features": "1", "days": 3},
            "stage 2: unknown key 'days'; allowed are name, arms, features, columns, enter_if, expected_days",
        ),
        (
            {"name": "s", "arms": ["a"], "features": {"function": "squares"}},
            r"stage 2: its features were a Python function \('squares'\); pass the design itself as design=",
        ),
        ({"name": "s", "arms": ["a"], "features": 3}, "stage 's': features must be a formula or a function, found 3"),
    ],
)
def test_a_table_that_is_no_stage_is_refused_by_its_number(entries: Any, says: str) -> None:
    with pytest.raises(dtr.DesignError, match=f"^{says}$"):
        dtr.Stage.from_dict(entries, number=2)


def test_a_function_is_described_by_its_name_and_what_identifies_it() -> None:
    entries = dtr.Stage("s", ("a",), squares, columns=("x",)).to_dict()

    assert entries["features"] == {"function": "squares", "identity": identity(squares)}


def test_labels_are_distinct_plain_and_not_too_many() -> None:
    assert labels(["a", np.str_("b")], "arms") == ("a", "b")
    assert labels([], "columns", least=0) == ()
    for texts, says in [
        (["a", "a"], "all different"),
        ([], "at least 1"),
        (["a", 3], "arms: each must be a printable"),
    ]:
        with pytest.raises(dtr.DesignError, match=says):
            labels(texts, "arms")


# -- as parsed -----------------------------------------------------------------------------------------------------


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
