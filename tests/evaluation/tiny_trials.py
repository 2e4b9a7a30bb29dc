"""Designs of one and two stages, and cohorts of a few units typed in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd

import dtrbandit as dtr
from dtrbandit.evaluation import Cohort

ONE_STAGE = dtr.Design([dtr.Stage("only", ("a", "b"), "1 + x")])
MEANS = dtr.Design(
    [dtr.Stage("first", ("a", "b"), "1"), dtr.Stage("second", ("a", "b"), "1", enter_if="r > 0")],
    plans=[("a", "a"), ("a", "b"), ("b", "b")],
)


def read(frame: Mapping[str, Sequence[object]], design: dtr.Design, unit: str | None = None) -> Cohort:
    arms = [f"A{m + 1}" for m in range(len(design.stages))]
    return Cohort.from_frame(pd.DataFrame(frame), design, arms=arms, outcome="Y", unit=unit)
