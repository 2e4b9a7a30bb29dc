"""What the command line does about errors: one clear message on stderr, and an exit code."""

from __future__ import annotations

import shlex
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

import typer
from typer.core import TyperGroup

from dtrbandit.errors import DTRError
from dtrbandit.words import counted

BAD_INPUT, INTERRUPTED = 2, 130


@contextmanager
def handled_errors() -> Iterator[None]:
    """Turn errors of the package and of files, and Ctrl-C, into a message and an exit code; show warnings."""
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _show_warning
            yield
    except DTRError as error:
        _stop(f"error: {error.__cause__!r}{_saved(error)}" if hasattr(error, "study") else f"error: {error}", BAD_INPUT)
    except OSError as error:
        named = "" if error.filename is None else f"{error.filename}: "
        _stop(f"error: {named}{error.strerror or error}; choose another file or folder", BAD_INPUT)
    except KeyboardInterrupt as interruption:
        warnings.simplefilter("ignore")  # joblib remarks on work that was cut off
        _stop(f"interrupted{_saved(interruption)}", INTERRUPTED)


class ErrorHandlingGroup(TyperGroup):
    """Commands that end by a message and an exit code, whatever is wrong."""

    def invoke(self, ctx: typer.Context) -> object:  # type: ignore[override]
        """Run a command."""
        with handled_errors():
            return super().invoke(ctx)


@contextmanager
def until_stopped(message: str = "Stopped.") -> Iterator[None]:
    """Let a command that goes on until Ctrl-C end by it in order."""
    try:
        yield
    except KeyboardInterrupt:
        typer.echo(message, err=True)


def _show_warning(message: Warning | str, *_: object, **__: object) -> None:
    typer.echo(f"warning: {message}", err=True)


def _saved(stopped: BaseException) -> str:
    """Say what a command that stopped has saved, and how to go on; only studies save anything on the way."""
    again = "the same command begins again, or goes on from what is saved"
    if hasattr(stopped, "study"):
        again = (
            f"saved: {counted(len(stopped.study.paths), 'finished path')}; the same command goes on from what is saved"
        )
    return f"; {again}:\n  {shlex.join(['dtrbandit', *sys.argv[1:]])}"


def _stop(message: str, code: int) -> NoReturn:
    typer.echo(message, err=True)
    raise typer.Exit(code) from None
