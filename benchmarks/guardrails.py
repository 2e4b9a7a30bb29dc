"""What guardrails cost and what they buy: `python benchmarks/guardrails.py floor coverage prior costs`.

``floor``: regret of DTRBandit and Greedy on the paper's synthetic problem, over floors, and what a floor costs per
patient in the later half of the rounds. ``coverage``: how often the intervals of ``dtr.evaluate`` for data that a
policy collected hold the truth, where the policy has a floor. ``prior``: regret with an earlier trial of the same law,
and of one whose second-stage effects are reversed. ``costs``: what a session costs with guardrails and without.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

import dtrbandit as dtr
from dtrbandit.courses import play, potential_courses
from dtrbandit.environments import Synthetic
from dtrbandit.intervals import REACH, mean_over_paths
from dtrbandit.parallel import map_unordered
from dtrbandit.policies.teaching import lessons_of
from dtrbandit.record.teaching import histories_of
from dtrbandit.simulation.regret import Truth

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))  # the trials are those of the tests

from evaluation.collected import REGIMES, TRUTH, synthetic_session

FLOORS = (0.0, 0.02, 0.05, 0.1)
HORIZON = 10_000
ROUNDS = (1_000, 2_500, 5_000, 10_000)
LEVEL = 0.93  # of coverage, within two Monte-Carlo errors, as benchmarks/adaptive.py asks
ADAPTIVE = (
    dtr.DTRBandit(q=5, delta=0.5, floor=0.1),
    dtr.Greedy(floor=0.05),
    dtr.DTRBandit(q=5, delta=0.5, floor=0.05),
    dtr.Greedy(floor=0.1),  # with two arms the same as 0.1-Greedy of benchmarks/adaptive.py
)
UNITS = 300
TAUGHT = (("DTRB(5, 0.5)", dtr.DTRBandit(q=5, delta=0.5)), ("Greedy", dtr.Greedy()))
EARLIER = (100, 500)  # units of an earlier trial
LAWS = ("same law", "second stage reversed")
EARLY_ROUNDS = (100, 500, 1_000, 2_000)
SOURCES = str(Path(dtr.__file__).parents[1])  # where this package is installed
COUNTED, TURNS = 4_000, 7


def in_words(values: NDArray[np.float64], digits: int = 1) -> str:
    """Return a mean over paths with its interval, and what that is worth unless it is 95 %."""
    found = mean_over_paths(values, seed=0)
    worth = "" if found.level == "95 %" else f", {found.level}"
    return f"{found.estimate:.{digits}f} ({found.low:.{digits}f} to {found.high:.{digits}f}{worth})"


# -- a floor -------------------------------------------------------------------------------------------------


def floor_tables(paths: int, jobs: int) -> Iterator[Table]:
    """Give, for each policy, mean regret over rounds and the cost per patient of each floor."""
    for name, policy in (("DTRB(5, 0.5)", partial(dtr.DTRBandit, q=5, delta=0.5)), ("Greedy", dtr.Greedy)):
        title = f"{name}: mean regret up to a round, {paths:,} paths, 95 % intervals"
        later = f"per patient after round {HORIZON // 2:,}"
        table = Table("floor", *(f"{t:,}" for t in ROUNDS), later, "above floor 0", title=title)
        without = None
        for floor in FLOORS:
            regret = total_regret(policy(floor=floor), paths, jobs)
            per_patient = (regret[:, -1] - regret[:, -2]) / (HORIZON // 2)
            without = per_patient if without is None else without
            more = in_words(per_patient - without, 4) if floor else ""
            table.add_row(f"{floor:g}", *(in_words(regret[:, i]) for i in range(4)), in_words(per_patient, 4), more)
        yield table


def total_regret(policy: Any, paths: int, jobs: int) -> NDArray[np.float64]:
    """Return regret at ROUNDS, (paths, 4). The patients of a path are the same for all policies."""
    study = dtr.simulate(Synthetic(), {"it": policy}, horizon=HORIZON, paths=paths, seed=15, n_jobs=jobs)
    return study.total_regret("it", list(ROUNDS))


# -- coverage with a floor -----------------------------------------------------------------------------------


def valued(policy: Any, units: int, repetition: int) -> list[tuple[str, float, float]]:
    """Return regime, value and standard error as printed, in one trial; none if it is refused."""
    cohort = dtr.Cohort.from_log(synthetic_session(policy, units, seed=repetition).log)
    try:
        values = dtr.evaluate(cohort, REGIMES)
    except dtr.NotEstimable:  # fewer than five units followed a regime: nothing is printed
        return []
    pair = values.differences().iloc[0]
    found = [(each.regime, each.value, each.std_error) for each in values.estimates]
    return [*found, (" − ".join(REGIMES), float(pair["difference"]), float(pair["std_error"]))]


def coverage_tables(repetitions: int, jobs: int) -> Iterator[Table]:
    """Give bias and coverage for each policy with a floor."""
    one, other = TRUTH.values()
    truths = {**TRUTH, " − ".join(TRUTH): one - other}
    for policy in ADAPTIVE:
        work = partial(valued, policy, UNITS)
        trials = list(map_unordered(work, range(repetitions), n_jobs=jobs, progress=repr(policy)))
        refused = sum(not each for each in trials)
        frame = pd.DataFrame([row for each in trials for row in each], columns=["regime", "value", "error"])
        frame["off"] = frame["value"] - frame["regime"].map(truths)
        title = f"{policy!r}, {UNITS:,} units: {repetitions:,} trials ({refused:,} refused), 95 % intervals"
        table = Table("regime", "bias ± MC", "std. error", "true", "covers ± MC", "", title=title)
        for regime, own in frame.groupby("regime", sort=False):
            table.add_row(str(regime), *covered(own))
        yield table


def covered(own: pd.DataFrame) -> tuple[str, ...]:
    """Return bias, errors and coverage in words, with a verdict within two Monte-Carlo errors."""
    share, spread, many = float((own["off"].abs() <= REACH * own["error"]).mean()), own["value"].std(), len(own)
    error = float(np.sqrt(share * (1 - share) / many))
    bias = f"{own['off'].mean():.3f} ± {spread / np.sqrt(many):.3f}"
    verdict = "ok" if share + 2 * error >= LEVEL else "TOO LOW"
    return bias, f"{own['error'].mean():.3f}", f"{spread:.3f}", f"{share:.3f} ± {error:.3f}", verdict


# -- an earlier trial ----------------------------------------------------------------------------------------


def prior_tables(paths: int, jobs: int) -> Iterator[Table]:
    """Give mean regret with and without an earlier trial, on the same patients, and what it changes."""
    played = np.array(list(map_unordered(path_with_priors, range(paths), n_jobs=jobs, progress="paths")))
    for number, (name, _) in enumerate(TAUGHT):
        without = played[:, number, 0]
        title = f"{name}: mean regret up to a round, {paths:,} paths, 95 % intervals"
        table = Table("earlier trial", *(f"{t:,}" for t in EARLY_ROUNDS), title=title)
        for place, earlier in enumerate(("none", *(f"{n} units, {law}" for law in LAWS for n in EARLIER))):
            own = played[:, number, place]
            table.add_row(earlier, *(in_words(own[:, i]) for i in range(len(EARLY_ROUNDS))))
            if place:
                table.add_row("  less none", *(in_words((own - without)[:, i]) for i in range(len(EARLY_ROUNDS))))
        yield table


def path_with_priors(number: int) -> NDArray[np.float64]:
    """Return regret at EARLY_ROUNDS, (policies, earlier trials, rounds). Each path has earlier trials of its own."""
    rng = np.random.default_rng([16, number])
    units = Synthetic().draw(EARLY_ROUNDS[-1], rng)
    courses, truth, design = potential_courses(units), Truth(units), units.design
    priors = [earlier_trial(n, rng, reverse=law == LAWS[1]) for law in LAWS for n in EARLIER]
    lessons = [None, *(lessons_of(design, histories_of(prior, design)) for prior in priors)]
    rounds = np.array(EARLY_ROUNDS) - 1
    regret = [
        [truth.regret(play(policy, courses, design, seed=number, lessons=each).arms) for each in lessons]
        for _, policy in TAUGHT
    ]
    found: NDArray[np.float64] = np.array(regret).sum(axis=3).cumsum(axis=2)[:, :, rounds]
    return found


def earlier_trial(n: int, rng: np.random.Generator, *, reverse: bool) -> dtr.Cohort:
    """Return a randomised trial of n units of the synthetic problem, at wish with its second-stage effects reversed."""
    units, arms, who = Synthetic().draw(n, rng), rng.integers(0, 2, size=(n, 2)), np.arange(n)
    outcome = units.outcome[:, :, ::-1] if reverse else units.outcome
    contexts = {"x1": units.contexts[0]["x1"]}, {"x2": units.contexts[1]["x2"][who, arms[:, 0]]}
    names = tuple(map(str, who))
    return dtr.Cohort(
        units.design, names, contexts, arms.astype(np.int8), outcome[who, arms[:, 0], arms[:, 1]], np.ones(n)
    )


# -- what a session costs ------------------------------------------------------------------------------------


def cost_table(old: str | None) -> Table:
    """Return the cost of a whole unit without guardrails, here and in other sources in turn, and with them."""
    kinds = [("without guardrails", SOURCES, "plain"), ("with guardrails", SOURCES, "guarded")]
    if old is not None:
        kinds.insert(0, ("without guardrails, before", old, "plain"))
    found: dict[str, list[float]] = {name: [] for name, *_ in kinds}
    for _ in range(TURNS):
        for name, sources, kind in kinds:
            found[name].append(unit_cost(sources, kind))
    table = Table(
        "session", "whole unit", "fastest", title=f"Processor time of {COUNTED:,} units, {TURNS} runs in turn"
    )
    for name, times in found.items():
        ratios = [own / other for own, other in zip(times, found["without guardrails"], strict=True)]
        table.add_row(name, f"{np.median(times):.1f} µs, {np.median(ratios):.2f}×", f"{min(times):.1f} µs")
    return table


def unit_cost(sources: str, kind: str) -> float:
    """Return the microseconds of a unit in a process of its own, with these sources."""
    environment = {**os.environ, "PYTHONPATH": sources}
    command = [sys.executable, str(Path(__file__).with_name("guarded_session.py")), kind, str(COUNTED)]
    return float(subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout)


# -- the command ---------------------------------------------------------------------------------------------


PARTS: dict[str, Callable[[argparse.Namespace], Iterator[Table]]] = {
    "floor": lambda asked: floor_tables(asked.paths, asked.jobs),
    "coverage": lambda asked: coverage_tables(asked.repetitions, asked.jobs),
    "prior": lambda asked: prior_tables(asked.paths, asked.jobs),
    "costs": lambda asked: iter([cost_table(asked.old)]),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="+", choices=PARTS)
    parser.add_argument("--paths", type=int, default=1_000)
    parser.add_argument("--repetitions", type=int, default=1_000)
    parser.add_argument("--jobs", type=int, default=-1)
    parser.add_argument(
        "--old", help="a folder that holds an earlier dtrbandit, built for this Python, to compare costs with"
    )
    asked, console = parser.parse_args(), Console(width=150)
    for part in asked.parts:
        for table in PARTS[part](asked):
            console.print(table)


if __name__ == "__main__":
    main()
