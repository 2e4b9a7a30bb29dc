"""How a trial begins: in rehearsal, and live once it is locked."""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from datetime import datetime
from itertools import islice, takewhile
from typing import Any

from dtrbandit._version import NUMERICS
from dtrbandit.belief import Belief, believed
from dtrbandit.design.spec import Design
from dtrbandit.design.stages import label
from dtrbandit.engine import Session
from dtrbandit.errors import DesignError, ProtocolError
from dtrbandit.policies.policy import Policy
from dtrbandit.record.chain import Head, Record, Stored, linked
from dtrbandit.record.events import Event, Opened, Taught
from dtrbandit.record.teaching import Prior
from dtrbandit.trial.asks import check_label


def begin_rehearsal(
    name: str,
    design: Design,
    policy: Policy[Any],
    *,
    seed: int | None,
    actor: str | None,
    time: datetime,
    prior: Prior | None = None,
) -> list[Stored]:
    """Return the first records of a new trial: that it was opened, and what it was taught."""
    label(name, "a trial's name")
    if "/" in name or set(name) <= {"."}:
        raise DesignError(f"a trial's name is part of an address: no '/', and not dots alone; found {name!r}")
    session = Session(design, policy, seed=drawn() if seed is None else seed, prior=prior)
    return _first(session.log, actor, time)


def begin_live(
    rehearsal: Belief, records: Iterable[Record], head: Head, *, seed: int | None, actor: str | None, time: datetime
) -> list[Stored]:
    """Return the first records of a trial that was locked; ``records`` are those of its rehearsal.

    The first names the head of the rehearsal. An earlier trial that taught the rehearsal teaches the live trial too.
    """
    opened = rehearsal.histories.opened
    live = Opened(opened.design, opened.policy, drawn() if seed is None else seed, NUMERICS, head.hash)
    lessons = takewhile(lambda event: isinstance(event, Taught), (record.event for record in islice(records, 1, None)))
    events: list[Event] = [live, *lessons]
    believed(events, rehearsal.design, rehearsal.policy)  # refuses what could not be opened
    return _first(events, actor, time)


def require_lockable(policy: Policy[Any], name: str, phase: str, *, paper_schedule: bool) -> None:
    """Refuse to lock a trial that is live or has ended, or whose forced arms a site could guess."""
    if phase != "rehearsal":
        raise ProtocolError(f"the trial {name!r} cannot be locked: it is {phase}, and only a rehearsal is locked")
    if is_guessable(policy) and not paper_schedule:
        raise ProtocolError(
            f'the policy of trial {name!r} has schedule="paper": who knows it can guess the forced arms. Create the '
            'trial with schedule="permuted", or lock it with paper_schedule=True (--paper-schedule)'
        )


def is_guessable(policy: Policy[Any]) -> bool:
    """Say whether who knows the schedule of a policy can guess its forced arms."""
    return getattr(policy, "schedule", None) == "paper"


def drawn() -> int:
    """Return a seed from the operating system."""
    return secrets.randbits(64)


def _first(events: Iterable[Event], actor: str | None, time: datetime) -> list[Stored]:
    check_label(actor, "an actor")
    return list(linked(Record(sequence, actor, time, event) for sequence, event in enumerate(events, 1)))
