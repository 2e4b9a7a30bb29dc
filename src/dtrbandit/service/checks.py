"""What was last verified and backed up, in a small file beside the database, so that the service can tell."""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

from dtrbandit.record.durable import beside, settle
from dtrbandit.storage import path_of


class Check(NamedTuple):
    """What was done (``verify`` or ``backup``) for which trial, when (Unix time), and whether all was well."""

    what: str
    trial: str
    time: float
    ok: bool


def note_check(url: str, check: Check) -> None:
    """Remember the latest check of its kind for its trial. A database in memory has no place for it."""
    place = _place(url)
    if place is None:
        return
    others = [each for each in read_checks(url) if (each.what, each.trial) != (check.what, check.trial)]
    with beside(place) as draft:
        draft.write_text(json.dumps([each._asdict() for each in [*others, check]]), encoding="utf-8")
        settle(draft, place)


def read_checks(url: str) -> list[Check]:
    """Return the latest checks; none if the file is missing or damaged, since then nothing is known."""
    place = _place(url)
    try:
        found = [] if place is None else json.loads(place.read_text(encoding="utf-8"))
        return [Check(str(each["what"]), str(each["trial"]), float(each["time"]), bool(each["ok"])) for each in found]
    except (OSError, ValueError, TypeError, KeyError):
        return []


def _place(url: str) -> Path | None:
    path = path_of(url)
    return None if path is None else path.with_name(path.name + ".checks.json")
