"""How long each of many calls took: means, the 99.9th percentile and the longest, so that no stall is hidden."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Spread(NamedTuple):
    """Of the times of many calls: the mean, the 99.9th percentile and the longest, in seconds, and which it was."""

    mean: float
    rare: float
    longest: float
    where: int

    def __str__(self) -> str:
        return f"{self.mean * 1e6:.1f} µs; {in_words(self.rare)}; {in_words(self.longest)}"


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
