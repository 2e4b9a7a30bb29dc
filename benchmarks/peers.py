"""One decision and one update on a one-stage problem, ours beside other libraries: `make bench-peers`, one run.

Every contestant meets the same units in the same process, with Python's garbage collector on. A unit's time is that of
its decision and of its update, from plain numbers; drawing the outcome is left out, and so are the first units. "exact"
means that after all units the coefficients are those of the regression on all rows, solved anew by NumPy.
"""

from __future__ import annotations

import argparse
import gc
import time
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from contestants import (
    EPSILON,
    Contestant,
    MABWiser,
    OurSession,
    RiverGreedy,
    RiverLinUCB,
    VowpalWabbit,
    columns_of,
    design_of,
)
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from stopwatch import Spread, in_words, spread
from table import pace, seconds

import dtrbandit as dtr
from dtrbandit.courses import play, potential_courses
from dtrbandit.environments import PotentialOutcomes
from dtrbandit.kernels.arrays import Matrix

UNITS, FEWER, WARM_UP = 20_000, 5_000, 500
SLOW = 300e-6  # seconds a unit, from which a contestant meets fewer units
SIZES = ((2, 2), (5, 4))  # features with the constant, arms
EXACT = 1e-8
CONTESTANTS: tuple[Callable[[int, int], Contestant], ...] = (
    OurSession,
    VowpalWabbit,
    RiverGreedy,
    RiverLinUCB,
    MABWiser,
)


class Problem(NamedTuple):
    """Units with their features (n, d), the first of them constant, and their outcome under each arm (n, K)."""

    features: Matrix
    outcome: Matrix

    def __str__(self) -> str:
        return f"{self.features.shape[1]} features, {self.outcome.shape[1]} arms"


class Result(NamedTuple):
    """What a contestant took; ``rare`` and ``longest`` are unknown for units in one call."""

    name: str
    problem: str
    units: int
    mean: float
    others: str
    refit: str


def drawn(units: int, features: int, arms: int) -> Problem:
    rng = np.random.default_rng(features)
    x = np.column_stack([np.ones(units), rng.normal(size=(units, features - 1))])
    return Problem(x, x @ rng.normal(size=(arms, features)).T + rng.normal(size=(units, arms)))


def run(contestant: Contestant, problem: Problem, units: range, arms: list[int]) -> NDArray[np.int64]:
    """Take units through, note their arms, and return the nanoseconds of each."""
    times, clock = np.zeros(len(units), dtype=np.int64), time.perf_counter_ns
    for k, i in enumerate(units):
        x = problem.features[i, 1:].tolist()
        start = clock()
        arm = contestant.decide(x)
        decided = clock()
        outcome = float(problem.outcome[i, arm])
        told = clock()
        contestant.learn(outcome)
        times[k] = clock() - told + decided - start
        arms.append(arm)
    return times


def compete(make: Callable[[int, int], Contestant], problem: Problem) -> Result:
    contestant, arms = make(problem.features.shape[1], problem.outcome.shape[1]), list[int]()
    gc.collect()
    pilot = run(contestant, problem, range(WARM_UP), arms)
    last = len(problem.features) if np.median(pilot) < SLOW * 1e9 else WARM_UP + FEWER
    found: Spread = spread(run(contestant, problem, range(WARM_UP, min(last, len(problem.features))), arms))
    others = f"{in_words(found.rare)}; {in_words(found.longest)}"
    return Result(
        contestant.name, str(problem), len(arms) - WARM_UP, found.mean, others, judged(contestant, problem, arms)
    )


def judged(contestant: Contestant, problem: Problem, arms: list[int]) -> str:
    """Say how far a contestant is from the regression on all its rows."""
    refit = regression(problem, np.array(arms), contestant.ridge or 0.0)
    learnt = contestant.coefficients()
    if learnt is None:
        asked = problem.features[:1_000]
        agreed = np.mean([contestant.best(x[1:].tolist()) == np.argmax(refit @ x) for x in asked])
        return f"no: same best arm in {agreed:.1%} of {len(asked):,} contexts"
    return verdict(learnt, refit, "least squares" if contestant.ridge == 0.0 else f"ridge {contestant.ridge:g}")


def verdict(learnt: Matrix, refit: Matrix, regression: str) -> str:
    off = float(np.abs(learnt - refit).max())
    return f"{'exact' if off <= EXACT else 'no'}: {regression}, off by {off:.0e}"


def regression(problem: Problem, arms: NDArray[np.int64], ridge: float) -> Matrix:
    """Return each arm's coefficients from all its rows, (K, d)."""
    x, outcome = problem.features[: len(arms)], problem.outcome[np.arange(len(arms)), arms]
    d, fits = x.shape[1], []
    for arm in range(problem.outcome.shape[1]):
        rows = np.vstack([x[arms == arm], np.sqrt(ridge) * np.eye(d)])
        fits.append(np.linalg.lstsq(rows, np.append(outcome[arms == arm], np.zeros(d)), rcond=None)[0])
    return np.array(fits)


def driver(problem: Problem) -> Result:
    """Let the compiled driver play all units in one call: what a study costs, not a trial."""
    (n, features), arms = problem.features.shape, problem.outcome.shape[1]
    design, policy = design_of(features, arms), dtr.EpsilonGreedy(epsilon=EPSILON)
    columns = {name: problem.features[:, j] for j, name in enumerate(columns_of(features), 1)}
    units = potential_courses(PotentialOutcomes(design, (columns,), problem.outcome, None))
    played = play(policy, units, design)
    mean = seconds(lambda: play(policy, units, design)) / n
    refit = regression(problem, played.arms[:, 0].astype(np.int64), 0.0)
    judgement = verdict(policy.estimates(played.state).hat[0], refit, "least squares")
    return Result(f"dtrbandit {dtr.__version__}, compiled driver", str(problem), n, mean, "one call", judgement)


def measure(units: int) -> Iterator[Result]:
    for features, arms in SIZES:
        problem = drawn(units + WARM_UP, features, arms)
        yield driver(problem)
        yield from (compete(make, problem) for make in CONTESTANTS)


def show(results: list[Result], before: float) -> None:
    title = f"One decision and one update, one stage; the first {WARM_UP} units are left out"
    table = Table("library", "problem", "units", "mean", "99.9 %; longest", "a refit on all rows?", title=title)
    for result in results:
        name, problem, units, mean, others, refit = result
        table.add_row(name, problem, f"{units:,}", f"{mean * 1e6:.1f} µs", others, refit)
    table.caption = f"an empty Python loop took {before:.0f} ns a step before, {pace():.0f} ns after"
    console = Console(width=150)
    console.print(table)
    console.print(*(faster(problem, results) for problem in dict.fromkeys(result.problem for result in results)))


def faster(problem: str, results: list[Result]) -> str:
    """Say which peers are faster than our session."""
    there = [result for result in results if result.problem == problem]
    ours = next(result.mean for result in there if result.name.endswith("Session"))
    names = [result.name for result in there if result.mean < ours and not result.name.startswith("dtrbandit")]
    return f"{problem}: faster than our Session on average: {'; '.join(names) or 'none'}.\n"


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--units", type=int, default=UNITS)
    pace_before = pace()
    show(list(measure(options.parse_args().units)), pace_before)
