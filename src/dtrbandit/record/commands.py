"""What can be asked of a session, one command per verb, and the reply."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from dtrbandit.record import events
from dtrbandit.record.events import Decision, Fact


class Enroll(NamedTuple):
    """Enrol a unit with its first context, and the arms that are contraindicated for it; decide its first arm."""

    unit: str
    context: Mapping[str, float]
    exclude: Mapping[str, Iterable[str]] | None = None
    reason: str | None = None
    site: str | None = None


class Respond(NamedTuple):
    """Record the response of a unit and decide its next arm, unless it leaves early."""

    unit: str
    context: Mapping[str, float]
    stage: str | None = None
    exclude: Mapping[str, Iterable[str]] | None = None
    reason: str | None = None


class Complete(NamedTuple):
    """Record the outcome of a unit."""

    unit: str
    outcome: float


class Withdraw(NamedTuple):
    """Record that a unit is lost."""

    unit: str
    reason: str


class Override(NamedTuple):
    """Record that another arm than the one decided was really given."""

    unit: str
    arm: str
    reason: str
    stage: str | None = None


class Correct(NamedTuple):
    """Correct a recorded outcome, or columns of the context recorded at ``stage``."""

    unit: str
    reason: str
    outcome: float | None = None
    stage: str | None = None
    context: Mapping[str, float] | None = None


class Hold(NamedTuple):
    """Hold accrual, everywhere or at one site: no unit enrols there until it is released."""

    reason: str
    site: str | None = None


class Release(NamedTuple):
    """Let units enrol again, everywhere or at one site."""

    reason: str
    site: str | None = None


class CloseArm(NamedTuple):
    """Close an arm of a stage, for all decisions from now on."""

    stage: str
    arm: str
    reason: str


class End(NamedTuple):
    """End the trial: nothing more is decided."""

    reason: str


class Upgrade(NamedTuple):
    """Go on with a trial that another release began, by the numerics of this one."""

    reason: str


class Void(NamedTuple):
    """Take back all that was learnt of a unit that should never have been enrolled."""

    unit: str
    reason: str


class Unblind(NamedTuple):
    """Record that somebody is shown the whole story of a unit."""

    unit: str
    reason: str


OfAUnit = Enroll | Respond | Complete | Withdraw | Override | Correct | Void | Unblind
OfTheTrial = Hold | Release | CloseArm | End | Upgrade
Command = OfAUnit | OfTheTrial
FACTS: dict[type[Any], type[Any]] = {  # that commands ask to record; a command has their fields, by name
    Enroll: events.Enrolled,
    Respond: events.Responded,
    Complete: events.Completed,
    Withdraw: events.Withdrawn,
    Override: events.Overridden,
    Correct: events.Corrected,
    Void: events.Voided,
    Unblind: events.Unblinded,
    Hold: events.Held,
    Release: events.Released,
    CloseArm: events.ArmClosed,
    End: events.Ended,
    Upgrade: events.Upgraded,
}


class Reply(NamedTuple):
    """What a session answers to a command.

    Attributes
    ----------
    facts
        What is to be recorded, in order; none if the same was recorded before.
    decision
        The decision that the caller asked for, new or on record; None where there is none.
    version
        The number of events on record when the session answered. The facts come right after these.
    """

    facts: tuple[Fact, ...]
    decision: Decision | None
    version: int
