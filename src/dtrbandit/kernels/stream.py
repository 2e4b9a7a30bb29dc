"""The stream of uniform numbers that decisions use, addressed by (round, stage).

A number depends on the seed and its address alone, so neither the order of arrivals nor the number of workers
can change it.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

ROUNDS = 256  # rounds drawn at a time


@lru_cache(maxsize=64)
def uniforms(seed: int, block: int, stages: int) -> NDArray[np.float64]:
    """Return the numbers of rounds 256·block + 1, …, 256·(block + 1), (256, stages), in [0, 1)."""
    raw = np.random.Philox(key=np.array([seed, block], dtype=np.uint64)).random_raw(ROUNDS * stages)
    numbers: NDArray[np.float64] = ((raw >> np.uint64(11)) * np.float64(2.0**-53)).reshape(ROUNDS, stages)
    numbers.flags.writeable = False
    return numbers


def uniform(seed: int, t: int, m: int, stages: int) -> float:
    """Return the number of round ``t`` (from 1) and stage ``m`` (from 0)."""
    block, row = divmod(t - 1, ROUNDS)
    return uniforms(seed, block, stages).item(row, m)


def drawn_for(seed: int, rounds: int, stages: int) -> NDArray[np.float64]:
    """Return the numbers of at least so many rounds, (rounds, stages)."""
    return np.concatenate([uniforms(seed, block, stages) for block in range(max(1, (rounds + ROUNDS - 1) // ROUNDS))])
