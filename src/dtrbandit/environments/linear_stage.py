"""One stage of a random linear problem: its Q-functions, and a law of contexts that can reach any mean of max Q.

Inside, a context is y in [−1, 1]^p, and x = R·y with a reflection R.

- y₁ decides between the arms. Of L competitive arms, arm s = −(L−1)/2, …, (L−1)/2 has the line s·z − SPACING·s²/2 in
  z = y₁·scale, so that s and s + 1 cross at SPACING·(s + ½). A suboptimal arm runs DEFICIT below a competitive one.
- z keeps within 1 of a crossing, at the distance U^{1/α}. There the best two arms are those that cross, and they
  differ by that distance. A crossing and a side of it make a *cell*; in each cell one arm is best.
- All arms share a further effect c·y, with c > 0.
- The *upper* law of y prefers large values of every coordinate; the lower law is its mirror image.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from dtrbandit.kernels.arrays import Array

SPACING = 2.25  # above 2: other pairs of arms cross at crossings, or halfway between them, where no context lies
DEFICIT = 1.0  # the largest gap
OTHER_MEAN = 3 / 5  # of the other coordinates under the upper law: 2·Beta(4, 1) − 1


class Cells(NamedTuple):
    """The cells from left to right: their crossings and sides, and their shares under the upper law, (cells,) each."""

    crossing: Array
    side: Array
    share: Array
    scale: float

    def first_coordinate(self, distance: Array, rng: np.random.Generator) -> Array:
        """Return y₁ under the upper law at a distance from a crossing."""
        if len(self.share) == 2:  # the upper law is on the right of the only crossing
            return distance
        cell = np.searchsorted(np.cumsum(self.share)[:-1], rng.random(distance.shape), side="right")
        return (self.crossing[cell] + self.side[cell] * distance) / self.scale

    def middles(self, margin: float) -> Array:
        """Return the mean of y₁ in each cell."""
        return (self.crossing + self.side * margin / (margin + 1)) / self.scale


@dataclass(frozen=True, eq=False)
class LinearStage:
    """One stage: Q lies within ``width / 2`` of ``middle``.

    Attributes
    ----------
    coefficients
        (K, 1 + p), of 1 and x.
    mean_best, rise
        The mean of max_a Q is ``mean_best + rise`` under the upper law, ``mean_best − rise`` under the lower.
    """

    coefficients: Array
    reflection: Array
    cells: Cells
    margin: float
    middle: float
    width: float
    mean_best: float
    rise: float

    def shifted(self, middle: float) -> LinearStage:
        """Return the stage with all Q shifted to another middle."""
        shift, coefficients = middle - self.middle, self.coefficients.copy()
        coefficients[:, 0] += shift
        return replace(self, coefficients=coefficients, middle=middle, mean_best=self.mean_best + shift)

    def draw(self, value: Array, rng: np.random.Generator) -> Array:
        """Draw contexts, (p, …, n), such that the mean of max_a Q is ``value``, (…, n), at most ``rise`` off the mean.

        The weight of the upper law is linear in the value.
        """
        weight = 0.5 + (value - self.mean_best) / (2 * self.rise)
        sign = np.where(rng.random(value.shape) < weight, 1.0, -1.0)
        y = [sign * self.cells.first_coordinate(rng.random(value.shape) ** (1 / self.margin), rng)]
        y += [sign * (2 * np.sqrt(np.sqrt(rng.random(value.shape))) - 1) for _ in self.reflection[1:]]
        return np.stack([_combined(row, y) for row in self.reflection])

    def q(self, x: Array) -> Array:
        """Return Q of every arm, (…, K, n), in contexts x, (p, …, n)."""
        return np.stack([row[0] + _combined(row[1:], list(x)) for row in self.coefficients], axis=-2)


def linear_stage(
    arms: int, columns: int, *, margin: float, suboptimal: int, before: float | None, rng: np.random.Generator
) -> LinearStage:
    """Return a random stage with ``rise`` at least half the width of the stage before, if there is one."""
    cells = _cells(arms - suboptimal)
    middles = cells.middles(margin)
    lines = rng.permutation(_lines(arms - suboptimal, suboptimal, cells.scale))  # (K, 2), of 1 and y₁
    best = (lines[:, :1] + lines[:, 1:] * middles).max(axis=0)  # one arm is best in a cell: its mean is at the middle
    rise = float(rng.uniform(1.0, 1.25)) * (before / 2 if before else 0.3)
    common = _common(rise, np.array([cells.share @ middles] + [OTHER_MEAN] * (columns - 1)), rng)
    of_y = np.column_stack([lines[:, 0], lines[:, 1] + common[0], np.tile(common[1:], (arms, 1))])
    reach = np.abs(of_y[:, 1:]).sum(axis=1)
    high, low = float((of_y[:, 0] + reach).max()), float((of_y[:, 0] - reach).min())
    reflection = _reflection(columns, rng)
    return LinearStage(
        coefficients=np.column_stack([of_y[:, 0], of_y[:, 1:] @ reflection]),
        reflection=reflection,
        cells=cells,
        margin=margin,
        middle=(high + low) / 2,
        width=high - low,
        mean_best=float(cells.share @ best),
        rise=rise,
    )


def _common(rise: float, upper_mean: Array, rng: np.random.Generator) -> Array:
    """Return a random effect c > 0 of y that raises the mean by ``rise`` under the upper law."""
    direction = rng.uniform(0.5, 1.5, len(upper_mean))
    return np.asarray(direction * rise / (direction @ upper_mean))


def _cells(competitive: int) -> Cells:
    crossings = max(competitive - 1, 1)  # without a competitor, a point to keep close to
    crossing = SPACING * (np.arange(crossings) - (crossings - 1) / 2)
    share = np.arange(2.0 * crossings)
    return Cells(np.repeat(crossing, 2), np.tile([-1.0, 1.0], crossings), share / share.sum(), crossing[-1] + 1)


def _lines(competitive: int, suboptimal: int, scale: float) -> Array:
    slope = np.arange(competitive) - (competitive - 1) / 2
    best = np.column_stack([-SPACING * slope**2 / 2, slope * scale])
    return np.concatenate([best, best[np.arange(suboptimal) % competitive] - (DEFICIT, 0)])


def _reflection(columns: int, rng: np.random.Generator) -> Array:
    normal = rng.standard_normal(columns)
    return np.eye(columns) - 2 * np.outer(normal, normal) / (normal @ normal)


def _combined(row: Array, columns: list[Array]) -> Array:
    """Return Σ row[j]·columns[j], in this order."""
    total: Array = row[0] * columns[0]
    for factor, column in zip(row[1:], columns[1:], strict=True):
        total += factor * column
    return total
