"""What a regime would give to the units of a cohort, each after the arms that it really had."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from dtrbandit.evaluation.cohort.cohort import Cohort
from dtrbandit.kernels.arrays import Matrix
from dtrbandit.policies.fixed_regime import FixedRegime
from dtrbandit.record.histories import History

Arms = NDArray[np.int64]


def decisions(cohort: Cohort, regime: FixedRegime) -> Arms:
    """Return the arm of a fixed regime for each unit at each stage that it reached, (n, M), −1 elsewhere."""
    state = regime.init(cohort.design)  # which refuses a rule for another design
    if callable(regime.rule):
        return _one_by_one(cohort, lambda history: regime.decide(state, history, 0.0).arm)
    scores, shapes = np.asarray(state.scores), zip(cohort.design.arm_counts, cohort.design.dimensions, strict=True)
    chosen = decisions_by(cohort, [scores[m, :arms, :d] for m, (arms, d) in enumerate(shapes)])
    for m, arm in enumerate(state.settled):
        if arm >= 0:
            chosen[(chosen[:, m] >= 0) & cohort.feasible[m][:, arm], m] = arm
    return chosen


def decisions_by(cohort: Cohort, coefficients: Sequence[Matrix]) -> Arms:
    """Return the feasible arm with the largest product of coefficients (K_m, d_m) and features, the lowest of equals.

    For each unit at each stage that it reached, (n, M), −1 elsewhere.
    """
    chosen = np.full(cohort.arms.shape, -1, dtype=np.int64)
    for m, own in enumerate(coefficients):
        scores = np.where(np.isfinite(cohort.features[m]), cohort.features[m], 0.0) @ own.T
        best = np.where(cohort.feasible[m], scores, -np.inf).argmax(axis=1)
        chosen[:, m] = np.where(_reached(cohort, m), best, -1)
    return chosen


def _one_by_one(cohort: Cohort, decide: Callable[[History], int]) -> Arms:
    tree, chosen = cohort.design.tree, np.full(cohort.arms.shape, -1, dtype=np.int64)
    for m in range(cohort.arms.shape[1]):
        for i in np.flatnonzero(_reached(cohort, m)).tolist():
            before = tuple(cohort.arms[i, :m].tolist())
            node, features = tree.after(before), tuple(stage[i] for stage in cohort.features[: m + 1])
            feasible = tuple(cohort.feasible[m][i].tolist())
            chosen[i, m] = decide(History(cohort.units[i], i + 1, node, features, before, feasible, None))
    return chosen


def _reached(cohort: Cohort, m: int) -> NDArray[np.bool_]:
    reached: NDArray[np.bool_] = cohort.entered[:, m] | (cohort.arms[:, m] >= 0)
    return reached
