"""Roles of columns: those that do not fit the design or the frame are refused, all at once."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

from dtrbandit.errors import DesignError
from evaluation.small_frame import FRAME, read


@pytest.mark.parametrize(
    ("other", "message"),
    [
        ({"arms": ["A1"]}, r"arms must list one column for each of the stages \['first', 'second'\], found \['A1'\]"),
        ({"arms": "A1"}, "arms must list one column .*found 'A1'"),
        ({"arms": ["A1", "A1"], "recode": None}, r"arms must name a column for each stage, found \['A1', 'A1'\]"),
        ({"outcome": "y"}, r"the frame lacks \['y'\]; it has \['id', 'start1', .*'w'\]; did you mean 'Y' for 'y'\?"),
        ({"outcome": "Outcome"}, r"the frame lacks \['Outcome'\]; it has \[.*'w'\]$"),
        ({"outcome": "start2"}, "outcome='start2' is also a column of the design, of arms or of weights"),
        ({"outcome": "A2"}, "outcome='A2' is also a column of the design, of arms or of weights"),
        ({"outcome": "w", "weights": "w"}, "outcome='w' is also a column of the design, of arms or of weights"),
        ({"outcome": ["Y"]}, r"columns are called by a text, found \[\['Y'\]\]"),
        ({"arms": ["A1", 2], "unit": 0}, r"columns are called by a text, found \[2, 0\]"),
        ({"unit": "unit", "weights": "weight"}, r"the frame lacks \['unit', 'weight'\]"),
        ({"recode": {"A3": {1: "ssri"}}}, r"recode is for the columns of arms, \['A1', 'A2'\], found 'A3'"),
        ({"recode": {"A1": {1: "SSRI"}}}, r"recode\['A1'\] must lead to \['ssri', 'other'\].*found \['SSRI'\]"),
        ({"recode": {"A1": ["ssri"]}}, r"recode\['A1'\] must map cells to arms, found \['ssri'\]"),
        ({"recode": "A1"}, "recode must map columns of arms"),
    ],
)
def test_roles_that_do_not_fit_are_refused(other: dict[str, Any], message: str) -> None:
    with pytest.raises(DesignError, match=message):
        read(FRAME, **other)


def test_all_roles_that_do_not_fit_are_told_at_once() -> None:
    with pytest.raises(DesignError, match=r"recode is for .*; the frame lacks \['start1', 'y', 'unit'\]; it has"):
        read(FRAME.drop(columns="start1"), outcome="y", unit="unit", recode={"x": {}})


def test_a_column_that_is_there_twice_is_refused() -> None:
    with pytest.raises(DesignError, match=r"more than one column \['Y'\]"):
        read(pd.concat([FRAME, FRAME[["Y", "w"]]], axis=1))


def test_an_empty_frame_is_refused() -> None:
    with pytest.raises(DesignError, match="the frame has no rows"):
        read(FRAME.iloc[:0])
