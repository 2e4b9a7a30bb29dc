"""Frames of a fit: coefficients, contrasts and effects with their intervals, and what is recommended to each unit.

All are linear combinations of a stage's coefficients, with the interval that holds there. The lead of a recommendation
is Q̂ of the recommended arm less that of the next best one. The *confidence that the arm is best* is Φ(lead / standard
error) for two arms, and for more the share of draws β* ~ N(β̂, Cov) in which it stays best. It is neither a probability
that the arm is best nor a P. There is none where estimates are not regular, as they are not normal there, and none for
a unit with one feasible arm.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np

from dtrbandit.design.spec import Design
from dtrbandit.design.values import shown
from dtrbandit.errors import DesignError, ObservationError
from dtrbandit.evaluation.cohort import Cohort
from dtrbandit.evaluation.qlearning.uncertainty import SANDWICH, Uncertainty
from dtrbandit.kernels.arrays import Array, Matrix, Vector

if TYPE_CHECKING:
    import pandas as pd

CONTRAST = ("stage", "arm", "reference", "term")
INTERVAL = ("estimate", "std_error", "low", "high", "method")
DRAWS = 2_000
AT_A_TIME = 500  # units, for memory
SEED = 0


def coefficient_table(design: Design, known: Uncertainty) -> pd.DataFrame:
    """Return a row for each stage, arm and term."""
    import pandas as pd

    tables = []
    for m, stage in enumerate(design.stages):
        terms, arms = design.parsed[m].features.names, len(stage.arms)
        each = np.eye(arms * len(terms)).reshape(-1, arms, len(terms))
        names = {"stage": stage.name, "arm": np.repeat(stage.arms, len(terms)), "term": np.tile(terms, arms)}
        tables.append(interval_table(known, m, each, names))
    return pd.concat(tables, ignore_index=True)


def contrast_table(design: Design, known: Uncertainty, references: Mapping[str, str]) -> pd.DataFrame:
    """Return a row for each stage, arm other than the reference, and term."""
    import pandas as pd

    names = [stage.name for stage in design.stages]
    if strange := [stage for stage in references if stage not in names]:
        raise DesignError(f"reference: there is no stage {strange[0]!r}; the stages are {names}")
    tables = [
        _against(design, known, m, arm, base)
        for m, stage in enumerate(design.stages)
        for base in [reference_arm(design, m, references.get(stage.name))]
        for arm in range(len(stage.arms))
        if arm != base
    ]
    return pd.concat(tables, ignore_index=True) if tables else pd.DataFrame(columns=[*CONTRAST, *INTERVAL])


def _against(design: Design, known: Uncertainty, m: int, arm: int, base: int) -> pd.DataFrame:
    stage, terms = design.stages[m], list(design.parsed[m].features.names)
    each = np.zeros((len(terms), len(stage.arms), len(terms)))
    each[:, arm], each[:, base] = np.eye(len(terms)), -np.eye(len(terms))
    names = {"stage": stage.name, "arm": stage.arms[arm], "reference": stage.arms[base], "term": terms}
    return interval_table(known, m, each, names)


def effect_table(
    design: Design, known: Uncertainty, m: int, features: Vector, feasible: Sequence[str], reference: str | None
) -> pd.DataFrame:
    """Return a row for each feasible arm other than the reference, which is the first feasible one unless named."""
    arms = design.stages[m].arms
    base = reference_arm(design, m, feasible[0] if reference is None else reference)
    if arms[base] not in feasible:
        raise ObservationError(f"reference: {arms[base]!r} is not feasible for this history; {list(feasible)} are")
    others = [arm for arm in feasible if arm != arms[base]]
    each = np.zeros((len(others), len(arms), len(features)))
    for row, arm in enumerate(others):
        each[row, arms.index(arm)], each[row, base] = features, -features
    return interval_table(known, m, each, {"arm": others, "reference": arms[base]})


def interval_table(known: Uncertainty, m: int, combinations: Array, names: Mapping[str, object]) -> pd.DataFrame:
    """Return linear combinations (L, K_m, d_m) of a stage's coefficients under their names, with their intervals."""
    import pandas as pd

    found = known.intervals(m, combinations)
    numbers = dict(zip(INTERVAL, (*found.interval[:4], found.method), strict=True))
    return pd.DataFrame({**names, **numbers}, index=range(len(combinations)))


def reference_arm(design: Design, m: int, arm: str | None) -> int:
    """Return the number of a reference arm, the first arm's if none is named."""
    stage = design.stages[m]
    if arm is not None and arm not in stage.arms:
        raise DesignError(f"reference: stage {stage.name!r} has the arms {list(stage.arms)}, found {shown(arm)}")
    return 0 if arm is None else stage.arms.index(arm)


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
    known_to_vary = (feasible.sum(axis=1) > 1) & ~(feasible & unknown).any(axis=1)
    return np.where(known_to_vary, (values.argmax(axis=2) == best).mean(axis=0), np.nan)
