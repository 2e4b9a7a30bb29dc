"""Keys in a database: make, rotate and revoke them. Each change is on record, and each request counts once."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from hashlib import sha256
from typing import NamedTuple

from dtrbandit.design.toml_text import unknown
from dtrbandit.errors import NotFound, ObservationError, ProtocolError
from dtrbandit.service.keys import NewKey, Role, as_text, derived, digest, is_valid, new_key
from dtrbandit.storage import KEY_LOG, ApiKey, Store
from dtrbandit.storage.key_events import (
    CREATED,
    REVOKED,
    ROTATED,
    Change,
    KeyRecord,
    Request,
    accept_key,
    change_keys,
    is_changed,
    key_record,
    key_records,
)

OVERLAP, LEAST_OWN_OVERLAP, MOST_OVERLAP = 24.0, 1.0, 720.0  # hours for which a key works beside its successor
FOUND_CHANGED = "found so when it was revoked"


class Requester(NamedTuple):
    """Who asks for a change of keys, and what lets the same request be known again.

    Attributes
    ----------
    actor
        Who is on record with it.
    key_id, key
        The key of whoever asks: its id, and the key itself. Without it a new key cannot be shown a second time.
    once
        An idempotency key: the same request under it gets the same answer, another one is refused.
    """

    actor: str = "command line"
    key_id: str = ""
    key: str | None = None
    once: str | None = None


COMMAND_LINE = Requester()


class Revoked(NamedTuple):
    """A key that has ended, and whether it had before."""

    row: ApiKey
    repeated: bool


def create(  # noqa: PLR0913  # one word for each thing that a key has
    store: Store,
    role: str,
    label: str,
    *,
    now: datetime,
    days: float | None = None,
    trial: str | None = None,
    site: str | None = None,
    requester: Requester = COMMAND_LINE,
) -> NewKey:
    """Make a key and keep its row. A trial that it is for must be there."""
    if role not in list(Role):
        raise ObservationError(f"{unknown('role', role, [each.value for each in Role])}")
    request = _request(requester, "create", role, label, days, trial, site)
    with store.turn():  # another process may take the same request
        if known := _known(store, request):
            return _shown_again(store, known, requester)
        maker = None if request is None else requester.key
        new = new_key(Role(role), label, now=now, days=days, trial=trial, site=site, maker=maker)
        if trial is not None and store.trial(trial) is None:
            names = ", ".join(repr(each.name) for each in store.trials()) or "none"
            raise NotFound(f"there is no trial {trial!r} to make a key for; the trials here are {names}")
        change_keys(store, [Change(CREATED, new.row)], actor=requester.actor, time=now, request=request)
    return new


def first_key(store: Store, *, now: datetime, requester: Requester = COMMAND_LINE) -> NewKey | None:
    """Make the first administrator's key of a store; None if it has keys."""
    with store.turn():
        if store.api_keys():
            return None
        return create(store, Role.ADMINISTRATOR, "first administrator", now=now, requester=requester)


def rotate(
    store: Store,
    name: str,
    *,
    now: datetime,
    overlap: float = 0.0,
    within: str | None = None,
    requester: Requester = COMMAND_LINE,
) -> NewKey:
    """Make a key with the same role, label, expiry, trial and site; let the old one end, at once or after an overlap.

    A key is rotated once. Whoever repeats that gets the same successor.

    Parameters
    ----------
    overlap
        Hours for which the old key still works.
    within
        The one trial whose keys may be touched; None: all.
    """
    _require_overlap(overlap, own=name == requester.key_id)
    request = _request(requester, "rotate", name, float(overlap))
    with store.turn():  # another process may rotate or revoke the same one
        if known := _known(store, request):
            return _shown_again(store, known, requester)
        old = _row(store, name, within)
        if old.revoked is not None and (made := _successor(store, name, overlap)):
            return _shown_again(store, made, requester)
        if old.revoked is not None or not is_valid(old, now):
            raise ProtocolError(f"the key {name!r} has expired, or was revoked or replaced; create another one")
        if is_changed(store, name):
            raise ProtocolError(
                f"the key {name!r} in the table of keys is not as its record says; revoke it, or look at docs/roles.md"
            )
        new = new_key(Role(old.role), old.label, now=now, trial=old.trial, site=old.site, maker=requester.key)
        row = new.row._replace(expires=old.expires)
        ending = old._replace(revoked=as_text(now + timedelta(hours=overlap)))
        changes = [Change(CREATED, row), Change(ROTATED, ending, row.id)]
        change_keys(store, changes, actor=requester.actor, time=now, request=request)
    return NewKey(new.key, row)


