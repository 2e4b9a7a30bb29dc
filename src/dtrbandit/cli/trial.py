"""The commands of a live trial and their options. What does the work is imported when it begins."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from dtrbandit.cli.reactions import reactions, until_stopped
from dtrbandit.errors import DesignError

trial = typer.Typer(no_args_is_help=True, help="Live trials: create, lock, verify, export, back up.")


class Format(StrEnum):
    """How units are exported."""

    CSV = "csv"
    PARQUET = "parquet"
    JSONL = "jsonl"


Name = Annotated[str, typer.Argument(help="The trial's name.", show_default=False)]
Storage = Annotated[
    str,
    typer.Option(
        envvar="DTRBANDIT_STORAGE",
        help="The database: sqlite:///FILE, with four slashes from the root, or postgresql://user@host/database.",
    ),
]
DEFAULT = "sqlite:///trial.db"
Reason = Annotated[str, typer.Option(help="Why; it goes on record.", show_default=False)]
Actor = Annotated[str | None, typer.Option(help="Who does it, on record; by default the user of this machine.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]


@trial.command()
def create(
    file: Annotated[Path, typer.Argument(help="A trial file; examples/trial.toml explains every entry.")],
    storage: Storage = DEFAULT,
    actor: Actor = None,
) -> None:
    """Create a trial, in rehearsal. With a new database this prints the first administrator's key, once."""
    with reactions():
        from dtrbandit.cli.live import create_trial

        create_trial(file, storage, actor)


@trial.command("list")
def list_trials(storage: Storage = DEFAULT) -> None:
    """List the trials of a database: phase, records, units in flight."""
    with reactions():
        from dtrbandit.cli.live import show_trials

        show_trials(storage)


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
    with reactions():
        from dtrbandit.cli.live import lock_trial

        lock_trial(name, storage, actor, reason=reason, paper_schedule=paper_schedule)


@trial.command()
def end(name: Name, reason: Reason, storage: Storage = DEFAULT, actor: Actor = None) -> None:
    """End the trial, for good: nothing more is decided. Late outcomes and corrections still come on record.

    A rehearsal is ended by lock, which begins the live trial. To end it by this command gives the trial up.
    """
    with reactions():
        from dtrbandit.cli.live import end_trial

        end_trial(name, storage, actor, reason=reason)


@trial.command()
def upgrade(name: Name, reason: Reason, storage: Storage = DEFAULT, actor: Actor = None) -> None:
    """Go on, with this release, with a trial that another release began."""
    with reactions():
        from dtrbandit.cli.live import upgrade_trial

        upgrade_trial(name, storage, actor, reason=reason)


@trial.command()
def head(name: Name, storage: Storage = DEFAULT) -> None:
    """Print the head of the log, SEQUENCE:HASH. Kept elsewhere, it lets verify --against find a log that was cut."""
    with reactions():
        from dtrbandit.cli.live import show_head

        show_head(name, storage)


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
    with reactions():
        from dtrbandit.cli.live import verify_trial

        raise typer.Exit(verify_trial(name, storage, against=against, every=watch, as_json=json))


@trial.command()
def export(
    name: Name,
    file: Annotated[Path, typer.Argument(help="The file to write.")],
    form: Annotated[Format, typer.Option("--format", help="A row per unit, in each.")] = Format.CSV,
    storage: Storage = DEFAULT,
) -> None:
    """Write the units, with arms and propensities, as a Cohort reads them. The seed is never among it."""
    with reactions():
        from dtrbandit.cli.live import export_trial

        export_trial(name, file, form.value, storage)


@trial.command()
def backup(
    file: Annotated[Path, typer.Argument(help="The file to write, a new one; with --every a folder.")],
    every: Annotated[float | None, typer.Option(help="Again every so many seconds, until Ctrl-C.", min=1.0)] = None,
    keep: Annotated[int, typer.Option(help="With --every: how many to keep.", min=1)] = 30,
    replace: Annotated[
        bool, typer.Option("--replace", help="Let it take the place of an earlier backup of this name.")
    ] = False,
    storage: Storage = DEFAULT,
) -> None:
    """Copy the whole database while the service goes on. The copy is whole or not there."""
    with reactions():
        from dtrbandit.cli.live import back_up

        back_up(file, storage, every=every, keep=keep, replace=replace)


