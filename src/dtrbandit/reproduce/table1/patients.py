"""The patients of Table 1, simulated or from a file: their weights, both benchmarks, and replays of the entries.

The benchmarks learn nothing: the logging policy and the Offline rule. Simulated patients are many cohorts, few paths
through each, since one cohort says little about levels.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from dtrbandit.datasets import OFFLINE as OFFLINE_RULE
from dtrbandit.datasets import read_stard_wide, stard_cohort_table
from dtrbandit.environments.stard import STARD
from dtrbandit.errors import DTRError, NotEstimable
from dtrbandit.evaluation import Cohort, ExtremeWeights, Replay, SmallCohort, logging_value, regime_value, replay
from dtrbandit.evaluation.values.weighting import WeightedMean
from dtrbandit.kernels.arrays import Array
from dtrbandit.parallel import map_unordered
from dtrbandit.policies import UnscaledOutcomes
from dtrbandit.policies.builtin_policy import BuiltinPolicy
from dtrbandit.reproduce.reproduction import Size
from dtrbandit.reproduce.table1.versions import COMPUTED, ENTRIES, LOGGING, OFFLINE, ONLINE, PENALTY, Version


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
    return Benchmarks(logging_value(cohort), regime_value(cohort, OFFLINE_RULE))


def players(version: Version) -> Mapping[str, BuiltinPolicy]:
    """Return what is replayed: the online algorithms, and the Offline rule."""
    return {**version.online, OFFLINE: OFFLINE_RULE}


def played(name: str, patients: Patients, size: Size) -> Replay:
    """Replay an entry, without warnings that the cohort is small or LSVI-UCB unscaled: the table says so."""
    quiet: Size = {**size, "progress": False}
    with warnings.catch_warnings():
        for known in (SmallCohort, UnscaledOutcomes):
            warnings.simplefilter("ignore", known)
        return replay(players(patients.version)[name], patients.cohort, **quiet)


COHORTS, PATHS = 30, 3
FEWEST = 2  # cohorts; where few paths are asked for, there are half as many cohorts


class Distribution(NamedTuple):
    """How an entry varies between cohorts."""

    median: float
    low: float  # 5 % of the cohorts are below
    high: float  # 5 % are above
    mean: float
    deviation: float
    std_error: float  # of the mean


@dataclass(frozen=True, eq=False)
class OverCohorts:
    """The average of each entry on each cohort, (C,), and how many cohorts could not be played."""

    averages: Mapping[str, Array]
    paths: int
    left_out: int

    def __len__(self) -> int:
        return len(self.averages[LOGGING])

    def of(self, entry: str) -> Distribution:
        """Return how an entry varies between cohorts."""
        own = self.averages[entry]
        low, median, high = np.quantile(own, [0.05, 0.5, 0.95])
        deviation = float(own.std(ddof=1))
        return Distribution(
            float(median), float(low), float(high), float(own.mean()), deviation, deviation / len(own) ** 0.5
        )


def play_cohorts(size: Size) -> OverCohorts:
    """Replay every algorithm on the cohorts of seeds 0, 1, …, and value both benchmarks there."""
    cohorts, paths = min(COHORTS, max(FEWEST, size["paths"] // 2)), min(PATHS, size["paths"])
    work = partial(_on_cohort, size={**size, "paths": paths, "n_jobs": 1, "progress": False})
    what = "cohorts" if size["progress"] else None
    results: Iterator[tuple[int, dict[str, float] | None]] = map_unordered(
        work, range(cohorts), n_jobs=size["n_jobs"], progress=what
    )
    found = [values for _, values in sorted(results, key=lambda each: each[0]) if values is not None]
    averages = {name: np.array([values[name] for values in found]) for name in ENTRIES}
    return OverCohorts(averages, paths, cohorts - len(found))


def _on_cohort(seed: int, *, size: Size) -> tuple[int, dict[str, float] | None]:
    """Return the seed and the average of each entry on its cohort; None where an algorithm cannot be played."""
    patients = Patients.simulated(seed)
    try:
        values = {name: played(name, patients, size).value for name in ONLINE}
    except DTRError:
        return seed, None
    logging, offline = patients.benchmarks
    return seed, {**values, LOGGING: logging.value, OFFLINE: offline.value}
