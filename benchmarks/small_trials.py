"""Intervals of regime values in small trials with known truth: ``python benchmarks/small_trials.py [--trials 4000]``.

Two stages with two arms each, and the four embedded regimes. For each estimator the table has the coverage of what is
printed, of the worst regime and of all four together; the same of all pairs' differences; the share of intervals that
are refused; and the mean width beside that of the plain normal interval: residuals of the fit itself, and 1.96.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from rich.console import Console
from rich.table import Table

import dtrbandit as dtr
from dtrbandit.evaluation import Cohort
from dtrbandit.evaluation.values.augmented import augmented_scores
from dtrbandit.evaluation.values.estimate import Problem, Sample
from dtrbandit.evaluation.values.weighting import hajek, projected
from dtrbandit.intervals import REACH
from dtrbandit.kernels.arrays import Array
from dtrbandit.parallel import map_unordered

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))  # cohorts are made as in the tests
from evaluation.simulated_cohorts import cohort_of, expit

LEVEL = 0.93
MOST_REFUSED = 0.05  # of trials, in the first settings
ARMS = ("a", "b")
SECOND = "1 + x + z + C(first)"
ALL = dtr.Design([dtr.Stage("first", ARMS, "1 + x"), dtr.Stage("second", ARMS, SECOND)])
NON_RESPONDERS = dtr.Design([ALL.stages[0], dtr.Stage("second", ARMS, SECOND, enter_if="r == 0")])
REGIMES = {f"{i}, {j}": dtr.FixedRegime(rule={"first": i, "second": j}) for i in ARMS for j in ARMS}
FAIR = dtr.PropensityModel(choice={"first": "uniform", "second": "uniform"})
UNEQUAL = {"a": 0.8, "b": 0.2}
NODES, SHARES = np.polynomial.hermite_e.hermegauss(60)
ESTIMATORS = ("augmented", "weighted", "q-learning")


class Setting(NamedTuple):
    """How trials are drawn, and how they are analysed."""

    name: str
    noise: Callable[[np.random.Generator, int], Array] = lambda rng, n: rng.normal(size=n)
    slope: float = 0.0  # of the log odds of arm b in x, then z
    chance: float = 0.5  # of arm a
    binary: bool = False
    responders: bool = False  # are not randomised again
    lost: bool = False  # by x, then z
    model: dtr.PropensityModel = FAIR
    first: bool = False  # in which few may be refused


def lognormal(rng: np.random.Generator, n: int) -> Array:
    return np.asarray((np.exp(rng.normal(size=n)) - np.exp(0.5)) / np.sqrt((np.e - 1) * np.e))


NORMAL = Setting("normal", first=True)
BY_PATIENT = dtr.PropensityModel(choice={"first": "1 + x", "second": "1 + z"})
CELLS = (
    *((NORMAL, n) for n in (60, 100, 150)),
    (Setting("binary outcome", binary=True, first=True), 60),
    (Setting("responders not re-randomised", responders=True, first=True), 60),
    (Setting("skewed, exponential", lambda rng, n: rng.exponential(size=n) - 1), 60),
    (Setting("skewed, exponential", lambda rng, n: rng.exponential(size=n) - 1), 150),
    (Setting("very skewed, lognormal", lognormal), 150),
    (Setting("very skewed, lognormal", lognormal), 600),
    (Setting("heavy weights", slope=1.3, model=BY_PATIENT), 200),
    (Setting("uneven weights", slope=0.8, model=BY_PATIENT), 200),
    (Setting("arms 0.8/0.2", chance=0.8, model=dtr.PropensityModel(choice={"first": UNEQUAL, "second": UNEQUAL})), 200),
    (
        Setting(
            "drop-out by covariates",
            lost=True,
            model=dtr.PropensityModel(choice=FAIR.choice, staying={"second": "1 + x", "outcome": "1 + z"}),
        ),
        200,
    ),
    (NORMAL, 1_000),
)


def linear(x: Array, z: Array, first: Array | float, second: Array | float) -> Array:
    """Return the mean outcome after arms −1 and 1; it depends on z which second arm is better."""
    return 0.5 * x + 0.5 * z + 0.2 * first + 0.3 * second + 0.2 * first * second + 0.3 * second * z


def response(z: Array) -> Array:
    return expit(-0.4 + 0.4 * z)


def truth(setting: Setting, regime: str) -> float:
    """Return the value of a regime, by quadrature over x and the noise of z."""
    first, second = (-1.0 if arm == "a" else 1.0 for arm in regime.split(", "))
    x, e = np.meshgrid(NODES, NODES, indexing="ij")
    share = np.outer(SHARES, SHARES) / SHARES.sum() ** 2
    z = 0.5 * x + 0.3 * first + e
    mean = linear(x, z, first, second)
    if setting.binary:
        mean = expit(mean)
    if setting.responders:
        mean = response(z) * (1 + 0.5 * x + 0.2 * first) + (1 - response(z)) * mean
    return float((share * mean).sum())


def trial(setting: Setting, n: int, rng: np.random.Generator) -> Cohort:
    """Draw a trial, with its propensities."""
    x = rng.normal(size=n)
    odds = np.log(1 / setting.chance - 1)
    first = rng.random(n) < expit(odds + setting.slope * x)
    z = 0.5 * x + 0.3 * np.where(first, 1, -1) + rng.normal(size=n)
    second = (rng.random(n) < expit(odds + setting.slope * z)).astype(np.int64)
    a, b = np.where(first, 1.0, -1.0), np.where(second, 1.0, -1.0)
    mean, noise = linear(x, z, a, b), setting.noise(rng, n)
    outcome = (rng.random(n) < expit(mean)).astype(float) if setting.binary else mean + noise
    design, contexts = ALL, [{"x": x}, {"z": z}]
    if setting.responders:
        responds = rng.random(n) < response(z)
        outcome = np.where(responds, 1 + 0.5 * x + 0.2 * a + noise, outcome)
        second, design = np.where(responds, -1, second), NON_RESPONDERS
        contexts = [{"x": x}, {"r": responds.astype(float), "z": np.where(responds, np.nan, z)}]
    if setting.lost:
        arrives, told = rng.random(n) < expit(2.0 - 0.5 * x), rng.random(n) < expit(2.0 - 0.5 * z)
        second, outcome = np.where(arrives, second, -1), np.where(arrives & told, outcome, np.nan)
        contexts = [{"x": x}, {"z": np.where(arrives, z, np.nan)}]
    cohort = cohort_of(design, contexts, np.stack([first, second], axis=1), outcome)
    return cohort.with_propensities(setting.model)


def plain_widths(cohort: Cohort, name: str) -> dict[str, float]:
    """Return the width of the plain normal interval by estimator: residuals as they are, and 1.96."""
    problem = Problem(name, REGIMES[name], Sample(cohort, dtr.OutcomeModel()))
    assert cohort.propensities is not None
    weighted = projected(hajek(cohort, problem.weights)[1], cohort.propensities, cohort.weights)
    gamma = augmented_scores(cohort, problem.risk_sets, dtr.OutcomeModel()).gamma
    scored = (gamma - gamma.mean()) / len(cohort)
    return {
        "weighted": 2 * REACH * float(np.sqrt((weighted**2).sum())),
        "augmented": 2 * REACH * float(np.sqrt((scored**2).sum())),
    }


def repetition(setting: Setting, n: int, number: int) -> pd.DataFrame:
    """Draw a trial and value its regimes: a row for each regime, and one for each difference."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cohort = trial(setting, n, np.random.default_rng([n, number]))
        values = dtr.evaluate(cohort, REGIMES, seed=number)
        widths = {name: plain_widths(cohort, name) for name in REGIMES}
    truths = {name: truth(setting, name) for name in REGIMES}
    frame = values.to_frame().assign(what="value")
    frame["truth"] = frame["regime"].map(truths)
    frame["plain"] = [widths[r].get(e, np.nan) for r, e in zip(frame["regime"], frame["estimator"], strict=True)]
    differences = pd.concat([values.differences(each).assign(estimator=each, what="difference") for each in ESTIMATORS])
    differences["truth"] = differences["regime"].map(truths) - differences["against"].map(truths)
    differences["regime"] = differences["regime"] + " – " + differences["against"]
    whole = pd.concat([frame, differences])
    whole["printed"] = whole["low"].notna()
    whole["held"] = whole["truth"].between(whole["low"], whole["high"])
    whole["together"] = whole["truth"].between(whole["joint_low"], whole["joint_high"])
    kept = ["what", "estimator", "regime", "printed", "held", "together", "low", "high", "plain"]
    return whole[kept].assign(number=number)


