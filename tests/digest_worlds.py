"""Where the units of digests come from: uniform numbers, sums and products, which have the same bits everywhere."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

import dtrbandit as dtr
from courses import stream
from dtrbandit.environments import PotentialOutcomes
from dtrbandit.kernels.arrays import Array


class Leaving:
    """A quarter leaves before the second stage; after arm b only b is feasible."""

    design = dtr.Design(
        [dtr.Stage("first", ("a", "b"), "1 + x"), dtr.Stage("second", ("a", "b"), "1 + x + z", enter_if="z > -0.5")],
        plans=[("a", "a"), ("a", "b"), ("b", "b")],
    )

    def draw(self, n: int, rng: np.random.Generator) -> PotentialOutcomes:
        x, z = 2 * rng.random(n) - 1, 2 * rng.random((n, 2)) - 1
        first = x[:, None] * np.array([-0.5, 0.5]) + np.array([0.0, 0.25])
        second = first[:, :, None] + np.maximum(z + 0.5, 0)[:, :, None] * np.array([0.0, 0.5])
        second[:, 1, 0] = np.nan
        noise = rng.random((n, 2, 1)) - 0.5
        return PotentialOutcomes(self.design, ({"x": x}, {"z": z}), second + noise, (first + 0.125, second))


class ThreeStages:
    """Two, three and two arms; nobody leaves."""

    design = dtr.Design(
        [
            dtr.Stage("first", ("a", "b"), "1 + x"),
            dtr.Stage("second", ("a", "b", "c"), "1 + z + C(first)"),
            dtr.Stage("third", ("a", "b"), "1 + w + z:w"),
        ]
    )

    def draw(self, n: int, rng: np.random.Generator) -> PotentialOutcomes:
        x, z, w = (2 * rng.random(shape) - 1 for shape in ((n,), (n, 2), (n, 2, 3)))
        first = x[:, None] * np.array([-0.5, 0.5])
        second = first[:, :, None] + z[:, :, None] * np.array([-0.5, 0.0, 0.75])
        third = second[..., None] + w[..., None] * np.array([-0.5, 0.5]) + np.array([0.0, 0.25])
        outcome: Array = third + rng.random(third.shape) - 0.5
        return PotentialOutcomes(self.design, ({"x": x}, {"z": z}, {"w": w}), outcome, (first, second, third))


class Quarterly:
    """A unit a day; each response and the outcome so many days later; every eleventh unit is lost."""

    def __init__(self, days: int) -> None:
        self.days = days

    def events(self, n: int, stages: int, rng: np.random.Generator) -> NDArray[np.int32]:  # noqa: ARG002  # no chance in it
        times = [
            (t + self.days * m, t, stages + 1 if t % 11 == 10 and m == stages else m)
            for t in range(n)
            for m in range(stages + 1)
        ]
        return np.array([(what, unit) for _, unit, what in sorted(times)], dtype=np.int32)


def row_weights(units: int) -> Array:
    """Return weights whose sums are exact: 1, 2 and 4, in random order."""
    return np.array([1.0, 2.0, 4.0])[stream(11).integers(3, size=units)]
