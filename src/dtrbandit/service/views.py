"""What each role sees of a decision, a unit and a record (P8), and how replies are written."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from datetime import datetime

from starlette.responses import Response

from dtrbandit.record import Decision
from dtrbandit.record.chain import time_text
from dtrbandit.record.events import Voided
from dtrbandit.service.keys import COMPARES, Role
from dtrbandit.storage import ApiKey
from dtrbandit.summary import Summary
from dtrbandit.trial import Trial, UnitStatus, UnitStory

LINES = "application/x-ndjson"
WITHHELD = "withheld while the trial runs"
_ENCODER = json.JSONEncoder(separators=(",", ":"), allow_nan=False)


def replied(entries: object, repeated: bool = False) -> Response:
    """Return a reply in JSON; a header says if it repeats one that is on record."""
    body = _ENCODER.encode(entries).encode()
    return Response(body, media_type="application/json", headers={"Repeated": "true"} if repeated else None)


def listed(name: str, entries: Iterable[object]) -> bytes:
    """Return a list in JSON, under its name. Entry by entry: all at once, nobody else could go on meanwhile.

    Examples
    --------
    >>> listed("units", [{"unit": "u1"}])
    b'{"units":[{"unit":"u1"}]}'
    """
    return b'{"%s":[%s]}' % (name.encode(), ",".join(map(_ENCODER.encode, entries)).encode())


def decision_seen(decision: Decision) -> dict[str, object]:
    """Return what a site needs of a decision: which arm.

    Examples
    --------
    >>> decision_seen(Decision("u1", 7, "first", "ssri", "close", 1.0, {}, {}, ("ssri",)))
    {'unit': 'u1', 'stage': 'first', 'arm': 'ssri'}
    """
    return {"unit": decision.unit, "stage": decision.stage, "arm": decision.arm}


def decision_explained(decision: Decision) -> dict[str, object]:
    """Return all of a decision, with its explanation in words."""
    fields = {name: _plain(value) for name, value in decision._asdict().items()}
    return {**fields, "explanation": str(decision)}


def status_seen(status: UnitStatus, role: Role) -> dict[str, object]:
    """Return a unit in flight. A site sees no round, and no arm: a list of all arms would be a count."""
    seen: dict[str, object] = {
        "unit": status.unit,
        "stage": status.stage,
        "awaiting": status.awaiting,
        "since": _time(status.since),
        "due": _time(status.due),
        "overdue": status.overdue,
    }
    return seen if role is Role.SITE else {**seen, "site": status.site, "arm": status.arm, "round": status.round}


def story_seen(story: UnitStory, role: Role) -> dict[str, object]:
    """Return a unit. A site sees its arms; an auditor its records too; who compares, the decisions explained."""
    if role in COMPARES:
        return story_told(story)
    seen: dict[str, object] = {"unit": story.unit, "status": _status_seen(story, role), "arms": dict(story.arms)}
    return seen if role is Role.SITE else {**seen, **_records(story)}


def _status_seen(story: UnitStory, role: Role) -> str:
    """Return where a unit stands. A site does not hear why it was voided: that may tell results."""
    is_void = any(isinstance(record.event, Voided) for record in story.records)
    return "it was voided" if is_void and role is Role.SITE else story.status


def story_told(story: UnitStory) -> dict[str, object]:
    """Return all of a unit, each decision explained: for those who compare, and after unblinding."""
    return {
        "unit": story.unit,
        "status": story.status,
        "arms": dict(story.arms),
        **_records(story),
        "decisions": [decision_explained(each) for each in story.decisions],
        "text": str(story),
    }


def _records(story: UnitStory) -> dict[str, object]:
    records = [json.loads(record.text) for record in story.records]
    return {"site": story.site, "round": story.round, "records": records}


def trial_seen(trial: Trial) -> dict[str, object]:
    """Return a trial as everybody may know it: what to send, and which arms there are. Never its policy."""
    design = trial.design
    stages = [
        {"name": stage.name, "arms": list(stage.arms), "columns": list(columns)}
        for stage, columns in zip(design.stages, design.columns, strict=True)
    ]
    state = trial.state
    return {"name": trial.name, "phase": state.phase, "log": state.log, "stages": stages}


def summary_seen(summary: Summary) -> dict[str, object]:
    """Return a summary, and how it reads."""
    rows = {name: [each._asdict() for each in getattr(summary, name)] for name in ("coefficients", "gaps")}
    return {**asdict(summary), **rows, "text": str(summary)}


def key_seen(row: ApiKey) -> dict[str, object]:
    """Return a key that was given out, without its hash and salt."""
    return {name: value for name, value in row._asdict().items() if name not in ("sha256", "salt")}


def record_seen(line: bytes, *, seed: bool) -> bytes:
    """Return a line of the log, without the seed unless it may be seen.

    Only the first record of a log has one. Its hash stays what it was: it shows the seed later, and the chain from
    the second record on can be checked at once.
    """
    if seed or b'"event":"Opened"' not in line:
        return line
    record = json.loads(line)
    if record["event"]["event"] == "Opened":
        record["event"]["seed"] = WITHHELD
    return json.dumps(record, separators=(",", ":")).encode("ascii")


def _time(time: datetime | None) -> str | None:
    return None if time is None else time_text(time)


def _plain(value: object) -> object:
    return dict(value) if isinstance(value, Mapping) else list(value) if isinstance(value, tuple) else value
