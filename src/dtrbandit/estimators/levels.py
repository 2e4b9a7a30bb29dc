"""Which units' labels can have changed: levels of shrinking radius.

A label can flip only if some pair of arms has moved apart by more than the unit's lead.
Level l has a radius r_l and remembers the coefficients at which it was last checked, its
*reference*. Labels, leads, the metric, and the notation: ``labels.py``.

* Displacement of a level: the most any pair of arms has moved apart since its reference.
* Slack: a lower bound of radius minus displacement. Each scan takes off the length of
  the step just made; only when nothing is left is the displacement itself measured.
* A unit may enter a level if its *current* lead is at least radius + displacement, for
  then its lead at the reference was at least the radius, and while the displacement is
  less than that the label stands. (The lead at the reference alone says nothing.)
* The last level takes every unit. Its radius is rounding error: closer than that, two
  arms give the same target.

Units of a level lie in a chain of blocks, in the order in which they came, with all that
a re-check reads: contiguous memory, and one product when there are two arms.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dtrbandit.estimators.labels import Labels
from dtrbandit.estimators.observed import Observed
from dtrbandit.kernels import constants as c
from dtrbandit.kernels.arrays import Named, grow, named, restore, under, within

BUILT_FROM = c.BUILT_FROM
NAMES = (
    "rows", "white", "cross", "whitener", "references", "radius", "slack", "path", "steps", "head", "tail", "fill",
    "old_head", "old_fill", "free", "used", "held", "depth", "limit", "cells", "units", "nodes", "labels", "follows",
    "rechecks", "flips",
)  # fmt: skip


class Levels(Labels):
    """The labels of rows, kept up to date with the coefficients of the stage after theirs.

    Attributes
    ----------
    references
        (M − 1, LEVELS + 1, K, D): whitened; the last, at the last scan.
    radius, slack, path, steps
        (M − 1, LEVELS), and (M − 1,): length and number of the steps since the levels were set.
    head, tail, fill, old_head, old_fill
        (M − 1, LEVELS): the chain of each level, and one that is detached.
    free, used, held, depth, limit
        (M − 1,): first free block, blocks, units, levels in use, and the units at which radii are set again.
    cells, units, nodes, labels
        Of each slot: features of stage m + 1 at whitened length 1, (M − 1, slots, D), the unit, its node, its label.
    follows
        (M − 1, blocks): the next block of a chain.
    rechecks
        How many labels were looked at again.
    """

    def __init__(self, observed: Observed) -> None:
        super().__init__(observed)
        links, arms, most = observed.stages - 1, observed.width, observed.most
        self.references = np.zeros((links, c.LEVELS + 1, arms, most))
        self.radius, self.slack = np.zeros((links, c.LEVELS)), np.zeros((links, c.LEVELS))
        self.path, self.steps = np.zeros(links), np.zeros(links)
        self.head, self.tail, self.fill, self.old_head, self.old_fill = (
            np.zeros((links, c.LEVELS), dtype=np.int64) for _ in range(5)
        )
        self.used, self.held, self.depth, self.limit = (np.zeros(links, dtype=np.int64) for _ in range(4))
        self.free = np.full(links, -1, dtype=np.int64)
        self.cells = np.zeros((links, 0, most))
        self.units, self.nodes = np.zeros((links, 0), dtype=np.int32), np.zeros((links, 0), dtype=np.int32)
        self.labels = np.zeros((links, 0), dtype=np.int8)
        self.follows = np.zeros((links, 0), dtype=np.int32)
        self.rechecks = 0
        self.gap = np.zeros(most)

    def make_room(self, capacity: int) -> None:
        """Make room for ``capacity`` units.

        Every level may have one block partly filled, and one more is being read.
        """
        blocks = (capacity + c.BLOCK - 1) // c.BLOCK + c.LEVELS + 1
        grow(self, {"cells": 0, "units": 0, "nodes": 0, "labels": 0}, blocks * c.BLOCK, axis=1)
        grow(self, {"follows": 0}, blocks, axis=1)

    def named(self) -> Named:
        """Return what is known, by name."""
        return {**named(self, NAMES), **under("fits", self.fits.arrays())}

    def load_named(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Know what arrays say."""
        restore(self, NAMES, arrays)
        self.fits.load(within("fits", arrays))

    # -- units in levels -------------------------------------------------------------------------------------

    def insert(self, m: int, unit: int, node: int, label: int, lead: float) -> None:
        """Put a unit, with its node and features ``psi`` at stage m + 1, into its level; zeros need none."""
        length = self.whitened_length(m)
        if length > 0.0:
            slot = self.next_slot(m, self.find_level(m, 0, lead / length))
            for j in range(self.observed.widest[m + 1]):
                self.cells[m, slot, j] = self.psi[j] / length
            self.units[m, slot] = unit
            self.nodes[m, slot] = node
            self.labels[m, slot] = label
            self.held[m] += 1

    def find_level(self, m: int, start: int, lead: float) -> int:
        """Return the widest level that may take a unit with this lead, looking from ``start``."""
        level = start
        while level > 0 and self.radius[m, level - 1] <= lead:
            level -= 1
        while level < self.depth[m] - 1 and lead < 2.0 * self.radius[m, level] - self.slack[m, level]:
            level += 1
        return level

    def next_slot(self, m: int, level: int) -> int:
        """Take the next slot of a level, in a new block if its last one is full."""
        fill = self.fill[m, level]
        if fill % c.BLOCK == 0:
            self.open_block(m, level)
        self.fill[m, level] = fill + 1
        slot: int = self.tail[m, level] * c.BLOCK + fill % c.BLOCK
        return slot

    def open_block(self, m: int, level: int) -> None:
        """Lengthen a level's chain by a block: one given back earlier, or one never used.

        A level that was empty takes the current coefficients as its reference.
        """
        block = self.free[m]
        if block >= 0:
            self.free[m] = self.follows[m, block]
        else:
            block = self.used[m]
            self.used[m] = block + 1
        if self.fill[m, level] == 0:
            self.head[m, level] = block
            self.refer(m, level)
        else:
            self.follows[m, self.tail[m, level]] = block
        self.tail[m, level] = block

    def refer(self, m: int, level: int) -> None:
        """Make the current coefficients the reference of a level."""
        for a in range(self.observed.arm_count[m + 1]):
            p = self.problem[m + 1, a]
            for j in range(self.observed.dimension[m + 1, a]):
                self.references[m, level, a, j] = self.white[p, j]

    def displacement(self, m: int, level: int) -> float:
        """Return the most any two arms of stage m + 1 have moved apart since a reference."""
        most = 0.0
        for a in range(1, self.observed.arm_count[m + 1]):
            p = self.problem[m + 1, a]
            for b in range(a):
                if self.rows[m + 1, a] > 0 and self.rows[m + 1, b] > 0:
                    q, total = self.problem[m + 1, b], 0.0
                    for j in range(self.observed.dimension[m + 1, a]):
                        moved_a = self.white[p, j] - self.references[m, level, a, j]
                        moved_b = self.white[q, j] - self.references[m, level, b, j]
                        total += (moved_a - moved_b) * (moved_a - moved_b)
                    most = max(most, total)
        return math.sqrt(most)

    # -- when coefficients have changed ----------------------------------------------------------------------

    def scan(self, m: int) -> None:
        """Bring the labels of link ``m`` up to date with the coefficients of stage m + 1."""
        step, expired = self.displacement(m, c.LEVELS), False
        if step > 0.0:
            self.refer(m, c.LEVELS)
            self.path[m] += step
            self.steps[m] += 1.0
            for level in range(self.depth[m]):
                if self.fill[m, level] > 0:
                    self.slack[m, level] -= step
                    if self.slack[m, level] <= 0.0 and self.expire(m, level):
                        expired = True
        if expired:
            self.set_gap(m)
            for level in range(self.depth[m]):
                if self.old_fill[m, level] > 0:
                    self.recheck(m, level)

    def expire(self, m: int, level: int) -> bool:
        """Renew a level's slack; if the radius is used up, detach its chain and tell so."""
        moved = self.displacement(m, level)
        if moved < self.radius[m, level]:
            self.slack[m, level] = self.radius[m, level] - moved
            return False
        self.old_head[m, level] = self.head[m, level]
        self.old_fill[m, level] = self.fill[m, level]
        self.fill[m, level] = 0
        self.slack[m, level] = self.radius[m, level]
        return True

    def set_gap(self, m: int) -> None:
        """Keep the difference of two arms' coefficients, for re-checks by one product."""
        if self.observed.arm_count[m + 1] == 2:
            p, q = self.problem[m + 1, 0], self.problem[m + 1, 1]
            for j in range(self.observed.dimension[m + 1, 0]):
                self.gap[j] = self.fits.beta[p, j] - self.fits.beta[q, j]

    def recheck(self, m: int, level: int) -> None:
        """Relabel the units of a detached chain and place them again."""
        block, left = self.old_head[m, level], self.old_fill[m, level]
        self.rechecks += left
        self.old_fill[m, level] = 0
        while left > 0:
            self.recheck_block(m, level, block * c.BLOCK, min(left, c.BLOCK))
            following = self.follows[m, block]
            self.follows[m, block] = self.free[m]
            self.free[m] = block
            block = following
            left -= c.BLOCK

    def recheck_block(self, m: int, level: int, first: int, count: int) -> None:
        """Relabel and place again the units in ``count`` slots from ``first``."""
        pair, d = self.observed.arm_count[m + 1] == 2, self.observed.widest[m + 1]
        for slot in range(first, first + count):
            if pair:  # both are contenders: one product
                lead = 0.0
                for j in range(d):
                    lead += self.gap[j] * self.cells[m, slot, j]
                label = 1 if lead < 0.0 else 0
                lead = abs(lead)
            else:
                for j in range(d):
                    self.psi[j] = self.cells[m, slot, j]
                label, lead, _ = self.label_of(m + 1, self.nodes[m, slot])
            goal = self.next_slot(m, self.find_level(m, level, lead))
            for j in range(d):
                self.cells[m, goal, j] = self.cells[m, slot, j]
            unit, old = self.units[m, slot], self.labels[m, slot]
            self.units[m, goal] = unit
            self.nodes[m, goal] = self.nodes[m, slot]
            self.labels[m, goal] = label
            if label != old:
                self.flip(m, unit, old, label)

    # -- from the beginning ----------------------------------------------------------------------------------

    def forget(self) -> None:
        """Forget all labels and levels: of those to come, nothing may depend on those before."""
        self.forget_labels()
        self.references[:, :, :, :] = 0.0
        self.radius[:, :], self.slack[:, :] = 0.0, 0.0
        self.path[:], self.steps[:] = 0.0, 0.0
        self.head[:, :], self.tail[:, :], self.fill[:, :] = 0, 0, 0
        self.old_head[:, :], self.old_fill[:, :] = 0, 0
        self.free[:], self.used[:], self.held[:], self.depth[:], self.limit[:] = -1, 0, 0, 0, 0
        self.cells[:, :, :] = 0.0
        self.units[:, :], self.nodes[:, :], self.labels[:, :], self.follows[:, :] = 0, 0, 0, 0
        self.rechecks = 0

    def clear_levels(self, m: int) -> None:
        """Empty the levels of link ``m`` and set their radii.

        From how far apart the arms are down to half the usual step: a level narrower than
        that would expire every time.
        """
        radius, length = self.spread(m)
        usual_step = self.path[m] / max(self.steps[m], 1.0)
        depth = 1
        while depth < c.LEVELS and radius > c.NARROWEST * usual_step:
            self.set_radius(m, depth - 1, radius)
            depth += 1
            radius /= c.SHRINK
        self.set_radius(m, depth - 1, c.ROUNDING * length)
        self.free[m], self.used[m], self.held[m], self.depth[m] = -1, 0, 0, depth
        self.path[m], self.steps[m] = 0.0, 0.0
        self.refer(m, c.LEVELS)

    def set_radius(self, m: int, level: int, radius: float) -> None:
        """Make a level empty and give it a radius."""
        self.fill[m, level] = 0
        self.radius[m, level] = radius
        self.slack[m, level] = radius

    def spread(self, m: int) -> tuple[float, float]:
        """Return the largest whitened distance between two arms, and the largest length."""
        apart, longest = 0.0, 0.0
        for a in range(self.observed.arm_count[m + 1]):
            p = self.problem[m + 1, a]
            for b in range(a + 1):
                q, distance, length = self.problem[m + 1, b], 0.0, 0.0
                for j in range(self.observed.dimension[m + 1, a]):
                    value = self.white[p, j]
                    gap = value - self.white[q, j]
                    distance += gap * gap
                    length += value * value
                apart, longest = max(apart, distance), max(longest, length)
        if longest == 0.0:
            return 1.0, 0.0
        if apart <= c.ROUNDING * longest:
            apart = longest
        return math.sqrt(apart), math.sqrt(longest)
