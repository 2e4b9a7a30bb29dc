"""Units of a trial as they are told: where one in flight stands, and the whole story of one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple

from dtrbandit.design.spec import Design
from dtrbandit.design.stages import Stage
from dtrbandit.errors import ProtocolError
from dtrbandit.record import events
from dtrbandit.record.chain import Record, time_text
from dtrbandit.record.events import Decision, Event
from dtrbandit.record.histories import UnitRecord
from dtrbandit.record.rules import expects, known_unit
from dtrbandit.record.units import Histories
from dtrbandit.trial.ledger import StoredFacts

OUTCOME = "outcome"


class UnitStatus(NamedTuple):
    """A unit in flight.

    Attributes
    ----------
    stage, arm
        The last stage that it entered, and the arm given there.
    awaiting
        The stage whose response comes next, or ``"outcome"``.
    since
        When it began to wait; None where the record has no time.
    due, overdue
        When that is expected, by ``expected_days``, and whether this is past; None and False where nothing is expected.
    """

    unit: str
    round: int
    stage: str
    awaiting: str
    since: datetime | None
    due: datetime | None
    overdue: bool
    arm: str
    site: str | None = None


@dataclass(frozen=True)
class UnitStory:
    """All that is on record of a unit.

    Attributes
    ----------
    status
        Where it stands, in words.
    arms
        The arms really given, by stage.
    decisions
        What was decided, stage by stage.
    records
        Its facts, each with its number, actor and time.
    site
        The site that enrolled it.
    """

    unit: str
    round: int
    status: str
    arms: Mapping[str, str]
    decisions: tuple[Decision, ...]
    records: tuple[Record, ...]
    site: str | None = None

    def __str__(self) -> str:
        arms = ", then ".join(f"{arm} at stage {stage}" for stage, arm in self.arms.items())
        lines = [f"Unit {self.unit} (round {self.round}): {self.status}.", f"Given: {arms}."]
        for record in self.records:
            time = "" if record.time is None else f"{time_text(record.time)[:16].replace('T', ' ')}  "
            actor = "" if record.actor is None else f" ({record.actor})"
            lines.append(f"  {record.sequence:>6}  {time}{describe(record.event)}{actor}")
        return "\n".join(lines)


def story(histories: Histories, facts: StoredFacts, unit: str) -> UnitStory:
    """Return the story of a unit."""
    design, record = histories.design, known_unit(histories, unit)
    arms = {stage.name: stage.arms[arm] for stage, arm in zip(design.stages, record.history.arms, strict=False)}
    status = expects(histories, record) if record.voided is None else f"it was voided ({record.voided.reason})"
    records = tuple(each for each in facts.records_of(unit) if not isinstance(each.event, events.Taught))
    decisions = tuple(each.event.decision for each in records if isinstance(each.event, events.Assigned))
    return UnitStory(unit, record.history.round, status, arms, decisions, records, record.site)


def statuses(design: Design, records: Iterable[UnitRecord], now: datetime) -> list[UnitStatus]:
    """Return where units in flight stand now."""
    awaited, found = _awaited(design), list[UnitStatus]()
    for record in records:
        unit, t, arms, since = record.history.unit, record.history.round, record.history.arms, record.since
        stage, awaiting, wait = awaited[len(arms), record.left]
        due = None if since is None or wait is None else _later(since, wait)
        late = due is not None and now > due
        arm = stage.arms[arms[-1]]
        found.append(UnitStatus(unit, t, stage.name, awaiting, since, due, late, arm, record.site))
    return found


def _awaited(design: Design) -> dict[tuple[int, bool], tuple[Stage, str, timedelta | None]]:
    """Return of a unit with so many arms, that left early or not: its stage, what it awaits, and for how long.

    Who left early has an outcome when the full course would end.
    """
    found, stages = {}, design.stages
    names = [*(stage.name for stage in stages[1:]), OUTCOME]
    for m, stage in enumerate(stages):
        found[m + 1, False] = stage, names[m], _expected([stage])
        found[m + 1, True] = stage, OUTCOME, _expected(stages[m + 1 :])
    return found


def _expected(stages: Sequence[Stage]) -> timedelta | None:
    """Return how long stages take; None where one does not say, and if no calendar goes so far."""
    days = [stage.expected_days for stage in stages]
    known = [each for each in days if each is not None]
    with suppress(OverflowError):
        return timedelta(days=sum(known)) if len(known) == len(days) else None
    return None


def _later(since: datetime, wait: timedelta) -> datetime | None:
    """Return a time so much later; None if no calendar goes so far."""
    try:
        return since + wait
    except OverflowError:
        return None


def require_awaited(design: Design, awaiting: str | None) -> None:
    """Refuse what no unit can await."""
    names = [*(stage.name for stage in design.stages[1:]), OUTCOME]
    if awaiting is not None and awaiting not in names:
        raise ProtocolError(f"units await one of {names}, found {awaiting!r}")


def describe(event: Event) -> str:
    """Return what happened to a unit, in a few words."""
    match event:
        case events.Enrolled(context=context, site=site):
            return f"enrolled with {_values(context)}" + ("" if site is None else f", at site {site}")
        case events.Assigned(decision):
            return f"stage {decision.stage}: give {decision.arm} ({decision.reason})"
        case events.Responded(stage=stage, context=context):
            return f"stage {stage}: responded with {_values(context)}"
        case events.Completed(outcome=outcome):
            return f"outcome {outcome:g}"
        case events.Overridden(stage=stage, arm=arm, reason=reason):
            return f"stage {stage}: {arm} was given instead ({reason})"
        case events.Corrected(outcome=outcome, stage=stage, context=context, reason=reason):
            what = f"outcome to {outcome:g}" if context is None else f"stage {stage} to {_values(context)}"
            return f"corrected {what} ({reason})"
        case events.Withdrawn(reason=reason):
            return f"withdrawn ({reason})"
        case events.Voided(reason=reason):
            return f"voided ({reason})"
        case events.Unblinded(reason=reason):
            return f"unblinded ({reason})"
        case _:
            return type(event).__name__


def _values(context: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {value:g}" for name, value in context.items()) or "nothing new"
