"""What the commands about keys do."""

from __future__ import annotations

import getpass
from contextlib import suppress
from datetime import UTC, datetime, timedelta

import typer

from dtrbandit.record.chain import Head
from dtrbandit.record.log_file import line_of
from dtrbandit.service.key_store import Asked, create, revoke, rotate
from dtrbandit.service.keys import NewKey, is_valid
from dtrbandit.storage import KEY_LOG, ApiKey, connect_existing
from dtrbandit.storage.key_events import LOST, KeyRecord, accept_key, describe_keys, key_fault, key_records


def show_keys(storage: str) -> None:
    """Print a line for each key."""
    store = connect_existing(storage)
    now = datetime.now(UTC)
    for row in store.api_keys():
        state = _state(row, now)
        typer.echo(f"{row.id}  {row.role:<13}  {row.label}{_place(row.trial, row.site)}  ({state})")
    store.close()


def _place(trial: str | None, site: str | None) -> str:
    return ("" if trial is None else f", trial {trial}") + ("" if site is None else f", site {site}")


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
        now, asked = datetime.now(UTC), Asked(operator())
        _print(create(store, role, label, now=now, days=days, trial=trial, site=site, asked=asked))
    finally:
        store.close()


def rotate_one(key: str, overlap: float, storage: str) -> None:
    """Make the successor of a key and print it."""
    store = connect_existing(storage)
    try:
        now = datetime.now(UTC)
        _print(rotate(store, key, now=now, overlap=overlap, asked=Asked(operator())))
        ends = f"works until {now + timedelta(hours=overlap):%Y-%m-%dT%H:%M}Z" if overlap else "opens nothing any more"
        typer.echo(f"The old key {key} {ends}.")
    finally:
        store.close()


def revoke_one(key: str, storage: str) -> None:
    """Let a key end."""
    store = connect_existing(storage)
    try:
        row, _ = revoke(store, key, now=datetime.now(UTC), asked=Asked(operator()))
    finally:
        store.close()
    typer.echo(f"The key {row.id} of {row.label} opens nothing any more.")


def accept_one(key: str, reason: str, storage: str) -> None:
    """Record a key as it is in the table of keys."""
    store = connect_existing(storage)
    try:
        event = accept_key(store, key, reason=reason, actor=operator(), time=datetime.now(UTC))
    finally:
        store.close()
    found = "gone" if event.event == LOST else f"{event.role}, {event.label}{_place(event.trial, event.site)}"
    typer.echo(f"On record: the key {key} was changed outside, and is accepted as it was found ({found}).")


def show_events(storage: str, *, as_json: bool) -> None:
    """Print a line for each thing that happened to a key; as JSON as it is stored, with its hash."""
    store = connect_existing(storage)
    try:
        if as_json:
            for stored in store.log(KEY_LOG).read():
                typer.echo(line_of(stored).decode())
            return
        for record in key_records(store):
            typer.echo(_told(record))
    finally:
        store.close()


def _told(record: KeyRecord) -> str:
    """Return what happened to a key, on one line."""
    event = record.event
    time = "" if record.time is None else f"{record.time:%Y-%m-%d %H:%M:%S}Z"
    ends = min((each for each in (event.expires, event.revoked) if each is not None), default=None)
    more = ("" if event.successor is None else f", successor {event.successor}") + (
        "" if ends is None else f", until {ends[:16]}Z"
    )
    more += "" if event.reason is None else f", changed outside: {event.reason}"
    key = f"{event.id}  {event.role:<13}  {event.label}{_place(event.trial, event.site)}{more}"
    return f"{record.sequence:>4}  {time}  {event.event.removeprefix('Key').lower():<7}  {key}  by {record.actor}"


def verify_events(storage: str, against: Head | None) -> int:
    """Check the record of keys, and the keys against it; return the exit code."""
    store = connect_existing(storage)
    try:
        fault = key_fault(store, against)
        typer.echo(f"Not in order: {fault}" if fault else describe_keys(store))
    finally:
        store.close()
    return 1 if fault else 0


def operator() -> str:
    """Return who is on record with a change of keys: the user of this machine, if it says who that is."""
    with suppress(OSError, KeyError):
        return f"{getpass.getuser()} (command line)"
    return "command line"


def _print(new: NewKey) -> None:
    typer.echo(f"The key {new.row.id} of {new.row.label} ({new.row.role}), shown only now:\n  {new.key}")
