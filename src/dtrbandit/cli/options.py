"""Options that several commands have, and the database that one of them names."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from dtrbandit.storage import Store

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
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document; progress goes to stderr.")]


def existing(storage: str) -> closing[Store]:
    """Return the database at an address, which must be there; ``with`` closes it."""
    from dtrbandit.storage import connect_existing

    return closing(connect_existing(storage))


def existing_or_new(storage: str) -> closing[Store]:
    """Return the database at an address, which is made if there is none; ``with`` closes it."""
    from dtrbandit.storage import connect

    return closing(connect(storage))
