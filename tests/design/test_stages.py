"""Stages: plain values, labels, and what a message says of anything else."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest
from numpy.typing import NDArray

import dtrbandit as dtr


def test_a_stage_holds_plain_values_whatever_was_given() -> None:
    arms = list(np.array(["a", "b"]))

    stage = dtr.Stage(np.str_("s"), arms, "1", columns=[np.str_("x")], expected_days=np.int64(84))  # type: ignore[arg-type]

    assert stage == dtr.Stage("s", ("a", "b"), "1", columns=("x",), expected_days=84.0)
    assert {type(text) for text in (stage.name, *stage.arms, *(stage.columns or ()))} == {str}
    assert type(stage.expected_days) is float


def squares(columns: Mapping[str, NDArray[np.float64]]) -> NDArray[np.float64]:
    return np.column_stack([columns["x"] ** 2])


@pytest.mark.parametrize(
    ("stage", "says"),
    [
        (lambda: dtr.Stage("s", ("a", "b"), squares), "columns="),
        (lambda: dtr.Stage("s", "ab", "x"), "list"),  # type: ignore[arg-type]
        (lambda: dtr.Stage("s", (), "x"), "at least 1"),
        (lambda: dtr.Stage("", ("a",), "x"), "printable"),
        (lambda: dtr.Stage(" s", ("a",), "x"), r"name must not begin or end with a space, found ' s'; write 's'"),
        (lambda: dtr.Stage("s", ("a", "a "), "x"), r"arms: each must not .* a space, found 'a '; write 'a'"),
        (lambda: dtr.Stage("s", ("a",), "x", columns=(" z",)), r"columns: each must not .* found ' z'; write 'z'"),
        (lambda: dtr.Stage("s", ("a",), "x", expected_days=-3), "positive"),
        (lambda: dtr.Stage("s", ("a",), "x", expected_days=True), "positive"),
        (lambda: dtr.Stage("s", ("a",), "x", expected_days=10**400), "positive"),
        (lambda: dtr.Stage("s", tuple(map(str, range(65))), "x"), "64 at most, found 65"),
    ],
)
def test_a_stage_that_makes_no_sense_is_refused(stage: object, says: str) -> None:
    with pytest.raises(dtr.DesignError, match=says):
        stage()  # type: ignore[operator]
