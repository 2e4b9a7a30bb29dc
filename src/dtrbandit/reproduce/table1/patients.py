"""The patients of Table 1, simulated or from a file: their weights, and the two benchmarks that learn nothing."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from dtrbandit.datasets import OFFLINE, read_stard_wide, stard_cohort_table
from dtrbandit.environments.stard import STARD
from dtrbandit.errors import NotEstimable
from dtrbandit.evaluation import Cohort, ExtremeWeights, logging_value, regime_value
from dtrbandit.evaluation.values.weighting import WeightedMean
from dtrbandit.reproduce.table1.versions import COMPUTED, PENALTY, Version


class Benchmarks(NamedTuple):
    """What the logging policy and the Offline rule are worth."""

    logging: WeightedMean
    offline: WeightedMean


@dataclass(frozen=True, eq=False)
class Patients:
    """An analysis table of STAR*D's shape; ``seed`` is None where it comes from a file."""

    table: pd.DataFrame
    seed: int | None
    version: Version = COMPUTED

    @classmethod
    def simulated(cls, seed: int) -> Patients:
        """Return simulated patients."""
        return cls(stard_cohort_table(seed=seed), seed)

    @classmethod
    def read(cls, file: Path) -> Patients:
        """Read patients from a file with a row each."""
        return cls(read_stard_wide(file), None)

    def by(self, version: Version) -> Patients:
        """Return the same patients, with the weights and parameters of another version."""
        return replace(self, version=version)

    @cached_property
    def cohort(self) -> Cohort:
        """The cohort with the propensities that replay uses."""
        with warnings.catch_warnings(action="ignore", category=ExtremeWeights):  # the table has the largest weight
            return self.weighted(PENALTY)

    @cached_property
    def benchmarks(self) -> Benchmarks:
        """Logging and Offline, by the propensities that replay uses."""
        return benchmarks(self.cohort)

    @cached_property
    def unpenalised(self) -> Benchmarks | None:
        """Logging and Offline by maximum likelihood; None where there is no maximum."""
        try:
            with warnings.catch_warnings(action="ignore", category=ExtremeWeights):
                return benchmarks(self.weighted(0.0))
        except NotEstimable:
            return None

    def weighted(self, penalty: float) -> Cohort:
        """Return the cohort with propensities of some penalty."""
        cohort = Cohort.from_frame(self.table, STARD().design, arms=["A1", "A2"], outcome="Y")
        return cohort.with_propensities(self.version.propensity_model(penalty=penalty))


def benchmarks(cohort: Cohort) -> Benchmarks:
    """Return Σ(Y/p₀)/Σ(1/p₀) of those who stayed, and Σ(Y/p)/Σ(1/p) of those treated as the Offline rule says."""
    return Benchmarks(logging_value(cohort), regime_value(cohort, OFFLINE))
