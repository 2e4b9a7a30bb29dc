"""Endpoints about keys: list, create, rotate, revoke, for administrators; their records, for auditors too."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime
from itertools import islice
from typing import Any, TypeVar

from starlette.responses import Response

from dtrbandit.record.chain import Stored, entries_of
from dtrbandit.record.log_file import line_of
from dtrbandit.service.call import LINES, Call, replied
from dtrbandit.service.key_store import Requester, create, revoke, rotate
from dtrbandit.service.keys import NewKey, presented
from dtrbandit.service.models import KeyWanted, Records, Rotation
from dtrbandit.service.problems import Refused
from dtrbandit.storage import KEY_LOG, ApiKey

Done = TypeVar("Done")


async def list_keys(call: Call) -> Response:
    """List the keys that were given out; the keys themselves are not kept."""
    await call.service.read_keys()
    rows = [row for row in call.service.keys.rows() if call.holder.trial in (None, row.trial)]
    return replied({"keys": [key_seen(row) for row in rows]})


async def read_key_events(call: Call, query: Records) -> Response:
    """Return what happened to keys, with hashes, one JSON document per line. A key of one trial sees that trial's."""
    log, trial = call.service.store.log(KEY_LOG), call.holder.trial

    def text() -> bytes:
        numbered = enumerate(log.read(query.since), query.since + 1)
        seen = (each for number, each in numbered if trial is None or _trial_of(each, number) == trial)
        return b"".join(line_of(each) + b"\n" for each in islice(seen, query.most))

    return Response(await asyncio.to_thread(text), media_type=LINES)


def _trial_of(stored: Stored, sequence: int) -> object:
    return entries_of(stored.text, sequence)["event"].get("trial")


async def create_key(call: Call, body: KeyWanted) -> Response:
    """Create a key, which the reply shows. An administrator of one trial makes keys of that trial.

    With an Idempotency-Key the same request gets the same key again. Without one, each request makes another key.
    """
    if call.holder.trial not in (None, body.trial):
        raise Refused("forbidden", f"this key makes keys of the trial {call.holder.trial!r} and no others")
    return _shown(await _changed(call, create, **body.model_dump()))


async def rotate_key(call: Call, body: Rotation) -> Response:
    """Give the holder of a key a new one. The old one still works for an overlap, by default a day.

    A key is rotated once: the same request, also without an Idempotency-Key, gets the same new key again.
    """
    name, within = call.path["key_id"], call.holder.trial
    return _shown(await _changed(call, rotate, name, overlap=body.overlap, within=within))


async def revoke_key(call: Call) -> Response:
    """Revoke a key at once, for good."""
    row, repeated = await _changed(call, revoke, call.path["key_id"], within=call.holder.trial)
    return replied(key_seen(row), repeated)


async def _changed(call: Call, change: Callable[..., Done], *given: Any, **options: Any) -> Done:
    """Return what a change of keys gives, once it is stored and this process knows it.

    A page asks for whoever is logged in, whose key it no longer has.
    """
    key = None if "key_id" in call.scope else presented(call.header(b"authorization")) or None
    requester = Requester(call.holder.actor, call.holder.id, key, call.idempotency_key())
    store, now = call.service.store, datetime.now(UTC)
    done = await call.service.writer.do(lambda: change(store, *given, now=now, requester=requester, **options))
    await call.service.read_keys()
    return done


def _shown(new: NewKey) -> Response:
    return replied({**key_seen(new.row), "key": new.key}, new.repeated)


def key_seen(row: ApiKey) -> dict[str, object]:
    """Return a key that was given out, without its hash and salt."""
    return {name: value for name, value in row._asdict().items() if name not in ("sha256", "salt")}
