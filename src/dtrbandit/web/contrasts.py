"""What plans and arms are worth, by methods that are valid for data that a policy collected (docs/inference.md).

Two are: forced rounds alone, which are a randomised trial, and recorded propensities where all lie inside (0, 1). What
neither allows is left out, with the reason and what would bring it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import isfinite, log, log1p
from typing import NamedTuple

from dtrbandit.errors import DTRError, NotEstimable
from dtrbandit.evaluation.cohort import Cohort
from dtrbandit.evaluation.cohort.origin import CERTAIN
from dtrbandit.evaluation.values import evaluate
from dtrbandit.evaluation.values.adaptive import ADAPTIVE
from dtrbandit.evaluation.values.augmented import AUGMENTED
from dtrbandit.evaluation.values.estimate import FEWEST_EFFECTIVE, Estimate
from dtrbandit.evaluation.values.result import Values
from dtrbandit.policies.fixed_regime import FixedRegime
from dtrbandit.record.events import Event
from dtrbandit.trial import Trial
from dtrbandit.trial.ledger import COMPLETED, FORCED, FREE, IN_FLIGHT, SCHEDULED, VOIDED, WITHDRAWN, Ledger
from dtrbandit.words import counted

MOST_UNITS = 2_000  # whose log a page reads as a whole
LONG = "Not on a page: it would take long with so many units. Use Python, as docs/inference.md shows."
SAMPLED = 20  # units, to see whether a policy is certain of its arms
NOBODY = "Not yet: nobody has enrolled."
NO_FORCED = "Not for this policy so far: nobody was in a forced round."
NO_FREE = "Not yet: every round so far was forced by the schedule."
SURE = (
    "Not in this trial, however many units come. In free rounds the policy gave its arm with certainty, so that "
    "nothing tells how the other arms would have done. A policy with a floor keeps every arm possible; it is chosen "
    "before a trial begins."
)
LOST = (
    "Not in this trial: {lost} dropped out, and no method is known to be valid for drop-outs and for a policy that "
    "learns, together. Forced rounds alone allow for drop-outs."
)
NEEDED = int(FEWEST_EFFECTIVE)  # units that followed a plan, for an interval
OTHERWISE = "Not yet: the units so far do not determine these values. It takes more of them, and more who differ."


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
    values: tuple[Estimate, ...] = ()
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
    values = tuple(each for each in found.estimates if each.estimator in (AUGMENTED.name, ADAPTIVE.name))
    unsure = next((each for each in values if not isfinite(each.low)), None)
    if unsure is not None:
        return Compared(method, (), refused=why_not(), reason=f"{unsure.regime}: {unsure.note}")
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


# -- why there are none ------------------------------------------------------------------------------------------


def why_no_forced_values(ledger: Ledger) -> str:
    """Say why forced rounds give no values."""
    rows = _rows(ledger, FORCED)
    if not rows:
        return NO_FORCED if ledger.units else NOBODY
    return _too_few(ledger, rows, rows) or OTHERWISE


def why_no_free_values(ledger: Ledger, trial: Trial) -> str:
    """Say why free rounds give no values."""
    rows, everybody = _rows(ledger, FREE), range(ledger.units)
    if not rows:
        return NO_FREE if ledger.units else NOBODY
    if any(_is_sure(trial, ledger.names[t]) for t in rows[:SAMPLED]):
        return SURE
    if lost := ledger.count(WITHDRAWN):
        return LOST.format(lost=counted(lost, "unit"))
    return _too_few(ledger, rows, everybody) or OTHERWISE


def _rows(ledger: Ledger, kind: int) -> list[int]:
    """Return the rounds of a kind, from 0, but for void units."""
    return [t for t in range(ledger.units) if ledger.forced[t] == kind and ledger.ends[t] != VOIDED]


def _is_sure(trial: Trial, unit: str) -> bool:
    free = [each for each in trial.unit(unit).decisions if each.reason not in SCHEDULED]
    return any(each.propensity is not None and each.propensity >= 1 - CERTAIN for each in free)


def _too_few(ledger: Ledger, rows: list[int], counting: range | list[int]) -> str | None:
    """Say which plans have too few units that followed them, and who holds others back; None if all have enough."""
    first = next((t for t in counting if ledger.ends[t] == IN_FLIGHT), None)
    settled = [t for t in rows if ledger.ends[t] == COMPLETED and (first is None or t < first)]
    followed = {plan: sum(_followed(ledger, t, plan) for t in settled) for plan in ledger.design.arm_plans}
    if min(followed.values()) >= NEEDED:
        return None
    so_far = "; ".join(f"{_plan_text(ledger, plan)}: {count}" for plan, count in followed.items() if count < NEEDED)
    words = f"Not yet. Each plan needs {NEEDED} units that followed it to their outcome; too few so far: {so_far}."
    if first is not None:
        words += f" Units count in the order of enrolment, before {ledger.names[first]}, the first still under way."
    return f"{words} Once they are there, the values appear by themselves."


def _followed(ledger: Ledger, t: int, plan: tuple[int, ...]) -> bool:
    """Say whether all arms that the unit of a round was given are the plan's; who left early has fewer."""
    given = [stage.arms[stage.rows[t]] for stage in ledger.stages if stage.rows[t] >= 0]
    return bool(given) and tuple(given) == plan[: len(given)]


def _plan_text(ledger: Ledger, plan: tuple[int, ...]) -> str:
    return ", then ".join(stage.arms[arm] for stage, arm in zip(ledger.design.stages, plan, strict=True))
