"""Endpoints about units, beside commands: unblind one, list those in flight, show one; and what each role sees (P8)."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import datetime

from starlette.responses import Response

from dtrbandit.errors import ProtocolError
from dtrbandit.record import Unblind
from dtrbandit.record.chain import time_text
from dtrbandit.record.events import Voided
from dtrbandit.service.call import MEDIA_TYPE, Call, as_json, replied
from dtrbandit.service.keys import COMPARES, EXPLAIN, Role
from dtrbandit.service.models import Awaiting, Explain, decision_explained
from dtrbandit.service.problems import Refused
from dtrbandit.trial import Trial, UnitStatus, UnitStory
from dtrbandit.trial.units import require_awaited


async def unblind_unit(call: Call, command: Unblind) -> Response:
    """The reply is all of the unit, each decision explained, once it is on record who looks and why."""  # noqa: D401
    taken = await call.take(command)
    return replied(unit_explained(await call.reading(lambda trial: trial.unit(command.unit))), taken.repeated)


async def list_units(call: Call, query: Awaiting) -> Response:
    """List the units in flight, a site's own: what each awaits, since when, and whether it is overdue."""

    def seen(trial: Trial) -> bytes:
        _require_awaited(trial, query.awaiting)
        units = trial.units(query.awaiting, query.overdue, site=call.holder.site)
        return listed("units", (status_seen(each, call.holder.role) for each in units))

    return Response(await call.reading(seen), media_type=MEDIA_TYPE)


def _require_awaited(trial: Trial, awaiting: str | None) -> None:
    try:
        require_awaited(trial.design, awaiting)
    except ProtocolError as error:
        raise Refused("parameters", f"awaiting: {error}", error="ProtocolError") from None


async def show_unit(call: Call, query: Explain) -> Response:
    """Show a unit: its arms, and to those who may see it its whole story, each decision explained."""
    if query.explain:
        EXPLAIN.require(call.holder.role)
    unit = await call.reading(lambda trial: trial.unit(call.path["unit"], site=call.holder.site))
    return replied(unit_seen(unit, call.holder.role))


def listed(name: str, entries: Iterable[object]) -> bytes:
    """Return a list in JSON, under its name. Entry by entry: all at once, nobody else could go on meanwhile.

    Examples
    --------
    >>> listed("units", [{"unit": "u1"}])
    b'{"units":[{"unit":"u1"}]}'
    """
    return b'{"%s":[%s]}' % (name.encode(), ",".join(map(as_json, entries)).encode())


# -- what each role sees -----------------------------------------------------------------------------------------


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


def _time(time: datetime | None) -> str | None:
    return None if time is None else time_text(time)


def unit_seen(unit: UnitStory, role: Role) -> dict[str, object]:
    """Return a unit. A site sees its arms; an auditor its records too; who compares, the decisions explained."""
    if role in COMPARES:
        return unit_explained(unit)
    seen: dict[str, object] = {"unit": unit.unit, "status": _status(unit, role), "arms": dict(unit.arms)}
    return seen if role is Role.SITE else {**seen, **_records(unit)}


def _status(unit: UnitStory, role: Role) -> str:
    """Return where a unit stands. A site does not hear why it was voided: that may tell results."""
    is_void = any(isinstance(record.event, Voided) for record in unit.records)
    return "it was voided" if is_void and role is Role.SITE else unit.status


def unit_explained(unit: UnitStory) -> dict[str, object]:
    """Return all of a unit, each decision explained: for those who compare, and after unblinding."""
    return {
        "unit": unit.unit,
        "status": unit.status,
        "arms": dict(unit.arms),
        **_records(unit),
        "decisions": [decision_explained(each) for each in unit.decisions],
        "text": str(unit),
    }


def _records(unit: UnitStory) -> dict[str, object]:
    records = [json.loads(record.text) for record in unit.records]
    return {"site": unit.site, "round": unit.round, "records": records}
