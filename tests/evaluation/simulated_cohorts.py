"""Cohorts drawn from models that are known: one shaped like STAR*D, and a SMART with confounded assignment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

import dtrbandit as dtr
from dtrbandit.evaluation import Cohort
from dtrbandit.kernels.arrays import Array

STARD = dtr.Design(
    [
        dtr.Stage("first", arms=("ssri", "other"), features="1 + qids_start1 + qids_slope1 + preference1"),
        dtr.Stage(
            "second",
            arms=("ssri", "other"),
            features="1 + qids_start2 + qids_slope2 + preference2",
            enter_if="qids_end1 > 5",
        ),
    ],
    plans=[("ssri", "ssri"), ("ssri", "other"), ("other", "other")],
)


def cohort_of(
    design: dtr.Design,
    contexts: Sequence[Mapping[str, Array]],
    arms: NDArray[np.int64],
    outcome: Array,
    weights: Array | None = None,
) -> Cohort:
    n = len(outcome)
    case = np.ones(n) if weights is None else weights
    return Cohort(design, tuple(f"u{i}" for i in range(n)), tuple(contexts), arms.astype(np.int8), outcome, case)


def expit(x: Array) -> Array:
    return np.asarray(1 / (1 + np.exp(-x)))


def stard_like(n: int, seed: int) -> Cohort:
    """Return n units: some in remission, some dropped out with end1 and slope2 known, some in stage 2."""
    rng = np.random.default_rng(seed)
    start1, slope1 = np.round(rng.normal(13, 4, n)), rng.normal(-0.4, 0.6, n)
    preference1 = np.where(rng.random(n) < expit(-0.4 - 0.3 * slope1), 1.0, -1.0)
    ssri1 = rng.random(n) < expit(0.8 + 1.5 * preference1 + 0.05 * (start1 - 13))
    end1 = np.clip(np.round(8 + 0.7 * (start1 - 13) + 6 * rng.normal(size=n)), 0, 26)
    slope2 = (end1 - start1) / rng.choice([4.0, 9.0, 14.0], n)
    enters = end1 > 5
    stays = rng.random(n) < expit(-0.2 + 0.4 * slope2 + 0.05 * (end1 - 12) + 0.3 * ssri1)
    second, dropped = enters & stays, enters & ~stays
    start2 = np.clip(np.round(end1 + rng.normal(0.5, 1.5, n)), 0, 26)
    preference2 = np.where(rng.random(n) < 0.4, 1.0, -1.0)
    ssri2 = ssri1 & (rng.random(n) < expit(-0.4 + 1.3 * preference2 - 0.1 * slope2))
    end2 = np.clip(np.round(12 + 0.7 * (start2 - 13) + 5 * rng.normal(size=n)), 0, 26)
    arms = np.stack([np.where(ssri1, 0, 1), np.where(second, np.where(ssri2, 0, 1), -1)], axis=1)
    contexts: list[dict[str, Array]] = [
        {"qids_start1": start1, "qids_slope1": slope1, "preference1": preference1},
        {
            "qids_start2": np.where(second, start2, np.nan),
            "qids_slope2": np.where(enters, slope2, np.nan),
            "preference2": np.where(second, preference2, np.nan),
            "qids_end1": end1,
        },
    ]
    outcome = np.where(dropped, np.nan, np.where(enters, -(end1 + end2) / 2, -end1))
    return cohort_of(STARD, contexts, arms, outcome)


SMART = dtr.Design(
    [
        dtr.Stage("first", arms=("a", "b"), features="1 + x"),
        dtr.Stage("second", arms=("a", "b", "c"), features="1 + z"),
    ]
)


def confounded_smart(n: int, seed: int) -> tuple[Cohort, Array]:
    """Return n units whose arms and staying depend on x and z, and what each would have had under (b, c)."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    first = (rng.random(n) < expit(0.8 * x)).astype(np.int64)
    noise = rng.normal(size=(2, n))
    z, z_under_b = x + 0.5 * first + noise[0], x + 0.5 + noise[0]
    scores = np.stack([np.zeros(n), 0.6 * z, 0.4 * z - 0.3 * first])
    second = (rng.random(n) > np.cumsum(np.exp(scores) / np.exp(scores).sum(axis=0), axis=0)).sum(axis=0)
    stays_second, stays_outcome = rng.random((2, n)) < expit(np.stack([1.5 - 0.7 * x, 1.5 - 0.5 * x]))
    outcome = 2 * x + z + first + 0.5 * second + noise[1]
    arms = np.stack([first, np.where(stays_second, second, -1)], axis=1)
    contexts = [{"x": x}, {"z": np.where(stays_second, z, np.nan)}]
    seen = np.where(stays_second & stays_outcome, outcome, np.nan)
    return cohort_of(SMART, contexts, arms, seen), 2 * x + z_under_b + 1 + 0.5 * 2 + noise[1]


def fewer_and_fewer_arms() -> Cohort:
    """Return units that may only go on to later arms: all three, two, or one are feasible at stage two."""
    rng = np.random.default_rng(3)
    design = dtr.Design(
        [
            dtr.Stage("one", arms=("a", "b", "c"), features="1"),
            dtr.Stage("two", arms=("a", "b", "c"), features="1 + x"),
        ],
        plans=[("a", "a"), ("a", "b"), ("a", "c"), ("b", "b"), ("b", "c"), ("c", "c")],
    )
    first = np.repeat([0, 1, 2], 200)
    second = np.array([rng.integers(k, 3) for k in first])
    x = rng.normal(size=600)
    return cohort_of(design, [{}, {"x": x}], np.stack([first, second], axis=1), np.zeros(600))
