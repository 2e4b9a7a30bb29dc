"""Constants to compute with by hand, and problems where an assumption fails."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import dtrbandit as dtr
from dtrbandit.environments import PotentialOutcomes, Synthetic
from dtrbandit.theory import Constants

CASE = Constants(
    d=3, x_max=2.0, x_inf=1.0, b_max=5.0, sigma=0.5,
    alpha=(1.0, 1.0), gamma=(1.5, 0.75), delta=(0.5, 0.25), phi=(0.1, 0.2),
)  # fmt: skip


@dataclass(frozen=True)
class Curved:
    """The synthetic problem with a Q₁ that is not linear: x₁ is seen as its square."""

    @property
    def design(self) -> dtr.Design:
        return Synthetic().design

    def draw(self, n: int, rng: np.random.Generator) -> PotentialOutcomes:
        units = Synthetic().draw(n, rng)
        return units._replace(contexts=({"x1": units.contexts[0]["x1"] ** 2}, units.contexts[1]))


@dataclass(frozen=True)
class Quiet:
    """A problem with hardly any noise: Q₁ = 2 ± x₁ is |x₂| exactly, and Q₂ = ± x₂."""

    @property
    def design(self) -> dtr.Design:
        return dtr.Design([dtr.Stage("first", ("1", "2"), "1 + x1"), dtr.Stage("second", ("1", "2"), "0 + x2")])

    def draw(self, n: int, rng: np.random.Generator) -> PotentialOutcomes:
        x1, sign = rng.uniform(-1, 1, n), rng.choice([-1.0, 1.0], (n, 2))
        q1 = np.column_stack([2 + x1, 2 - x1])
        x2 = sign * q1
        q2 = np.stack([x2, -x2], axis=2)
        return PotentialOutcomes(
            self.design, ({"x1": x1}, {"x2": x2}), q2 + 1e-9 * rng.standard_normal(q2.shape), (q1, q2)
        )


@dataclass(frozen=True)
class Leaving:
    """u = ± x by the first arm, Q₂ = u ± z; with z ≤ −½ a unit leaves with Y around u; after b only b may follow.

    z is uniform on (−1, 1), so Q₁ = x + E|z|1{z > −½} = x + 5/16 after a, and −x − E z1{z > −½} = −x − 3/16 after b.
    """

    @property
    def design(self) -> dtr.Design:
        stages = [
            dtr.Stage("first", ("a", "b"), "1 + x"),
            dtr.Stage("second", ("a", "b"), "1 + u + z", enter_if="z > -0.5"),
        ]
        return dtr.Design(stages, plans=[("a", "a"), ("a", "b"), ("b", "b")])

    def draw(self, n: int, rng: np.random.Generator) -> PotentialOutcomes:
        x, z = rng.uniform(-1, 1, n), rng.uniform(-1, 1, (n, 2))
        u = np.column_stack([x, -x])
        q1, q2 = u + np.array([5 / 16, -3 / 16]), np.stack([u + z, u - z], axis=2)
        outcome = np.where(z[:, :, None] > -0.5, q2, u[:, :, None]) + rng.standard_normal((n, 1, 1))
        q2[:, 1, 0] = outcome[:, 1, 0] = np.nan
        return PotentialOutcomes(self.design, ({"x": x}, {"u": u, "z": z}), outcome, (q1, q2))
