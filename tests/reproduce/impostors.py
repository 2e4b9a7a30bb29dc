"""Curves that are not what a claim says, with the noise of real paths: a claim may hold of 5 % of 200 runs at most."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dtrbandit.kernels.arrays import Array
from dtrbandit.reproduce import Claim

Law = Callable[[Array], Array]  # mean regret up to rounds

RUNS, AT_MOST = 200, 10
PATHS = 40  # as in the paper
PER_OCTAVE, SHAPE = 3, 4.0  # stretches of rounds with a noise of their own, of standard deviation 1/2
SPREAD = 0.15  # of log regret between paths
BAD, WORSE = 0.02, 5.0  # one path in fifty loses five times as much from some round on

LOGARITHM: Law = lambda t: 20 * np.log1p(t / 20)  # noqa: E731 (laws in one line each)
ROOT: Law = lambda t: 2 * np.sqrt(t)  # noqa: E731
POWER_03: Law = lambda t: 10 * t**0.3  # noqa: E731
LINE: Law = lambda t: 0.1 * t  # noqa: E731
LATE_ROOT: Law = lambda t: 30 * np.minimum(t, 10) + 2 * np.sqrt(t)  # noqa: E731
LATE_POWER_03: Law = lambda t: 30 * np.minimum(t, 10) + 10 * t**0.3  # noqa: E731  (an early cost hides nothing)


def noisy(law: Law, rng: np.random.Generator, *, paths: int = PATHS, horizon: int = 400) -> Array:
    """Return regret in each round of each path, (paths, horizon), whose typical path follows the law."""
    t = np.arange(1, horizon + 1)
    stretch = (PER_OCTAVE * np.log2(t)).astype(int)
    noise = rng.gamma(SHAPE, 1 / SHAPE, (paths, stretch[-1] + 1))[:, stretch]
    scale = rng.lognormal(0, SPREAD, (paths, 1))
    onset = np.where(rng.random(paths) < BAD, rng.integers(horizon, size=paths), horizon)[:, None]
    rounds: Array = np.diff(law(np.arange(horizon + 1.0))) * noise * scale * np.where(t > onset, WORSE, 1.0)
    return rounds


def held(claim: Callable[[np.random.Generator], Claim]) -> int:
    """Count the runs in which a claim holds."""
    return sum(claim(np.random.default_rng(seed)).holds for seed in range(RUNS))
