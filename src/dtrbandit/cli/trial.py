"""The commands of a live trial: create, list, lock, end, upgrade, head, verify, export.

What does the work is imported when it begins, here and in the other modules of commands: help must come at once.
"""

from __future__ import annotations

import getpass
import json as json_text
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from time import sleep, time
from typing import TYPE_CHECKING, Annotated

import typer

import dtrbandit as dtr
from dtrbandit.cli.error_handling import until_stopped
from dtrbandit.cli.options import DEFAULT, Actor, Json, Name, Reason, Storage, existing, existing_or_new
from dtrbandit.errors import DesignError, DTRError, Unavailable
from dtrbandit.words import counted

if TYPE_CHECKING:
    from dtrbandit.storage import Check, Store
    from dtrbandit.trial import Head

WRONG = 1
PAPER_SCHEDULE = (
    'warning: the policy has schedule = "paper": a site could guess the forced arms. A rehearsal may, and '
    'lock will refuse it. Create the trial with schedule = "permuted", or lock it with --paper-schedule'
)

trial = typer.Typer(no_args_is_help=True, help="Live trials: create, lock, verify, export, back up.")


class Format(StrEnum):
    """How units are exported."""

    CSV = "csv"
    PARQUET = "parquet"
    JSONL = "jsonl"


@trial.command()
def create(
    file: Annotated[Path, typer.Argument(help="A trial file; examples/trial.toml explains every entry.")],
    storage: Storage = DEFAULT,
    actor: Actor = None,
) -> None:
    """Create a trial, in rehearsal. With a new database this prints the first administrator's key, once."""
    from dtrbandit.cli.trial_toml import read_trial
    from dtrbandit.trial.opening import is_guessable

    wanted = read_trial(file)
    with existing_or_new(storage) as store:
        new = dtr.Trial.create(wanted.name, wanted.design, wanted.policy, storage=store, actor=_actor(actor))
        typer.echo(str(new.design))
        place = place_of(storage)
        typer.echo(f"Created trial {new.name!r} in {place}, in rehearsal. dtrbandit trial lock ends the rehearsal.")
        if is_guessable(new.policy):
            typer.echo(PAPER_SCHEDULE, err=True)
        print_first_key(store)


@trial.command("list")
def list_trials(storage: Storage = DEFAULT) -> None:
    """List the trials of a database: phase, records, units in flight."""
    with existing(storage) as store:
        for name in dtr.Trial.names(store):
            found = dtr.Trial.open(name, storage=store)
            phase = found.phase if found.locked or found.phase == "rehearsal" else "ended in rehearsal"
            records = counted(found.head.sequence, "record")
            typer.echo(f"{name}: {phase}, {records}, {counted(found.in_flight, 'unit')} in flight")


@trial.command()
def lock(
    name: Name,
    reason: Reason,
    paper_schedule: Annotated[
        bool, typer.Option("--paper-schedule", help="Allow the paper's schedule, which a site could guess.")
    ] = False,
    storage: Storage = DEFAULT,
    actor: Actor = None,
) -> None:
    """End the rehearsal, for good: a new log and a new seed. Design and policy are fixed from now on."""
    with dtr.Trial.open(name, storage=storage) as found:
        found.lock(actor=_actor(actor), reason=reason, paper_schedule=paper_schedule)
        typer.echo(f"Trial {name!r} is live. Its head is {head_text(found.head)}")


@trial.command()
def end(name: Name, reason: Reason, storage: Storage = DEFAULT, actor: Actor = None) -> None:
    """End the trial, for good: nothing more is decided. Late outcomes and corrections still come on record.

    A rehearsal is ended by lock, which begins the live trial. To end it by this command gives the trial up.
    """
    with dtr.Trial.open(name, storage=storage) as found:
        found.end(actor=_actor(actor), reason=reason)
        never = " It was a rehearsal: it was never live, and cannot be locked any more." if not found.locked else ""
        typer.echo(f"Trial {name!r} has ended.{never} Its head is {head_text(found.head)}")


@trial.command()
def upgrade(name: Name, reason: Reason, storage: Storage = DEFAULT, actor: Actor = None) -> None:
    """Go on, with this release, with a trial that another release began."""
    with dtr.Trial.open(name, storage=storage) as found:
        found.upgrade(actor=_actor(actor), reason=reason)
        typer.echo(f"Trial {name!r} goes on with this release.")


