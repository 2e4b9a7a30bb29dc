"""Small cohorts whose values can be found by hand."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

import dtrbandit as dtr
from dtrbandit.evaluation import Cohort
from evaluation.simulated_cohorts import cohort_of

ONE = dtr.Design([dtr.Stage("only", arms=("a", "b"), features="1")])
ALWAYS_A = dtr.FixedRegime(rule={"only": "a"})
ALWAYS_B = dtr.FixedRegime(rule={"only": "b"})


def coins(outcome: Sequence[float], arms: Sequence[int], weights: Sequence[float] | None = None) -> Cohort:
    """Return units of one stage whose arms were fair coins."""
    case = None if weights is None else np.array(weights, dtype=float)
    cohort = cohort_of(ONE, [{}], np.array(arms)[:, None], np.array(outcome, dtype=float), case)
    return cohort.with_propensities(dtr.PropensityModel(choice={"only": "uniform"}))


TWELVE = coins([1, 2, 3, 4, 5, 6, 0, 0, 1, 1, 2, 2], [0] * 6 + [1] * 6)
