"""Values of regimes: bias and coverage with known truth.

Fixed regimes are valued on the trials of ``tests/evaluation/values/known_truth.py``: three arms, leavers, three kinds
of loss, confounded choices. Models are right or wrong. With heavy weights, both are right and choices and loss depend
twice as strongly on what was seen. Learned regimes are valued on trials in which nothing works, so that every regime is
worth 0, and on trials in which both arms work by what was seen (``learned_coverage.py``). What an estimator promises is
judged: a bias within three Monte-Carlo errors, a coverage of at least 93 % within two.
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


class Setting(NamedTuple):
    """Which models are used, whose bias and whose coverage they promise, and how strong the confounding is."""

    name: str
    propensities: dtr.PropensityModel
    outcomes: dtr.OutcomeModel
    unbiased: tuple[str, ...]
    covers: tuple[str, ...]
    confounding: float = 1.0


BOTH, HEAVY = ("weighted", "augmented"), 2.0
SETTINGS = (
    Setting("both right", RIGHT, RIGHT_OUTCOMES, BOTH, BOTH),
    Setting("propensities wrong", WRONG, RIGHT_OUTCOMES, ("augmented",), ()),
    Setting("outcome models wrong", RIGHT, WRONG_OUTCOMES, BOTH, ("weighted",)),
    Setting("both wrong", WRONG, WRONG_OUTCOMES, (), ()),
    Setting("heavy weights", RIGHT, RIGHT_OUTCOMES, BOTH, BOTH, HEAVY),
)
NOTHING_WORKS = dtr.Design([dtr.Stage("first", ("a", "b"), "1 + x"), dtr.Stage("second", ("a", "b"), "1 + x + z")])


def fixed(setting: Setting, units: int, repetition: int) -> pd.DataFrame:
    """Draw a trial and value the fixed regimes."""
    cohort = trial(units, np.random.default_rng([41, repetition]), confounding=setting.confounding)
    found = dtr.evaluate(cohort.with_propensities(setting.propensities), REGIMES, outcome_model=setting.outcomes)
    kept = found.best().set_index("regime")["may_be_best"]
    frame = found.to_frame()
    return frame.assign(repetition=repetition, kept=frame["regime"].map(kept))


def learned(units: int, repetition: int) -> pd.Series:
    """Draw a trial in which nothing works, learn a regime from it, and value it."""
    rng = np.random.default_rng([42, repetition])
    x, z, y = rng.normal(size=(3, units))
    cohort = cohort_of(NOTHING_WORKS, [{"x": x}, {"z": z}], rng.integers(2, size=(units, 2)), y)
    cohort = cohort.with_propensities(dtr.PropensityModel(choice={"first": "uniform", "second": "uniform"}))
    fit = dtr.QLearning(NOTHING_WORKS).fit(cohort)
    as_if_fixed = {"as if fixed": dtr.FixedRegime.from_qlearning(fit)}
    frame = dtr.evaluate(cohort, {"learned": fit, **as_if_fixed}, seed=repetition).to_frame()
    frame = frame.set_index(frame["regime"] + ", " + frame["estimator"])
    held = (frame["low"] <= 0) & (frame["high"] >= 0)
    return pd.concat([frame["value"].add_prefix("value "), held.astype(float).add_prefix("held ")])


def coverage_verdict(share: float, repetitions: int) -> str:
    """Judge a coverage within two Monte-Carlo errors."""
    return "ok" if share + 2 * np.sqrt(share * (1 - share) / repetitions) >= LEVEL else "COVERS TOO LITTLE"


def verdict(setting: Setting, estimator: str, row: pd.Series, repetitions: int) -> str:
    """Judge what an estimator promises in a setting."""
    if estimator in setting.unbiased and abs(row["bias"]) > 3 * row["error of bias"]:
        return "BIASED"
    if estimator in setting.covers:
        return coverage_verdict(row["covers"], repetitions)
    return "ok" if estimator in setting.unbiased else ""


def measured(setting: Setting, units: int, repetitions: int, n_jobs: int) -> pd.DataFrame:
    """Return a row per estimator and regime: bias, its Monte-Carlo error, spread, and coverage alone and together."""
    work = partial(fixed, setting, units)
    frame = pd.concat(map_unordered(work, range(repetitions), n_jobs=n_jobs, progress=f"{setting.name}, {units:,}"))
    frame["truth"] = frame["regime"].map({name: truth(name) for name in REGIMES})
    frame["off"] = frame["value"] - frame["truth"]
    printed = frame["low"].notna()
    frame["held"] = frame["truth"].between(frame["low"], frame["high"]).astype(float).where(printed)
    frame["all"] = frame["truth"].between(frame["joint_low"], frame["joint_high"]) | ~printed
    frame["refused"] = (~printed).astype(float)
    grouped = frame.groupby(["estimator", "regime"], sort=False)
    table = pd.DataFrame(
        {
            "bias": grouped["off"].mean(),
            "error of bias": grouped["off"].std() / np.sqrt(repetitions),
            "std. error": grouped["std_error"].mean(),
            "true": grouped["off"].std(),
            "covers": grouped["held"].mean(),
            "size": grouped["effective_sample_size"].mean(),
            "largest": grouped["largest_weight"].mean(),
            "kept": grouped["kept"].apply(lambda kept: kept.dropna().astype(float).mean()),
            "refused": grouped["refused"].mean(),
        }
    ).reset_index()
    together = frame.groupby(["estimator", "repetition"])["all"].all().groupby("estimator").mean()
    return table.assign(together=table["estimator"].map(together))


def fixed_table(units: int, repetitions: int, n_jobs: int) -> Table:
    title = f"Fixed regimes: {repetitions:,} trials of {units:,} units, 95 % intervals"
    measured_of = ("bias", "± MC", "std. error", "true", "covers", "all", "eff. size", "refused")
    heads = ("models", "estimator", "regime", *measured_of, "")
    table = Table(*heads, title=title)
    best = max(REGIMES, key=truth)
    for setting in SETTINGS:
        found = measured(setting, units, repetitions, n_jobs)
        for _, row in found.iterrows():
            numbers = [f"{row[name]:.3f}" for name in ("bias", "error of bias", "std. error", "true", "covers")]
            cells = [*numbers, f"{row['together']:.3f}", f"{row['size']:.0f}", f"{100 * row['refused']:.0f} %"]
            judged = verdict(setting, row["estimator"], row, repetitions)
            table.add_row(setting.name, row["estimator"], row["regime"], *cells, judged)
        kept = found[(found["estimator"] == "augmented") & (found["regime"] == best)]["kept"].item()
        table.add_row(setting.name, "augmented", f"{best} is kept", *[""] * 4, f"{kept:.3f}", "", "", "", "")
    return table


def learned_table(units: int, repetitions: int, n_jobs: int) -> Table:
    title = f"A learned regime where nothing works: {repetitions:,} trials of {units:,} units, truth 0"
    found = pd.DataFrame(
        list(map_unordered(partial(learned, units), range(repetitions), n_jobs=n_jobs, progress="learned"))
    )
    table = Table("estimate", "mean", "± MC", "covers", "", title=title)
    for column in [name for name in found if str(name).startswith("value ")]:
        name, values = str(column).removeprefix("value "), found[column]
        held = found[f"held {name}"].mean()
        cells = f"{values.mean():.3f}", f"{values.std() / np.sqrt(repetitions):.3f}", f"{held:.3f}"
        valid = coverage_verdict(held, repetitions) if name == "learned, in sequence" else "not valid here"
        table.add_row(name, *cells, valid)
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=1_000, help="half as many with the larger trials")
    parser.add_argument("--units", type=int, nargs=2, default=(400, 1_000))
    parser.add_argument("--jobs", type=int, default=-1)
    asked = parser.parse_args()
    console = Console(width=150)
    smaller, larger = asked.units
    console.print(fixed_table(smaller, asked.repetitions, asked.jobs))
    console.print(learned_table(smaller // 2, asked.repetitions, asked.jobs))
    console.print(fixed_table(larger, asked.repetitions // 2, asked.jobs))


if __name__ == "__main__":
    main()
