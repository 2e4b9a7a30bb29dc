"""Endpoints about units: enrol, respond, complete, withdraw, override, correct, void, unblind; lists and stories."""

from __future__ import annotations

import asyncio
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from dtrbandit.errors import ProtocolError
from dtrbandit.record import Complete, Correct, Enroll, Override, Respond, Unblind, Void, Withdraw
from dtrbandit.service.models import (
    ArmReply,
    Because,
    Correction,
    Enrolment,
    Given,
    Outcome,
    Recorded,
    UnitReply,
    UnitsReply,
)
from dtrbandit.service.models import Response as ResponseBody
from dtrbandit.service.problems import Refused
from dtrbandit.service.requests import Visit, described, listed, replied
from dtrbandit.service.roles import require
from dtrbandit.service.views import status_seen, story_seen, story_told
from dtrbandit.trial import Trial
from dtrbandit.trial.waiting import require_awaited

routes = APIRouter(prefix="/trials/{trial}/units", tags=["units"])
Explain = Annotated[
    bool, Query(description="Say why. For administrators and statisticians; to a site or an auditor it is 403.")
]


@routes.post("", **described("enroll_unit", body=Enrolment, reply=ArmReply))
async def enroll_unit(request: Request, trial: str, explain: Explain = False) -> Response:
    """Enrol a unit with its first context; the reply is its first arm."""
    visit = Visit(request, "enroll_unit", trial)
    body = await visit.body(Enrolment)
    if set(body.unit) <= {"."}:
        raise Refused("content", "unit: dots alone are no id, since an address cannot hold them; use another id")
    command = Enroll(body.unit, body.context, body.exclude, body.reason, body.site or visit.holder.site)
    return await visit.arm(trial, command, explain=explain)


@routes.post("/{unit:path}/responses", **described("record_response", body=ResponseBody, reply=ArmReply))
async def record_response(request: Request, trial: str, unit: str, explain: Explain = False) -> Response:
    """Record a unit's context on arrival at its next stage; the reply is its next arm, or that it left early."""
    visit = Visit(request, "record_response", trial)
    body = await visit.body(ResponseBody)
    command = Respond(unit, body.context, body.stage, body.exclude, body.reason)
    return await visit.arm(trial, command, explain=explain)


@routes.post("/{unit:path}/outcome", **described("record_outcome", body=Outcome, reply=Recorded))
async def record_outcome(request: Request, trial: str, unit: str) -> Response:
    """Record the outcome of a unit that has been through all its stages, or has left early."""
    visit = Visit(request, "record_outcome", trial)
    body = await visit.body(Outcome)
    return await visit.record(trial, Complete(unit, body.outcome), "outcome")


@routes.post("/{unit:path}/withdrawal", **described("withdraw_unit", body=Because, reply=Recorded))
async def withdraw_unit(request: Request, trial: str, unit: str) -> Response:
    """Record that a unit is lost."""
    visit = Visit(request, "withdraw_unit", trial)
    body = await visit.body(Because)
    return await visit.record(trial, Withdraw(unit, body.reason), "withdrawal")


@routes.post("/{unit:path}/override", **described("override_arm", body=Given, reply=ArmReply))
async def override_arm(request: Request, trial: str, unit: str, explain: Explain = False) -> Response:
    """Record that another arm than the one decided was really given."""
    visit = Visit(request, "override_arm", trial)
    body = await visit.body(Given)
    return await visit.arm(trial, Override(unit, body.arm, body.reason, body.stage), explain=explain)


@routes.post("/{unit:path}/corrections", **described("correct_record", body=Correction, reply=Recorded))
async def correct_record(request: Request, trial: str, unit: str) -> Response:
    """Correct a recorded outcome, or columns of the context of a stage."""
    visit = Visit(request, "correct_record", trial)
    body = await visit.body(Correction)
    command = Correct(unit, body.reason, body.outcome, body.stage, body.context)
    return await visit.record(trial, command, "correction")


@routes.post("/{unit:path}/void", **described("void_unit", body=Because, reply=Recorded))
async def void_unit(request: Request, trial: str, unit: str) -> Response:
    """Record that a unit should never have been enrolled."""
    visit = Visit(request, "void_unit", trial)
    body = await visit.body(Because)
    return await visit.record(trial, Void(unit, body.reason), "void")


@routes.post("/{unit:path}/unblinding", **described("unblind_unit", body=Because, reply=UnitReply))
async def unblind_unit(request: Request, trial: str, unit: str) -> Response:
    """Show the whole story of a unit, each decision explained, once it is on record who looks and why."""
    visit = Visit(request, "unblind_unit", trial)
    body = await visit.body(Because)
    taken = await visit.take(trial, Unblind(unit, body.reason))
    found = await visit.trial(trial)
    return replied(story_told(await asyncio.to_thread(found.unit, unit)), taken.repeated)


@routes.get("", **described("list_units", reply=UnitsReply))
async def list_units(
    request: Request,
    trial: str,
    awaiting: Annotated[str | None, Query(max_length=200, description="Only those that await this.")] = None,
    overdue: Annotated[bool | None, Query(description="Only those that are overdue, or that are not.")] = None,
) -> Response:
    """List the units in flight, a site's own: what each awaits, since when, and whether it is overdue."""
    visit = Visit(request, "list_units", trial)
    role, site = visit.holder.role, visit.holder.site

    def seen(found: Trial) -> bytes:
        _require_awaited(found, awaiting)
        return listed("units", (status_seen(each, role) for each in found.units(awaiting, overdue, site=site)))

    return Response(await visit.service.reading(trial, seen), media_type="application/json")


def _require_awaited(trial: Trial, awaiting: str | None) -> None:
    try:
        require_awaited(trial.design, awaiting)
    except ProtocolError as error:
        raise Refused("parameters", f"awaiting: {error}", error="ProtocolError") from None


@routes.get("/{unit:path}", **described("show_unit", reply=UnitReply))
async def show_unit(request: Request, trial: str, unit: str, explain: Explain = False) -> Response:
    """Show a unit: its arms, and to those who may see it its whole story, each decision explained."""
    visit = Visit(request, "show_unit", trial)
    if explain:
        require(visit.holder.role, "explain_decisions")
    found = await visit.trial(trial)
    story = await asyncio.to_thread(found.unit, unit, site=visit.holder.site)
    return replied(story_seen(story, visit.holder.role))
