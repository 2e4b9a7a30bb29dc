"""What ``dtrbandit serve --rehearse`` does."""

from __future__ import annotations

import tempfile
from datetime import UTC, datetime
from functools import partial

import typer

from dtrbandit.errors import DesignError
from dtrbandit.storage import connect


def serve_rehearsal(*, host: str, port: int, behind_proxy: bool, days_a_second: float) -> None:
    """Serve simulated patients, in a new folder that goes when it ends. No other database is touched."""
    try:
        from dtrbandit.service.server import require_free, require_safe, serve
        from dtrbandit.web.app import Pages
        from dtrbandit.web.logins import new_secret
        from dtrbandit.web.rehearsal import Rehearsal, SimulatedClock, prepare
    except ImportError as error:
        raise DesignError(f"the service needs more packages ({error}): pip install 'dtrbandit[serve]'") from error
    if behind_proxy:
        raise DesignError("a rehearsal shows its keys to everybody who comes: it is for this machine alone, no proxy")
    require_safe(host, behind_proxy=False)
    require_free(host, port)
    clock = SimulatedClock(datetime.now(UTC), days_a_second=days_a_second)
    with tempfile.TemporaryDirectory(prefix="dtrbandit-rehearsal-") as folder:
        storage = f"sqlite:///{folder}/rehearsal.db"
        store = connect(storage)
        try:
            keys = prepare(store)
        finally:
            store.close()
        serve(
            storage,
            host=host,
            port=port,
            clock=clock,
            pages=lambda endpoints, service: Pages(
                endpoints, service, secret=new_secret(), guests=keys, work=Rehearsal(service, clock).going_on
            ),
            listening=partial(_say_where, keys),
        )


def _say_where(keys: dict[str, str], address: str) -> None:
    typer.echo(f"REHEARSAL. Open {address}/ui/ in a browser, and come in as whom you like. Stop with Ctrl-C.")
    typer.echo("Keys for programs, until then:")
    for role, key in keys.items():
        typer.echo(f"  {role:<14}{key}")
    typer.echo(f"Listening at {address}. Simulated patients are on their way.")
