"""What the command line does about errors: one clear message on stderr, and an exit code."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import typer

from dtrbandit.errors import DTRError

BAD_INPUT, INTERRUPTED = 2, 130


@contextmanager
def reactions() -> Iterator[None]:
    """Turn errors of the package, of the file system, and Ctrl-C into a message and an exit code."""
    try:
        yield
    except DTRError as error:
        _stop(f"error: {error}", BAD_INPUT)
    except OSError as error:
        _stop(f"error: {error.strerror}: {error.filename}", BAD_INPUT)
    except KeyboardInterrupt as interruption:
        kept = len(interruption.study.paths) if hasattr(interruption, "study") else 0
        command = shlex.join(["dtrbandit", *sys.argv[1:]])
        _stop(
            f"interrupted; {kept} finished paths are saved. The same command goes on from them:\n  {command}",
            INTERRUPTED,
        )


def _stop(message: str, code: int) -> None:
    typer.echo(message, err=True)
    raise typer.Exit(code) from None
