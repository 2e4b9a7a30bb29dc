"""Values of regimes from data that a policy collected: bias and coverage with known truth.

Units are those of the paper's synthetic problem, and of one with leavers and arms that are not always feasible; regimes
of both have values in closed form. ε-Greedy collects them, with and without delay. Regimes are valued by plain means,
by weighting with the recorded propensities (Hájek), and by the adaptive estimator with both of its standard errors,
with equal weights (h = 1) and with those settled at enrolment; √e of the own context as a weight is shown beside them.
DTRBandit collects them too, and only its forced rounds are used. What the package prints must cover 93 %, judged within
two Monte-Carlo errors; the others are shown to say why they are not printed.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from rich.console import Console
from rich.table import Table

import dtrbandit as dtr
from dtrbandit.evaluation.cohort.origin import recorded_of
from dtrbandit.evaluation.values.adaptive import adaptive_value, predictable_scores, recorded_models
from dtrbandit.evaluation.values.adherence import RegimeRiskSet, decisions, inverse_weights, regime_risk_sets
from dtrbandit.evaluation.values.augmented import OutcomeModel
from dtrbandit.evaluation.values.past_propensities import PropensitiesByLevel, past_propensities
from dtrbandit.evaluation.values.weighting import hajek
from dtrbandit.intervals import REACH
from dtrbandit.parallel import map_unordered

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))  # the trials are those of the tests

from evaluation.collected import (
    LEAVERS_REGIMES,
    LEAVERS_TRUTH,
    REGIMES,
    TRUTH,
    leavers_session,
    plain_mean,
    synthetic_session,
)

LEVEL = 0.93
MEANS, HAJEK = "plain means", "Hájek, recorded e"
EQUAL, BY_SCORES, PRINTED = "h = 1, scores' error", "adaptive h, scores' error", "adaptive, as printed"
EQUAL_LARGER, OWN_CONTEXT = "h = 1, larger error", "h by own context, scores' error"
FORCED = "forced rounds, "


class Problem(NamedTuple):
    """Where units come from, regimes, and their values."""

    name: str
    session: Callable[..., dtr.Session]
    regimes: Mapping[str, dtr.FixedRegime]
    truth: Mapping[str, float]

    @property
    def difference(self) -> str:
        """The name of the difference of the two regimes."""
        return " − ".join(self.regimes)


class Setting(NamedTuple):
    """A policy, how many units it meets, and how many rounds pass on average until a response and an outcome."""

    policy: Any
    units: int
    problem: Problem
    delay: float = 0.0

    def __str__(self) -> str:
        late = f", delay {self.delay:g} + {self.delay:g}" if self.delay else ""
        return f"{self.problem.name}, {self.policy!r}, {self.units:,} units{late}"

    def session(self, repetition: int) -> dtr.Session:
        """Draw a trial."""
        late = {"delay": self.delay} if self.delay else {}
        return self.problem.session(self.policy, self.units, seed=repetition, **late)


SYNTHETIC = Problem("synthetic", synthetic_session, REGIMES, TRUTH)
EARLY = Problem("leavers", leavers_session, LEAVERS_REGIMES, LEAVERS_TRUTH)
SETTINGS = (
    Setting(dtr.EpsilonGreedy(epsilon=0.1), 300, SYNTHETIC),
    Setting(dtr.EpsilonGreedy(epsilon=0.2), 300, SYNTHETIC),
    Setting(dtr.EpsilonGreedy(epsilon=0.1), 300, SYNTHETIC, delay=20.0),
    Setting(dtr.EpsilonGreedy(epsilon=0.1), 1_000, SYNTHETIC),
    Setting(dtr.DTRBandit(q=5, delta=0.5), 300, SYNTHETIC),
    Setting(dtr.EpsilonGreedy(epsilon=0.1), 300, EARLY),
    Setting(dtr.DTRBandit(q=10, delta=0.5), 307, EARLY),  # the last forced block, from 281 on, is not whole
)


def valued(setting: Setting, repetition: int) -> list[tuple[str, str, float, float]]:
    """Return regime, estimator, value and standard error by every estimator, in one trial; none if it is refused."""
    cohort, regimes = dtr.Cohort.from_log(setting.session(repetition).log), setting.problem.regimes
    found = [(name, MEANS, *plain_mean(cohort, regime)) for name, regime in regimes.items()]
    if isinstance(setting.policy, dtr.DTRBandit):
        values = dtr.evaluate(cohort.forced(), regimes)
        return found + [
            (each.regime, f"{FORCED}{each.estimator}", each.value, each.std_error) for each in values.estimates
        ]
    try:
        values = dtr.evaluate(cohort, regimes)
    except dtr.NotEstimable:  # fewer than five units followed a regime: nothing is printed
        return []
    past = past_propensities(cohort)
    for each in values.estimates:
        decided = decisions(cohort, regimes[each.regime])
        weighting = past, PropensitiesByLevel(())
        own, equal = (adaptive_value(cohort, decided, OutcomeModel(), each) for each in weighting)
        risk_sets = regime_risk_sets(cohort, decided, tuple(recorded_models(cohort)))
        value, influence = hajek(cohort, inverse_weights(cohort, risk_sets))
        found += [
            (each.regime, HAJEK, value, float(np.sqrt((influence**2).sum()))),
            (each.regime, OWN_CONTEXT, *by_own_context(cohort, risk_sets)),
            (each.regime, EQUAL, equal.value, equal.by_scores),
            (each.regime, EQUAL_LARGER, equal.value, max(equal.by_scores, equal.by_model)),
            (each.regime, BY_SCORES, own.value, own.by_scores),
            (each.regime, PRINTED, each.value, each.std_error),
        ]
    pair = values.differences().iloc[0]
    return [*found, (setting.problem.difference, PRINTED, float(pair["difference"]), float(pair["std_error"]))]


def by_own_context(cohort: dtr.Cohort, risk_sets: Sequence[RegimeRiskSet]) -> tuple[float, float]:
    """Return the value with the weight √e_t(d | x_t) at the first stage, which is not valid, and its error."""
    _, recorded = recorded_of(cohort)
    scores = predictable_scores(cohort, risk_sets, OutcomeModel())
    scored = ~recorded.forced.any(axis=1) & np.isfinite(scores)
    chances = np.take_along_axis(recorded.propensities[0], risk_sets[0].wanted[:, None], axis=1)[:, 0]
    h = np.sqrt(chances[scored])
    value = float(h @ scores[scored] / h.sum())
    return value, float(np.sqrt((h**2 * (scores[scored] - value) ** 2).sum()) / h.sum())


def table_of(setting: Setting, repetitions: int, jobs: int) -> Table:
    work = partial(valued, setting)
    trials = list(map_unordered(work, range(repetitions), n_jobs=jobs, progress=str(setting)))
    rows, refused = [row for each in trials for row in each], sum(not each for each in trials)
    frame = pd.DataFrame(rows, columns=["regime", "estimator", "value", "error"])
    one, other = setting.problem.truth.values()
    truths = {**setting.problem.truth, setting.problem.difference: one - other}
    off = frame["value"] - frame["regime"].map(truths)
    frame = frame.assign(off=off, held=off.abs() <= REACH * frame["error"])
    title = f"{setting}: {repetitions:,} trials ({refused:,} refused), 95 % intervals"
    table = Table("regime", "estimator", "bias", "± MC", "std. error", "true", "covers", "", title=title)
    for (regime, estimator), own in frame.groupby(["regime", "estimator"], sort=False):
        spread, covers = own["value"].std(), float(own["held"].mean())
        numbers = own["off"].mean(), spread / np.sqrt(len(own)), own["error"].mean(), spread
        judged = verdict(covers, len(own)) if estimator == PRINTED or estimator.startswith(FORCED) else "not printed"
        table.add_row(str(regime), str(estimator), *(f"{number:.3f}" for number in numbers), f"{covers:.3f}", judged)
    return table


def verdict(share: float, repetitions: int) -> str:
    """Judge a coverage within two Monte-Carlo errors."""
    return "ok" if share + 2 * np.sqrt(share * (1 - share) / repetitions) >= LEVEL else "TOO LOW"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=1_000)
    parser.add_argument("--jobs", type=int, default=-1)
    parser.add_argument("--setting", type=int, action="append", help=f"from 0 to {len(SETTINGS) - 1}; by default all")
    asked = parser.parse_args()
    console = Console(width=120)
    for number in asked.setting or range(len(SETTINGS)):
        console.print(table_of(SETTINGS[number], asked.repetitions, asked.jobs))


if __name__ == "__main__":
    main()
