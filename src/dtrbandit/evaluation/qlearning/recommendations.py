"""What is recommended to each unit, by how much it leads, and how sure that is.

The lead is Q̂ of the recommended arm less that of the next best one, with the interval that holds at the stage. The
*confidence that the arm is best* is Φ(lead / standard error) for two arms, and for more the share of draws
β* ~ N(β̂, Cov) in which it stays best. It is neither a probability that the arm is best nor a P. Where estimates are not
regular they are not normal, and there is none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dtrbandit.design.formula import Matrix, Vector
from dtrbandit.evaluation.cohort import Cohort
from dtrbandit.evaluation.qlearning.bootstrap import Array
from dtrbandit.evaluation.qlearning.contrasts import interval_table
from dtrbandit.evaluation.qlearning.uncertainty import SANDWICH, Uncertainty

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
    table.insert(len(table.columns) - 1, "confidence", _confidence(known, m, features, q, best))
    return table


def _confidence(known: Uncertainty, m: int, features: Matrix, q: Matrix, best: np.ndarray) -> Vector:
    """Return for each unit the share of draws in which its arm stays best; NaN where that means nothing."""
    if known.method(m) != SANDWICH:
        return np.full(len(q), np.nan)
    drawn = known.stages[m].coefficients + _normal(known.influences[m])
    values = np.where(np.isfinite(q), np.einsum("bad,nd->bna", drawn, features), -np.inf)
    return np.asarray((values.argmax(axis=2) == best).mean(axis=0))


def _normal(phi: Array) -> Array:
    """Draw Σ_i g_i φ_i, which is normal with the covariance of the coefficients, (B, K, d)."""
    g = np.random.default_rng(SEED).standard_normal((DRAWS, len(phi)))
    drawn: Array = np.einsum("bi,iad->bad", g, phi, optimize=True)
    return drawn
