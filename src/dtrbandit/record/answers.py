"""The fact that answers a command, and the fact that the next event of a log must be."""

from __future__ import annotations

from typing import NoReturn

from dtrbandit.design.values import shown
from dtrbandit.errors import LogError, ProtocolError
from dtrbandit.record import amendments, rules, teaching, trial_rules
from dtrbandit.record.checks import Answer, Answers, Rules
from dtrbandit.record.commands import Command
from dtrbandit.record.events import Assigned, Decision, Event, Opened
from dtrbandit.record.units import Histories

RULES: Rules = rules.RULES | amendments.RULES | trial_rules.RULES | teaching.RULES
ANSWERS: Answers = rules.ANSWERS | amendments.ANSWERS | trial_rules.ANSWERS


def answer_to(histories: Histories, command: Command) -> Answer:
    """Return the fact that a command asks to record, the record of its unit, and the decision on record.

    The fact is None if it is on record already. The record is None if the unit enrols, and if there is no unit.
    """
    answer = ANSWERS.get(type(command))
    if answer is None:
        commands = ", ".join(kind.__name__ for kind in ANSWERS)
        raise ProtocolError(f"found {shown(command)}, which is no command; commands are {commands}")
    unit = getattr(command, "unit", None)
    if isinstance(unit, str) and (known := histories.known_id(unit)) is not unit:
        command = command._replace(unit=known)  # type: ignore[call-arg]  # it has a unit
    return answer(histories, command)


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
