"""Keys in a database: make, rotate and revoke them."""

from __future__ import annotations

from datetime import datetime, timedelta

from dtrbandit.design.toml_text import unknown
from dtrbandit.errors import NotFound, ObservationError, ProtocolError
from dtrbandit.service.keys import NewKey, as_text, is_valid, new_key
from dtrbandit.service.roles import Role
from dtrbandit.storage import ApiKey, Store


def create(store: Store, role: str, label: str, *, now: datetime, days: float | None = None) -> NewKey:
    """Make a key and keep its row."""
    if role not in list(Role):
        raise ObservationError(f"{unknown('role', role, [each.value for each in Role])}")
    new = new_key(Role(role), label, now=now, days=days)
    store.put_api_key(new.row)
    return new


def first_key(store: Store, *, now: datetime) -> NewKey | None:
    """Make the first administrator's key of a store; None if it has keys."""
    with store.turn():
        if store.api_keys():
            return None
        return create(store, Role.ADMINISTRATOR, "first administrator", now=now)


def rotate(store: Store, name: str, *, now: datetime, overlap: timedelta = timedelta(0)) -> NewKey:
    """Make a key with the same role, label and expiry, and let the old one end, at once or after an overlap."""
    old = _row(store, name)
    if not is_valid(old, now):
        raise ProtocolError(f"the key {name!r} has expired or was revoked; create another one")
    new = new_key(Role(old.role), old.label, now=now)
    row = new.row._replace(expires=old.expires)
    with store.turn():
        store.put_api_key(row)
        store.put_api_key(old._replace(revoked=as_text(now + overlap)))
    return NewKey(new.key, row)


def revoke(store: Store, name: str, *, now: datetime) -> ApiKey:
    """Let a key end at once. The last administrator's key stays: nobody could make another."""
    with store.turn():
        row = _row(store, name)
        if not is_valid(row, now):
            return row
        others = [each for each in store.api_keys() if each.role == Role.ADMINISTRATOR and each.id != name]
        if row.role == Role.ADMINISTRATOR and not any(is_valid(each, now) for each in others):
            raise ProtocolError(f"{name!r} is the last key of an administrator; rotate it, or create another one first")
        revoked = row._replace(revoked=as_text(now))
        store.put_api_key(revoked)
        return revoked


def _row(store: Store, name: str) -> ApiKey:
    for row in store.api_keys():
        if row.id == name:
            return row
    raise NotFound(f"there is no key {name!r}; list the keys to see which there are")
