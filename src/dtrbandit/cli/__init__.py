"""The command ``dtrbandit``: what it loads before it is told what to do is typer alone."""

from dtrbandit.cli.commands import app

__all__ = ["app"]
