"""How a trial begins: in rehearsal, and live once it is locked."""

from __future__ import annotations

import secrets
from datetime import datetime
from typing import Any

from dtrbandit._version import NUMERICS
from dtrbandit.design.spec import Design
from dtrbandit.design.stages import label
from dtrbandit.engine import Session
from dtrbandit.errors import ProtocolError
from dtrbandit.policies.policy import Policy
from dtrbandit.record.chain import Head, Record, Stored, linked
from dtrbandit.record.events import Event, Opened
from dtrbandit.trial.asks import check_label


def begin_rehearsal(
    name: str, design: Design, policy: Policy[Any], *, seed: int | None, actor: str | None, time: datetime
) -> tuple[Session, list[Stored]]:
    """Return the session of a new trial, and its first record."""
    label(name, "a trial's name")
    session = Session(design, policy, seed=drawn() if seed is None else seed)
    return session, _first(session.log[0], actor, time)


def begin_live(rehearsal: Session, head: Head, *, seed: int | None, actor: str | None, time: datetime) -> list[Stored]:
    """Return the first record of a trial that was locked, which names the head of the rehearsal."""
    opened = rehearsal.log[0]
    assert isinstance(opened, Opened)
    live = Opened(opened.design, opened.policy, drawn() if seed is None else seed, NUMERICS, head.hash)
    Session.resume([live], design=rehearsal.design, policy=rehearsal.policy)  # refuses what could not be opened
    return _first(live, actor, time)


def require_lockable(session: Session, name: str, phase: str, *, paper_schedule: bool) -> None:
    """Refuse to lock a trial that is live or has ended, or whose forced arms a site could guess."""
    if phase != "rehearsal":
        raise ProtocolError(f"the trial {name!r} cannot be locked: it is {phase}, and only a rehearsal is locked")
    if getattr(session.policy, "schedule", None) == "paper" and not paper_schedule:
        raise ProtocolError(
            f'the policy of trial {name!r} has schedule="paper": who knows it can guess the forced arms. Create the '
            'trial with schedule="permuted", or lock it with paper_schedule=True'
        )


def drawn() -> int:
    """Return a seed from the operating system."""
    return secrets.randbits(64)


def _first(opened: Event, actor: str | None, time: datetime) -> list[Stored]:
    check_label(actor, "an actor")
    return list(linked([Record(1, actor, time, opened)]))
