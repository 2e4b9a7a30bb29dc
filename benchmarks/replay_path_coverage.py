"""How often the t-interval over paths through one cohort holds replay's mean on that cohort.

A pool of paths is replayed once for each case; its mean is the truth. Replays of fewer paths are drawn from the pool
with replacement. What is printed depends on the number of paths alone. A coverage is too low if it and two
Monte-Carlo errors stay below 93 % where "95 %" is printed, and below 87 % where "about 90 %" is.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path
from typing import NamedTuple

import numpy as np
from replay_coverage import drawn
from rich.console import Console
from rich.table import Table

import dtrbandit as dtr
from dtrbandit.evaluation import Cohort, SmallCohort
from dtrbandit.intervals import ABOUT, FULL, REPLAY, TOO_FEW, interval, level_of
from dtrbandit.kernels.arrays import Array
from dtrbandit.policies.builtin_policy import BuiltinPolicy
from dtrbandit.reproduce.table1.patients import Patients
from dtrbandit.reproduce.table1.versions import COMPUTED

SIZES = 10, 20, 60, 200
AT_ONCE = 200  # paths of the pool in one replay
LEAST = {FULL: 0.93, ABOUT: 0.87, TOO_FEW: 0.0}


class Case(NamedTuple):
    """A policy, and how long it plays through which cohort."""

    cohort: str
    horizon: int
    name: str
    policy: BuiltinPolicy

    def __str__(self) -> str:
        return f"{self.cohort}, {self.horizon:,} rounds, {self.name}"


SYNTHETIC = {"DTRB(1, 5)": dtr.DTRBandit(q=1, delta=5.0), "Greedy": dtr.Greedy()}
ONLINE = "DTRB(1, 10)", "DTRB(1, 50)", "Greedy", "0.1-Greedy", "LSVI-UCB observed"
STARD = {name: COMPUTED.online[name] for name in ONLINE}
CASES = (
    *(Case("synthetic", horizon, name, policy) for horizon in (300, 1_000) for name, policy in SYNTHETIC.items()),
    *(Case("STAR*D", 5_000, name, policy) for name, policy in STARD.items()),
)


def pool(case: Case, cohort: Cohort, paths: int) -> Array:
    """Return the average outcome of many paths, (paths,)."""
    seeds = range(1_000, 1_000 + -(-paths // AT_ONCE))
    with warnings.catch_warnings(action="ignore", category=SmallCohort):
        played = [dtr.replay(case.policy, cohort, horizon=case.horizon, paths=AT_ONCE, seed=seed) for seed in seeds]
    return np.concatenate([each.averages for each in played])


def covered(averages: Array, size: int, repetitions: int) -> float:
    """Return how often the interval of ``size`` paths holds the mean of the pool."""
    rng = np.random.default_rng([23, size])
    found = interval(averages[rng.integers(len(averages), size=(size, repetitions))])
    truth = averages.mean()
    return float(((found.low <= truth) & (truth <= found.high)).mean())


def cell(share: float, size: int, repetitions: int) -> str:
    """Return a coverage with its verdict."""
    reached = share + 2 * np.sqrt(share * (1 - share) / repetitions)
    return f"{share:.3f}{'' if reached >= LEAST[level_of(size, REPLAY)] else ' TOO LOW'}"


def skewness(averages: Array) -> float:
    """Return the third standardised moment."""
    return float((((averages - averages.mean()) / averages.std()) ** 3).mean())


def main() -> None:
    """Print the table."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--pool", type=int, default=2_000, help="paths replayed in each case")
    options.add_argument("--repetitions", type=int, default=4_000)
    options.add_argument("--keep", type=Path, help="a file that keeps the pools, .npz")
    asked = options.parse_args()
    kept: dict[str, Array] = dict(np.load(asked.keep)) if asked.keep and asked.keep.exists() else {}
    cohorts = {"synthetic": drawn(0), "STAR*D": Patients.simulated(9).cohort}
    title = f"t-interval over paths: coverage in {asked.repetitions:,} replays drawn from a pool of paths"
    table = Table("case", "sd of a path", "skewness", *(f"{size} paths" for size in SIZES), title=title)
    for case in CASES:
        if str(case) not in kept:
            kept[str(case)] = pool(case, cohorts[case.cohort], asked.pool)
            if asked.keep:
                np.savez(asked.keep, allow_pickle=False, **kept)
        averages = kept[str(case)]
        shares = [covered(averages, size, asked.repetitions) for size in SIZES]
        cells = [cell(share, size, asked.repetitions) for share, size in zip(shares, SIZES, strict=True)]
        table.add_row(str(case), f"{averages.std():.3f}", f"{skewness(averages):+.1f}", *cells)
    Console(width=130).print(table)


if __name__ == "__main__":
    main()
