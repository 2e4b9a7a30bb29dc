"""DTRBandit on the synthetic problem as one would write it in NumPy: both stages refitted on all data every round."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.floating]
Arms = NDArray[np.int8]
Fit = Callable[[Array, Array], Array]


def by_lstsq(x: Array, y: Array) -> Array:
    return np.linalg.lstsq(x, y, rcond=None)[0]


def by_normal_equations(x: Array, y: Array) -> Array:
    return np.linalg.solve(x.T @ x, x.T @ y)


class NumpyDTRBandit:
    """Algorithm 1 for two stages and two arms; features are (n, 2), arms (n, 2), each as observed."""

    def __init__(self, *, q: int, delta: float, fit: Fit) -> None:
        self.q, self.delta, self.fit = q, delta, fit

    def start(self, x1: Array, x2: Array, outcome: Array, arms: Arms) -> None:
        """Take over the rounds so far; there is room in the arrays for those to come."""
        self.x1, self.x2, self.outcome, self.arms = x1, x2, outcome, arms
        self.forced = np.array([self.plan(t) is not None for t in range(1, len(x1) + 1)])

    def plan(self, t: int) -> tuple[int, int] | None:
        """Return the forced plan of a round, if it is forced."""
        block, offset = divmod(t - 1, 4 * self.q)
        return divmod(offset // self.q, 2) if (block + 1) & block == 0 else None

    def refit(self, done: int) -> None:
        """Estimate Q̃ and Q̂ from the first ``done`` rounds."""
        self.hat = self.backward(slice(done))
        if self.forced[done - 1]:
            self.tilde = self.backward(np.nonzero(self.forced[:done])[0])

    def backward(self, rows: slice | NDArray[np.int64]) -> tuple[Array, Array]:
        """Fit the second stage, then the first to its best value."""
        first, second = self.arms[rows].T
        x1, x2, outcome = self.x1[rows], self.x2[rows], self.outcome[rows]
        late = np.array([self.fit(x2[second == arm], outcome[second == arm]) for arm in (0, 1)])
        target = np.maximum(x2 @ late[0], x2 @ late[1])
        return np.array([self.fit(x1[first == arm], target[first == arm]) for arm in (0, 1)]), late

    def choose(self, stage: int, x: Array) -> int:
        """Return the arm of a free round."""
        tilde, hat = self.tilde[stage] @ x, self.hat[stage] @ x
        gap = tilde[0] - tilde[1]
        return int(gap < 0) if abs(gap) > self.delta / 2 else int(hat[1] > hat[0])
