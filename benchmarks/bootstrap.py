"""What the m-out-of-n bootstrap of Q-learning costs: a refit, and what several processes save."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from dtrbandit.evaluation.induction.induction import Sample, backward_induction, sample_of
from dtrbandit.evaluation.qlearning.bootstrap import Double, choose_xi, parts_of, resampled

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))  # the samples are those of the tests

from evaluation.qlearning.samples import smart
from evaluation.values.known_truth import RIGHT, trial

UNITS, RESAMPLES, RUNS = 300, 1_000, 5
MANY = 30_000


def fastest(work: Callable[[], object], runs: int = RUNS) -> tuple[float, float]:
    """Return the least processor time and the least time by the clock, in seconds."""
    spent = []
    for _ in range(runs):
        began = time.process_time(), time.perf_counter()
        work()
        spent.append((time.process_time() - began[0], time.perf_counter() - began[1]))
    return min(each[0] for each in spent), min(each[1] for each in spent)


def refits(sample: Sample) -> str:
    """Return the time of a refit in words."""
    size = int(0.77 * len(sample.outcome))

    def work() -> object:
        return resampled(sample, 0, size=size, resamples=RESAMPLES, seed=(0,))

    core, clock = (1e6 * spent / RESAMPLES for spent in fastest(work))
    return f"{core:.0f} µs of a core, {clock:.0f} µs by the clock"


def shared(sample: Sample, jobs: int) -> str:
    """Return by the clock what all resamples of a large trial take, processes already running."""
    size = int(0.77 * len(sample.outcome))
    resampled(sample, 0, size=size, resamples=RESAMPLES // 10, seed=(0,), n_jobs=jobs)
    began = time.perf_counter()
    resampled(sample, 0, size=size, resamples=RESAMPLES, seed=(0,), n_jobs=jobs)
    return f"{time.perf_counter() - began:.1f} s"


def double(sample: Sample, outer: int, jobs: int) -> str:
    """Return the time of the double bootstrap in words."""
    coefficients = backward_induction(sample)[0].coefficients
    parts = parts_of(*coefficients.shape)
    asked = Double(sample, 0, parts, np.einsum("lad,ad->l", parts, coefficients), inner=outer, seed=0)
    began = time.perf_counter()
    found = choose_xi(asked, outer=outer, n_jobs=jobs, progress=True)
    return f"{time.perf_counter() - began:.1f} s, ξ up to {found.xi.max():g}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--double", type=int, default=200, help="resamples, and resamples of each")
    parser.add_argument("--jobs", type=int, nargs="*", default=[1, 2])
    asked = parser.parse_args()
    rng = np.random.default_rng(1)
    regular, weighted = smart(UNITS, 0.0, rng), sample_of(trial(UNITS, rng).with_propensities(RIGHT), "weighted")
    table = Table("what", "measured", title=f"The bootstrap of {UNITS} units")
    table.add_row("a refit of two stages, two arms", refits(regular))
    table.add_row("a refit of two stages, three and two arms", refits(weighted._replace(staying=None)))
    table.add_row("the same, three models of staying fitted anew", refits(weighted))
    large = smart(MANY, 0.0, rng)
    for jobs in asked.jobs:
        table.add_row(f"{RESAMPLES:,} refits of {MANY:,} units, {jobs} processes", shared(large, jobs))
    for jobs in asked.jobs:
        table.add_row(f"double, {asked.double} × {asked.double}, {jobs} processes", double(regular, asked.double, jobs))
    Console(width=110).print(table)


if __name__ == "__main__":
    main()
