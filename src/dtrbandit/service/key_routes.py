"""Endpoints about keys: list, create, rotate, revoke. For administrators."""

from __future__ import annotations

from datetime import UTC, datetime

from fastapi import APIRouter, Request, Response

from dtrbandit.service.key_store import create, revoke, rotate
from dtrbandit.service.models import KeyReply, KeysReply, KeyWanted
from dtrbandit.service.requests import Visit, described, replied
from dtrbandit.service.views import key_seen

routes = APIRouter(prefix="/keys", tags=["keys"])


@routes.get("", **described("list_keys", reply=KeysReply))
async def list_keys(request: Request) -> Response:
    """List the keys that were given out; the keys themselves are not kept."""
    service = Visit(request, "list_keys").service
    await service.read_keys()
    return replied({"keys": [key_seen(row) for row in service.keys.rows()]})


@routes.post("", **described("create_key", body=KeyWanted, reply=KeyReply))
async def create_key(request: Request) -> Response:
    """Create a key. The reply shows it, once."""
    visit = Visit(request, "create_key")
    body = await visit.body(KeyWanted)
    service, now = visit.service, datetime.now(UTC)
    new = await service.writer.do(lambda: create(service.store, body.role, body.label, now=now, days=body.days))
    await service.read_keys()
    return replied({**key_seen(new.row), "key": new.key})


@routes.post("/{key_id}/rotation", **described("rotate_key", reply=KeyReply))
async def rotate_key(request: Request, key_id: str) -> Response:
    """Give the holder of a key a new one, and revoke the old one at once."""
    service, now = Visit(request, "rotate_key").service, datetime.now(UTC)
    new = await service.writer.do(lambda: rotate(service.store, key_id, now=now))
    await service.read_keys()
    return replied({**key_seen(new.row), "key": new.key})


@routes.post("/{key_id}/revocation", **described("revoke_key", reply=KeyReply))
async def revoke_key(request: Request, key_id: str) -> Response:
    """Revoke a key at once, for good."""
    service, now = Visit(request, "revoke_key").service, datetime.now(UTC)
    row = await service.writer.do(lambda: revoke(service.store, key_id, now=now))
    await service.read_keys()
    return replied(key_seen(row))
