"""Replay on resampled cohorts, which says how much the value would differ on other cohorts."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dtrbandit.errors import DesignError, DTRError
from dtrbandit.evaluation.cohort.cohort import Cohort
from dtrbandit.evaluation.replay.paths import Inputs, play_path, prepare, room
from dtrbandit.evaluation.weights import ExtremeWeights
from dtrbandit.kernels.arrays import Array
from dtrbandit.parallel import map_unordered
from dtrbandit.policies.policy import Policy
from dtrbandit.resampling import resampled_rows

Rows = NDArray[np.int64]

UNITS, PATHS_OF = 2, 3  # streams of a resample, beside those of a path
FEWEST = 30  # resamples: with so many the coverage in docs/replay.md was measured
FEWEST_PATHS = 2
MOST_LEFT_OUT = 0.05  # of the resamples


@dataclass(frozen=True, eq=False)
class Resampling:
    """What all resamples of a replay share: the policy and the cohort as given, and how many there are."""

    policy: Policy[Any]
    cohort: Cohort
    weights: Array | None
    inputs: Inputs
    cohorts: int
    paths: int

    def rows(self, number: int) -> Rows:
        """Return the units of a resample, with replacement, (n,); they are the same for every policy."""
        return resampled_rows(np.random.default_rng(self.inputs.stream(number, UNITS)), len(self.cohort))

    def prepared(self, number: int) -> Inputs:
        """Return what the paths through a resample share, its propensities estimated anew."""
        rows = self.rows(number)
        cohort = self.cohort.of(rows)
        if self.weights is None and self.cohort.propensities is not None:
            with warnings.catch_warnings(action="ignore", category=ExtremeWeights):
                cohort = cohort.with_propensities(self.cohort.propensities.model)
        weights = None if self.weights is None else self.weights[rows]
        seed = int(self.inputs.stream(number, PATHS_OF).generate_state(1, np.uint64)[0])
        horizon, once, earlier = self.inputs.horizon, self.inputs.once, self.inputs.earlier
        return prepare(self.policy, cohort, weights, horizon=horizon, seed=seed, once=once, earlier=earlier)


class Resampled(NamedTuple):
    """The outcomes along the paths through each resampled cohort, (B, P′, T), NaN where it could not be played."""

    outcomes: Array
    why_not: str | None  # in words, of the first that could not be played

    @property
    def played(self) -> NDArray[np.bool_]:
        """Which resampled cohorts could be played, (B,)."""
        played: NDArray[np.bool_] = ~np.isnan(self.outcomes[:, 0, 0])
        return played

    @property
    def reason(self) -> str | None:
        """Why there is no interval over cohorts; None if there is one."""
        lost = int((~self.played).sum())
        if lost <= MOST_LEFT_OUT * len(self.played):
            return None
        return (
            f"no interval over cohorts: {lost} of {len(self.played)} resampled cohorts could not be replayed "
            f"({self.why_not})"
        )


def require_resampling(*, cohorts: int, cohort_paths: int, paths: int) -> None:
    """Refuse resamples that give no valid interval."""
    if cohorts < FEWEST or min(paths, cohort_paths) < FEWEST_PATHS:
        raise DesignError(
            f"an interval over cohorts needs at least {FEWEST} resampled cohorts, and {FEWEST_PATHS} paths through "
            f"each and through the cohort itself; found cohorts={cohorts}, cohort_paths={cohort_paths}, paths={paths}"
        )


def play_resampled(resampling: Resampling, *, n_jobs: int | None, progress: bool) -> Resampled:
    """Replay the policy along a few paths through each resampled cohort."""
    outcomes = room((resampling.cohorts, resampling.paths, resampling.inputs.horizon), np.float64)
    reasons: dict[int, str] = {}
    results: Iterator[tuple[int, Array | str]] = map_unordered(
        partial(_played, resampling),
        range(resampling.cohorts),
        n_jobs=n_jobs,
        progress="resampled cohorts" if progress else None,
    )
    for number, found in results:
        if isinstance(found, str):
            reasons[number] = found
        outcomes[number] = np.nan if isinstance(found, str) else found
    return Resampled(outcomes, reasons[min(reasons)] if reasons else None)


def _played(resampling: Resampling, number: int) -> tuple[int, Array | str]:
    """Return the outcomes along the paths through a resample, (P′, T), or why it cannot be played."""
    try:
        inputs = resampling.prepared(number)
        outcome = resampling.cohort.outcome[resampling.rows(number)]
        return number, np.stack([outcome[play_path(inputs, path).rows] for path in range(resampling.paths)])
    except DTRError as error:
        return number, str(error)
