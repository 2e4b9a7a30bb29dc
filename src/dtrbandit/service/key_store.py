"""Keys in a database: make, rotate and revoke them."""

from __future__ import annotations

from datetime import datetime, timedelta

from dtrbandit.design.toml_text import unknown
from dtrbandit.errors import NotFound, ObservationError, ProtocolError
from dtrbandit.service.keys import NewKey, as_text, is_valid, new_key
from dtrbandit.service.roles import Role
from dtrbandit.storage import ApiKey, Store


def create(
    store: Store,
    role: str,
    label: str,
    *,
    now: datetime,
    days: float | None = None,
    trial: str | None = None,
    site: str | None = None,
) -> NewKey:
    """Make a key and keep its row. A trial that it is for must be there."""
    if role not in list(Role):
        raise ObservationError(f"{unknown('role', role, [each.value for each in Role])}")
    new = new_key(Role(role), label, now=now, days=days, trial=trial, site=site)
    if trial is not None and store.trial(trial) is None:
        known = ", ".join(repr(each.name) for each in store.trials()) or "none"
        raise NotFound(f"there is no trial {trial!r} to make a key for; the trials here are {known}")
    store.put_api_key(new.row)
    return new


def first_key(store: Store, *, now: datetime) -> NewKey | None:
    """Make the first administrator's key of a store; None if it has keys."""
    with store.turn():
        if store.api_keys():
            return None
        return create(store, Role.ADMINISTRATOR, "first administrator", now=now)


def rotate(
    store: Store, name: str, *, now: datetime, overlap: timedelta = timedelta(0), within: str | None = None
) -> NewKey:
    """Make a key with the same role, label, expiry, trial and site; let the old one end, at once or after an overlap.

    ``within`` is the one trial whose keys may be touched; None: all.
    """
    with store.turn():  # another process may rotate or revoke the same one
        old = _row(store, name, within)
        if not is_valid(old, now):
            raise ProtocolError(f"the key {name!r} has expired or was revoked; create another one")
        new = new_key(Role(old.role), old.label, now=now, trial=old.trial, site=old.site)
        row = new.row._replace(expires=old.expires)
        store.put_api_key(row)
        store.put_api_key(old._replace(revoked=as_text(now + overlap)))
    return NewKey(new.key, row)


def revoke(store: Store, name: str, *, now: datetime, within: str | None = None) -> ApiKey:
    """Let a key end at once. The last key of an administrator of all trials stays: nobody could make another."""
    with store.turn():
        row = _row(store, name, within)
        if not is_valid(row, now):
            return row
        others = [each for each in store.api_keys() if _runs_all(each) and each.id != name]
        if _runs_all(row) and not any(is_valid(each, now) for each in others):
            raise ProtocolError(
                f"{name!r} is the last key of an administrator of all trials; rotate it, or create another one first"
            )
        revoked = row._replace(revoked=as_text(now))
        store.put_api_key(revoked)
        return revoked


def _runs_all(row: ApiKey) -> bool:
    return row.role == Role.ADMINISTRATOR and row.trial is None


def _row(store: Store, name: str, within: str | None) -> ApiKey:
    for row in store.api_keys():
        if row.id == name and within in (None, row.trial):
            return row
    raise NotFound(f"there is no key {name!r}; list the keys to see which there are")
