"""A cohort: finished units from data, each with its contexts, arms and outcome (paper, section 5.3)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dtrbandit.design.formula import Matrix, Vector
from dtrbandit.design.spec import Design

if TYPE_CHECKING:
    from dtrbandit.evaluation.fitted_propensities import FittedPropensities
    from dtrbandit.evaluation.propensity import PropensityModel

Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Cohort:
    """n finished units.

    Attributes
    ----------
    units
        Their ids.
    contexts
        ``contexts[m][column]`` is (n,), NaN where it was not observed.
    arms
        (n, M), −1 where none was given.
    outcome
        (n,), NaN where a unit dropped out.
    weights
        (n,), how many units each stands for; 1 unless the data say otherwise.
    propensities
        How probable it was that each unit had the arms it had, and stayed; None unless estimated.
    """

    design: Design
    units: tuple[str, ...]
    contexts: tuple[Mapping[str, Vector], ...]
    arms: NDArray[np.int8]
    outcome: Vector
    weights: Vector
    propensities: FittedPropensities | None = field(default=None, kw_only=True)

    def __len__(self) -> int:
        return len(self.outcome)

    def with_propensities(self, model: PropensityModel) -> Cohort:
        """Return the cohort with the propensities that ``model`` estimates from it."""
        return replace(self, propensities=model.fit(self))

    @property
    def dropped_out(self) -> Mask:
        """Which units have no outcome, (n,)."""
        return np.isnan(self.outcome)

    @property
    def left_early(self) -> Mask:
        """Which units left by ``enter_if``, with their outcome, before the last stage, (n,)."""
        return ~self.dropped_out & (self.arms[:, -1] < 0)

    @cached_property
    def features(self) -> tuple[Matrix, ...]:
        """ψ_m of each unit, (n, d_m) for each stage; NaN where its context is not whole."""
        return tuple(self._features(m) for m in range(len(self.design.stages)))

    def _features(self, m: int) -> Matrix:
        columns = {name: values for context in self.contexts[: m + 1] for name, values in context.items()}
        given = {stage.name: self.arms[:, k].astype(np.int64) for k, stage in enumerate(self.design.stages[:m])}
        known = np.all([np.isfinite(values) for values in columns.values()], axis=0) if columns else np.True_
        known = known & np.all(self.arms[:, :m] >= 0, axis=1)
        matrix = np.full((len(self), self.design.dimensions[m]), np.nan)
        chosen = {name: values[known] for name, values in columns.items()}
        before = {name: arms[known] for name, arms in given.items()}
        matrix[known] = self.design.arrivals[m].features.matrix(chosen, before, int(known.sum()))
        return matrix
