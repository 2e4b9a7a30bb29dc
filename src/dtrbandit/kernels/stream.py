"""The stream of uniform numbers that decisions use, addressed by (round, stage).

A number depends on the seed and its address alone, so neither the order of arrivals nor the number of workers
can change it.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

ROUNDS = 256  # rounds drawn at a time


@lru_cache(maxsize=64)
def uniforms(seed: int, block: int, stages: int) -> NDArray[np.float64]:
    """Return the numbers of rounds 256·block + 1, …, 256·(block + 1), (256, stages), in [0, 1)."""
    numbers = _drawn(_generator(seed, block), stages)
    numbers.flags.writeable = False
    return numbers


def uniform(seed: int, t: int, m: int, stages: int) -> float:
    """Return the number of round ``t`` (from 1) and stage ``m`` (from 0)."""
    block, row = divmod(t - 1, ROUNDS)
    return uniforms(seed, block, stages).item(row, m)


def drawn_for(seed: int, rounds: int, stages: int) -> NDArray[np.float64]:
    """Return the numbers of at least so many rounds, (rounds, stages)."""
    blocks = max(1, (rounds + ROUNDS - 1) // ROUNDS)
    drawn, generator = np.empty((blocks, ROUNDS, stages)), _generator(seed, 0)
    state: Any = generator.state
    for block in range(blocks):
        state["state"]["key"][1] = block  # half the time of a new generator
        generator.state = state
        drawn[block] = _drawn(generator, stages)
    return drawn.reshape(-1, stages)


def _generator(seed: int, block: int) -> np.random.Philox:
    return np.random.Philox(key=np.array([seed, block], dtype=np.uint64))


def _drawn(generator: np.random.Philox, stages: int) -> NDArray[np.float64]:
    """Return the next numbers of a generator for 256 rounds."""
    raw = generator.random_raw(ROUNDS * stages)
    numbers: NDArray[np.float64] = ((raw >> np.uint64(11)) * np.float64(2.0**-53)).reshape(ROUNDS, stages)
    return numbers
