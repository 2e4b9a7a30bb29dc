"""Five units of two stages in a frame: one left early, two dropped out."""

from __future__ import annotations

from typing import Any

import pandas as pd

import dtrbandit as dtr
from dtrbandit.evaluation import Cohort

DESIGN = dtr.Design(
    [
        dtr.Stage("first", ("ssri", "other"), "1 + start1"),
        dtr.Stage("second", ("ssri", "other"), "1 + start2", enter_if="end1 > 5"),
    ],
    plans=[("ssri", "ssri"), ("ssri", "other"), ("other", "other")],
)
RECODE = {"A1": {1: "ssri", -1: "other"}, "A2": {1: "ssri", -1: "other"}}
FRAME = pd.DataFrame(
    {
        "id": ["u1", "u2", "u3", "u4", "u5"],
        "start1": [12, 13, 14, 15, 16],
        "A1": [1, 1, -1, 1, -1],
        "end1": [8, 3, 9, 7, None],
        "start2": [8.5, 3.5, 9.5, None, None],
        "A2": [-1, None, None, None, None],
        "Y": [-9.0, -3.0, -10.0, None, None],
        "w": [1.0, 2.0, 1.0, 1.0, 0.5],
    }
)


def read(frame: object, **other: Any) -> Cohort:
    roles: dict[str, Any] = {"arms": ["A1", "A2"], "outcome": "Y", "unit": "id", "recode": RECODE, **other}
    return Cohort.from_frame(frame, DESIGN, **roles)


def changed(row: int, **cells: object) -> pd.DataFrame:
    """Return the frame with cells of a row, counted from 1, replaced."""
    frame = FRAME.astype(object)
    for name, cell in cells.items():
        frame.loc[row - 1, name] = cell
    return frame
