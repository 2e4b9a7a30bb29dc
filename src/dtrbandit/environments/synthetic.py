"""The synthetic problem of the paper's section 5.2."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dtrbandit.design.spec import Design
from dtrbandit.design.stages import Stage
from dtrbandit.design.values import whole
from dtrbandit.environments.potential_outcomes import PotentialOutcomes, units_first
from dtrbandit.kernels.arrays import Array

DESIGN = Design(
    [
        Stage("first", arms=("1", "2"), features="1 + x1"),
        Stage("second", arms=("1", "2"), features="1 + x2"),
    ]
)
OPTIMAL_VALUE = 6833 / 3360  # E max_a Q₁(x₁, a)
FIRST = ((17 / 12, 239 / 240), (25 / 12, -209 / 240))
SECOND = ((1.0, 1.0), (0.0, 3.0))


@dataclass(frozen=True)
class Synthetic:
    """x₁ uniform; x₂(a₁) a mixture of beta distributions with weight x₁; Y normal around a linear Q₂.

    Label "section: synthetic experiments".

    Examples
    --------
    >>> units = Synthetic().draw(3, np.random.default_rng(0))
    >>> units.outcome.shape
    (3, 2, 2)
    """

    @property
    def design(self) -> Design:
        """Two stages, two arms, features (1, x)."""
        return DESIGN

    @property
    def coefficients(self) -> tuple[Array, ...]:
        """The true coefficients of each stage, (2, 2)."""
        return np.array(FIRST), np.array(SECOND)

    @property
    def optimal_value(self) -> float:
        """The mean outcome of the optimal regime."""
        return OPTIMAL_VALUE

    def draw(self, n: int, rng: np.random.Generator) -> PotentialOutcomes:
        """Draw n units with their true Q-functions."""
        n = whole(n, "Synthetic: n", low=0)
        x1 = rng.random(n)
        x2 = _second_contexts(x1, rng)
        q1, q2 = _lines(FIRST, x1), _lines(SECOND, x2)
        outcome = rng.standard_normal((2, 2, n))
        outcome += q2
        contexts = {"x1": x1}, {"x2": units_first(x2)}
        return PotentialOutcomes(DESIGN, contexts, units_first(outcome), (units_first(q1), units_first(q2)))


def _second_contexts(x1: Array, rng: np.random.Generator) -> Array:
    """Draw x₂ after each first arm, (2, n)."""
    first_component = rng.random((2, len(x1))) < x1  # of the mixture, for each arm
    root = rng.random((2, len(x1)))
    np.sqrt(root, out=root)  # by inverse distribution functions: Beta(2, 1), and 1 − root is Beta(1, 2)
    x2: Array = np.where(first_component, np.sqrt(root), 1 - root)  # Beta(4, 1), Beta(1, 2)
    np.subtract(1, x2[1], out=x2[1])  # Beta(1, 4), Beta(2, 1)
    return x2


def _lines(coefficients: tuple[tuple[float, float], ...], x: Array) -> Array:
    """Return the line of each arm at x, (…, arms, n)."""
    intercepts, slopes = np.array(coefficients).T[:, :, None]
    lines: Array = slopes * x[..., None, :]
    lines += intercepts
    return lines
