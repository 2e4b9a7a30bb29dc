"""Shares of arms in forced rounds, taken as known: standard errors beside the true ones.

Forced rounds give plans in fixed numbers, in any order, to units that come as they come. The probability of an arm is
its share among the units with the same arms before. That share is what happened, not what the schedule promised: units
that leave early never have their second arm. Units are those of the problem with leavers of ``adaptive.py``. One of the
regimes is tailored. "Taken away" is the weighted error without what the scores of the shares explain, as if the shares
were fitted by maximum likelihood.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
from rich.console import Console
from rich.table import Table

import dtrbandit as dtr
from dtrbandit.evaluation.propensities.fitted import FittedModel
from dtrbandit.evaluation.values.adherence import decisions, inverse_weights, regime_risk_sets
from dtrbandit.evaluation.values.weighting import hajek
from dtrbandit.intervals import REACH
from dtrbandit.parallel import map_unordered

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))  # the problem is that of the tests

from evaluation.collected import LEAVERS, LEAVERS_REGIMES, LEAVERS_TRUTH
from evaluation.simulated_cohorts import cohort_of

UNITS, TAILORED = 160, "a if x > 0, then b"
REGIMES = {**LEAVERS_REGIMES, TAILORED: dtr.FixedRegime(rule={"first": {"a": [0, 1], "b": [0, 0]}, "second": "b"})}
TRUTH = {**LEAVERS_TRUTH, TAILORED: float(np.mean(list(LEAVERS_TRUTH.values())))}
SHARES = dtr.PropensityModel(choice={"first": "shares", "second": "shares"})


def trial(rng: np.random.Generator) -> dtr.Cohort:
    """Draw the forced rounds of a trial: each of four plans for a quarter of the units, in random order."""
    first, second = np.array(LEAVERS.arm_plans)[rng.permutation(np.repeat(np.arange(4), UNITS // 4))].T
    x, r, noise = rng.normal(size=(3, UNITS))
    r = r + 0.5 * (first == 0)
    outcome = x + noise + np.where(r > 0, np.array([0.0, 0.5, 1.0])[second], 1.0)
    arms = np.stack([first, np.where(r > 0, second, -1)], axis=1)
    return cohort_of(LEAVERS, [{"x": x}, {"r": r}], arms, outcome).with_propensities(SHARES)


def scores(cohort: dtr.Cohort, model: FittedModel) -> Iterator[np.ndarray]:
    """Give the scores of the shares of a choice, for each group with the same arms before, (n,)."""
    rows, happened = model.risk_set.rows, model.risk_set.happened
    for group in np.unique(cohort.arms[rows, : model.risk_set.m], axis=0):
        own = (cohort.arms[rows, : model.risk_set.m] == group).all(axis=1)
        for option in range(1, len(model.risk_set.options)):
            score = np.zeros(len(cohort))
            score[rows[own]] = (happened[own] == option) - model.probabilities[own, option]
            yield score


def valued(repetition: int) -> list[tuple[str, str, float, float]]:
    """Return regime, estimator, value and standard error in one trial."""
    cohort = trial(np.random.default_rng([44, repetition]))
    found = dtr.evaluate(cohort, REGIMES)
    rows = [(each.regime, each.estimator, each.value, each.std_error) for each in found.estimates]
    explained = np.array([score for model in found_models(cohort) for score in scores(cohort, model)]).T
    for name, regime in REGIMES.items():
        value, influence = hajek(cohort, inverse_weights(cohort, regime_risk_sets(cohort, decisions(cohort, regime))))
        rest = influence - explained @ np.linalg.lstsq(explained, influence, rcond=None)[0]
        factor = np.sqrt(UNITS / (UNITS - explained.shape[1]))
        rows.append((name, "weighted, taken away", value, float(factor * np.sqrt((rest**2).sum()))))
    return rows


def found_models(cohort: dtr.Cohort) -> tuple[FittedModel, ...]:
    assert cohort.propensities is not None
    return cohort.propensities.models


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=1_000)
    parser.add_argument("--jobs", type=int, default=-1)
    asked = parser.parse_args()
    trials = map_unordered(valued, range(asked.repetitions), n_jobs=asked.jobs, progress="trials")
    frame = pd.DataFrame([row for each in trials for row in each], columns=["regime", "estimator", "value", "error"])
    frame["held"] = (frame["value"] - frame["regime"].map(TRUTH)).abs() <= REACH * frame["error"]
    table = Table("regime", "estimator", "std. error", "true", "covers", title=f"{asked.repetitions:,} trials")
    for (regime, estimator), own in frame.groupby(["regime", "estimator"], sort=False):
        numbers = own["error"].mean(), own["value"].std(), own["held"].mean()
        table.add_row(str(regime), str(estimator), *(f"{number:.3f}" for number in numbers))
    Console(width=100).print(table)


if __name__ == "__main__":
    main()
