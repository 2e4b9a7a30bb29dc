"""What the commands about keys do."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import typer

from dtrbandit.service.key_store import create, revoke, rotate
from dtrbandit.service.keys import NewKey, is_valid
from dtrbandit.storage import ApiKey, connect_existing


def show_keys(storage: str) -> None:
    """Print a line for each key."""
    store = connect_existing(storage)
    now = datetime.now(UTC)
    for row in store.api_keys():
        state = _state(row, now)
        trial = "" if row.trial is None else f", trial {row.trial}"
        site = "" if row.site is None else f", site {row.site}"
        typer.echo(f"{row.id}  {row.role:<13}  {row.label}{trial}{site}  ({state})")
    store.close()


def _state(row: ApiKey, now: datetime) -> str:
    """Say whether a key opens, and until when: it ends by its date, or when its successor takes over."""
    if not is_valid(row, now):
        return "revoked" if row.revoked else "expired"
    ends = min((each for each in (row.expires, row.revoked) if each is not None), default=None)
    return ("replaced" if row.revoked else "valid") + ("" if ends is None else f", until {ends[:16]}Z")


def make_key(
    role: str,
    label: str,
    storage: str,
    *,
    days: float | None = None,
    trial: str | None = None,
    site: str | None = None,
) -> None:
    """Make a key and print it."""
    store = connect_existing(storage)
    try:
        _print(create(store, role, label, now=datetime.now(UTC), days=days, trial=trial, site=site))
    finally:
        store.close()


def rotate_one(key: str, overlap: float, storage: str) -> None:
    """Make the successor of a key and print it."""
    store = connect_existing(storage)
    try:
        now = datetime.now(UTC)
        _print(rotate(store, key, now=now, overlap=timedelta(hours=overlap)))
        ends = f"works until {now + timedelta(hours=overlap):%Y-%m-%dT%H:%M}Z" if overlap else "opens nothing any more"
        typer.echo(f"The old key {key} {ends}.")
    finally:
        store.close()


def revoke_one(key: str, storage: str) -> None:
    """Let a key end."""
    store = connect_existing(storage)
    try:
        row = revoke(store, key, now=datetime.now(UTC))
    finally:
        store.close()
    typer.echo(f"The key {row.id} of {row.label} opens nothing any more.")


def _print(new: NewKey) -> None:
    typer.echo(f"The key {new.row.id} of {new.row.label} ({new.row.role}), shown only now:\n  {new.key}")
