"""Why a page has no values of plans, and what would bring them, in plain words and by what the ledger counts."""

from __future__ import annotations

from dtrbandit.evaluation.cohort.origin import CERTAIN
from dtrbandit.evaluation.values.evaluate import FEWEST
from dtrbandit.trial import Trial
from dtrbandit.trial.ledger import COMPLETED, FORCED, FREE, IN_FLIGHT, SCHEDULED, VOIDED, WITHDRAWN, Ledger
from dtrbandit.words import counted

LOOKED_AT = 20  # units, to see whether a policy is certain of its arms
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
OTHERWISE = "Not yet: the units so far do not determine these values. It takes more of them, and more who differ."


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
    if any(_is_sure(trial, ledger.names[t]) for t in rows[:LOOKED_AT]):
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
    if min(followed.values()) >= FEWEST:
        return None
    so_far = "; ".join(f"{_in_words(ledger, plan)}: {count}" for plan, count in followed.items() if count < FEWEST)
    words = f"Not yet. Each plan needs {FEWEST} units that followed it to their outcome; too few so far: {so_far}."
    if first is not None:
        words += f" Units count in the order of enrolment, before {ledger.names[first]}, the first still under way."
    return f"{words} Once they are there, the values appear by themselves."


def _followed(ledger: Ledger, t: int, plan: tuple[int, ...]) -> bool:
    """Say whether all arms that the unit of a round was given are the plan's; who left early has fewer."""
    given = [stage.arms[stage.rows[t]] for stage in ledger.stages if stage.rows[t] >= 0]
    return bool(given) and tuple(given) == plan[: len(given)]


def _in_words(ledger: Ledger, plan: tuple[int, ...]) -> str:
    return ", then ".join(stage.arms[arm] for stage, arm in zip(ledger.design.stages, plan, strict=True))
