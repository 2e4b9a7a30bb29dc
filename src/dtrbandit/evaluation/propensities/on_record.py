"""Probabilities of arms that need no model: those that a log recorded, and shares of arms given in fixed numbers."""

from __future__ import annotations

import numpy as np

from dtrbandit.errors import DesignError
from dtrbandit.evaluation.cohort.cohort import Cohort
from dtrbandit.evaluation.cohort.scheduled import recorded_of
from dtrbandit.evaluation.propensities.risk_sets import RiskSet
from dtrbandit.kernels.arrays import Matrix
from dtrbandit.words import counted

RECORDED, SHARES = "recorded", "shares"


def on_record(entry: str, cohort: Cohort, risk_set: RiskSet) -> Matrix:
    """Return the probabilities that the entry of a ``PropensityModel`` names, (r, K)."""
    return recorded_probabilities(cohort, risk_set) if entry == RECORDED else shares(cohort, risk_set)


def recorded_probabilities(cohort: Cohort, risk_set: RiskSet) -> Matrix:
    """Return the probabilities that a log recorded for a choice, (r, K); NaN where it has none."""
    _, recorded = recorded_of(cohort)
    changed = cohort.overridden[risk_set.rows, risk_set.m]
    if changed.any():
        unit, many = cohort.units[risk_set.rows[np.argmax(changed)]], counted(int(changed.sum()), "unit")
        raise DesignError(
            f"{risk_set}: another arm than was decided was given to {many}, such as {unit!r}, and "
            "nobody recorded how probable that was; use cohort.as_scheduled(), where the arms decided count"
        )
    labels = cohort.design.stages[risk_set.m].arms
    columns = [labels.index(option) for option in risk_set.options]
    return np.asarray(recorded.propensities[risk_set.m][risk_set.rows][:, columns])


def shares(cohort: Cohort, risk_set: RiskSet) -> Matrix:
    """Return for each option its share among the units with the same arms before, (r, K).

    That is the probability where arms are given in fixed numbers, whatever the order, to units that come as they come.
    In whole forced blocks without leavers it is the number of plans with the arm over that of plans that agree so far.
    Case weights do not enter: they are about units, not about the schedule.
    """
    happened = risk_set.happened[:, None] == np.arange(len(risk_set.options))
    _, group = np.unique(cohort.arms[risk_set.rows, : risk_set.m], axis=0, return_inverse=True)
    group = group.reshape(-1)
    counts = np.zeros((int(group.max()) + 1, len(risk_set.options)))
    np.add.at(counts, group, happened)
    found: Matrix = (counts / counts.sum(axis=1, keepdims=True))[group]
    return found
