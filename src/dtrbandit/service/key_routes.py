"""Endpoints about keys: list, create, rotate, revoke. For administrators."""

from __future__ import annotations

from datetime import UTC, datetime

from fastapi import APIRouter, Request, Response

from dtrbandit.service.key_store import create, revoke, rotate
from dtrbandit.service.models import KeyReply, KeysReply, KeyWanted
from dtrbandit.service.problems import Refused
from dtrbandit.service.requests import Visit, described, replied
from dtrbandit.service.views import key_seen

routes = APIRouter(prefix="/keys", tags=["keys"])


@routes.get("", **described("list_keys", reply=KeysReply))
async def list_keys(request: Request) -> Response:
    """List the keys that were given out; the keys themselves are not kept."""
    visit = Visit(request, "list_keys")
    await visit.service.read_keys()
    rows = [row for row in visit.service.keys.rows() if visit.holder.trial in (None, row.trial)]
    return replied({"keys": [key_seen(row) for row in rows]})


@routes.post("", **described("create_key", body=KeyWanted, reply=KeyReply))
async def create_key(request: Request) -> Response:
    """Create a key. The reply shows it, once. An administrator of one trial makes keys of that trial."""
    visit = Visit(request, "create_key")
    body = await visit.body(KeyWanted)
    if visit.holder.trial not in (None, body.trial):
        raise Refused("forbidden", f"this key makes keys of the trial {visit.holder.trial!r} and no others")
    service, now, wanted = visit.service, datetime.now(UTC), body.model_dump()
    new = await service.writer.do(lambda: create(service.store, now=now, **wanted))
    await service.read_keys()
    return replied({**key_seen(new.row), "key": new.key})


@routes.post("/{key_id}/rotation", **described("rotate_key", reply=KeyReply))
async def rotate_key(request: Request, key_id: str) -> Response:
    """Give the holder of a key a new one, and revoke the old one at once."""
    visit, now = Visit(request, "rotate_key"), datetime.now(UTC)
    service, within = visit.service, visit.holder.trial
    new = await service.writer.do(lambda: rotate(service.store, key_id, now=now, within=within))
    await service.read_keys()
    return replied({**key_seen(new.row), "key": new.key})


@routes.post("/{key_id}/revocation", **described("revoke_key", reply=KeyReply))
async def revoke_key(request: Request, key_id: str) -> Response:
    """Revoke a key at once, for good."""
    visit, now = Visit(request, "revoke_key"), datetime.now(UTC)
    service, within = visit.service, visit.holder.trial
    row = await service.writer.do(lambda: revoke(service.store, key_id, now=now, within=within))
    await service.read_keys()
    return replied(key_seen(row))
