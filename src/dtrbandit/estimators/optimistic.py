"""Optimistic ridge regression by backward induction (Jin et al. 2019, Algorithm 1, lines 3 to 9).

The bonus of every row changes with every new one. So the right-hand side of an earlier stage needs all rows, every
time: a sweep over the units, O(t), in one loop. Rows whose target is an outcome are summed once. The others lie in
blocks, feature by feature, and all rows of a block are at the same node of the next stage. A compiler turns such
loops into vector code.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dtrbandit.design.spec import Design
from dtrbandit.estimators.estimates import Estimates, per_stage
from dtrbandit.estimators.observed import Observed
from dtrbandit.estimators.ridge import RidgeRegression
from dtrbandit.estimators.soundness import optimistic_fault
from dtrbandit.kernels import constants as c
from dtrbandit.kernels.arrays import Matrix, Named, Vector, grow, longer, named, restore

BUILT_FROM = c.BUILT_FROM
BLOCKS = {"node": 0, "fill": 0, "own": 0, "later": 0, "values": 0, "valued": 0}  # an entry per block
NAMES = ("fixed", "latest", "used", *BLOCKS)


class OptimisticLearner:
    """The weights of all arms, and how uncertain they are; decisions look at what is in use.

    Attributes
    ----------
    bonus
        β times the scale of the outcomes.
    leavers_observed
        Whether the target of a unit that left early is its outcome, not the value of the stage it did not enter.
    rare
        Whether to refit only when a determinant has doubled, not after every fact.
    clip, divisors
        (M,): the upper limit of the values; (M, D): what features are divided by.
    fits
        Λ and w of each arm.
    fixed
        (M, K, D): Σ φ·outcome over the rows whose target is the outcome.
    latest, used
        (M − 1, nodes): the block that a node's rows go to, −1 before the first; (M − 1,): how many blocks there are.
    node, fill
        (M − 1, blocks): the node that a block belongs to, and how many rows it has.
    own, later
        (M − 1, blocks, D, ROWS): divided features of the stage itself, and of the next one.
    values, valued
        (M − 1, blocks, K, ROWS): of each row and arm of the next stage, when last swept; (M − 1, blocks, K): how many
        rows have such a value that still holds, from the first.
    phi
        (D,): the divided features at hand.
    """

    def __init__(
        self, observed: Observed, *,
        bonus: float, ridge: float, leavers_observed: bool, rare: bool, clip: Vector, divisors: Matrix,
    ) -> None:  # fmt: skip
        links, arms, most = observed.stages - 1, observed.width, observed.most
        self.observed = observed
        self.bonus, self.leavers_observed, self.rare = bonus, leavers_observed, rare
        self.clip, self.divisors = np.array(clip, dtype=np.float64), np.array(divisors, dtype=np.float64, order="C")
        self.arm_before = _arms_before(np.asarray(observed.following))
        self.fits, self.fixed = RidgeRegression(observed, ridge), np.zeros((observed.stages, arms, most))
        self.latest = np.full((links, observed.nodes_of_tree), -1, dtype=np.int64)
        self.used = np.zeros(links, dtype=np.int64)
        self.node, self.fill = (np.zeros((links, 0), dtype=np.int64) for _ in range(2))
        self.own, self.later = np.zeros((links, 0, most, c.ROWS)), np.zeros((links, 0, most, c.ROWS))
        self.values, self.valued = np.zeros((links, 0, arms, c.ROWS)), np.zeros((links, 0, arms), dtype=np.int64)
        # of a row: divided features, of the next stage and its own, and R⁻ᵀφ
        self.phi, self.row, self.work = (np.zeros(most) for _ in range(3))
        # of a sweep, for each slot of a block: Σ φ·target, the target, wᵀφ, ‖R⁻ᵀφ‖² and an entry of R⁻ᵀφ
        self.sums = np.zeros((arms, most, c.ROWS))
        self.target, self.mean, self.square, self.entry = (np.zeros(c.ROWS) for _ in range(4))
        self.start()

    def reserve(self, capacity: int, nodes: int) -> None:
        """Make room for ``capacity`` units at so many nodes: each with a row may have one block partly filled."""
        nodes = max(nodes, self.latest.shape[1])
        latest = longer(self.latest, nodes, -1, axis=1)
        grow(self, BLOCKS, (capacity + c.ROWS - 1) // c.ROWS + min(nodes, capacity), axis=1)
        self.latest = latest

    def arrays(self) -> Named:
        """Return what is known, by name."""
        return {**self.fits.arrays(), **named(self, NAMES)}

    def load(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Know what arrays say."""
        self.fits.load(arrays)
        restore(self, NAMES, arrays)

    def fault(self) -> str:
        """Say what kernels could not rely on in arrays that were loaded; nothing if all is in order."""
        return optimistic_fault(self)

    def estimates(self, design: Design) -> Estimates:
        """Return the weights w, on the scale of the features as given."""
        return Estimates(per_stage(design, np.asarray(self.fits.weights) / np.asarray(self.divisors)[:, None, :]))

    # -- what a policy asks ----------------------------------------------------------------------------------

    def divide(self, m: int) -> None:
        """Divide the features at hand as asked."""
        for j in range(self.observed.widest[m]):
            self.phi[j] = self.observed.psi[j] / self.divisors[m, j]

    def optimistic(self, m: int, a: int) -> float:
        """Return min(wᵀφ + β‖φ‖_{Λ⁻¹}, clip) for the divided features at hand (line 6)."""
        mean, square = 0.0, 0.0
        for j in range(self.observed.dimension[m, a]):
            value = self.phi[j]
            mean += self.fits.weights[m, a, j] * value
            for k in range(j):
                value -= self.fits.factor[m, a, k, j] * self.work[k]
            value *= self.fits.reciprocal[m, a, j]
            self.work[j] = value
            square += value * value
        clipped: float = min(mean + self.bonus * math.sqrt(square), self.clip[m])
        return clipped

    # -- one fact --------------------------------------------------------------------------------------------

    def learn(self, fact: int, unit: int, m: int) -> None:
        """Learn from a fact that is written down: an arrival completes the row of the stage before it."""
        if fact == c.ARRIVED and m > 0:
            self.count(unit, m - 1)
        elif fact == c.COMPLETED:
            self.count(unit, m)

    def count(self, unit: int, m: int) -> None:
        """Count a unit's row of stage ``m`` and refit what it changes: its arm, and all earlier stages."""
        a, node = self.observed.arms[unit, m], self.add_row(unit, m)
        if self.rare:
            if self.fits.doubled():
                self.refit()
            return
        target = self.observed.outcome[unit] if node < 0 else self.imputed(m, node)
        for j in range(self.observed.dimension[m, a]):
            self.fits.moment[m, a, j] += self.row[j] * target
        self.fits.publish(m, a)  # no other factor has changed
        self.fits.solve(m, a)
        changed = a
        for k in range(m - 1, -1, -1):
            self.sweep(k, changed)
            changed = c.ALL

    def add_row(self, unit: int, m: int) -> int:
        """Add a unit's row of stage ``m`` to R and to what is swept; return where its target is looked up.

        Leaves its divided features in ``row``, and those of the next stage, if that is where, in ``phi``.
        """
        a, node = self.observed.arms[unit, m], self.next_node(unit, m)
        for j in range(self.observed.dimension[m, a]):
            self.row[j] = self.observed.features[unit, m, j] / self.divisors[m, j]
            self.fits.work[j] = self.row[j]
        self.fits.rotate_in(m, a)
        if node < 0:
            for j in range(self.observed.dimension[m, a]):
                self.fixed[m, a, j] += self.row[j] * self.observed.outcome[unit]
        else:
            for j in range(self.observed.widest[m + 1]):
                self.phi[j] = self.observed.features[unit, m + 1, j] / self.divisors[m + 1, j]
            self.store(m, a, node)
        return node

    def next_node(self, unit: int, m: int) -> int:
        """Return where a row's target is looked up at stage m + 1, below 0 if its target is the outcome."""
        if m + 1 == self.observed.stages or (self.observed.last[unit] == m and self.leavers_observed):
            return -1
        node: int = self.observed.left[unit] if self.observed.last[unit] == m else self.observed.nodes[unit, m + 1]
        return node

    def imputed(self, m: int, node: int) -> float:
        """Return the optimistic value of stage m + 1 at a node, over its feasible arms."""
        highest = -c.INFINITY
        for k in range(self.observed.arm_count[m + 1]):
            if self.observed.child[node, k] >= 0:
                highest = max(highest, self.optimistic(m + 1, k))
        return highest

    def store(self, m: int, a: int, node: int) -> None:
        """Put a row into the latest block of its node, or a new one."""
        block = self.latest[m, node]
        if block < 0 or self.fill[m, block] == c.ROWS:
            block = self.used[m]
            self.used[m] += 1
            self.latest[m, node] = block
            self.node[m, block] = node
        slot = self.fill[m, block]
        self.fill[m, block] = slot + 1
        for j in range(self.observed.dimension[m, a]):
            self.own[m, block, j, slot] = self.row[j]
        for j in range(self.observed.widest[m + 1]):
            self.later[m, block, j, slot] = self.phi[j]

    # -- all rows --------------------------------------------------------------------------------------------

    def sweep(self, m: int, changed: int) -> None:
        """Refit the weights of stage ``m`` on all its rows: this is where the time goes.

        ``changed`` is the arm of stage m + 1 that has changed since the last time, or ALL.
        """
        for a in range(self.observed.arm_count[m]):
            for j in range(self.observed.dimension[m, a]):
                self.fits.moment[m, a, j] = self.fixed[m, a, j]
        if m + 1 < self.observed.stages and self.used[m] > 0:
            self.add_imputed(m, changed)
        for a in range(self.observed.arm_count[m]):
            self.fits.solve(m, a)

    def add_imputed(self, m: int, changed: int) -> None:
        """Add Σ φ·target over the blocks of stage ``m``, slot by slot within a block, then over the slots."""
        for k in range(self.observed.arm_count[m + 1]):
            self.fits.invert(m + 1, k)
        for a in range(self.observed.arm_count[m]):
            for j in range(self.observed.dimension[m, a]):
                for i in range(c.ROWS):
                    self.sums[a, j, i] = 0.0
        for block in range(self.used[m]):
            self.find_targets(m, block, changed)
            self.add_products(m, block)
        for a in range(self.observed.arm_count[m]):
            for j in range(self.observed.dimension[m, a]):
                total = self.fits.moment[m, a, j]
                for i in range(c.ROWS):
                    total += self.sums[a, j, i]
                self.fits.moment[m, a, j] = total

    def find_targets(self, m: int, block: int, changed: int) -> None:
        """Find the targets of a block's rows: the highest value of a feasible arm of stage m + 1."""
        fill = self.fill[m, block]
        for i in range(fill):
            self.target[i] = -c.INFINITY
        for k in range(self.observed.arm_count[m + 1]):
            if k == changed or changed == c.ALL:
                self.valued[m, block, k] = 0
            if self.observed.child[self.node[m, block], k] >= 0:
                if self.valued[m, block, k] < fill:  # else those of the last time still hold
                    self.value_rows(m, block, k)
                    self.valued[m, block, k] = fill
                for i in range(fill):
                    value = self.values[m, block, k, i]
                    self.target[i] = value if value > self.target[i] else self.target[i]

    def value_rows(self, m: int, block: int, a: int) -> None:
        """Write min(wᵀφ + β‖R⁻ᵀφ‖, clip) of an arm of stage m + 1 for all rows of a block."""
        fill, bonus, clip = self.fill[m, block], self.bonus, self.clip[m + 1]
        self.begin_rows(m, block, a)
        for j in range(2, self.observed.dimension[m + 1, a]):
            self.add_feature(m, block, a, j)
        for i in range(fill):
            self.values[m, block, a, i] = min(self.mean[i] + bonus * math.sqrt(self.square[i]), clip)

    def begin_rows(self, m: int, block: int, a: int) -> None:
        """Begin wᵀφ and ‖R⁻ᵀφ‖² with the first two features, or the only one: each pass over the rows takes time."""
        fill, weight, corner = self.fill[m, block], self.fits.weights[m + 1, a, 0], self.fits.inverse[a, 0, 0]
        if self.observed.dimension[m + 1, a] == 1:
            for i in range(fill):
                upper = corner * self.later[m, block, 0, i]
                self.mean[i] = weight * self.later[m, block, 0, i]
                self.square[i] = upper * upper
            return
        other, first, second = self.fits.weights[m + 1, a, 1], self.fits.inverse[a, 1, 0], self.fits.inverse[a, 1, 1]
        for i in range(fill):
            upper = corner * self.later[m, block, 0, i]
            lower = first * self.later[m, block, 0, i] + second * self.later[m, block, 1, i]
            self.mean[i] = weight * self.later[m, block, 0, i] + other * self.later[m, block, 1, i]
            self.square[i] = upper * upper + lower * lower

    def add_feature(self, m: int, block: int, a: int, j: int) -> None:
        """Add what feature ``j``, the third or a later one, adds to wᵀφ and ‖R⁻ᵀφ‖²; those before it two by two."""
        fill, weight = self.fill[m, block], self.fits.weights[m + 1, a, j]
        first, second = self.fits.inverse[a, j, 0], self.fits.inverse[a, j, 1]
        for i in range(fill):
            self.entry[i] = first * self.later[m, block, 0, i] + second * self.later[m, block, 1, i]
        for k in range(2, j - 1, 2):
            first, second = self.fits.inverse[a, j, k], self.fits.inverse[a, j, k + 1]
            for i in range(fill):
                value = self.entry[i] + first * self.later[m, block, k, i]
                self.entry[i] = value + second * self.later[m, block, k + 1, i]
        if j % 2 == 1:
            first = self.fits.inverse[a, j, j - 1]
            for i in range(fill):
                self.entry[i] += first * self.later[m, block, j - 1, i]
        first = self.fits.inverse[a, j, j]
        for i in range(fill):
            value = self.entry[i] + first * self.later[m, block, j, i]
            self.mean[i] += weight * self.later[m, block, j, i]
            self.square[i] += value * value

    def add_products(self, m: int, block: int) -> None:
        """Add φ·target of a block's rows to the sums of their arm, slot by slot."""
        a = self.arm_before[self.node[m, block] % self.observed.nodes_of_tree]
        for j in range(self.observed.dimension[m, a]):
            for i in range(self.fill[m, block]):
                self.sums[a, j, i] += self.own[m, block, j, i] * self.target[i]

    # -- from the beginning ----------------------------------------------------------------------------------

    def start(self) -> None:
        """Start from Λ = λI, no rows."""
        self.fits.start()
        self.fixed[...] = 0.0
        self.latest[...] = -1
        self.used[...] = 0
        self.node[...] = 0
        self.fill[...] = 0
        self.own[...] = 0.0
        self.later[...] = 0.0
        self.values[...] = 0.0
        self.valued[...] = 0

    def refit(self) -> None:
        """Put everything as it is now into use."""
        for m in range(self.observed.stages):
            for a in range(self.observed.arm_count[m]):
                self.fits.publish(m, a)
        for m in range(self.observed.stages - 1, -1, -1):
            self.sweep(m, c.ALL)

    def relearn(self) -> None:
        """Learn everything again from what was observed, after an amendment to a unit whose rows already count."""
        self.start()
        for m in range(self.observed.stages):
            for unit in range(self.observed.units):
                went_on = m + 1 < self.observed.stages and self.observed.nodes[unit, m + 1] >= 0
                if self.observed.arms[unit, m] >= 0 and (went_on or self.observed.last[unit] == m):
                    self.add_row(unit, m)
        self.refit()


def _arms_before(following: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return the arm that leads to each node of the design's tree, 0 for its root."""
    arms, leads_on = np.zeros(len(following), dtype=np.int64), following >= 0
    arms[following[leads_on]] = np.nonzero(leads_on)[1]
    return arms
