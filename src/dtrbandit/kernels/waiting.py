"""A progress bar on standard error for whoever waits for the compiler; a line where it is no terminal."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from typing import Any


class Waiting:
    """Shows how many entries are done; nothing before ``show`` is first called."""

    def __init__(self, what: str, *, seconds: float) -> None:
        self._text = f"compiling kernels for {what}, about {seconds:.0f} s on an idle machine, once for this release"
        self._bar: Any = None
        self._shown = False
        self._stack = ExitStack()

    def __enter__(self) -> Waiting:
        return self

    def __exit__(self, *exception: object) -> None:
        self._stack.close()

    def show(self, done: int, total: int) -> None:
        """Show that so many of all are done."""
        if not self._shown:
            self._shown = True
            self._open()
        if self._bar is not None:
            self._bar.update(self._task, completed=done, total=total)

    def _open(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

        console = Console(stderr=True)
        if not console.is_terminal:
            print(f"dtrbandit: {self._text} …", file=sys.stderr, flush=True)
            return
        columns = (TextColumn(self._text), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        self._bar = self._stack.enter_context(Progress(*columns, console=console))
        self._task = self._bar.add_task(self._text, total=None)
