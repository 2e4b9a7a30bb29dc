"""Endpoints about keys: list, create, rotate, revoke, for administrators; what happened to keys, for auditors too."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime
from itertools import islice
from typing import Annotated, Any, TypeVar

from fastapi import APIRouter, Query, Request, Response

from dtrbandit.record.chain import Stored, entries_of
from dtrbandit.record.log_file import line_of
from dtrbandit.service.key_store import Asked, create, revoke, rotate
from dtrbandit.service.keys import NewKey, presented
from dtrbandit.service.models import KeyReply, KeysReply, KeyWanted, Rotation
from dtrbandit.service.problems import Refused
from dtrbandit.service.requests import Visit, described, replied
from dtrbandit.service.trial_routes import LINES, MOST_RECORDS
from dtrbandit.service.views import key_seen
from dtrbandit.storage import KEY_LOG

routes = APIRouter(prefix="/keys", tags=["keys"])
Done = TypeVar("Done")


@routes.get("", **described("list_keys", reply=KeysReply))
async def list_keys(request: Request) -> Response:
    """List the keys that were given out; the keys themselves are not kept."""
    visit = Visit(request, "list_keys")
    await visit.service.read_keys()
    rows = [row for row in visit.service.keys.rows() if visit.holder.trial in (None, row.trial)]
    return replied({"keys": [key_seen(row) for row in rows]})


@routes.get("/events", **described("read_key_events"))
async def read_key_events(
    request: Request,
    since: Annotated[int, Query(ge=0, le=2**53, description="Only records after this sequence number.")] = 0,
    most: Annotated[int, Query(ge=1, le=MOST_RECORDS, description="How many records at most.")] = 1000,
) -> Response:
    """Return what happened to keys, with hashes, one JSON document per line. A key of one trial sees that trial's."""
    visit = Visit(request, "read_key_events")
    log, trial = visit.service.store.log(KEY_LOG), visit.holder.trial

    def text() -> bytes:
        numbered = enumerate(log.read(since), since + 1)
        seen = (each for number, each in numbered if trial is None or _trial_of(each, number) == trial)
        return b"".join(line_of(each) + b"\n" for each in islice(seen, most))

    return Response(await asyncio.to_thread(text), media_type=LINES)


def _trial_of(stored: Stored, sequence: int) -> object:
    return entries_of(stored.text, sequence)["event"].get("trial")


@routes.post("", **described("create_key", body=KeyWanted, reply=KeyReply))
async def create_key(request: Request) -> Response:
    """Create a key, which the reply shows. An administrator of one trial makes keys of that trial.

    With an Idempotency-Key the same request gets the same key again. Without one, each request makes another key.
    """
    visit = Visit(request, "create_key")
    body = await visit.body(KeyWanted)
    if visit.holder.trial not in (None, body.trial):
        raise Refused("forbidden", f"this key makes keys of the trial {visit.holder.trial!r} and no others")
    store, now, asked, wanted = visit.service.store, datetime.now(UTC), _asked(visit), body.model_dump()
    return _shown(await _changed(visit, lambda: create(store, now=now, asked=asked, **wanted)))


def _may_be_left_out(said: dict[str, Any]) -> dict[str, Any]:
    said["openapi_extra"]["requestBody"]["required"] = False
    return said


@routes.post("/{key_id}/rotation", **_may_be_left_out(described("rotate_key", body=Rotation, reply=KeyReply)))
async def rotate_key(request: Request, key_id: str) -> Response:
    """Give the holder of a key a new one. The old one still works for an overlap, by default a day.

    A key is rotated once: the same request, also without an Idempotency-Key, gets the same new key again.
    """
    visit, now = Visit(request, "rotate_key"), datetime.now(UTC)
    hours = (await visit.body(Rotation, empty=Rotation())).overlap
    store, asked, within = visit.service.store, _asked(visit), visit.holder.trial
    new = await _changed(visit, lambda: rotate(store, key_id, now=now, overlap=hours, within=within, asked=asked))
    return _shown(new)


@routes.post("/{key_id}/revocation", **described("revoke_key", reply=KeyReply))
async def revoke_key(request: Request, key_id: str) -> Response:
    """Revoke a key at once, for good."""
    visit, now = Visit(request, "revoke_key"), datetime.now(UTC)
    store, asked, within = visit.service.store, _asked(visit), visit.holder.trial
    row, repeated = await _changed(visit, lambda: revoke(store, key_id, now=now, within=within, asked=asked))
    return replied(key_seen(row), repeated)


async def _changed(visit: Visit, change: Callable[[], Done]) -> Done:
    """Return what a change of keys gives, once it is stored and this process knows it."""
    done = await visit.service.writer.do(change)
    await visit.service.read_keys()
    return done


def _asked(visit: Visit) -> Asked:
    """Return who asks. A page asks for whoever is logged in, whose key it no longer has."""
    key = presented(visit.request.headers.get("authorization")) or None
    key = None if "key_id" in visit.request.scope else key
    return Asked(visit.holder.actor, visit.holder.id, key, visit.idempotency_key())


def _shown(new: NewKey) -> Response:
    return replied({**key_seen(new.row), "key": new.key}, new.repeated)
