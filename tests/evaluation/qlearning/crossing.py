"""Trials of which it is known who should get what: three arms that are best in three parts of a plane."""

from __future__ import annotations

import numpy as np

import dtrbandit as dtr
from dtrbandit.evaluation import Cohort
from evaluation.simulated_cohorts import cohort_of

CROSSING = dtr.Design(
    [
        dtr.Stage("first", arms=("a", "b"), features="1 + x + w"),
        dtr.Stage("second", arms=("a", "b", "c"), features="1 + x + z", enter_if="r > -1"),
    ],
    plans=[(first, second) for first in "ab" for second in "abc" if first + second != "bc"],
)


def crossing(n: int, seed: int) -> Cohort:
    """Draw units whose second arm b is best for large z, and c for small x; c cannot follow b."""
    rng = np.random.default_rng(seed)
    x, z, r = rng.normal(size=(3, n))
    w = rng.integers(2, size=n).astype(np.float64)
    arms = np.array(CROSSING.arm_plans)[rng.integers(5, size=n)]
    outcome = 3 * z * (arms[:, 1] == 1) - 2 * x * (arms[:, 1] == 2) + rng.normal(size=n)
    arms[r <= -1, 1] = -1
    return cohort_of(CROSSING, [{"x": x, "w": w}, {"z": z, "r": r}], arms, outcome)
