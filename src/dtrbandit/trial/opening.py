"""How a trial begins: in rehearsal, live once it is locked, and again from a backup."""

from __future__ import annotations

import logging
import secrets
import shutil
from collections.abc import Iterable
from contextlib import closing
from datetime import datetime
from itertools import islice, takewhile
from pathlib import Path
from typing import Any

from dtrbandit._version import NUMERICS
from dtrbandit.belief import Belief, believed
from dtrbandit.design.spec import Design
from dtrbandit.design.values import label
from dtrbandit.engine import Session
from dtrbandit.errors import DesignError, LogError, ProtocolError
from dtrbandit.policies.policy import Policy
from dtrbandit.record.chain import Head, Record, Stored, checked, linked
from dtrbandit.record.durable import private_beside, require_absent, settle
from dtrbandit.record.events import Event, Opened, Taught
from dtrbandit.record.teaching import Prior
from dtrbandit.storage import SQLiteStore, Store, connect, connect_existing, is_postgres, path_of
from dtrbandit.storage.key_events import changed_keys, key_record_fault
from dtrbandit.storage.store import copy_store
from dtrbandit.trial.batch import check_label

log = logging.getLogger("dtrbandit.trial")


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


def restore_file(backup: str | Path, storage: str) -> list[str]:
    """Put a copy of a backup at an address where there is nothing yet; return the names of its trials.

    The copy is looked at first: a damaged one is refused, and nothing is left. A row of the table of keys that
    something else has changed is no damage to a trial: it is restored as it is, with a warning.
    """
    place = path_of(storage)
    if place is not None:
        require_absent(place, "a restore")
    elif not is_postgres(storage):
        raise DesignError(f"a backup is restored to a file, found the address {storage!r}")
    connect_existing(f"sqlite:///{backup}").close()  # refuses what is no backup
    with private_beside(Path(backup if place is None else place).resolve()) as draft:
        shutil.copyfile(backup, draft)
        with closing(SQLiteStore(draft)) as source:
            names = _require_whole(source)
            if place is None:
                with closing(connect(storage)) as target:
                    copy_store(source, target)
        if place is not None:
            settle(draft, place.resolve())
    return names


def _require_whole(store: Store) -> list[str]:
    """Return the names of the trials in a copy, after a look at the file and at the chain of each log."""
    if fault := store.check() or key_record_fault(store):
        raise LogError(f"the backup is damaged: {fault}; use another")
    for difference in changed_keys(store):
        log.warning(
            "%s. It is restored as it is in the table; revoke it, or see dtrbandit trial keys accept", difference
        )
    for entry in store.trials():
        for number in {entry.rehearsal, entry.live or entry.rehearsal}:
            sum(1 for _ in checked(store.log(number).read()))
    return [entry.name for entry in store.trials()]
