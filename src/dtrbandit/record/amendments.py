"""Rules for what is said of a unit afterwards: another arm, another value, that it is void, that somebody looked.

An amendment is a repetition only of the latest one of the same field: the arm of a stage, the outcome, or columns of
a stage's context. So corrections to 2.0, 1.5 and 2.0 are three corrections, whatever their reasons.
"""

from __future__ import annotations

from collections.abc import Mapping

from dtrbandit.design.contexts import accept_number
from dtrbandit.design.values import shown
from dtrbandit.errors import ProtocolError
from dtrbandit.record.checks import Rules
from dtrbandit.record.events import Corrected, Overridden, Unblinded, Voided
from dtrbandit.record.histories import UnitRecord, all_features, columns_of, merged
from dtrbandit.record.rules import accept, expects, known_unit, on_record, stage_number
from dtrbandit.record.units import Histories
from dtrbandit.record.values import accept_reason


def overridden(histories: Histories, fields: tuple[str, str | None, str, str]) -> tuple[Overridden | None, UnitRecord]:
    """Return the override of the arm of a unit at a stage, by default the latest."""
    unit, stage, arm, reason = fields
    design, record = histories.design, on_record(histories, unit)
    reason = accept_reason(reason, unit)
    if not isinstance(arm, str):
        raise ProtocolError(f"unit {unit!r} cannot have received {shown(arm)}: an arm is named by its label, a text")
    m = stage_of_override(histories, record, stage, arm, reason)
    fact = Overridden(record.history.unit, design.stages[m].name, arm, reason)
    if fact == _latest_override(record, fact.stage):
        return None, record
    arms, labels = record.history.arms, design.stages[m].arms
    possible = [label for a, label in enumerate(labels) if design.tree.after((*arms[:m], a, *arms[m + 1 :])) >= 0]
    if arm not in possible:
        raise ProtocolError(
            f"unit {unit!r} cannot have received {arm!r} at stage {fact.stage!r}: "
            f"feasible with its other arms are {possible}; anything else is outside this design"
        )
    if labels[arms[m]] == arm:
        raise ProtocolError(f"unit {unit!r} is on record with arm {arm!r} at stage {fact.stage!r}: nothing to override")
    return fact, record


def corrected(
    histories: Histories, fields: tuple[str, float | None, str | None, Mapping[str, float] | None, str]
) -> tuple[Corrected | None, UnitRecord]:
    """Return the correction of an outcome, or of columns of one stage's context."""
    unit, outcome, stage, context, reason = fields
    record = on_record(histories, unit)
    reason = accept_reason(reason, unit)
    if (outcome is None) == (context is None) or (stage is None) != (context is None):
        raise ProtocolError(f"unit {unit!r}: correct either outcome=, or stage= and context=")
    if context is None:
        fact = _corrected_outcome(histories, record, outcome, reason)
    else:
        fact = _corrected_context(histories, record, str(stage), context, reason)
    if fact == _latest_correction(record, fact):
        return None, record
    if merged(histories.design, record, fact) == (record.history.outcome, record.contexts):
        raise ProtocolError(f"unit {unit!r}: nothing to correct, that value is on record already")
    return fact, record


def _latest_override(record: UnitRecord, stage: str) -> Overridden | None:
    """Return the last override of a stage's arm."""
    of_stage = (each for each in reversed(record.amendments) if isinstance(each, Overridden) and each.stage == stage)
    return next(of_stage, None)


def _latest_correction(record: UnitRecord, fact: Corrected) -> Corrected | None:
    """Return the last correction of what ``fact`` corrects: the outcome, or any of the same columns."""
    columns = set(fact.context or ())
    of_field = (
        each
        for each in reversed(record.amendments)
        if isinstance(each, Corrected) and each.stage == fact.stage
        if fact.context is None or columns & set(each.context or ())
    )
    return next(of_field, None)


def stage_of_override(histories: Histories, record: UnitRecord, stage: str | None, arm: str, reason: str) -> int:
    """Return the stage that an override is about: the one named, or the latest decided."""
    unit, stages = record.history.unit, histories.design.stages
    latest = len(record.history.arms) - 1
    if stage is not None:
        m = stage_number(histories, unit, stage)
        if m > latest:
            raise ProtocolError(f"unit {unit!r} has no decision at stage {stage!r} yet: {expects(histories, record)}")
        return m
    repeated = [
        m
        for m in range(latest + 1)
        if _latest_override(record, stages[m].name) == Overridden(unit, stages[m].name, arm, reason)
    ]
    if not repeated or repeated[-1] == latest:
        return latest
    if stages[latest].arms[record.history.arms[latest]] == arm:
        return repeated[-1]  # at the latest stage there is nothing to override
    raise ProtocolError(
        f"unit {unit!r}: this override is on record for stage {stages[repeated[-1]].name!r}; "
        f"say stage={stages[latest].name!r} if the same happened there"
    )


def _corrected_outcome(histories: Histories, record: UnitRecord, outcome: float | None, reason: str) -> Corrected:
    unit = record.history.unit
    if record.outcome is None:
        raise ProtocolError(f"unit {unit!r} has no outcome to correct: {expects(histories, record)}")
    return Corrected(unit, accept_number(outcome, f"unit {unit!r}, outcome"), None, None, reason)


def _corrected_context(
    histories: Histories, record: UnitRecord, stage: str, context: Mapping[str, float], reason: str
) -> Corrected:
    design, unit = histories.design, record.history.unit
    m = stage_number(histories, unit, stage)
    if m >= len(record.contexts):
        raise ProtocolError(f"unit {unit!r} has no context at stage {stage!r} to correct: {expects(histories, record)}")
    fact = Corrected(unit, None, stage, accept(histories, unit, m, context), reason)
    _, contexts = merged(design, record, fact)
    for k in range(1, len(contexts)):
        condition = design.parsed[k].condition
        entered = not (record.left and k == len(contexts) - 1)
        if condition is not None and condition.holds(columns_of(contexts[: k + 1])) != entered:
            raise ProtocolError(
                f"unit {unit!r}: with {dict(context)} it would have {'left before' if entered else 'entered'} "
                f"stage {design.stages[k].name!r}, and what happened then cannot change; "
                f"{'the record stays as it is' if record.ended else 'withdraw the unit instead'}"
            )
    all_features(design, unit, contexts, record.history.arms)  # refuses features out of range
    return fact


def voided(histories: Histories, fields: tuple[str, str]) -> tuple[Voided | None, UnitRecord]:
    """Return the voiding of a unit, at whatever point of its course."""
    unit, reason = fields
    record = known_unit(histories, unit)
    fact = Voided(record.history.unit, accept_reason(reason, unit))
    if record.voided == fact:
        return None, record
    if record.voided is not None:
        raise ProtocolError(
            f"unit {unit!r} was voided already ({record.voided.reason}), found another reason, {fact.reason!r}"
        )
    return fact, record


def unblinded(histories: Histories, fields: tuple[str, str]) -> tuple[Unblinded, UnitRecord]:
    """Return the fact that somebody is shown the story of a unit, at whatever point of its course, void or not.

    Each look is a fact of its own, also for the same reason: the log says who looked, and how often.
    """
    unit, reason = fields
    record = known_unit(histories, unit)
    return Unblinded(record.history.unit, accept_reason(reason, unit)), record


RULES: Rules = {Overridden: overridden, Corrected: corrected, Voided: voided, Unblinded: unblinded}
