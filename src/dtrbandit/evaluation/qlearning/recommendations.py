"""What is recommended to each unit, by how much it leads, and how sure that is.

The lead is Q̂ of the recommended arm less that of the next best one, with the interval that holds at the stage. The
*confidence that the arm is best* is Φ(lead / standard error) for two arms, and for more the share of draws
β* ~ N(β̂, Cov) in which it stays best. It is neither a probability that the arm is best nor a P. Where estimates are not
regular they are not normal, and there is none; nor is there for a unit with one feasible arm.
"""

from __future__ import annotations

from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np

from dtrbandit.evaluation.cohort import Cohort
from dtrbandit.evaluation.qlearning.contrasts import interval_table
from dtrbandit.evaluation.qlearning.uncertainty import SANDWICH, Uncertainty
from dtrbandit.kernels.arrays import Matrix, Vector

if TYPE_CHECKING:
    import pandas as pd

DRAWS = 2_000
AT_A_TIME = 500  # units, for memory
SEED = 0


def recommendations(cohort: Cohort, known: Uncertainty) -> pd.DataFrame:
    """Return a row for each unit and stage that it entered."""
    import pandas as pd

    tables = [
        _of_stage(cohort, known, m, units)
        for m in range(len(known.stages))
        for units in _chunks(np.flatnonzero(cohort.entered[:, m]))
    ]
    return pd.concat(tables, ignore_index=True)


def _chunks(units: np.ndarray) -> list[np.ndarray]:
    return [units[start : start + AT_A_TIME] for start in range(0, len(units), AT_A_TIME)]


def _of_stage(cohort: Cohort, known: Uncertainty, m: int, units: np.ndarray) -> pd.DataFrame:
    stage, features = cohort.design.stages[m], cohort.features[m][units]
    coefficients, labels = known.stages[m].coefficients, np.array(stage.arms, dtype=object)
    q = np.where(cohort.feasible[m][units], features @ coefficients.T, -np.inf)
    best = q.argmax(axis=1)
    others = np.where(np.arange(q.shape[1]) == best[:, None], -np.inf, q)
    chosen = np.isfinite(others.max(axis=1))  # had a choice
    following = np.where(chosen, others.argmax(axis=1), best)
    each = np.zeros((len(units), *coefficients.shape))
    rows = np.arange(len(units))
    each[rows, best] += features
    each[rows, following] -= features
    names = {
        "unit": [cohort.units[unit] for unit in units],
        "stage": stage.name,
        "arm": labels[best],
        "next": np.where(chosen, labels[following], None),
    }
    table = interval_table(known, m, each, names).rename(columns={"estimate": "lead"})
    table.loc[~chosen, ["lead", "std_error", "low", "high"]] = np.nan
    regular = (table["method"] == SANDWICH).all()
    confidence = _confidence(known, m, features, q, best) if regular else np.full(len(units), np.nan)
    lead, error = table["lead"].to_numpy(), table["std_error"].to_numpy()
    two = regular & (np.isfinite(q).sum(axis=1) == 2) & (error > 0)
    confidence[two] = [NormalDist().cdf(score) for score in lead[two] / error[two]]
    confidence[~(error > 0)] = np.nan  # none, or none to speak of: a perfect fit
    table.insert(len(table.columns) - 1, "confidence", confidence)
    return table


def _confidence(known: Uncertainty, m: int, features: Matrix, q: Matrix, best: np.ndarray) -> Vector:
    """Return for each unit the share of draws in which its arm stays best.

    NaN where that means nothing: for a unit without a choice, or with an arm of which nobody knows how it varies.
    """
    root, feasible = known.roots[m], np.isfinite(q)
    unknown = np.isnan(root).any(axis=(0, 2))
    g = np.random.default_rng(SEED).standard_normal((DRAWS, len(root)))
    drawn = known.stages[m].coefficients + np.tensordot(g, root, axes=1)
    values = np.where(feasible & ~unknown, features @ drawn.swapaxes(1, 2), -np.inf)
    told = (feasible.sum(axis=1) > 1) & ~(feasible & unknown).any(axis=1)
    return np.where(told, (values.argmax(axis=2) == best).mean(axis=0), np.nan)
