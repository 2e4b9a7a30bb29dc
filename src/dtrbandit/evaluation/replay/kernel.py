"""Algorithm 2 for the built-in policies: decide for a row, and learn from it if its arms agree.

``fill_propensities`` serves values from data that a policy collected (``values/past_propensities.py``).

A decision at a later stage looks at the estimates of that stage, and at what the unit itself was given. Its own
earlier rows cannot have changed those estimates: a row of stage m teaches stage m and the stages before it, and it
counts only on arrival at stage m + 1. So to decide on a row's later arms it is enough to assume the earlier ones,
and to undo that afterwards. (LSVI-UCB with rare switching is the exception from three stages on: see
``looks_only_back``.)
"""

from __future__ import annotations

import math

import numpy as np

from dtrbandit.kernels import constants as c
from dtrbandit.kernels.arrays import Array, Integers, Matrix, Vector
from dtrbandit.policies.state import PolicyState

BUILT_FROM = c.BUILT_FROM


class Rows:
    """Finished units, n rows, that are offered to a policy's state.

    Attributes
    ----------
    features, arms, outcome
        (n, M, D), NaN where a context is not whole; (n, M), −1 where none was given; (n,), NaN where a unit dropped
        out.
    roots
        (n,): those of the copies of the tree that have what is feasible for each.
    drawn
        (T, M): the uniform numbers of the decisions of each round.
    offered
        How many rows ``play`` offered.
    """

    def __init__(
        self, state: PolicyState, features: Array, arms: Integers, outcome: Vector, roots: Integers, drawn: Matrix
    ) -> None:
        self.state, self.features, self.arms = state, features, arms
        self.outcome, self.roots, self.drawn = outcome, roots, drawn
        self.stages, self.offered = state.observed.stages, 0
        self.forced = np.zeros(self.stages)

    def play(self, order: Integers, unit: int, accepted: Integers) -> int:
        """Offer rows in order, and write those that agree into ``accepted`` (T,) from index ``unit`` on.

        Return the index of the next round. Fewer than all rows are offered once T are accepted.
        """
        self.offered = 0
        while self.offered < order.shape[0] and unit < accepted.shape[0]:
            row = order[self.offered]
            self.offered += 1
            if self.agrees(row, unit):
                self.accept(row, unit)
                accepted[unit] = row
                unit += 1
        return unit

    def fill_agreeing(self, unit: int, agreeing: Integers) -> None:
        """Set ``agreeing`` (n,) to whether the policy would give each row its arms in this round; learn nothing."""
        for row in range(agreeing.shape[0]):
            agreeing[row] = self.agrees(row, unit)

    def fill_propensities(self, unit: int, propensities: Array) -> None:
        """Fill ``propensities`` (n, M, K): how probable each arm is for a row in this free round.

        The row has its own earlier arms. Stages at which it had none are left as they are. The policy learns nothing.
        """
        for row in range(self.arms.shape[0]):
            node, m = self.roots[row], 0
            while m < self.stages and self.arms[row, m] >= 0:
                self.lay_out(row, m)
                self.state.decide(unit, m, node, 0.5)
                for a in range(propensities.shape[2]):
                    propensities[row, m, a] = self.state.sheet[c.PROPENSITY, a]
                node = self.assume(row, unit, m, node, False)
                m += 1
            self.undo(unit, m)

    def agrees(self, row: int, unit: int) -> bool:
        """Say whether a policy would give a row its arms at all stages it entered (Algorithm 2, line 7).

        Fills ``forced`` (M,) with whether each was scheduled. A unit that dropped out never agrees.
        """
        node, m, agreed = self.roots[row], 0, not math.isnan(self.outcome[row])
        number = unit + self.state.observed.taught
        while agreed and m < self.stages and self.arms[row, m] >= 0:
            self.lay_out(row, m)
            agreed = self.state.decide(number, m, node, self.drawn[unit, m]) == self.arms[row, m]
            if agreed:
                self.forced[m] = 1.0 if self.state.reason == c.FORCED else 0.0
                node = self.assume(row, number, m, node, self.state.reason == c.FORCED)
                m += 1
        self.undo(number, m)
        return agreed

    def lay_out(self, row: int, m: int) -> None:
        """Lay out the features of a row at stage ``m``."""
        for j in range(self.state.observed.widest[m]):
            self.state.observed.psi[j] = self.features[row, m, j]

    def assume(self, row: int, number: int, m: int, node: int, forced: bool) -> int:
        """Let a unit have the arm of a row for now, and return the node that it leads to.

        A row may have an arm that is closed by now. What the unit could have next is then what is left at the node
        where it stands, as it is for a unit that was given the arm before.
        """
        arm = self.arms[row, m]
        self.state.observed.arms[number, m] = arm
        self.state.assume(number, m, arm, forced)
        return self.state.observed.walk(node, arm)

    def undo(self, number: int, treated: int) -> None:
        """Take back the arms of so many stages."""
        for k in range(treated):
            self.state.observed.arms[number, k] = -1
            self.state.undo(number, k)

    def accept(self, row: int, unit: int) -> None:
        """Let a policy learn what happened to a row, fact by fact (Algorithm 2, line 8)."""
        node, m, number = self.roots[row], 0, unit + self.state.observed.taught
        while m < self.stages and self.arms[row, m] >= 0:
            self.lay_out(row, m)
            self.state.take(c.ARRIVED, number, m, node, 0.0)
            self.state.take(c.GIVEN, number, m, self.arms[row, m], self.forced[m])
            node = self.state.observed.child[node, self.arms[row, m]]
            m += 1
        if m < self.stages:
            self.lay_out(row, m)
            self.state.take(c.LEFT, number, m, -1 if math.isnan(self.features[row, m, 0]) else node, 0.0)
        self.state.take(c.COMPLETED, number, m - 1, 0, self.outcome[row])
