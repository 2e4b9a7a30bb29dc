"""Endpoints about a trial as a whole: create, lock, hold, release, end; log, head, summary."""

from __future__ import annotations

import asyncio
from itertools import islice
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from dtrbandit.design import Design
from dtrbandit.policies.plain_values import policy_from_dict
from dtrbandit.record import CloseArm, End, Hold, Release
from dtrbandit.record.log_file import line_of
from dtrbandit.service.models import (
    Accrual,
    ArmToClose,
    Because,
    HeadReply,
    Lock,
    NewTrial,
    SummaryReply,
    TrialReply,
    TrialsReply,
)
from dtrbandit.service.requests import Visit, described, replied
from dtrbandit.service.views import record_seen, summary_seen, trial_seen
from dtrbandit.trial import Trial

MOST_RECORDS = 5000
LINES = "application/x-ndjson"

routes = APIRouter(prefix="/trials", tags=["trials"])


@routes.get("", **described("list_trials", reply=TrialsReply))
async def list_trials(request: Request) -> Response:
    """List the trials that the key opens."""
    visit = Visit(request, "list_trials")
    names = await visit.service.writer.do(lambda: Trial.names(visit.service.store))
    return replied({"trials": sorted(name for name in names if visit.holder.trial in (None, name))})


@routes.post("", **described("create_trial", body=NewTrial, reply=TrialReply))
async def create_trial(request: Request) -> Response:
    """Create a trial in rehearsal. The same again changes nothing."""
    visit = Visit(request, "create_trial")
    body = await visit.body(NewTrial)
    design, policy = Design.from_dict(body.design), policy_from_dict(body.policy)
    trial = await visit.service.create(body.name, design, policy, actor=visit.holder.actor)
    return replied(await asyncio.to_thread(trial_seen, trial))


@routes.get("/{trial}", **described("show_trial", reply=TrialReply))
async def show_trial(request: Request, trial: str) -> Response:
    """Show a trial's phase, which log is written, stages, arms, and the columns that each context holds."""
    found = await Visit(request, "show_trial", trial).trial(trial)
    return replied(await asyncio.to_thread(trial_seen, found))


@routes.post("/{trial}/lock", **described("lock_trial", body=Lock, reply=TrialReply))
async def lock_trial(request: Request, trial: str) -> Response:
    """End rehearsal, for good: a new log, a new seed; design and policy are fixed.

    It is meant for the rehearsal: with Dtrbandit-Log: live it is refused.
    """
    visit = Visit(request, "lock_trial", trial)
    body = await visit.body(Lock)
    found = await visit.trial(trial)
    actor, log = visit.holder.actor, visit.log()
    await visit.service.writer.do(
        lambda: found.lock(actor=actor, reason=body.reason, paper_schedule=body.paper_schedule, log=log)
    )
    return replied(await asyncio.to_thread(trial_seen, found))


@routes.post("/{trial}/hold", **described("hold_accrual", body=Accrual))
async def hold_accrual(request: Request, trial: str) -> Response:
    """Hold accrual, everywhere or at one site: no unit enrols there until it is released.

    For a site the reply says how many keys it has: 0 means that no site is called so, or that it has none yet.
    """
    visit = Visit(request, "hold_accrual", trial)
    body = await visit.body(Accrual)
    own = [row for row in visit.service.keys.rows() if (row.trial, row.site) == (trial, body.site)]
    site = {} if body.site is None else {"site": body.site, "keys": len(own)}
    return await visit.record(trial, Hold(body.reason, body.site), "hold", **site)


@routes.post("/{trial}/release", **described("release_accrual", body=Accrual))
async def release_accrual(request: Request, trial: str) -> Response:
    """Let units enrol again, everywhere or at one site."""
    visit = Visit(request, "release_accrual", trial)
    body = await visit.body(Accrual)
    return await visit.record(trial, Release(body.reason, body.site), "release")


@routes.post("/{trial}/arms/close", **described("close_arm", body=ArmToClose))
async def close_arm(request: Request, trial: str) -> Response:
    """Close an arm of a stage, for all decisions from now on. Units keep what they were given."""
    visit = Visit(request, "close_arm", trial)
    body = await visit.body(ArmToClose)
    return await visit.record(trial, CloseArm(body.stage, body.arm, body.reason), "closed arm")


@routes.post("/{trial}/end", **described("end_trial", body=Because))
async def end_trial(request: Request, trial: str) -> Response:
    """End the trial, for good: no more decisions; late outcomes and corrections still come on record.

    The reply says whether it was a rehearsal, which is given up then: it was never live, and cannot be locked any more.
    """
    visit = Visit(request, "end_trial", trial)
    body = await visit.body(Because)
    found = await visit.trial(trial)
    rehearsal = not await asyncio.to_thread(lambda: found.locked)
    return await visit.record(trial, End(body.reason), "end", rehearsal=rehearsal)


@routes.get("/{trial}/log", **described("read_log"))
async def read_log(
    request: Request,
    trial: str,
    since: Annotated[int, Query(ge=0, le=2**53, description="Only records after this sequence number.")] = 0,
    most: Annotated[int, Query(ge=1, le=MOST_RECORDS, description="How many records at most.")] = 1000,
) -> Response:
    """Return records with their hashes, one JSON document per line. The seed is withheld until the trial has ended."""
    visit = Visit(request, "read_log", trial)
    found = await visit.trial(trial)

    def text() -> bytes:
        ended = found.phase == "ended"
        lines = (line_of(stored) for stored in islice(found.stored(since), most))
        return b"".join(record_seen(line, seed=ended) + b"\n" for line in lines)

    return Response(await asyncio.to_thread(text), media_type=LINES)


@routes.get("/{trial}/head", **described("read_head", reply=HeadReply))
async def read_head(request: Request, trial: str) -> Response:
    """Return the number of records and the last hash. Keep it elsewhere: it shows later that nothing was taken off."""
    found = await Visit(request, "read_head", trial).trial(trial)
    head = await asyncio.to_thread(lambda: found.head)
    return replied({"sequence": head.sequence, "hash": head.hash})


@routes.get("/{trial}/summary", **described("summarise_trial", reply=SummaryReply))
async def summarise_trial(request: Request, trial: str) -> Response:
    """Return where the trial stands: units, arms, estimates. Not for those who must stay blind."""
    service = Visit(request, "summarise_trial", trial).service
    return replied(await service.reading(trial, lambda found: summary_seen(found.summary())))