@trial.command()
def restore(
    file: Annotated[Path, typer.Argument(help="A backup.")],
    storage: Storage = DEFAULT,
) -> None:
    """Make a database from a backup, and verify it. A database that is there is never overwritten."""
    with reactions():
        from dtrbandit.cli.live import restore_backup

        raise typer.Exit(restore_backup(file, storage))


@trial.command()
def copy(
    source: Annotated[str, typer.Option("--from", help="The database that has the trials.", show_default=False)],
    target: Annotated[str, typer.Option("--to", help="An empty one, of any kind.", show_default=False)],
) -> None:
    """Copy all trials and keys to an empty database, such as from SQLite to PostgreSQL, and verify the copy.

    Nothing is written to the first database meanwhile. Stop its service before: what it takes later is not copied.
    """
    with reactions():
        from dtrbandit.cli.live import copy_trials

        raise typer.Exit(copy_trials(source, target))


@trial.command()
def migrate(
    backup: Annotated[Path, typer.Argument(help="The file to write before anything is changed.")],
    storage: Storage = DEFAULT,
) -> None:
    """Bring the tables of a PostgreSQL database of an earlier release up to this one, after a backup.

    A file needs no such command: it is backed up and brought up when it is opened.
    """
    with reactions():
        from dtrbandit.cli.live import migrate_tables

        migrate_tables(backup, storage)


# -- commands of their own -----------------------------------------------------------------------------------------


def serve(
    context: typer.Context,
    storage: Storage = DEFAULT,
    host: Annotated[str, typer.Option(help="The address to listen at.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="The port; 0 takes one that is free.", min=0, max=65535)] = 8000,
    behind_proxy: Annotated[
        bool,
        typer.Option(
            "--behind-proxy", help="A proxy in front speaks TLS: allow another address, and believe X-Forwarded-For."
        ),
    ] = False,
    workers: Annotated[int, typer.Option(help="How many processes serve; more than one needs PostgreSQL.", min=1)] = 1,
    rehearse: Annotated[
        bool, typer.Option("--rehearse", help="Simulated patients in a database of their own, which goes at the end.")
    ] = False,
    pace: Annotated[float, typer.Option(help="With --rehearse: simulated days in a second.", min=0.01, max=100)] = 3.0,
) -> None:
    """Serve the trials of a database over HTTP, with pages for a browser, until SIGTERM or Ctrl-C.

    docs/live-trial.md explains it, and docs/dashboard.md the pages. With a new database this prints the first
    administrator's key, once.
    """
    with reactions():
        _require_fitting(context, rehearse=rehearse)
        if rehearse:
            from dtrbandit.cli.rehearse import serve_rehearsal

            with until_stopped("Stopped. The rehearsal's database is removed."):
                serve_rehearsal(host=host, port=port, behind_proxy=behind_proxy, days_a_second=pace)
            return
        from dtrbandit.cli.live import serve_trials

        with until_stopped():
            serve_trials(storage, host=host, port=port, behind_proxy=behind_proxy, workers=workers)


def _require_fitting(context: typer.Context, *, rehearse: bool) -> None:
    """Refuse options that were typed and would do nothing."""
    unfit = ("storage", "workers") if rehearse else ("pace",)
    sources = {name: context.get_parameter_source(name) for name in unfit}
    typed = [name for name, source in sources.items() if source is not None and source.name == "COMMANDLINE"]
    if typed and rehearse:
        raise DesignError(
            f"--rehearse does not go with --{typed[0]}: a rehearsal is one process on a database of its own, which "
            "goes when it ends, and touches no other; leave out one of the two"
        )
    if typed:
        raise DesignError("--pace is for simulated patients; say --rehearse too, or leave it out")


def doctor(storage: Storage = DEFAULT, json: Json = False) -> None:
    """Check SQLite, disk, clock, kernels, and the chain of every trial.

    The exit code is 1 if something is wrong, and 2 if there is no database.
    """
    with reactions():
        from dtrbandit.cli.findings import broken_build, report

        if broken := broken_build():
            raise typer.Exit(report(broken, as_json=json))
        from dtrbandit.cli.doctor import examine  # loads kernels

        raise typer.Exit(examine(storage, as_json=json))
