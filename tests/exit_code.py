"""The exit code of a command that is called as a function."""

from __future__ import annotations

from collections.abc import Callable

import typer


def exit_code(command: Callable[..., None], *given: object, **options: object) -> int:
    """Return the code that a command ends with."""
    try:
        command(*given, **options)
    except typer.Exit as end:
        return end.exit_code
    return 0
