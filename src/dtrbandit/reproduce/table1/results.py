"""What came out of Table 1, entry by entry."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import hypot, isnan
from typing import NamedTuple

import numpy as np

from dtrbandit.evaluation import Replay
from dtrbandit.intervals import Interval, mean_over_paths, over_paths
from dtrbandit.kernels.arrays import Array
from dtrbandit.reproduce.claims import Claim
from dtrbandit.reproduce.table1.claims import Averages, by_cohort, by_path, claims
from dtrbandit.reproduce.table1.patients import Benchmarks, Distribution, OverCohorts, Patients
from dtrbandit.reproduce.table1.versions import ENTRIES, LOGGING, OFFLINE, ONLINE, PAPER, TEXT

FEW = 10  # the paper's paths


class Cell(NamedTuple):
    """A number of the table: a mean over paths, with its standard error and interval.

    These are None for an exact value, and with too few paths.
    """

    value: float
    std_error: float | None = None
    low: float | None = None
    high: float | None = None

    @classmethod
    def of(cls, found: Interval) -> Cell:
        """Return a mean with its interval, if it has one."""
        error, low, high = (None if isnan(number) else float(number) for number in found[1:4])
        return cls(float(found.estimate), error, low, high)


def replayed(averages: Array) -> Cell:
    """Return the mean over paths of replay."""
    return Cell.of(over_paths(averages))


def simulated(averages: Array) -> Cell:
    """Return the mean over simulated paths, which are skewed."""
    return Cell.of(mean_over_paths(averages, seed=0))


class Row(NamedTuple):
    """An entry of the table; None where there is no such number.

    ``few`` is from the first ten paths, which are too few for an interval, ``every`` from all, both on this cohort.
    ``cohorts`` is how it varies between cohorts, ``text`` by the text's version on this cohort, ``true`` the mean
    outcome on new patients. ``maximum_likelihood`` is the value by propensities without a penalty.
    """

    entry: str
    paper: float | None
    few: Cell
    every: Cell
    cohorts: Distribution | None
    text: Cell
    true: Cell | None
    acceptance_rate: float | None
    maximum_likelihood: float | None

    @property
    def optimism(self) -> Cell | None:
        """By how much the mean of replay over cohorts exceeds the truth, with its standard error."""
        if self.true is None or self.cohorts is None:
            return None
        own = self.true.std_error
        error = None if own is None else hypot(self.cohorts.std_error, own)
        return Cell(self.cohorts.mean - self.true.value, error)


@dataclass(frozen=True, eq=False)
class Results:
    """Replays of the online algorithms and of the Offline rule, and what is known beside them.

    ``text`` are replays by the text's version, ``cohorts`` averages on other cohorts, ``truth`` true averages on each
    path; the last two where patients are simulated.
    """

    patients: Patients
    replays: Mapping[str, Replay]
    text: Mapping[str, Replay]
    cohorts: OverCohorts | None
    truth: Mapping[str, Array] | None

    @property
    def paths(self) -> int:
        """How many paths there are."""
        return len(self.replays[OFFLINE].rows)

    @property
    def horizon(self) -> int:
        """How many rounds a path has."""
        return self.replays[OFFLINE].horizon

    @property
    def averages(self) -> Averages:
        """The average of each entry on each path through this cohort; of the benchmarks one number."""
        logging, offline = (np.array([mean.value]) for mean in self.patients.benchmarks)
        return {**{name: self.replays[name].averages for name in ONLINE}, LOGGING: logging, OFFLINE: offline}

    @property
    def claims(self) -> tuple[Claim, ...]:
        """The paper's claims: over cohorts if there are several, else over paths through this one."""
        if self.cohorts is None:
            return claims(self.averages, by_path)
        return claims(self.cohorts.averages, by_cohort)

    @property
    def judged_over(self) -> str:
        """Over what the intervals of the claims are."""
        return "paths through this cohort" if self.cohorts is None else f"{len(self.cohorts)} simulated cohorts"

    @property
    def rows(self) -> list[Row]:
        """The entries, in the paper's order."""
        return [self._row(name) for name in ENTRIES]

    def _row(self, name: str) -> Row:
        spread = None if self.cohorts is None else self.cohorts.of(name)
        true = simulated(self.truth[name]) if self.truth is not None and name in self.truth else None
        if name in ONLINE:
            played, text = self.replays[name], replayed(self.text[name].averages)
            few, every = (replayed(played.averages[:paths]) for paths in (FEW, self.paths))
            return Row(name, PAPER.get(name), few, every, spread, text, true, played.acceptance_rate, None)
        exact, text = _exact(self.patients.benchmarks, name), _exact(self.patients.by(TEXT).benchmarks, name)
        unpenalised = self.patients.unpenalised
        other = None if unpenalised is None else _exact(unpenalised, name).value
        return Row(name, PAPER[name], exact, exact, spread, text, true, None, other)


def _exact(benchmarks: Benchmarks, name: str) -> Cell:
    return Cell(benchmarks[(LOGGING, OFFLINE).index(name)].value)
