"""How long each of many calls took: means, the 99.9th percentile and the longest, so that no stall is hidden."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Spread(NamedTuple):
    """Of the times of many calls: the mean, the 99.9th percentile and the longest, in seconds, and which it was."""

    mean: float
    rare: float
    longest: float
    where: int


class Spent(NamedTuple):
    """Seconds on the clock, and of a core: they differ where others use the machine."""

    clock: float
    core: float

    def __str__(self) -> str:
        return f"{in_words(self.clock)} (core {in_words(self.core)})"


def spent(call: Callable[[], object]) -> Spent:
    """Return what a call takes."""
    clock, core = time.perf_counter(), time.process_time()
    call()
    return Spent(time.perf_counter() - clock, time.process_time() - core)


def spread(nanoseconds: NDArray[np.int64]) -> Spread:
    """Return the spread of times."""
    where = int(np.argmax(nanoseconds))
    rare = float(np.quantile(nanoseconds, 0.999))
    return Spread(float(nanoseconds.mean()) / 1e9, rare / 1e9, int(nanoseconds[where]) / 1e9, where)


def in_words(duration: float) -> str:
    """Return a duration in seconds, with a unit that suits it."""
    if duration < 1e-3:
        return f"{duration * 1e6:.0f} µs"
    return f"{duration * 1e3:.1f} ms" if duration < 1.0 else f"{duration:.1f} s"
