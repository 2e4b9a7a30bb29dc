"""Contexts and outcomes on arrival: as floats, or who, what was found, what is allowed."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import dtrbandit as dtr
from dtrbandit.design.contexts import LARGEST, accept_context, accept_number, history_features, require_columns

DESIGN = dtr.Design(
    [
        dtr.Stage("first", ("a", "b"), "1 + x + w"),
        dtr.Stage("second", ("a", "b"), "1 + z + z:C(first)"),
    ]
)


def test_a_context_is_accepted_as_plain_floats_whatever_was_given() -> None:
    given: dict[str, Any] = {"w": np.float32(0.5), "x": 3}

    accepted = accept_context(DESIGN, 0, given, unit="u")

    assert accepted == {"w": 0.5, "x": 3.0}
    assert [type(value) for value in accepted.values()] == [float, float]


@pytest.mark.parametrize(
    ("context", "says"),
    [
        ([1.0], "unit 'u', stage 'first': a context maps columns to numbers, found [1.0]"),
        ({"z": 1.0}, "unit 'u', stage 'first': unknown column 'z'; its context holds 'x', 'w'"),
        (
            {"x": "1"},
            "unit 'u', stage 'first', column 'x': found '1' (str), allowed are finite numbers up to 1e+100 in size",
        ),
    ],
)
def test_a_refusal_names_unit_stage_column_and_what_is_allowed(context: Any, says: str) -> None:
    with pytest.raises(dtr.ObservationError) as raised:
        accept_context(DESIGN, 0, context, unit="u")

    assert str(raised.value) == says


def test_a_missing_column_is_named_with_those_found_and_needed() -> None:
    require_columns(DESIGN, 0, {"x": 1.0, "w": 2.0}, ("w",), unit="u")

    with pytest.raises(dtr.ObservationError) as raised:
        require_columns(DESIGN, 0, {"x": 1.0}, ("x", "w"), unit="u")

    assert str(raised.value) == "unit 'u', stage 'first': 'w' missing; found 'x', needed 'x', 'w'"


@pytest.mark.parametrize("value", [LARGEST, -LARGEST, 0, 2**53, Fraction(1, 2), np.float64(0.1), np.float32(0.1)])
def test_a_number_that_a_float_holds_is_accepted(value: Any) -> None:
    assert accept_number(value, "it") == float(value)
    assert type(accept_number(value, "it")) is float


@pytest.mark.parametrize(
    "value", [np.nan, np.inf, -np.inf, 2 * LARGEST, 2**53 + 1, 10**400, Fraction(1, 3), True, "1", None, [1.0]]
)
def test_any_other_number_is_refused(value: Any) -> None:
    with pytest.raises(dtr.ObservationError, match=r"^it: found .* allowed are finite numbers"):
        accept_number(value, "it")


def test_the_features_of_a_history_need_only_what_they_use() -> None:
    features = history_features(DESIGN, 1, {"z": 3, "first": "b"}, where="here")

    assert features.tolist() == [1.0, 3.0, 3.0]
    assert history_features(DESIGN, 1, {"z": 3, "first": "a", "x": 9.0}, where="here").tolist() == [1.0, 3.0, 0.0]


@pytest.mark.parametrize(
    ("history", "says"),
    [
        (3, "here: a history maps columns to numbers, found 3"),
        ({"first": "c"}, "here: unknown arm 'c' of stage 'first'; its arms are ('a', 'b')"),
        ({"first": "a", "v": 1.0}, "here: unknown column 'v'; known at this stage are ['x', 'w', 'z']"),
        ({"first": "a"}, "here: 'z' is missing; found 'first'"),
        ({"z": 1.0}, "here: 'first' is missing; found 'z'"),
    ],
)
def test_a_history_that_does_not_fit_is_refused(history: Any, says: str) -> None:
    with pytest.raises(dtr.ObservationError) as raised:
        history_features(DESIGN, 1, history, where="here")

    assert str(raised.value) == says
