"""How often intervals of replay hold the truth: over paths through one cohort, and over cohorts.

Cohorts of the paper's synthetic problem whose arms depended on covariates, P(second arm) = expit(x) at each stage, with
propensities estimated from each. Asked for are the value of a fixed regime and of DTRB(2, 2). For the learner there are
two truths: what it earns with new patients, and the mean of replay over cohorts, estimated by the mean of all.
"""

from __future__ import annotations

import argparse
import warnings
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table

import dtrbandit as dtr
from dtrbandit.environments import Synthetic
from dtrbandit.evaluation import Cohort, Replay, SmallCohort
from dtrbandit.intervals import interval
from dtrbandit.parallel import map_unordered

UNITS, HORIZON, PATHS = 1_000, 300, 20
REGIME, LEARNER = "fixed regime", "DTRB(2, 2)"
TREAT = {"1": (0.0, 0.0), "2": (0.0, 1.0)}  # the second arm where x > 0
RULE = dtr.FixedRegime(rule={"first": TREAT, "second": TREAT})
POLICIES = {REGIME: RULE, LEARNER: dtr.DTRBandit(q=2, delta=2.0)}


class Found(NamedTuple):
    """A value with its limits over paths, and over cohorts."""

    value: float
    paths: tuple[float, float]
    cohorts: tuple[float, float]
    resampled: float


def drawn(seed: int) -> Cohort:
    """Draw a cohort whose arms depended on covariates."""
    rng = np.random.default_rng([seed, 5])
    units, rows = Synthetic().draw(UNITS, rng), np.arange(UNITS)
    contexts, arms = [], np.zeros((UNITS, 2), dtype=np.int8)
    for m, context in enumerate(units.contexts):
        own = {name: values[(rows, *arms[:, :m].T)] for name, values in context.items()}
        (x,) = own.values()
        arms[:, m] = rng.random(UNITS) < 1 / (1 + np.exp(-x))
        contexts.append(own)
    outcome = units.outcome[(rows, *arms.T)]
    cohort = Cohort(units.design, tuple(map(str, rows)), tuple(contexts), arms, outcome, np.ones(UNITS))
    return cohort.with_propensities(dtr.PropensityModel())


def measured(resamples: int, seed: int) -> dict[str, Found]:
    """Replay both policies on a cohort."""
    cohort = drawn(seed)
    with warnings.catch_warnings(action="ignore", category=SmallCohort):
        play: Any = partial(dtr.replay, cohort=cohort, horizon=HORIZON, paths=PATHS, seed=seed, cohorts=resamples)
        return {name: _found(play(policy)) for name, policy in POLICIES.items()}


def _found(replay: Replay) -> Found:
    over_paths = interval(replay.averages)
    assert replay.cohort_averages is not None
    limits = float(over_paths.low), float(over_paths.high)
    return Found(replay.value, limits, (replay.low, replay.high), float(np.nanmean(replay.cohort_averages)))


def truths(jobs: int) -> dict[str, float]:
    """Return what each policy earns with new patients."""
    study = dtr.simulate(Synthetic(), POLICIES, horizon=HORIZON, paths=4_000, seed=9, n_jobs=jobs)
    return {name: float(study.rewards[name].mean()) for name in POLICIES}


def main() -> None:
    """Print the table."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--cohorts", type=int, default=160, help="trials that are simulated")
    options.add_argument("--resamples", type=int, default=30, help="resampled cohorts of each")
    options.add_argument("--jobs", type=int, default=1)
    asked = options.parse_args()
    work = partial(measured, asked.resamples)
    found = list(map_unordered(work, range(asked.cohorts), n_jobs=asked.jobs, progress="cohorts"))
    true = truths(asked.jobs)
    table = Table(title=f"{asked.cohorts} cohorts of {UNITS:,}, {HORIZON} rounds, {asked.resamples} resamples each")
    for heading in ("policy", "about", "bias", "over paths", "over cohorts", "mean on resamples less value"):
        table.add_column(heading)
    for name in POLICIES:
        own = [each[name] for each in found]
        mean = float(np.mean([each.value for each in own]))
        error = float(np.std([each.value for each in own], ddof=1) / np.sqrt(len(own)))
        for about, target in (("the truth", true[name]), ("replay's mean over cohorts", mean)):
            held = [
                np.mean([limits[0] <= target <= limits[1] for limits in kind])
                for kind in ([each.paths for each in own], [each.cohorts for each in own])
            ]
            cells = [f"{share:.3f} ± {np.sqrt(share * (1 - share) / len(own)):.3f}" for share in held]
            more = float(np.mean([each.resampled - each.value for each in own]))
            table.add_row(name, about, f"{mean - target:+.3f} ± {error:.3f}", *cells, f"{more:+.3f}")
    Console(width=120).print(table)


if __name__ == "__main__":
    main()
