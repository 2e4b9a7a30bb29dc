"""The table that every benchmark prints: what was measured, and what is to be reached."""

from __future__ import annotations

import platform
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

from rich.console import Console
from rich.progress import Progress
from rich.table import Table

STEPS = 1_000_000  # of the empty loop that tells the machine's pace


@dataclass(frozen=True)
class Line:
    """A line of the table."""

    what: str
    measured: str
    goal: str = ""


def seconds(call: Callable[[], object]) -> float:
    """Return how long a call takes."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def report(title: str, lines: Iterable[Line], *, total: int) -> None:
    """Print lines as they are measured, then all of them as a table.

    The caption tells the pace of the machine before and after, so that runs can be compared.
    """
    table = Table("what", "measured", "to reach", title=f"{title}, {datetime.now(UTC):%Y-%m-%d}, {platform.machine()}")
    before = pace()
    with Progress(transient=True) as progress:
        task = progress.add_task("measuring", total=total)
        for line in lines:
            table.add_row(line.what, line.measured, line.goal)
            progress.advance(task)
            progress.console.print(f"{line.what}: {line.measured}")
    table.caption = f"an empty Python loop took {before:.0f} ns a step before, {pace():.0f} ns after"
    Console(width=130).print(table)


def pace() -> float:
    """Return the nanoseconds of a step of an empty loop."""

    def loop() -> None:
        for _ in range(STEPS):
            pass

    return seconds(loop) / STEPS * 1e9
