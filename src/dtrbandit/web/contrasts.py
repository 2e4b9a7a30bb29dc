"""What plans and arms are worth, by methods that are valid for data that a policy collected (docs/inference.md).

Two are: forced rounds alone, which are a randomised trial, and recorded propensities where all lie inside (0, 1). What
neither allows is left out, and said.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import log, log1p
from typing import NamedTuple

from dtrbandit.errors import DTRError, NotEstimable
from dtrbandit.evaluation.cohort import Cohort
from dtrbandit.evaluation.values import evaluate
from dtrbandit.evaluation.values.estimate import ADAPTIVE, AUGMENTED
from dtrbandit.evaluation.values.result import Values
from dtrbandit.policies.fixed_regime import FixedRegime
from dtrbandit.record.events import Event
from dtrbandit.trial import Trial
from dtrbandit.trial.ledger import COMPLETED, Ledger
from dtrbandit.web.empty_state import why_no_forced_values, why_no_free_values
from dtrbandit.words import counted

MOST_UNITS = 2_000  # whose log a page reads as a whole
LONG = "Not on a page: it would take long with so many units. Use Python, as docs/inference.md shows."


class Value(NamedTuple):
    """The value of a plan with its 95 % interval, and how many units followed the plan."""

    plan: str
    value: float
    low: float
    high: float
    followed: int
    note: str


class Difference(NamedTuple):
    """How much more one plan is worth than another, paired, with its 95 % interval."""

    plan: str
    against: str
    difference: float
    low: float
    high: float


class Compared(NamedTuple):
    """What one method says: by which data, the values and differences, or why there are none."""

    method: str
    about: tuple[str, ...]
    values: tuple[Value, ...] = ()
    differences: tuple[Difference, ...] = ()
    refused: str | None = None
    reason: str | None = None  # why, in the words of the method


def state_of(ledger: Ledger) -> tuple[int, int]:
    """Return what changes when values are worth computing again: forced rounds, or one in twenty units more."""
    return ledger.forced_changes, int(log1p(ledger.count(COMPLETED)) / log(1.05))


def compared(ledger: Ledger, trial: Trial) -> list[Compared]:
    """Return the values of all plans, by each method in turn."""
    return [
        _tried("Forced rounds alone", lambda: _values_of_forced(ledger, trial), lambda: why_no_forced_values(ledger)),
        _tried(
            "All free rounds, by recorded propensities",
            lambda: _values(ledger, _whole(ledger, trial)),
            lambda: LONG if ledger.units > MOST_UNITS else why_no_free_values(ledger, trial),
        ),
    ]


def _values_of_forced(ledger: Ledger, trial: Trial) -> tuple[Values, Sequence[str]]:
    cohort = forced_cohort(ledger, trial)
    found, about = _values(ledger, cohort)
    among = counted(ledger.units, "unit")
    first = f"{len(cohort):,} of {among}: their arms came by the schedule, as in a randomised trial."
    return found, [first, *about[1:]]


def forced_cohort(ledger: Ledger, trial: Trial) -> Cohort:
    """Return the units of forced rounds, in the order of enrolment up to the first of them that is under way."""
    names = [name for name, forced in zip(ledger.names, ledger.forced, strict=True) if forced]
    events: list[Event] = [ledger.opened, *trial.events_of(names)]
    return Cohort.from_log(events, design=ledger.design).forced()


def _whole(ledger: Ledger, trial: Trial) -> Cohort:
    if ledger.units > MOST_UNITS:
        raise NotEstimable(
            f"at most {MOST_UNITS:,} units are read for a page, and there are {ledger.units:,}; use "
            "dtr.evaluate(dtr.Cohort.from_log(trial.session_log()), regimes)"
        )
    return Cohort.from_log(trial.session_log(), design=ledger.design)


def _tried(method: str, find: Callable[[], tuple[Values, Sequence[str]]], why_not: Callable[[], str]) -> Compared:
    try:
        found, about = find()
    except DTRError as error:
        return Compared(method, (), refused=why_not(), reason=f"{str(error).removesuffix('.')}.")
    chosen = [each for each in found.estimates if each.estimator in (AUGMENTED, ADAPTIVE)]
    values = tuple(Value(e.regime, e.value, e.low, e.high, e.support.units, e.note) for e in chosen)
    rows = found.differences()[["regime", "against", "difference", "low", "high"]]
    differences = tuple(Difference(*row) for row in rows.itertuples(index=False, name=None))
    return Compared(method, tuple(about), values, differences)


def _values(ledger: Ledger, cohort: Cohort) -> tuple[Values, Sequence[str]]:
    stages = ledger.design.stages
    plans = {
        ", then ".join(plan): FixedRegime(rule={stage.name: arm for stage, arm in zip(stages, plan, strict=True)})
        for plan in ledger.design.plans or ()
    }
    found = evaluate(cohort, plans)
    return found, found.origin
