"""Coefficients, contrasts and effects in frames: linear combinations of coefficients, with their intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from dtrbandit.design.spec import Design
from dtrbandit.design.values import shown
from dtrbandit.errors import DesignError, ObservationError
from dtrbandit.evaluation.qlearning.uncertainty import Uncertainty
from dtrbandit.kernels.arrays import Array, Vector

if TYPE_CHECKING:
    import pandas as pd

CONTRAST = ("stage", "arm", "reference", "term")
INTERVAL = ("estimate", "std_error", "low", "high", "method")


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

    numbers = dict(zip(INTERVAL, known.intervals(m, combinations)[:5], strict=True))
    return pd.DataFrame({**names, **numbers}, index=range(len(combinations)))


def reference_arm(design: Design, m: int, arm: str | None) -> int:
    """Return the number of a reference arm, the first arm's if none is named."""
    stage = design.stages[m]
    if arm is not None and arm not in stage.arms:
        raise DesignError(f"reference: stage {stage.name!r} has the arms {list(stage.arms)}, found {shown(arm)}")
    return 0 if arm is None else stage.arms.index(arm)
