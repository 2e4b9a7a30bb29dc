"""The fact that answers a command, and the fact that the next event of a log must be."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from dtrbandit._version import NUMERICS, __version__
from dtrbandit.design.values import shown
from dtrbandit.errors import LogError, ProtocolError
from dtrbandit.record import amendments, rules, teaching, trial_rules
from dtrbandit.record.checks import Rules
from dtrbandit.record.commands import FACTS, Command, Enroll, Override, Respond
from dtrbandit.record.events import Assigned, Decision, Enrolled, Event, Fact, Opened, Overridden, Responded
from dtrbandit.record.histories import UnitRecord
from dtrbandit.record.units import Histories

Answer = tuple[Fact | None, UnitRecord | None, Decision | None]  # a fact, the record of its unit, a decision on record
RULES: Rules = rules.RULES | amendments.RULES | trial_rules.RULES | teaching.RULES
OWN = {"numerics": NUMERICS, "release": __version__}  # what a fact says of this release, and no command


def answer_to(histories: Histories, command: Command) -> Answer:
    """Return the fact that a command asks to record, the record of its unit, and the decision on record.

    A command has the fields of its fact, by their names. The fact is None if it is on record already. The record is
    None if the unit enrols, and if there is no unit.
    """
    kind = FACTS.get(type(command))
    if kind is None:
        commands = ", ".join(each.__name__ for each in FACTS)
        raise ProtocolError(f"found {shown(command)}, which is no command; commands are {commands}")
    unit = getattr(command, "unit", None)
    if isinstance(unit, str) and (known := histories.known_id(unit)) is not unit:
        command = command._replace(unit=known)  # type: ignore[call-arg]  # it has a unit
    fact, record = RULES[kind](histories, [getattr(command, name, OWN.get(name)) for name in kind._fields])
    decided = DECIDED.get(kind)
    return fact, record, None if decided is None else decided(histories, command, fact, record)


def _at_enrolment(histories: Histories, command: Enroll, fact: Fact | None, _: UnitRecord) -> Decision | None:
    if fact is None:
        return histories.decisions(command.unit)[0]
    rules.require_distinct(histories, command.unit)  # at last: whoever tries ids learns nothing where none can enrol
    return None


def _at_response(histories: Histories, command: Respond, fact: Fact | None, record: UnitRecord) -> Decision | None:
    if fact is not None:
        return None
    m = rules.stage_of_response(histories, record, command.stage, command.context)
    return histories.decisions(command.unit)[m] if m < len(record.history.arms) else None


def _overridden(histories: Histories, command: Override, _: Fact | None, record: UnitRecord) -> Decision:
    unit, arm, reason, stage = command
    decision = histories.decisions(unit)[amendments.stage_of_override(histories, record, stage, arm, reason)]
    return decision._replace(arm=arm, reason="override", propensity=None)


# the decision that whoever asked hears of, if it is on record
DECIDED: dict[type, Callable[[Histories, Any, Fact | None, Any], Decision | None]] = {
    Enrolled: _at_enrolment,
    Responded: _at_response,
    Overridden: _overridden,
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
