"""Values of regimes from data that a policy collected: bias and coverage with known truth.

Units are those of the paper's synthetic problem, and of one with leavers and arms that are not always feasible; regimes
of both have values in closed form. ε-Greedy collects them, with and without delay. Regimes are valued by plain means,
by weighting with the recorded propensities (Hájek), and by the adaptive estimator with both of its standard errors,
with equal weights (h = 1) and with those settled at enrolment; √e of the own context as a weight is shown beside them.
DTRBandit collects them too, and only its forced rounds are used. With a floor all its units are, those of permuted
forced blocks included: where two arms differ and where none do, with a trend over time, and with three arms under
delay. What the package prints must cover 93 %, judged within two Monte-Carlo errors; the others are shown to say why
they are not printed.
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
    normal_session,
    plain_mean,
    same_arm,
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
    printed_alone: bool = False  # beside plain means

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


def normal(name: str, effects: tuple[tuple[float, ...], ...], trend: float = 0.0) -> Problem:
    """Return a problem of ``normal_session``, for the regimes that give the first arm always, and the second."""
    regimes = {f"{arm} always": same_arm(arm, len(effects)) for arm in "ab"}
    truth = {f"{arm} always": sum(own[a] for own in effects) for a, arm in enumerate("ab")}
    return Problem(name, partial(normal_session, effects=effects, trend=trend), regimes, truth, printed_alone=True)


EARLY = Problem("leavers", leavers_session, LEAVERS_REGIMES, LEAVERS_TRUTH)
PERMUTED = dtr.DTRBandit(q=5, delta=2.0, floor=0.1, schedule="permuted")
SETTINGS = (
    Setting(dtr.EpsilonGreedy(epsilon=0.1), 300, SYNTHETIC),
    Setting(dtr.EpsilonGreedy(epsilon=0.2), 300, SYNTHETIC),
    Setting(dtr.EpsilonGreedy(epsilon=0.1), 300, SYNTHETIC, delay=20.0),
    Setting(dtr.EpsilonGreedy(epsilon=0.1), 1_000, SYNTHETIC),
    Setting(dtr.DTRBandit(q=5, delta=0.5), 300, SYNTHETIC),
    Setting(dtr.EpsilonGreedy(epsilon=0.1), 300, EARLY),
    Setting(dtr.DTRBandit(q=10, delta=0.5), 307, EARLY),  # the last forced block, from 281 on, is not whole
    Setting(PERMUTED, 400, normal("a difference of .45 in two stages", ((0.45, 0.0), (0.0, 0.0)))),
    Setting(PERMUTED, 400, normal("no difference in two stages", ((0.0, 0.0), (0.0, 0.0)))),
    Setting(PERMUTED, 400, normal("no difference, trend", ((0.0, 0.0), (0.0, 0.0)), trend=1.2)),
    Setting(dtr.EpsilonGreedy(epsilon=0.3), 120, normal("three arms", ((0.0, 0.3, 0.6),))),
    Setting(dtr.DTRBandit(q=2, delta=1.0, floor=0.1), 300, normal("three arms", ((0.0, 0.3, 0.6),)), delay=15.0),
    Setting(PERMUTED, 300, normal("three arms", ((0.0, 0.3, 0.6),)), delay=15.0),
)


class Found(NamedTuple):
    """A value by one estimator, with its standard error and interval."""

    regime: str
    estimator: str
    value: float
    error: float
    low: float
    high: float

    @classmethod
    def normal(cls, regime: str, estimator: str, value: float, error: float) -> Found:
        """Return one with an interval that reaches 1.96 standard errors."""
        return cls(regime, estimator, value, error, value - REACH * error, value + REACH * error)


def valued(setting: Setting, repetition: int) -> list[Found]:
    """Return what every estimator finds in one trial; without an interval there are no limits."""
    cohort, problem = dtr.Cohort.from_log(setting.session(repetition).log), setting.problem
    regimes = problem.regimes
    means = [Found.normal(name, MEANS, *plain_mean(cohort, regime)) for name, regime in regimes.items()]
    found = [*means, difference_of_means(problem, means)]
    if isinstance(setting.policy, dtr.DTRBandit) and not setting.policy.floor:
        return found + printed(dtr.evaluate(cohort.forced(), regimes), FORCED)
    values = dtr.evaluate(cohort, regimes)
    found += printed(values)
    if not problem.printed_alone:
        found += others(cohort, regimes)
    pair = values.differences().iloc[0]
    numbers = (float(pair[name]) for name in ("difference", "std_error", "low", "high"))
    return [*found, Found(problem.difference, PRINTED, *numbers)]


def printed(values: Any, prefix: str = "") -> list[Found]:
    """Return what the package prints."""
    return [
        Found(each.regime, f"{prefix}{each.estimator}" if prefix else PRINTED, *each[2:6]) for each in values.estimates
    ]


def difference_of_means(problem: Problem, means: Sequence[Found]) -> Found:
    """Return the difference of two plain means of different units."""
    one, other = means
    error = float(np.hypot(one.error, other.error))
    return Found.normal(problem.difference, MEANS, one.value - other.value, error)


def others(cohort: dtr.Cohort, regimes: Mapping[str, dtr.FixedRegime]) -> list[Found]:
    """Return the values that are not printed."""
    found, past = [], past_propensities(cohort)
    for name, regime in regimes.items():
        decided = decisions(cohort, regime)
        weighting = past, PropensitiesByLevel(())
        own, equal = (adaptive_value(cohort, decided, OutcomeModel(), each) for each in weighting)
        risk_sets = regime_risk_sets(cohort, decided, tuple(recorded_models(cohort)))
        value, influence = hajek(cohort, inverse_weights(cohort, risk_sets))
        numbers = {
            HAJEK: (value, float(np.sqrt((influence**2).sum()))),
            OWN_CONTEXT: by_own_context(cohort, risk_sets),
            EQUAL: (equal.value, equal.by_scores),
            EQUAL_LARGER: (equal.value, max(equal.by_scores, equal.by_model)),
            BY_SCORES: (own.value, own.by_scores),
        }
        found += [Found.normal(name, estimator, *each) for estimator, each in numbers.items()]
    return found


def by_own_context(cohort: dtr.Cohort, risk_sets: Sequence[RegimeRiskSet]) -> tuple[float, float]:
    """Return the value with the weight √e_t(d | x_t) at the first stage, which is not valid, and its error."""
    _, recorded = recorded_of(cohort)
    scores = predictable_scores(cohort, risk_sets, OutcomeModel(), bounded=True)
    scored = ~recorded.forced.any(axis=1) & np.isfinite(scores)
    chances = np.take_along_axis(recorded.propensities[0], risk_sets[0].wanted[:, None], axis=1)[:, 0]
    h = np.sqrt(chances[scored])
    value = float(h @ scores[scored] / h.sum())
    return value, float(np.sqrt((h**2 * (scores[scored] - value) ** 2).sum()) / h.sum())


def table_of(setting: Setting, repetitions: int, jobs: int) -> Table:
    work = partial(valued, setting)
    trials = map_unordered(work, range(repetitions), n_jobs=jobs, progress=str(setting))
    frame = pd.DataFrame([row for each in trials for row in each])
    one, other = setting.problem.truth.values()
    truth = frame["regime"].map({**setting.problem.truth, setting.problem.difference: one - other})
    held = (frame["low"] <= truth) & (truth <= frame["high"])
    frame = frame.assign(off=frame["value"] - truth, held=held, excludes=(frame["low"] > 0) | (frame["high"] < 0))
    title = f"{setting}: {repetitions:,} trials, 95 % intervals"
    columns = "regime", "estimator", "none", "bias", "± MC", "std. error", "true", "covers", "not 0", ""
    table = Table(*columns, title=title)
    for (regime, estimator), every in frame.groupby(["regime", "estimator"], sort=False):
        own = every.dropna(subset="low")
        if own.empty:
            continue
        spread, covers = own["value"].std(), float(own["held"].mean())
        numbers = own["off"].mean(), spread / np.sqrt(len(own)), own["error"].mean(), spread, covers
        excludes = f"{own['excludes'].mean():.3f}" if regime == setting.problem.difference else ""
        judged = verdict(covers, len(own)) if estimator == PRINTED or estimator.startswith(FORCED) else "not printed"
        cells = (f"{number:.3f}" for number in (1 - len(own) / len(every), *numbers))
        table.add_row(str(regime), str(estimator), *cells, excludes, judged)
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
    console = Console(width=140)
    for number in asked.setting or range(len(SETTINGS)):
        console.print(table_of(SETTINGS[number], asked.repetitions, asked.jobs))


if __name__ == "__main__":
    main()
