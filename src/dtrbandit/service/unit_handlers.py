"""What endpoints about units do: enrol, respond, complete, withdraw, override, correct, void, unblind; show."""

from __future__ import annotations

import asyncio

from starlette.responses import Response

from dtrbandit.errors import ProtocolError
from dtrbandit.record import Complete, Correct, Enroll, Override, Respond, Unblind, Void, Withdraw
from dtrbandit.service.call import Call
from dtrbandit.service.keys import EXPLAIN
from dtrbandit.service.models import Awaiting, Because, Correction, Enrolment, Explain, Given, Outcome
from dtrbandit.service.models import Response as ResponseBody
from dtrbandit.service.problems import Refused
from dtrbandit.service.views import listed, replied, status_seen, story_seen, story_told
from dtrbandit.trial import Trial
from dtrbandit.trial.units import require_awaited


async def enroll_unit(call: Call, query: Explain, body: Enrolment) -> Response:
    """Enrol a unit with its first context; the reply is its first arm."""
    if set(body.unit) <= {"."}:
        raise Refused("content", "unit: dots alone are no id, since an address cannot hold them; use another id")
    command = Enroll(body.unit, body.context, body.exclude, body.reason, body.site or call.holder.site)
    return await call.arm(command, explain=query.explain)


async def record_response(call: Call, query: Explain, body: ResponseBody) -> Response:
    """Record a unit's context on arrival at its next stage; the reply is its next arm, or that it left early."""
    command = Respond(call.path["unit"], body.context, body.stage, body.exclude, body.reason)
    return await call.arm(command, explain=query.explain)


async def record_outcome(call: Call, body: Outcome) -> Response:
    """Record the outcome of a unit that has been through all its stages, or has left early."""
    return await call.record(Complete(call.path["unit"], body.outcome), "outcome")


async def withdraw_unit(call: Call, body: Because) -> Response:
    """Record that a unit is lost."""
    return await call.record(Withdraw(call.path["unit"], body.reason), "withdrawal")


async def override_arm(call: Call, query: Explain, body: Given) -> Response:
    """Record that another arm than the one decided was really given."""
    command = Override(call.path["unit"], body.arm, body.reason, body.stage)
    return await call.arm(command, explain=query.explain)


async def correct_record(call: Call, body: Correction) -> Response:
    """Correct a recorded outcome, or columns of the context of a stage."""
    command = Correct(call.path["unit"], body.reason, body.outcome, body.stage, body.context)
    return await call.record(command, "correction")


async def void_unit(call: Call, body: Because) -> Response:
    """Record that a unit should never have been enrolled."""
    return await call.record(Void(call.path["unit"], body.reason), "void")


async def unblind_unit(call: Call, body: Because) -> Response:
    """Show the whole story of a unit, each decision explained, once it is on record who looks and why."""
    unit = call.path["unit"]
    taken = await call.take(Unblind(unit, body.reason))
    trial = await call.trial()
    return replied(story_told(await asyncio.to_thread(trial.unit, unit)), taken.repeated)


async def list_units(call: Call, query: Awaiting) -> Response:
    """List the units in flight, a site's own: what each awaits, since when, and whether it is overdue."""
    trial, role, site = await call.trial(), call.holder.role, call.holder.site

    def seen() -> bytes:
        _require_awaited(trial, query.awaiting)
        units = trial.units(query.awaiting, query.overdue, site=site)
        return listed("units", (status_seen(each, role) for each in units))

    return Response(await asyncio.to_thread(seen), media_type="application/json")


def _require_awaited(trial: Trial, awaiting: str | None) -> None:
    try:
        require_awaited(trial.design, awaiting)
    except ProtocolError as error:
        raise Refused("parameters", f"awaiting: {error}", error="ProtocolError") from None


async def show_unit(call: Call, query: Explain) -> Response:
    """Show a unit: its arms, and to those who may see it its whole story, each decision explained."""
    if query.explain:
        EXPLAIN.require(call.holder.role)
    trial = await call.trial()
    story = await asyncio.to_thread(trial.unit, call.path["unit"], site=call.holder.site)
    return replied(story_seen(story, call.holder.role))
