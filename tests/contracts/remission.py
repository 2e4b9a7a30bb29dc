"""A third party's environment, with leavers and an infeasible plan."""

from __future__ import annotations

import numpy as np

import dtrbandit as dtr
from dtrbandit.environments import PotentialOutcomes


class Remission:
    """A third party's environment: half leave early, and after arm b only arm b is feasible."""

    design = dtr.Design(
        [
            dtr.Stage("first", arms=("a", "b"), features="1 + x"),
            dtr.Stage("second", arms=("a", "b"), features="1 + x + z", enter_if="z > 0"),
        ],
        plans=[("a", "a"), ("a", "b"), ("b", "b")],
    )

    def draw(self, n: int, rng: np.random.Generator) -> PotentialOutcomes:
        """Draw Y = x + a₁ + max(z, 0)·a₂ + noise; z is uniform on (−1, 1), so the best a₂ adds 1/4 on average."""
        x, z = rng.random(n), rng.uniform(-1, 1, (n, 2))
        first = x[:, None] + [0, 1]
        second = first[:, :, None] + np.maximum(z, 0)[:, :, None] * [0, 1]
        second[:, 1, 0] = np.nan
        outcome = second + rng.standard_normal((n, 2, 1))
        return PotentialOutcomes(self.design, ({"x": x}, {"z": z}), outcome, (first + 0.25, second))
