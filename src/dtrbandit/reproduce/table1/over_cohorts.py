"""Table 1 on many simulated cohorts, few paths through each: one cohort says little about levels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np

from dtrbandit.errors import DTRError
from dtrbandit.kernels.arrays import Array
from dtrbandit.parallel import map_unordered
from dtrbandit.reproduce.reproduction import Size
from dtrbandit.reproduce.table1.entries import ENTRIES, LOGGING, OFFLINE, ONLINE
from dtrbandit.reproduce.table1.patients import Patients
from dtrbandit.reproduce.table1.playing import played

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
