"""Values of regimes: bias and coverage with known truth.

Fixed regimes are valued on the trials of ``tests/evaluation/values/known_truth.py``: three arms, leavers, three kinds
of loss, confounded choices; with right and wrong models. Learned regimes are valued on trials in which nothing works,
so that every regime is worth 0. A bias is judged within three Monte-Carlo errors, a coverage within two.
"""

from __future__ import annotations

import argparse
import sys
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from rich.console import Console
from rich.table import Table

import dtrbandit as dtr
from dtrbandit.parallel import map_unordered

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))  # the trials are those of the tests

from evaluation.simulated_cohorts import cohort_of
from evaluation.values.known_truth import (
    REGIMES,
    RIGHT,
    RIGHT_OUTCOMES,
    WRONG,
    WRONG_OUTCOMES,
    trial,
    truth,
)

LEVEL = 0.93
JOBS = -1


class Models(NamedTuple):
    """Which models are used, and whether they are right."""

    name: str
    propensities: dtr.PropensityModel
    outcomes: dtr.OutcomeModel


MODELS = (
    Models("both right", RIGHT, RIGHT_OUTCOMES),
    Models("propensities wrong", WRONG, RIGHT_OUTCOMES),
    Models("outcome models wrong", RIGHT, WRONG_OUTCOMES),
    Models("both wrong", WRONG, WRONG_OUTCOMES),
)
NOTHING_WORKS = dtr.Design([dtr.Stage("first", ("a", "b"), "1 + x"), dtr.Stage("second", ("a", "b"), "1 + x + z")])


def fixed(models: Models, units: int, repetition: int) -> pd.DataFrame:
    """Draw a trial and value the fixed regimes."""
    cohort = trial(units, np.random.default_rng([11, repetition])).with_propensities(models.propensities)
    found = dtr.evaluate(cohort, REGIMES, outcome_model=models.outcomes)
    kept = found.best().set_index("regime")["may_be_best"]
    frame = found.to_frame()
    return frame.assign(repetition=repetition, kept=frame["regime"].map(kept))


def learned(units: int, repetition: int) -> pd.Series:
    """Draw a trial in which nothing works, learn a regime from it, and value it."""
    rng = np.random.default_rng([12, repetition])
    x, z, y = rng.normal(size=(3, units))
    cohort = cohort_of(NOTHING_WORKS, [{"x": x}, {"z": z}], rng.integers(2, size=(units, 2)), y)
    cohort = cohort.with_propensities(dtr.PropensityModel(choice={"first": "uniform", "second": "uniform"}))
    fit = dtr.QLearning(NOTHING_WORKS).fit(cohort)
    as_if_fixed = {"as if fixed": dtr.FixedRegime.from_qlearning(fit)}
    frame = dtr.evaluate(cohort, {"learned": fit, **as_if_fixed}, seed=repetition).to_frame()
    frame = frame.set_index(frame["regime"] + ", " + frame["estimator"])
    held = (frame["low"] <= 0) & (frame["high"] >= 0)
    return pd.concat([frame["value"].add_prefix("value "), held.astype(float).add_prefix("held ")])


def verdict(share: float, repetitions: int) -> str:
    """Judge a coverage within two Monte-Carlo errors."""
    return "ok" if share + 2 * np.sqrt(share * (1 - share) / repetitions) >= LEVEL else "TOO LOW"


def fixed_table(units: int, repetitions: int) -> Table:
    title = f"Fixed regimes: {repetitions:,} trials of {units:,} units, 95 % intervals"
    table = Table(
        "models", "estimator", "regime", "bias", "± MC", "std. error", "true", "covers", "all", "", title=title
    )
    truths = {name: truth(name) for name in REGIMES}
    for models in MODELS:
        work = partial(fixed, models, units)
        frame = pd.concat(map_unordered(work, range(repetitions), n_jobs=JOBS, progress=models.name))
        frame["truth"] = frame["regime"].map(truths)
        frame["held"] = frame["truth"].between(frame["low"], frame["high"])
        frame["all"] = frame["truth"].between(frame["joint_low"], frame["joint_high"])
        together = frame.groupby(["estimator", "repetition"])["all"].all().groupby("estimator").mean()
        for (estimator, regime), own in frame.groupby(["estimator", "regime"], sort=False):
            spread, covers = own["value"].std(), own["held"].mean()
            numbers = (
                (own["value"] - own["truth"]).mean(),
                spread / np.sqrt(repetitions),
                own["std_error"].mean(),
                spread,
            )
            cells = [*(f"{number:.3f}" for number in numbers), f"{covers:.3f}", f"{together[estimator]:.3f}"]
            table.add_row(models.name, str(estimator), str(regime), *cells, verdict(covers, repetitions))
        best = max(truths, key=lambda name: truths[name])
        kept = frame[(frame["estimator"] == "augmented") & (frame["regime"] == best)]["kept"].mean()
        table.add_row(models.name, "augmented", f"{best} is kept as best", "", "", "", "", f"{kept:.3f}", "", "")
    return table


def learned_table(units: int, repetitions: int) -> Table:
    title = f"A learned regime where nothing works: {repetitions:,} trials of {units:,} units, truth 0"
    found = pd.DataFrame(
        list(map_unordered(partial(learned, units), range(repetitions), n_jobs=JOBS, progress="learned"))
    )
    table = Table("estimate", "mean", "± MC", "covers", "", title=title)
    for column in [name for name in found if str(name).startswith("value ")]:
        name, values = str(column).removeprefix("value "), found[column]
        held = found[f"held {name}"].mean()
        cells = f"{values.mean():.3f}", f"{values.std() / np.sqrt(repetitions):.3f}", f"{held:.3f}"
        valid = verdict(held, repetitions) if name == "learned, cross-fitted" else "not valid here"
        table.add_row(name, *cells, valid)
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=1_000)
    parser.add_argument("--units", type=int, default=400)
    asked = parser.parse_args()
    console = Console(width=130)
    console.print(fixed_table(asked.units, asked.repetitions))
    console.print(learned_table(asked.units // 2, asked.repetitions))


if __name__ == "__main__":
    main()
