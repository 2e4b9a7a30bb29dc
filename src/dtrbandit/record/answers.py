"""The fact that answers a command, and the fact that the next event of a log must be."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from dtrbandit._version import NUMERICS, __version__
from dtrbandit.design.values import shown
from dtrbandit.errors import LogError, ProtocolError
from dtrbandit.record.accrual import held, released
from dtrbandit.record.amendments import corrected, overridden, stage_of_override
from dtrbandit.record.closing import closed
from dtrbandit.record.commands import (
    CloseArm,
    Command,
    Complete,
    Correct,
    End,
    Enroll,
    Hold,
    Override,
    Release,
    Respond,
    Unblind,
    Upgrade,
    Void,
    Withdraw,
)
from dtrbandit.record.ending import ended
from dtrbandit.record.events import (
    ArmClosed,
    Assigned,
    Completed,
    Corrected,
    Decision,
    Ended,
    Enrolled,
    Event,
    Fact,
    Held,
    Opened,
    Overridden,
    Released,
    Responded,
    Taught,
    Unblinded,
    Upgraded,
    Voided,
    Withdrawn,
)
from dtrbandit.record.histories import Histories, UnitRecord
from dtrbandit.record.rules import assigned, completed, enrolled, responded, stage_of_response, withdrawn
from dtrbandit.record.teaching import taught
from dtrbandit.record.unblinding import unblinded
from dtrbandit.record.unit_ids import require_distinct, with_known_id
from dtrbandit.record.upgrading import upgraded
from dtrbandit.record.voiding import voided

Found = tuple[
    Fact | None, UnitRecord | None
]  # the fact to record, None if it is on record, and the unit's record so far
Answer = tuple[Fact | None, UnitRecord | None, Decision | None]  # and the decision on record


def answer_to(histories: Histories, command: Command) -> Answer:
    """Return the fact that a command asks to record, the record of its unit, and the decision on record.

    The fact is None if it is on record already. The record is None if the unit enrols, and if there is no unit.
    """
    answer = ANSWERS.get(type(command))
    if answer is None:
        commands = ", ".join(kind.__name__ for kind in ANSWERS)
        raise ProtocolError(f"found {shown(command)}, which is no command; commands are {commands}")
    return answer(histories, with_known_id(histories, command))


def _enroll(histories: Histories, command: Enroll) -> Answer:
    unit, context, exclude, reason, site = command
    fact, record = enrolled(histories, (unit, None, context, exclude, reason, site))
    if fact is not None:  # after all else: who tries ids hears of one that is taken only where a free one would enrol
        require_distinct(histories, unit)
    return fact, record, record.decisions[0] if record else None


def _respond(histories: Histories, command: Respond) -> Answer:
    unit, context, stage, exclude, reason = command
    fact, record = responded(histories, (unit, stage, context, exclude, reason))
    if fact is not None:
        return fact, record, None
    m = stage_of_response(histories, record, stage, context)
    return None, record, record.decisions[m] if m < len(record.decisions) else None


def _override(histories: Histories, command: Override) -> Answer:
    unit, arm, reason, stage = command
    fact, record = overridden(histories, (unit, stage, arm, reason))
    decision = record.decisions[stage_of_override(histories, record, stage, arm, reason)]
    return fact, record, decision._replace(arm=arm, reason="override", propensity=None)


def _correct(histories: Histories, command: Correct) -> Answer:
    unit, reason, outcome, stage, context = command
    return *corrected(histories, (unit, outcome, stage, context, reason)), None


ANSWERS: dict[type, Callable[[Histories, Any], Answer]] = {
    Enroll: _enroll,
    Respond: _respond,
    Complete: lambda histories, command: (*completed(histories, command), None),
    Withdraw: lambda histories, command: (*withdrawn(histories, command), None),
    Override: _override,
    Correct: _correct,
    Hold: lambda histories, command: (*held(histories, command), None),
    Release: lambda histories, command: (*released(histories, command), None),
    CloseArm: lambda histories, command: (*closed(histories, command), None),
    End: lambda histories, command: (*ended(histories, command), None),
    Upgrade: lambda histories, command: (*upgraded(histories, (NUMERICS, __version__, *command)), None),
    Void: lambda histories, command: (*voided(histories, command), None),
    Unblind: lambda histories, command: (*unblinded(histories, command), None),
}


# what may be recorded next, for each kind of event
RULES: dict[type, Callable[[Histories, Any], Found]] = {
    Enrolled: enrolled,
    Assigned: assigned,
    Responded: responded,
    Completed: completed,
    Withdrawn: withdrawn,
    Overridden: overridden,
    Corrected: corrected,
    Held: held,
    Released: released,
    ArmClosed: closed,
    Ended: ended,
    Upgraded: upgraded,
    Voided: voided,
    Unblinded: unblinded,
    Taught: taught,
}


def refuse(event: object) -> NoReturn:
    """Refuse an event that has no rule, or that its rule finds on record already."""
    if type(event) in RULES:
        raise LogError(f"found {event}, expected nothing, it is on record already")
    raise LogError("a log is opened once" if type(event) is Opened else f"found {shown(event)}, which is no event")


def require_in_turn(event: Event, due: Decision | str | None) -> None:
    """Refuse an event out of turn. ``due`` is the decision that must come next, or the unit that it must be for."""
    found = event.decision if isinstance(event, Assigned) else None
    if due is None:
        if found is not None:
            raise LogError(f"no decision is due, found {shown(found)}: its arrival is missing or out of order")
        return
    unit = due if isinstance(due, str) else due.unit
    if not isinstance(found, Decision) or found.unit != unit:
        raise LogError(f"the decision for unit {unit!r} must come here: the log is out of order or incomplete")
    if isinstance(due, Decision) and found != due:
        field = next(name for name in Decision._fields if getattr(found, name) != getattr(due, name))
        raise LogError(
            f"unit {unit!r}, stage {due.stage!r}: the log has {field} {getattr(found, field)!r}, "
            f"but these facts lead to {getattr(due, field)!r}"
        )
