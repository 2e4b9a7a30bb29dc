"""The commands about keys and their options. What does the work is imported when it begins."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from dtrbandit.cli.reactions import reactions
from dtrbandit.cli.trial import DEFAULT, Json, Reason, Storage

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
    with reactions():
        from dtrbandit.cli.live_keys import show_keys

        show_keys(storage)


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
    with reactions():
        from dtrbandit.cli.live_keys import make_key

        make_key(role.value, label, storage, days=days, trial=trial, site=site)


@keys.command("rotate")
def rotate_key(
    key: KeyId,
    overlap: Annotated[float, typer.Option(help="Hours for which the old key still works.", min=0, max=720)] = 0.0,
    storage: Storage = DEFAULT,
) -> None:
    """Print a new key for the holder of a key, and let the old one end. A key is rotated once."""
    with reactions():
        from dtrbandit.cli.live_keys import rotate_one

        rotate_one(key, overlap, storage)


@keys.command("revoke")
def revoke_key(key: KeyId, storage: Storage = DEFAULT) -> None:
    """Let a key end at once, for good. A service that runs notices within a second."""
    with reactions():
        from dtrbandit.cli.live_keys import revoke_one

        revoke_one(key, storage)


@keys.command("events")
def key_events(storage: Storage = DEFAULT, json: Json = False) -> None:
    """List what happened to keys: created, rotated, revoked, when and by whom. --json: as stored, with hashes."""
    with reactions():
        from dtrbandit.cli.live_keys import show_events

        show_events(storage, as_json=json)


@keys.command("verify")
def verify_keys(
    against: Annotated[str | None, typer.Option(help="A head of this record that was kept: SEQUENCE:HASH.")] = None,
    storage: Storage = DEFAULT,
) -> None:
    """Check the record of keys, and that the keys are as it says. The exit code is 1 if something is wrong."""
    with reactions():
        from dtrbandit.cli.live import head_of
        from dtrbandit.cli.live_keys import verify_events

        raise typer.Exit(verify_events(storage, None if against is None else head_of(against)))


@keys.command("accept")
def accept_key(key: KeyId, reason: Reason, storage: Storage = DEFAULT) -> None:
    """Record a key as it is in the table of keys, after something else has changed or removed its row there.

    docs/roles.md says when. It changes no key.
    """
    with reactions():
        from dtrbandit.cli.live_keys import accept_one

        accept_one(key, reason, storage)
