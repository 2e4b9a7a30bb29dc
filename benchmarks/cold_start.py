"""What the first units of a trial cost on a fresh machine, and when machine code takes over.

Every run is a process of its own with a cache folder of its own. Times count from the start of the process.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
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
NOWHERE = "/dev/null/nowhere"  # no folder can be made there
VERBS = 3  # of a whole unit
FASTER = 3.0  # from which compiled code is believed to have taken over


class Stretch(NamedTuple):
    """The first units: seconds to the first decision and to the last of 300 units, and all verbs (n,)."""

    decision: float
    done: float
    correct: float
    ended: NDArray[np.float64]
    took: NDArray[np.float64]


def caching(folder: str) -> dict[str, str]:
    """Return an environment whose compiled code is kept in a folder."""
    return {**os.environ, "NUMBA_CACHE_DIR": folder, "DTRBANDIT_CACHE_DIR": folder}


def first_units(folder: str, size: tuple[int, int], stretch: float) -> Stretch:
    script = Path(__file__).with_name("first_units.py")
    command = [sys.executable, str(script), *map(str, (*size, stretch, time.time()))]
    said = subprocess.run(command, env=caching(folder), capture_output=True, text=True, check=True).stdout
    found = json.loads(said.splitlines()[-1])
    return Stretch(
        found["decision"], found["done"], found["correct"], np.array(found["ended"]), np.array(found["took"])
    )


def take_over(stretch: Stretch) -> str:
    """Say from which second on the verbs were far faster than in the first 300 units, by their medians.

    Only their time tells, and a mean would follow the first verb after each pause.
    """
    second = stretch.ended.astype(np.int64)
    median = {s: float(np.median(stretch.took[second == s])) for s in np.unique(second).tolist()}
    first, late = float(np.median(stretch.took[: FIRST * VERBS])), float(np.median(list(median.values())[-5:]))
    if first < FASTER * late:
        return f"no take-over seen, median {in_words(first)} at first, {in_words(late)} at last"
    fast = 1 + max(s for s, cost in median.items() if cost > np.sqrt(first * late))
    return f"take-over by second {fast}, median {in_words(first)} before, {in_words(late)} after"


def lines(name: str, size: tuple[int, int], stretch: Stretch) -> Iterator[Line]:
    """Yield what a stretch showed."""
    what, small = f"{name}, {size}", size[0] <= 4
    most = "≤ 250 ms" if small else "≤ 1 s"
    early = stretch.took[: FIRST * VERBS]
    yield Line(f"{what}: import and first explained decision", in_words(stretch.decision), "≤ 1 s")
    measured = f"{in_words(float(early.sum()))} in verbs, {in_words(stretch.done)} from the start"
    yield Line(f"{what}: the first {FIRST} units", measured, "≤ 2 s" if small else "")
    yield Line(f"{what}: their longest verb", in_words(float(early.max())), most)
    yield Line(f"{what}: a first correct() then", in_words(stretch.correct), "≤ 250 ms" if small else "")
    later = stretch.took[FIRST * VERBS :]
    measured = f"{in_words(float(later.max()))}; {take_over(stretch)}"
    yield Line(f"{what}: longest later verb, until second {stretch.ended[-1]:.0f}", measured, most)


def time_of_help() -> list[float]:
    """Return the seconds that the command's help takes, five times."""
    command = [sys.executable, "-m", "dtrbandit", "--help"]
    return [seconds(lambda: subprocess.run(command, capture_output=True, check=True)) for _ in range(5)]


def measure_cold_start(*, empty: float, filled: float) -> Iterator[Line]:
    """Yield lines for stretches of so many seconds, from an empty cache, a filled one, and without any."""
    took = time_of_help()
    yield Line("dtrbandit --help", f"{in_words(float(np.median(took)))} (longest {in_words(max(took))})", "≤ 0.5 s")
    for size in SIZES:
        # a process that compiles in the background may still write when the folder goes
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            yield from lines("empty cache", size, first_units(folder, size, empty))
            yield from lines("filled cache", size, first_units(folder, size, filled))
    yield from lines("no place for a cache", SIZES[0], first_units(NOWHERE, SIZES[0], filled))
