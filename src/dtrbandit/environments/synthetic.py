"""The synthetic problem of the paper's section 5.2."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dtrbandit.design.spec import Design
from dtrbandit.design.stages import Stage
from dtrbandit.environments.potential_outcomes import PotentialOutcomes

DESIGN = Design(
    [
        Stage("first", arms=("1", "2"), features="1 + x1"),
        Stage("second", arms=("1", "2"), features="1 + x2"),
    ]
)
OPTIMAL_VALUE = 6833 / 3360  # E max_a Q₁(x₁, a)


@dataclass(frozen=True)
class Synthetic:
    """x₁ uniform; x₂(a₁) a mixture of beta distributions with weight x₁; Y normal around a linear Q₂.

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

    def draw(self, n: int, rng: np.random.Generator) -> PotentialOutcomes:
        """Draw n units with their true Q-functions."""
        x1 = rng.random(n)
        first = rng.random((n, 2)) < x1[:, None]  # which part of the mixture, for each arm
        arm_1 = np.where(first[:, 0], rng.beta(4, 1, n), rng.beta(1, 2, n))
        arm_2 = np.where(first[:, 1], rng.beta(1, 4, n), rng.beta(2, 1, n))
        x2 = np.stack([arm_1, arm_2], axis=1)
        q2 = np.stack([x2 + 1, 3 * x2], axis=2)
        q1 = np.stack([17 / 12 + 239 / 240 * x1, 25 / 12 - 209 / 240 * x1], axis=1)
        outcome = q2 + rng.standard_normal((n, 2, 2))
        return PotentialOutcomes(DESIGN, ({"x1": x1}, {"x2": x2}), outcome, (q1, q2))
