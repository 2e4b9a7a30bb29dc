"""What the commands about keys do."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import typer

from dtrbandit.service.key_store import create, revoke, rotate
from dtrbandit.service.keys import NewKey, is_valid
from dtrbandit.storage import connect_existing


def show_keys(storage: str) -> None:
    """Print a line for each key."""
    store = connect_existing(storage)
    now = datetime.now(UTC)
    for row in store.api_keys():
        ends = "" if row.expires is None else f", until {row.expires[:16]}Z"
        state = "valid" + ends if is_valid(row, now) else "revoked" if row.revoked else "expired"
        trial = "" if row.trial is None else f", trial {row.trial}"
        site = "" if row.site is None else f", site {row.site}"
        typer.echo(f"{row.id}  {row.role:<13}  {row.label}{trial}{site}  ({state})")
    store.close()


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
        _print(rotate(store, key, now=datetime.now(UTC), overlap=timedelta(hours=overlap)))
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
