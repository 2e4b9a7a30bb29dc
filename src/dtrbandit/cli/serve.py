"""The command ``serve``: the trials of a database, or a rehearsal with simulated patients, over HTTP."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

import dtrbandit as dtr
from dtrbandit.cli.error_handling import until_stopped
from dtrbandit.cli.options import DEFAULT, Storage, existing, existing_or_new
from dtrbandit.cli.trial import place_of, print_first_key
from dtrbandit.errors import DesignError, NotFound
from dtrbandit.words import counted

if TYPE_CHECKING:
    from dtrbandit.storage import Store


def serve(  # noqa: PLR0913  # its options
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
    _require_fitting(context, rehearse=rehearse)
    if rehearse:
        with until_stopped("Stopped. The rehearsal's database is removed."):
            serve_rehearsal(host=host, port=port, behind_proxy=behind_proxy, days_a_second=pace)
    else:
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


@contextmanager
def _with_packages() -> Iterator[None]:
    try:
        yield
    except ImportError as error:
        raise DesignError(f"the service needs more packages ({error}): pip install 'dtrbandit[serve]'") from error


# -- the trials of a database ------------------------------------------------------------------------------------


def serve_trials(storage: str, *, host: str, port: int, behind_proxy: bool, workers: int) -> None:
    """Serve until SIGTERM or Ctrl-C."""
    with _with_packages():
        from dtrbandit.service.server import serve
        from dtrbandit.web.app import Pages
        from dtrbandit.web.logins import new_secret

    serve(
        storage,
        host=host,
        port=port,
        behind_proxy=behind_proxy,
        workers=workers,
        pages=partial(Pages, secure=behind_proxy, secret=new_secret()),
        prepare=partial(_prepare, storage),
        listening=lambda address: typer.echo(f"Listening at {address}. Stop with Ctrl-C."),
    )


def _prepare(storage: str) -> None:
    """Make a database where there is none, and name it and its trials, so that a wrong one is noticed at once."""
    is_new = _is_new(storage)
    with existing_or_new(storage) as store:
        _print_what_is_served(store, storage, is_new=is_new)
        print_first_key(store)


def _is_new(storage: str) -> bool:
    """Say whether there is no database at an address yet."""
    try:
        with existing(storage):
            return False
    except NotFound:
        return True


def _print_what_is_served(store: Store, storage: str, *, is_new: bool) -> None:
    names = dtr.Trial.names(store)
    if names:
        typer.echo(f"{place_of(storage)}: {counted(len(names), 'trial')} ({', '.join(names)}).")
        return
    if not is_new:
        typer.echo(f"{place_of(storage)} holds no trial yet. dtrbandit trial create makes one.")
        return
    typer.echo(
        f"NEW DATABASE: there was none at {place_of(storage)}, so an empty one was made there. It holds no trial."
    )
    typer.echo(
        "If your trial should be here, stop with Ctrl-C and start again with the address of its database: "
        "--storage sqlite:////folder/trial.db, or the variable DTRBANDIT_STORAGE."
    )


# -- a rehearsal -------------------------------------------------------------------------------------------------


def serve_rehearsal(*, host: str, port: int, behind_proxy: bool, days_a_second: float) -> None:
    """Serve simulated patients, in a new folder that goes when it ends. No other database is touched."""
    if behind_proxy:
        raise DesignError("a rehearsal shows its keys to everybody who comes: it is for this machine alone, no proxy")
    with _with_packages():
        from dtrbandit.service.server import serve
        from dtrbandit.web.app import Pages
        from dtrbandit.web.logins import new_secret
        from dtrbandit.web.rehearsal import Rehearsal, SimulatedClock, prepare

    clock, keys = SimulatedClock(datetime.now(UTC), days_a_second=days_a_second), dict[str, str]()
    with tempfile.TemporaryDirectory(prefix="dtrbandit-rehearsal-") as folder:
        storage = f"sqlite:///{folder}/rehearsal.db"

        def prepared() -> None:
            with existing_or_new(storage) as store:
                keys.update(prepare(store))

        serve(
            storage,
            host=host,
            port=port,
            clock=clock,
            pages=lambda endpoints, service: Pages(
                endpoints, service, secret=new_secret(), guests=keys, work=Rehearsal(service, clock).lifespan
            ),
            prepare=prepared,
            listening=partial(_print_keys, keys),
        )


def _print_keys(keys: dict[str, str], address: str) -> None:
    typer.echo(f"REHEARSAL. Open {address}/ui/ in a browser, and come in as whom you like. Stop with Ctrl-C.")
    typer.echo("Keys for programs, until then:")
    for role, key in keys.items():
        typer.echo(f"  {role:<14}{key}")
    typer.echo(f"Listening at {address}. Simulated patients are on their way.")