@trial.command()
def head(name: Name, storage: Storage = DEFAULT) -> None:
    """Print the head of the log, SEQUENCE:HASH. Kept elsewhere, it lets verify --against find a log that was cut."""
    with dtr.Trial.open(name, storage=storage) as found:
        typer.echo(head_text(found.head))


@trial.command()
def verify(
    name: Name,
    against: Annotated[str | None, typer.Option(help="A head that was kept: SEQUENCE:HASH.")] = None,
    watch: Annotated[float | None, typer.Option(help="Verify again every so many seconds.", min=1.0)] = None,
    storage: Storage = DEFAULT,
    json: Json = False,
) -> None:
    """Check the chain of a log, and decide everything again. The exit code is 1 if something is wrong.

    The record of keys is checked, too. The service shows the time and the result of the last verification among its
    figures.
    """
    kept = None if against is None else head_of(against)
    if watch is None:
        raise typer.Exit(0 if _is_verified(name, storage, kept, as_json=json) else WRONG)
    with until_stopped():
        while _is_verified(name, storage, kept, as_json=json):
            sleep(watch)
        raise typer.Exit(WRONG)


def _is_verified(name: str, storage: str, against: Head | None, *, as_json: bool) -> bool:
    from dataclasses import asdict

    from dtrbandit.storage import Check
    from dtrbandit.trial.proof import verify_stored

    with existing(storage) as store:
        found = verify_stored(store, name, against=against)
        note_check(store, Check("verify", name, time(), found.ok))
    if as_json:
        typer.echo(json_text.dumps({"name": name, **asdict(found)}))
    else:
        since = f" It goes on from the head {head_text(against)}." if against and found.ok else ""
        typer.echo(f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S}Z  {name}: {found}{since}")
    return found.ok


@trial.command()
def export(
    name: Name,
    file: Annotated[Path, typer.Argument(help="The file to write.")],
    form: Annotated[Format, typer.Option("--format", help="A row per unit, in each.")] = Format.CSV,
    storage: Storage = DEFAULT,
) -> None:
    """Write the units, with arms and propensities, as a Cohort reads them. The seed is never among it."""
    with dtr.Trial.open(name, storage=storage) as found:
        done = found.export(file, form.value)
    left_out = f"; the next has not ended, and {done.waiting:,} from it on are left out" if done.waiting else ""
    typer.echo(f"Written: {file} ({counted(done.units, 'unit')}{left_out})")


# -- what other commands print and note, too ---------------------------------------------------------------------


def head_of(text: str) -> Head:
    """Return the head that ``SEQUENCE:HASH`` says."""
    from dtrbandit.trial import Head

    sequence, _, found = text.strip().partition(":")
    if not sequence.isdecimal() or len(found) != 64 or set(found) - set("0123456789abcdef"):
        raise DesignError(f"a head is SEQUENCE:HASH, as dtrbandit trial head prints it, found {text[:100]!r}")
    return Head(int(sequence), found)


def head_text(head: Head) -> str:
    """Return a head as ``SEQUENCE:HASH``."""
    return f"{head.sequence}:{head.hash}"


def place_of(storage: str) -> str:
    """Return where a database is, as people look for it: the whole path of a file, or an address."""
    from dtrbandit.storage import path_of, without_secret

    path = path_of(storage)
    return without_secret(storage) if path is None else str(path.absolute())


def note_check(store: Store, check: Check) -> None:
    """Remember a check in the database that was checked; a damaged one may not take it."""
    try:
        store.note_check(check)
    except DTRError as error:
        typer.echo(f"The service will not know of this {check.what}: {error}", err=True)


def print_first_key(store: Store) -> None:
    """Make the first administrator's key of a database, if it has none, and print it."""
    from dtrbandit.cli.trial_keys import requester
    from dtrbandit.service.key_store import first_key

    new = first_key(store, now=datetime.now(UTC), requester=requester())
    if new is not None:
        typer.echo(f"The first administrator's key of this database, shown only now; keep it safe:\n  {new.key}")


def _actor(given: str | None) -> str:
    """Return who is on record: the actor that was given, or the user of this machine."""
    if given is not None:
        return given
    try:
        return f"{getpass.getuser()} (command line)"
    except (OSError, KeyError) as error:
        raise Unavailable(f"this machine does not say who you are ({error}); say --actor") from error