def _require_overlap(overlap: float, *, own: bool) -> None:
    if not 0 <= overlap <= MOST_OVERLAP:
        raise ObservationError(f"an overlap is a number of hours from 0 to {MOST_OVERLAP:g}, found {overlap!r}")
    if own and overlap < LEAST_OWN_OVERLAP:
        raise ObservationError(
            f"a key that rotates itself needs an overlap of at least {LEAST_OWN_OVERLAP:g} hour, found {overlap:g}: "
            "if the answer were lost, nobody could ask for it again. To end it sooner, revoke it with its successor"
        )


def revoke(
    store: Store, name: str, *, now: datetime, within: str | None = None, requester: Requester = COMMAND_LINE
) -> Revoked:
    """Let a key end at once. The last key of an administrator of all trials stays: nobody could make another.

    If something else has changed the key's row, that comes on record first.
    """
    request = _request(requester, "revoke", name)
    with store.turn():
        if known := _known(store, request):
            return Revoked(_as_recorded(store, known), True)
        row = _row(store, name, within)
        if not is_valid(row, now):
            return Revoked(row, True)
        others = [each for each in store.api_keys() if _runs_all(each) and each.id != name and each.revoked is None]
        if _runs_all(row) and not any(is_valid(each, now) for each in others):
            raise ProtocolError(
                f"{name!r} is the last key of an administrator of all trials; rotate it, or create another one first"
            )
        if is_changed(store, name):
            accept_key(store, name, reason=FOUND_CHANGED, actor=requester.actor, time=now)
        revoked = row._replace(revoked=as_text(now))
        change_keys(store, [Change(REVOKED, revoked)], actor=requester.actor, time=now, request=request)
        return Revoked(revoked, False)


# -- the same request again --------------------------------------------------------------------------------------


def _request(requester: Requester, *content: object) -> Request | None:
    """Return the idempotency key of a request with a hash of its content; None without one."""
    if requester.once is None:
        return None
    return Request(requester.key_id, requester.once, sha256(json.dumps(content).encode()).hexdigest())


def _known(store: Store, request: Request | None) -> KeyRecord | None:
    """Return the first record that the same request led to; refuse another content."""
    if request is None:
        return None
    found = store.log(KEY_LOG).keys([(request.owner, request.key)])
    if not found:
        return None
    if found[0].fingerprint != request.fingerprint:
        raise ProtocolError(
            f"the idempotency key {request.key!r} belongs to another request; a new request needs a new key"
        )
    return key_record(store, found[0].sequence)


def _successor(store: Store, name: str, overlap: float) -> KeyRecord | None:
    """Return the record by which a key got its successor, by the same overlap; refuse another one."""
    records = list(key_records(store))
    rotation = next((each for each in records if (each.event.event, each.event.id) == (ROTATED, name)), None)
    if rotation is None or rotation.time is None:
        return None  # it was revoked, or rotated by a release that kept no record
    event = rotation.event
    if event.revoked != as_text(rotation.time + timedelta(hours=overlap)):
        raise ProtocolError(
            f"the key {name!r} was rotated already, with another overlap; its successor is {event.successor!r}. Rotate "
            "that one, or create another"
        )
    return next(each for each in records if (each.event.event, each.event.id) == (CREATED, event.successor))


def _shown_again(store: Store, made: KeyRecord, requester: Requester) -> NewKey:
    """Return the key that a request made before, as it was then. Only the same asker's key leads to it."""
    row = _as_recorded(store, made)
    key = "" if requester.key is None or row.salt is None else derived(requester.key, row.salt, row.id)
    if digest(key) != row.sha256:
        raise ProtocolError(
            f"this was done before, by {made.actor}: the key {row.id!r} is there. It can be shown again only to "
            "whoever asked for it, by the same key; rotate it, or create another one"
        )
    return NewKey(key, row, repeated=True)


def _as_recorded(store: Store, record: KeyRecord) -> ApiKey:
    return record.event.row(_row(store, record.event.id, None))


def _runs_all(row: ApiKey) -> bool:
    return row.role == Role.ADMINISTRATOR and row.trial is None


def _row(store: Store, name: str, within: str | None) -> ApiKey:
    for row in store.api_keys():
        if row.id == name and within in (None, row.trial):
            return row
    raise NotFound(f"there is no key {name!r}; list the keys to see which there are")
