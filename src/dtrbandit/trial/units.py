"""Units of a trial as they are told: where one in flight stands, and the whole story of one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from dtrbandit.engine import Session
from dtrbandit.record.chain import Record, record_of, time_text
from dtrbandit.record.events import (
    Assigned,
    Completed,
    Corrected,
    Decision,
    Enrolled,
    Event,
    Overridden,
    Responded,
    Unblinded,
    Voided,
    Withdrawn,
)
from dtrbandit.record.rules import expects, known_unit
from dtrbandit.storage.store import Storage

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


def story(session: Session, storage: Storage, unit: str) -> UnitStory:
    """Return the story of a unit."""
    histories, design = session.histories, session.design
    record = known_unit(histories, unit)
    told = histories.log.told(record.history.round)
    stored = storage.pick(place + 1 for place, _ in told)
    records = tuple(record_of(each.text, place + 1) for each, (place, _) in zip(stored, told, strict=True))
    arms = {stage.name: stage.arms[arm] for stage, arm in zip(design.stages, record.history.arms, strict=False)}
    status = expects(histories, record) if record.voided is None else f"it was voided ({record.voided.reason})"
    return UnitStory(unit, record.history.round, status, arms, record.decisions, records, record.site)


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
