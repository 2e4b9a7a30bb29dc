"""What the first units of a trial cost in a process that has just begun.

Every run is a process of its own. Times count from its start, except for that of importing.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from first_units import FIRST
from numpy.typing import NDArray
from stopwatch import in_words
from table import Line, seconds

SIZES = ((2, 2), (4, 2), (10, 4))  # features and arms at both stages
VERBS = 3  # of a whole unit


class Beginning(NamedTuple):
    """The seconds of importing, to the first decision, to the last of 300 units, of a correction, of all verbs (n,)."""

    imported: float
    decision: float
    done: float
    correct: float
    took: NDArray[np.float64]


def first_units(size: tuple[int, int], bursts: float) -> Beginning:
    script = Path(__file__).with_name("first_units.py")
    command = [sys.executable, str(script), *map(str, (*size, bursts, time.time()))]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    found = json.loads(said.splitlines()[-1])
    return Beginning(found["import"], found["decision"], found["done"], found["correct"], np.array(found["took"]))


def lines(size: tuple[int, int], found: Beginning) -> Iterator[Line]:
    """Yield what a process showed."""
    small = size[0] <= 4
    early, later = found.took[: FIRST * VERBS], found.took[FIRST * VERBS :]
    yield Line(f"{size}: import what a session needs", in_words(found.imported), "≤ 0.3 s")
    yield Line(f"{size}: first explained decision", in_words(found.decision), "≤ 0.5 s")
    measured = f"{in_words(float(early.sum()))} in verbs, {in_words(found.done)} from the start"
    yield Line(f"{size}: the first {FIRST} units", measured, "≤ 0.7 s" if small else "")
    medians = f"median {in_words(float(np.median(early)))}, and {in_words(float(np.median(later)))} afterwards"
    yield Line(f"{size}: a verb", medians, "alike")
    longest = f"{in_words(float(early.max()))}, and {in_words(float(later.max()))} afterwards"
    yield Line(f"{size}: the longest verb", longest, "≤ 250 ms")
    yield Line(f"{size}: a correct() at {FIRST} units", in_words(found.correct), "≤ 250 ms")


def time_of_help() -> list[float]:
    """Return the seconds that the command's help takes, five times."""
    command = [sys.executable, "-m", "dtrbandit", "--help"]
    return [seconds(lambda: subprocess.run(command, capture_output=True, check=True)) for _ in range(5)]


def measure_cold_start(*, bursts: float) -> Iterator[Line]:
    """Yield lines for processes that go on for so many seconds after the first units."""
    took = time_of_help()
    yield Line("dtrbandit --help", f"{in_words(float(np.median(took)))} (longest {in_words(max(took))})", "≤ 0.5 s")
    for size in SIZES:
        yield from lines(size, first_units(size, bursts))