def line(frame: pd.DataFrame) -> dict[str, float]:
    """Return what one estimator does in one setting, for values or for differences."""
    printed = frame[frame["printed"]]
    by_regime = printed.groupby("regime")["held"].agg(["mean", "size"])
    worst = by_regime["mean"].idxmin() if len(by_regime) else None
    together = printed[printed.groupby("number")["printed"].transform("size") > 1].groupby("number")["together"].all()
    return {
        "worst": by_regime["mean"][worst] if worst else np.nan,
        "of": float(by_regime["size"][worst]) if worst else 0.0,
        "together": float(together.mean()) if len(together) else np.nan,
        "trials": float(len(together)),
        "refused": 1 - len(printed) / len(frame),
        "trials refused": float((~frame.groupby("number")["printed"].all()).mean()),
        "width": float((printed["high"] - printed["low"]).mean()),
        "plain": float(printed["plain"].mean()),
    }


def covers(share: float, of: float) -> bool:
    """Say whether a coverage is at least .93, within two Monte-Carlo errors."""
    return not of or share + 2 * np.sqrt(share * (1 - share) / of) >= LEVEL


def verdict(setting: Setting, found: dict[str, float], of_differences: dict[str, float]) -> str:
    short = [
        name
        for name, share, of in (
            ("one", found["worst"], found["of"]),
            ("all", found["together"], found["trials"]),
            ("difference", of_differences["worst"], of_differences["of"]),
        )
        if not covers(share, of)
    ]
    words = [f"covers too little: {', '.join(short)}"] if short else []
    words += ["refuses too often"] if setting.first and found["trials refused"] > MOST_REFUSED else []
    return "; ".join(words) or "ok"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=4_000)
    parser.add_argument("--jobs", type=int, default=-1)
    parser.add_argument("--only", help="settings whose name begins so")
    asked = parser.parse_args()
    heads = ("setting", "n", "estimator", "one", "all", "difference", "refused", "trials", "width", "plain", "")
    table = Table(*heads, title=f"Small trials: {asked.trials:,} for each setting; coverage of what is printed")
    for setting, n in CELLS:
        if asked.only and not setting.name.startswith(asked.only):
            continue
        work = partial(repetition, setting, n)
        frame = pd.concat(map_unordered(work, range(asked.trials), n_jobs=asked.jobs, progress=f"{setting.name}, {n}"))
        for estimator in ESTIMATORS:
            own = frame[frame["estimator"] == estimator]
            found, pairs = (line(own[own["what"] == what]) for what in ("value", "difference"))
            cells = [f"{found['worst']:.3f}", f"{found['together']:.3f}", f"{pairs['worst']:.3f}"]
            cells += [f"{100 * found['refused']:.1f} %", f"{100 * found['trials refused']:.1f} %"]
            cells += [f"{found['width']:.2f}", f"{found['plain']:.2f}" if found["plain"] == found["plain"] else "–"]
            table.add_row(setting.name, str(n), estimator, *cells, verdict(setting, found, pairs))
    Console(width=150).print(table)


if __name__ == "__main__":
    main()
