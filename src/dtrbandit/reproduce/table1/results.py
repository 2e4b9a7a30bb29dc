"""What came out of Table 1, entry by entry."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dtrbandit.evaluation import Replay
from dtrbandit.intervals import interval
from dtrbandit.reproduce.claims import Claim
from dtrbandit.reproduce.table1.claims import claims
from dtrbandit.reproduce.table1.entries import ENTRIES, LOGGING, OFFLINE, ONLINE, PAPER
from dtrbandit.reproduce.table1.patients import Patients

Array = NDArray[np.float64]

FEW = 10  # the paper's paths


class Estimate(NamedTuple):
    """A mean over paths with its standard error and 95 % interval, or an exact value without them."""

    value: float
    std_error: float | None = None
    low: float | None = None
    high: float | None = None

    @classmethod
    def over(cls, averages: Array) -> Estimate:
        """Return the mean of the averages of paths."""
        return cls(*(float(number) for number in interval(averages)))


class Row(NamedTuple):
    """An entry of the table; None where there is no such number.

    ``few`` is from the first ten paths, ``every`` from all. ``true`` is the mean outcome on new patients.
    ``maximum_likelihood`` is the value by propensities without a penalty.
    """

    entry: str
    paper: float | None
    few: Estimate
    every: Estimate
    true: Estimate | None
    acceptance_rate: float | None
    maximum_likelihood: float | None

    @property
    def optimism(self) -> float | None:
        """By how much replay exceeds the truth."""
        return None if self.true is None else self.every.value - self.true.value


@dataclass(frozen=True, eq=False)
class Results:
    """Replays of the online algorithms and of the Offline rule, and their true averages on each path if known."""

    patients: Patients
    replays: Mapping[str, Replay]
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
    def claims(self) -> tuple[Claim, ...]:
        """The paper's claims, of these replays."""
        logging, offline = (mean.value for mean in self.patients.benchmarks)
        return claims({name: self.replays[name].averages for name in ONLINE}, logging=logging, offline=offline)

    @property
    def rows(self) -> list[Row]:
        """The entries, in the paper's order."""
        return [self._row(name) for name in ENTRIES]

    def _row(self, name: str) -> Row:
        true = Estimate.over(self.truth[name]) if self.truth is not None and name in self.truth else None
        if name in ONLINE:
            played = self.replays[name]
            few, every = (Estimate.over(played.averages[:paths]) for paths in (FEW, self.paths))
            return Row(name, PAPER.get(name), few, every, true, played.acceptance_rate, None)
        place = (LOGGING, OFFLINE).index(name)
        exact = Estimate(self.patients.benchmarks[place].value)
        unpenalised = self.patients.unpenalised
        other = None if unpenalised is None else unpenalised[place].value
        return Row(name, PAPER[name], exact, exact, true, None, other)
