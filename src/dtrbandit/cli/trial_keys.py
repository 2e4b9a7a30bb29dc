"""The commands about keys: list, create, rotate, revoke, what happened to them, verify, accept."""

from __future__ import annotations

import getpass
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from dtrbandit.cli.options import DEFAULT, Json, Reason, Storage, existing
from dtrbandit.cli.trial import head_of

if TYPE_CHECKING:
    from dtrbandit.service.key_store import Requester
    from dtrbandit.service.keys import NewKey
    from dtrbandit.storage import ApiKey
    from dtrbandit.storage.key_events import KeyEvent, KeyRecord

keys = typer.Typer(no_args_is_help=True, help="Keys to the service: who may do what.")
KeyId = Annotated[str, typer.Argument(help="The id of a key, as the list shows it.")]


class RoleName(StrEnum):
    """What a key is for."""

    ADMINISTRATOR = "administrator"
    SITE = "site"
    STATISTICIAN = "statistician"
    AUDITOR = "auditor"


@keys.command("list")
def list_keys(storage: Storage = DEFAULT) -> None:
    """List the keys that were given out. The keys themselves are not kept."""
    now = datetime.now(UTC)
    with existing(storage) as store:
        for row in store.api_keys():
            place = _place(row.trial, row.site)
            typer.echo(f"{row.id}  {row.role:<13}  {row.label}{place}  ({_state(row, now)})")


def _place(trial: str | None, site: str | None) -> str:
    return ("" if trial is None else f", trial {trial}") + ("" if site is None else f", site {site}")


def _state(row: ApiKey, now: datetime) -> str:
    """Say whether a key opens, and until when: it ends by its date, or when its successor takes over."""
    from dtrbandit.service.keys import is_valid

    if not is_valid(row, now):
        return "revoked" if row.revoked else "expired"
    return ("replaced" if row.revoked else "valid") + _until(row)


def _until(key: ApiKey | KeyEvent) -> str:
    ends = min((each for each in (key.expires, key.revoked) if each is not None), default=None)
    return "" if ends is None else f", until {ends[:16]}Z"


@keys.command("create")
def create_key(
    role: Annotated[RoleName, typer.Argument(help="What it is for.")],
    label: Annotated[str, typer.Argument(help="Whose it is: the actor on record. Give each person a key.")],
    trial: Annotated[
        str | None, typer.Option(help="The one trial that it opens; by default all. A site needs one.")
    ] = None,
    site: Annotated[str | None, typer.Option(help="For the role site: the site whose units it opens.")] = None,
    days: Annotated[float | None, typer.Option(help="How long it is valid; by default forever.")] = None,
    storage: Storage = DEFAULT,
) -> None:
    """Create a key and print it, once."""
    from dtrbandit.service.key_store import create

    place = {"trial": trial, "site": site}
    with existing(storage) as store:
        _print(create(store, role.value, label, now=datetime.now(UTC), days=days, requester=requester(), **place))


@keys.command("rotate")
def rotate_key(
    key: KeyId,
    overlap: Annotated[float, typer.Option(help="Hours for which the old key still works.", min=0, max=720)] = 0.0,
    storage: Storage = DEFAULT,
) -> None:
    """Print a new key for the holder of a key, and let the old one end. A key is rotated once."""
    from dtrbandit.service.key_store import rotate

    now = datetime.now(UTC)
    with existing(storage) as store:
        _print(rotate(store, key, now=now, overlap=overlap, requester=requester()))
    ends = f"works until {now + timedelta(hours=overlap):%Y-%m-%dT%H:%M}Z" if overlap else "opens nothing any more"
    typer.echo(f"The old key {key} {ends}.")


@keys.command("revoke")
def revoke_key(key: KeyId, storage: Storage = DEFAULT) -> None:
    """Let a key end at once, for good. A service that runs notices within a second."""
    from dtrbandit.service.key_store import revoke

    with existing(storage) as store:
        row, _ = revoke(store, key, now=datetime.now(UTC), requester=requester())
    typer.echo(f"The key {row.id} of {row.label} opens nothing any more.")


@keys.command("events")
def key_events(storage: Storage = DEFAULT, json: Json = False) -> None:
    """List what happened to keys: created, rotated, revoked, when and by whom. --json: as stored, with hashes."""
    from dtrbandit.record.log_file import line_of
    from dtrbandit.storage import KEY_LOG
    from dtrbandit.storage.key_events import key_records

    with existing(storage) as store:
        if json:
            lines = (line_of(stored).decode() for stored in store.log(KEY_LOG).read())
        else:
            lines = (_line(record) for record in key_records(store))
        for line in lines:
            typer.echo(line)


def _line(record: KeyRecord) -> str:
    """Return what happened to a key, on one line."""
    event = record.event
    time = "" if record.time is None else f"{record.time:%Y-%m-%d %H:%M:%S}Z"
    more = "" if event.successor is None else f", successor {event.successor}"
    more += _until(event) + ("" if event.reason is None else f", changed outside: {event.reason}")
    key = f"{event.id}  {event.role:<13}  {event.label}{_place(event.trial, event.site)}{more}"
    return f"{record.sequence:>4}  {time}  {event.event.removeprefix('Key').lower():<7}  {key}  by {record.actor}"


@keys.command("verify")
def verify_keys(
    against: Annotated[str | None, typer.Option(help="A head of this record that was kept: SEQUENCE:HASH.")] = None,
    storage: Storage = DEFAULT,
) -> None:
    """Check the record of keys, and that the keys are as it says. The exit code is 1 if something is wrong."""
    from dtrbandit.storage.key_events import describe_keys, key_fault

    kept = None if against is None else head_of(against)
    with existing(storage) as store:
        fault = key_fault(store, kept)
        typer.echo(f"Not in order: {fault}" if fault else describe_keys(store))
    raise typer.Exit(1 if fault else 0)


@keys.command("accept")
def accept_key(key: KeyId, reason: Reason, storage: Storage = DEFAULT) -> None:
    """Record a key as it is in the table of keys, after something else has changed or removed its row there.

    docs/roles.md says when. It changes no key.
    """
    from dtrbandit.storage.key_events import LOST
    from dtrbandit.storage.key_events import accept_key as accept

    with existing(storage) as store:
        event = accept(store, key, reason=reason, actor=requester().actor, time=datetime.now(UTC))
    found = "gone" if event.event == LOST else f"{event.role}, {event.label}{_place(event.trial, event.site)}"
    typer.echo(f"On record: the key {key} was changed outside, and is accepted as it was found ({found}).")


def requester() -> Requester:
    """Return who is on record with a change of keys: the user of this machine, if it says who that is."""
    from dtrbandit.service.key_store import Requester

    with suppress(OSError, KeyError):
        return Requester(f"{getpass.getuser()} (command line)")
    return Requester("command line")


def _print(new: NewKey) -> None:
    typer.echo(f"The key {new.row.id} of {new.row.label} ({new.row.role}), shown only now:\n  {new.key}")
