"""Units of a trial as they are told: where one in flight stands, and the whole story of one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple

from dtrbandit.design.spec import Design
from dtrbandit.errors import ProtocolError
from dtrbandit.record.chain import Record, time_text
from dtrbandit.record.events import (
    Assigned,
    Completed,
    Corrected,
    Decision,
    Enrolled,
    Event,
    Overridden,
    Responded,
    Taught,
    Unblinded,
    Voided,
    Withdrawn,
)
from dtrbandit.record.histories import UnitRecord
from dtrbandit.record.rules import expects, known_unit
from dtrbandit.record.units import Histories
from dtrbandit.trial.followed import StoredFacts

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
            lines.append(f"  {record.sequence:>6}  {time}{in_words(record.event)}{actor}")
        return "\n".join(lines)


def story(histories: Histories, facts: StoredFacts, unit: str) -> UnitStory:
    """Return the story of a unit."""
    design, record = histories.design, known_unit(histories, unit)
    arms = {stage.name: stage.arms[arm] for stage, arm in zip(design.stages, record.history.arms, strict=False)}
    status = expects(histories, record) if record.voided is None else f"it was voided ({record.voided.reason})"
    records = tuple(each for each in facts.records_of(unit) if not isinstance(each.event, Taught))
    decisions = tuple(each.event.decision for each in records if isinstance(each.event, Assigned))
    return UnitStory(unit, record.history.round, status, arms, decisions, records, record.site)


def status_of(design: Design, record: UnitRecord) -> UnitStatus:
    """Return where a unit in flight stands; not yet whether that is late."""
    unit, t, _, _, arms, *_ = record.history
    stage, since, days = design.stages[len(arms) - 1], record.since, _expected_days(design, record)
    due = None if since is None or days is None else _later(since, days)
    over = record.left or record.awaited == len(design.stages)
    awaiting = OUTCOME if over else design.stages[record.awaited].name
    return UnitStatus(unit, t, stage.name, awaiting, since, due, False, stage.arms[arms[-1]], record.site)


def _later(since: datetime, days: float) -> datetime | None:
    """Return a time so many days later; None if no calendar goes so far."""
    try:
        return since + timedelta(days=days)
    except OverflowError:
        return None


def _expected_days(design: Design, record: UnitRecord) -> float | None:
    """Return the days until what a unit awaits. Who left early has an outcome when the full course would end."""
    m = len(record.history.arms) - 1
    days = [stage.expected_days for stage in (design.stages[m + 1 :] if record.left else design.stages[m : m + 1])]
    known = [each for each in days if each is not None]
    return sum(known) if len(known) == len(days) else None


def chosen(
    units: Iterable[UnitStatus], now: datetime, *, awaiting: str | None, overdue: bool | None, site: str | None
) -> list[UnitStatus]:
    """Return those of some units that are asked for, as they stand now."""
    found = []
    for each in units:
        if awaiting in (None, each.awaiting) and site in (None, each.site):
            late = each.due is not None and now > each.due
            if overdue in (None, late):
                found.append(each._replace(overdue=True) if late else each)
    return found


def require_awaited(design: Design, awaiting: str | None) -> None:
    """Refuse what no unit can await."""
    names = [*(stage.name for stage in design.stages[1:]), OUTCOME]
    if awaiting is not None and awaiting not in names:
        raise ProtocolError(f"units await one of {names}, found {awaiting!r}")


def in_words(event: Event) -> str:
    """Return what happened to a unit, in a few words."""
    match event:
        case Enrolled(context=context, site=site):
            return f"enrolled with {_values(context)}" + ("" if site is None else f", at site {site}")
        case Assigned(decision):
            return f"stage {decision.stage}: give {decision.arm} ({decision.reason})"
        case Responded(stage=stage, context=context):
            return f"stage {stage}: responded with {_values(context)}"
        case Completed(outcome=outcome):
            return f"outcome {outcome:g}"
        case Overridden(stage=stage, arm=arm, reason=reason):
            return f"stage {stage}: {arm} was given instead ({reason})"
        case Corrected(outcome=outcome, stage=stage, context=context, reason=reason):
            what = f"outcome to {outcome:g}" if context is None else f"stage {stage} to {_values(context)}"
            return f"corrected {what} ({reason})"
        case Withdrawn(reason=reason):
            return f"withdrawn ({reason})"
        case Voided(reason=reason):
            return f"voided ({reason})"
        case Unblinded(reason=reason):
            return f"unblinded ({reason})"
        case _:
            return type(event).__name__


def _values(context: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {value:g}" for name, value in context.items()) or "nothing new"
