"""What may be recorded next.

Each verb has a function named after its event (``enrolled``, ``responded``, …). It takes the fields of that event as
they were reported, and raises if this cannot be recorded now. Otherwise it returns the fact to record, None if the same
is on record already, and the record of the unit. No function here changes anything. Amendments are in
``record/amendments.py``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dtrbandit.design.contexts import LARGEST, accept_context, accept_number, require_columns
from dtrbandit.design.spec import Design
from dtrbandit.design.values import is_among, shown
from dtrbandit.errors import NotFound, ObservationError, ProtocolError
from dtrbandit.record.checks import Rules, is_usual, what_is_wrong
from dtrbandit.record.contraindications import (
    accept_exclude,
    excluded_by,
    require_an_arm,
    require_same_exclusions,
)
from dtrbandit.record.events import Assigned, Completed, Decision, Enrolled, Excluded, Responded, Withdrawn, new
from dtrbandit.record.histories import Context, UnitRecord, barred_by, columns_of, in_order
from dtrbandit.record.trial_rules import no_more_arms, require_accrual
from dtrbandit.record.units import Histories
from dtrbandit.record.values import Values, accept_reason, accept_site, is_unit_id, packing, unpacked

NOTHING = (None, None)  # excluded, and no reason


def enrolled(
    histories: Histories, fields: tuple[str, int | None, Mapping[str, float], object, object, object]
) -> tuple[Enrolled | None, UnitRecord | None]:
    """Return the enrolment of a unit in the next round. A round that is given must be this one."""
    unit, t, context, exclude, reason, said_site = fields
    if not is_unit_id(unit):
        raise ObservationError(
            f"a unit's id must be a printable text of 1 to 200 characters, found {unit!r}; "
            "spaces before and after it must be taken away"
        )
    accepted = accept(histories, unit, 0, context)
    columns = histories.design.columns[0]
    if accepted.labels != columns:
        require_columns(histories.design, 0, accepted, columns, unit=unit)
    said = NOTHING if exclude is reason is None else accept_exclude(histories.design, unit, 0, exclude, reason)
    site = None if said_site is None else accept_site(said_site)
    rounds = histories.rounds
    known = known_unit(histories, unit) if unit in rounds else None
    if known is None or known.site != site:
        _require_newcomer(histories, unit, said[0], site)
        if known is not None:
            raise _elsewhere(known, site)
        if t is not None and t != len(rounds) + 1:
            raise ProtocolError(f"unit {unit!r}: the next round is {len(rounds) + 1}, found {t!r}")
        excluded, why = said
        return new(Enrolled, (unit, len(rounds) + 1, accepted, excluded, why, site)), None
    require_not_void(known)
    require_same_exclusions(known, 0, said)
    if accepted in (known.reported[0], known.contexts[0]):
        return None, known
    raise ProtocolError(
        f"unit {unit!r} is enrolled already with {known.contexts[0]}, found {accepted}; "
        "use correct() to mend a recorded context, or another id for another unit"
    )


def _require_newcomer(histories: Histories, unit: str, excluded: Excluded | None, site: str | None) -> None:
    """Refuse a newcomer after the end, while accrual is held, or if no arm is left for it.

    A unit of another site is held against the same first: whoever tries ids hears of one that is taken only where a
    free one would be enrolled, for all to see.
    """
    if histories.ended is not None:
        raise no_more_arms(histories.ended, unit)
    if histories.accrual:
        require_accrual(histories, unit, site)
    if excluded is not None:
        require_an_arm(histories, unit, 0, barred_by(histories.design, excluded))


def _elsewhere(record: UnitRecord, site: str | None) -> ProtocolError:
    """Return the refusal to enrol a unit that another site has. What is on record of it is not for this one."""
    told = f"unit {record.history.unit!r} is enrolled already, at "
    if site is None:
        return ProtocolError(f"{told}a site; repeat its enrolment with site=")
    return ProtocolError(f"{told}another site than {site!r}; use another id for another unit")


def responded(
    histories: Histories, fields: tuple[str, str | None, Mapping[str, float], object, object]
) -> tuple[Responded | None, UnitRecord]:
    """Return the response of a unit on arrival at its next stage."""
    unit, stage, context, exclude, reason = fields
    design, record = histories.design, on_record(histories, unit)
    m = stage_of_response(histories, record, stage, context)
    accepted = accept(histories, unit, m, context)
    said = NOTHING if exclude is reason is None else accept_exclude(design, unit, m, exclude, reason)
    if m == len(record.reported):
        if accepted.labels != design.columns[m]:
            _require_enough(histories, record, m, accepted)
        if (said is not NOTHING or record.history.excluded or histories.barred) and _enters(
            design, record, m, accepted
        ):
            require_an_arm(histories, unit, record.history.node, excluded_by(design, record, said[0]))
        excluded, why = said
        return new(Responded, (record.history.unit, design.stages[m].name, accepted, excluded, why)), record
    require_same_exclusions(record, m, said)
    if accepted in (record.reported[m], record.contexts[m]):
        return None, record
    raise ProtocolError(
        f"unit {unit!r} responded already at stage {design.stages[m].name!r} with {record.contexts[m]}, "
        f"found {accepted}; use correct() to mend a recorded context"
    )


def completed(histories: Histories, fields: tuple[str, float]) -> tuple[Completed | None, UnitRecord]:
    """Return the outcome of a unit."""
    unit, outcome = fields
    record = on_record(histories, unit)
    usual = type(outcome) is float and -LARGEST <= outcome <= LARGEST
    accepted = outcome if usual else accept_number(outcome, f"unit {unit!r}, outcome")
    if record.outcome is not None:
        if accepted in (record.outcome, record.history.outcome):
            return None, record
        raise ProtocolError(
            f"unit {unit!r} has its outcome {record.history.outcome!r} already, found {accepted!r}; "
            "use correct() to mend a recorded outcome"
        )
    if record.withdrawn is not None or (not record.left and len(record.reported) < len(histories.design.stages)):
        raise ProtocolError(f"unit {unit!r} cannot complete: {expects(histories, record)}")
    return new(Completed, (record.history.unit, accepted)), record


def withdrawn(histories: Histories, fields: tuple[str, str]) -> tuple[Withdrawn | None, UnitRecord]:
    """Return the withdrawal of a unit."""
    unit, reason = fields
    record = on_record(histories, unit)
    fact = Withdrawn(record.history.unit, accept_reason(reason, unit))
    if record.withdrawn == fact:
        return None, record
    if record.ended:
        raise ProtocolError(f"unit {unit!r} cannot withdraw: {expects(histories, record)}")
    return fact, record


def assigned(histories: Histories, fields: tuple[Decision]) -> tuple[Assigned, UnitRecord]:
    """Return the assignment of a decision that is due, as a log reports it."""
    (decision,) = fields
    if not isinstance(decision, Decision):
        raise ProtocolError(f"an assignment holds a Decision, found {decision!r}")
    unit, t, stage, arm = decision[:4]
    record, design = on_record(histories, unit), histories.design
    history = record.history
    here = design.stages[len(history.arms)] if history.feasible else None
    if here is None or stage != here.name or t != history.round:
        raise ProtocolError(
            f"a decision for unit {unit!r} at stage {stage!r}, round {t}, is not due: {expects(histories, record)}"
        )
    if arm not in here.arms or not history.feasible[here.arms.index(arm)]:
        feasible = [label for label, yes in zip(here.arms, history.feasible, strict=True) if yes]
        raise ProtocolError(f"unit {unit!r} cannot receive {arm!r} at stage {stage!r}: feasible arms are {feasible}")
    if not is_usual(decision, here.arms) and (wrong := what_is_wrong(decision, here.arms)):
        raise ProtocolError(f"a decision for unit {unit!r} at stage {stage!r} has {wrong}")
    return new(Assigned, (decision,)), record


# -- what the rules share ----------------------------------------------------------------------------------------


def on_record(histories: Histories, unit: str) -> UnitRecord:
    """Return what is on record of a unit, or say that it is unknown or void."""
    record = histories.in_flight.get(unit) if type(unit) is str else None
    if record is not None:
        return record  # the usual case: a void unit is not under way
    record = known_unit(histories, unit)
    require_not_void(record)
    return record


def require_not_void(record: UnitRecord) -> None:
    """Refuse a unit that is void."""
    if record.voided is not None:
        told, then = f"unit {record.history.unit!r} was voided", "nothing more is recorded of it"
        raise ProtocolError(
            f"{told} ({record.voided.reason}): {then}; another unit needs another id",
            blind=f"{told}: {then}; another unit needs another id",
            remedy="Ask an administrator of the trial, who voided it.",
        )


def known_unit(histories: Histories, unit: str) -> UnitRecord:
    """Return what is on record of a unit, void or not, or say that it is unknown."""
    record = histories.get(unit) if isinstance(unit, str) else None
    if record is None and isinstance(unit, str) and unit in histories.taught:
        raise ProtocolError(
            f"unit {unit!r} is one of the earlier trial that taught this one: what it taught cannot be changed, and "
            "nothing is added to it; mend the earlier trial's data, and open a new session with prior="
        )
    if record is None:
        raise NotFound(f"unknown unit {unit!r}: enroll it first")
    return record


def accept(histories: Histories, unit: str, m: int, context: Mapping[str, float]) -> Context:
    """Return a context as it goes on record, or raise."""
    columns = histories.design.columns[m]
    numbers: Any = (None,)
    if type(context) is dict and len(context) == len(columns):
        numbers = [context.get(column) for column in columns]
    elif type(context) is Values and context.labels == columns and len(context.packed) == 8 * len(columns):
        numbers = unpacked(context.packed)
    for number in numbers:
        if type(number) is not float or not -LARGEST <= number <= LARGEST:
            return in_order(histories.design, m, accept_context(histories.design, m, context, unit=unit))
    return context if type(context) is Values else Values(columns, packing(len(columns)).pack(*numbers))


def stage_number(histories: Histories, unit: str, stage: str) -> int:
    """Return the number of a stage, or say that there is none of this name."""
    names = [each.name for each in histories.design.stages]
    if not is_among(stage, names):
        raise ProtocolError(f"unit {unit!r}: there is no stage {shown(stage)}; the stages are {names}")
    return names.index(stage)


def expects(histories: Histories, record: UnitRecord) -> str:
    """Say what a unit is waiting for."""
    stages = histories.design.stages
    if record.withdrawn is not None:
        return f"it was withdrawn ({record.withdrawn.reason})"
    if record.outcome is not None:
        return "it is complete"
    if record.history.feasible:
        return f"its decision at stage {stages[len(record.history.arms)].name!r} comes next"
    if record.left:
        return "it left early and awaits its outcome"
    if record.awaited == len(stages):
        return "it awaits its outcome"
    columns = ", ".join(histories.design.columns[record.awaited]) or "no columns"
    return f"it awaits its response at stage {stages[record.awaited].name!r} ({columns})"


def stage_of_response(histories: Histories, record: UnitRecord, stage: str | None, context: Mapping[str, float]) -> int:
    """Return the stage that a response is about: the one named, or the one that its columns belong to."""
    unit, awaited = record.history.unit, len(record.reported)
    stages = histories.design.stages
    closed = record.left or awaited == len(stages) or record.ended
    if awaited == 1 and not closed and (stage is None or is_among(stage, (stages[1].name,))):
        return 1  # the usual case: there is no response that this could repeat
    if stage is not None:
        m = stage_number(histories, unit, stage)
        if 0 < m < awaited or (m == awaited and not closed):
            return m
        raise ProtocolError(f"unit {unit!r} cannot respond at stage {stage!r}: {expects(histories, record)}")
    same = _stages_with_columns(record, context)
    if same and (closed or context):
        return same[-1]
    if closed:
        raise ProtocolError(f"unit {unit!r} cannot respond: {expects(histories, record)}")
    if same and _needs_nothing(histories, awaited):
        raise ProtocolError(f"unit {unit!r}: an empty response could be for two stages; name it with stage=")
    return same[-1] if same else awaited


def _stages_with_columns(record: UnitRecord, context: Mapping[str, float]) -> list[int]:
    """Return the stages at which the unit responded with just these columns, as reported or as they hold now."""
    if not isinstance(context, Mapping):
        return []
    columns = context.keys()
    return [
        m
        for m in range(1, len(record.reported))
        if columns == record.reported[m].keys() or columns == record.contexts[m].keys()
    ]


def _needs_nothing(histories: Histories, m: int) -> bool:
    """Say whether a response at stage ``m`` may be empty, at least for a unit that leaves."""
    condition, own = histories.design.parsed[m].condition, histories.design.columns[m]
    return not own or (condition is not None and not any(column in own for column in condition.columns))


def _require_enough(histories: Histories, record: UnitRecord, m: int, context: Context) -> None:
    """Refuse a response without the columns of ``enter_if``; if the unit enters, all columns are needed."""
    design, unit = histories.design, record.history.unit
    condition = design.parsed[m].condition
    if condition is not None:
        decisive = tuple(column for column in condition.columns if column in design.columns[m])
        require_columns(design, m, context, decisive, unit=unit)
        if not _enters(design, record, m, context):
            return
    require_columns(design, m, context, design.columns[m], unit=unit)


def _enters(design: Design, record: UnitRecord, m: int, context: Context) -> bool:
    """Say whether a unit enters stage ``m`` with this context."""
    condition = design.parsed[m].condition
    return condition is None or condition.holds(columns_of((*record.contexts, context)))


def require_distinct(histories: Histories, unit: str) -> None:
    """Refuse a new id that people would take for a known one."""
    other = histories.look_alike(unit)
    if other is not None:
        told = f"the id {unit!r} looks like that of another unit: they differ only in case or encoding of letters"
        raise ProtocolError(
            f"{told}, {other!r}. If it is the same patient, use that id; otherwise give an id that differs in more",
            blind=f"{told}. Look whether the patient is enrolled already, or give an id that differs in more",
        )


RULES: Rules = {
    Enrolled: enrolled,
    Assigned: assigned,
    Responded: responded,
    Completed: completed,
    Withdrawn: withdrawn,
}
