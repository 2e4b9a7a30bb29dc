"""Endpoints about the service and a whole trial: health; create, lock, hold, end; log, summary."""

from __future__ import annotations

import asyncio
import json
from dataclasses import asdict
from itertools import islice

from starlette.responses import Response

from dtrbandit.design import Design
from dtrbandit.policies.registry import policy_from_dict
from dtrbandit.record import End, Hold
from dtrbandit.record.log_file import line_of
from dtrbandit.service import metrics
from dtrbandit.service.call import LINES, Call, recorded, replied
from dtrbandit.service.models import Lock, NewTrial, Records
from dtrbandit.service.problems import Refused
from dtrbandit.summary import Summary
from dtrbandit.trial import Trial

WITHHELD = "withheld while the trial runs"

# -- the service -------------------------------------------------------------------------------------------------


async def is_alive(_: Call) -> Response:
    """Say that the process answers."""
    return replied({"alive": True})


async def is_ready(call: Call) -> Response:
    """Say that all trials are read and whole, and that the database takes writes; 503 otherwise."""
    if not call.service.ready:
        raise Refused("starting", "the service is reading its trials")
    if any(trial.damage is not None for trial in call.service.trials.values()):
        raise Refused("log", "the stored log of a trial is damaged; its verbs are held")
    await call.service.probe.require_writable()
    return replied({"ready": True})


async def read_metrics(call: Call) -> Response:
    """Return metrics for Prometheus."""
    service = call.service

    def of_trials() -> list[str]:
        return metrics.of_trials(service.trials, service.store.last_checks(), ready=service.ready)

    lines = metrics.of_requests(service.requests) + await asyncio.to_thread(of_trials)
    return Response("\n".join(lines) + "\n", media_type=metrics.MEDIA_TYPE)


# -- trials ------------------------------------------------------------------------------------------------------


async def list_trials(call: Call) -> Response:
    """List the trials that the key opens."""
    names = await call.service.writer.do(lambda: Trial.names(call.service.store))
    return replied({"trials": sorted(name for name in names if call.holder.trial in (None, name))})


async def create_trial(call: Call, body: NewTrial) -> Response:
    """Create a trial in rehearsal. The same again changes nothing."""
    design, policy = Design.from_dict(body.design), policy_from_dict(body.policy)
    trial = await call.service.create(body.name, design, policy, actor=call.holder.actor)
    return replied(await asyncio.to_thread(trial_seen, trial))


async def show_trial(call: Call) -> Response:
    """Show a trial's phase, which log is written, stages, arms, and the columns that each context holds."""
    return replied(await call.reading(trial_seen))


async def lock_trial(call: Call, body: Lock) -> Response:
    """End rehearsal, for good: a new log, a new seed; design and policy are fixed.

    It is meant for the rehearsal: with Dtrbandit-Log: live it is refused.
    """
    trial, actor, log = await call.trial(), call.holder.actor, call.log()
    await call.service.writer.do(
        lambda: trial.lock(actor=actor, reason=body.reason, paper_schedule=body.paper_schedule, log=log)
    )
    return replied(await call.reading(trial_seen))


async def hold_accrual(call: Call, command: Hold) -> Response:
    """For a site the reply says how many keys it has: 0 means that no site is called so, or that it has none yet."""
    own = [row for row in call.service.keys.rows() if (row.trial, row.site) == (call.path["trial"], command.site)]
    site = {} if command.site is None else {"site": command.site, "keys": len(own)}
    return await recorded(call, command, "hold", **site)


async def end_trial(call: Call, command: End) -> Response:
    """Late outcomes and corrections still come on record.

    The reply says whether it was a rehearsal, which is given up then: it was never live, and cannot be locked any more.
    """
    rehearsal = not await call.reading(lambda trial: trial.locked)
    return await recorded(call, command, "end", rehearsal=rehearsal)


async def read_log(call: Call, query: Records) -> Response:
    """Return records with their hashes, one JSON document per line. The seed is withheld until the trial has ended."""

    def text(trial: Trial) -> bytes:
        ended = trial.phase == "ended"
        lines = (line_of(stored) for stored in islice(trial.stored(query.since), query.most))
        return b"".join(record_seen(line, seed=ended) + b"\n" for line in lines)

    return Response(await call.reading(text), media_type=LINES)


async def read_head(call: Call) -> Response:
    """Return the number of records and the last hash. Keep it elsewhere: it shows later that nothing was taken off."""
    head = await call.reading(lambda trial: trial.head)
    return replied({"sequence": head.sequence, "hash": head.hash})


async def summarise_trial(call: Call) -> Response:
    """Return where the trial stands: units, arms, estimates. Not for those who must stay blind."""
    return replied(await call.reading(lambda trial: summary_seen(trial.summary())))


# -- what is seen of a trial -------------------------------------------------------------------------------------


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
