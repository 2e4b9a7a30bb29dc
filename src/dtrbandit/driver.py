"""The loop of a study: events of many units in order, by the methods that decide and learn for one unit at a time."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from dtrbandit.kernels import constants as c
from dtrbandit.kernels.arrays import Array, Integers, Matrix
from dtrbandit.policies.state import PolicyState

BUILT_FROM = c.BUILT_FROM


def read_event(what: int, stages: int, standing: int, m: int, enters: bool) -> int:
    """Return an event as a fact; none if it cannot be, or comes after the unit has left or ended."""
    if standing == c.ENDED or (what < stages and (standing == c.GONE or what != m)):
        return c.NO_FACT
    if what < stages:
        return c.ARRIVED if m == 0 or enters else c.LEFT
    if what > stages:
        return c.LOST
    return c.COMPLETED if standing == c.GONE or m == stages else c.NO_FACT


class Driver:
    """A policy's state at play with n units, and how far these have come.

    Attributes
    ----------
    drawn
        (n, M): the uniform numbers of decisions.
    arms, reasons
        (n, M): the arms, and the numbers of their reasons, −1 where a stage was not entered.
    nodes, standing
        (n,): where each unit stands in the tree, and whether it is under way.
    """

    def __init__(self, state: PolicyState, drawn: Matrix, n: int) -> None:
        stages = state.observed.stages
        self.state, self.drawn = state, drawn
        self.arms, self.reasons = np.full((n, stages), -1, dtype=np.int8), np.full((n, stages), -1, dtype=np.int8)
        self.nodes, self.standing = np.zeros(n, dtype=np.int64), np.full(n, c.UNDER_WAY, dtype=np.int8)

    def play(
        self,
        events: Integers, column: Integers, features: Array,
        enters: NDArray[np.uint8], leaf: Integers, outcome: Matrix,
    ) -> None:  # fmt: skip
        """Take events in order, decide for those who arrive, and write down their arms and reasons.

        The arrays are those of ``courses.Courses``.
        """
        self.column, self.features, self.enters, self.leaf, self.outcome = column, features, enters, leaf, outcome
        for e in range(events.shape[0]):
            self.step(events[e, 0], events[e, 1])

    def step(self, what: int, unit: int) -> None:
        """Let one event happen to a unit."""
        node, m, stages = self.nodes[unit], 0, self.state.observed.stages
        while m < stages and self.arms[unit, m] >= 0:
            m += 1
        place = node % self.state.observed.nodes_of_tree
        column = self.column[place] if m < stages else 0
        fact = read_event(what, stages, self.standing[unit], m, self.enters[unit, column])
        if fact == c.ARRIVED or fact == c.LEFT:
            for j in range(self.state.observed.widest[m]):
                self.state.observed.psi[j] = self.features[unit, column, j]
        number = self.state.observed.taught + unit
        if fact == c.ARRIVED:
            self.arrive(unit, number, m, node)
        elif fact == c.LEFT:
            self.standing[unit] = c.GONE
            self.state.take(fact, number, m, -1 if math.isnan(self.state.observed.psi[0]) else node, 0.0)
        elif fact == c.COMPLETED:
            self.standing[unit] = c.ENDED
            self.state.take(fact, number, m - 1, -1, self.outcome[unit, self.leaf[place]])
        elif fact == c.LOST:
            self.standing[unit] = c.ENDED
            self.state.take(fact, number, m, -1, 0.0)

    def arrive(self, unit: int, number: int, m: int, node: int) -> None:
        """Decide for a unit that has come to stage ``m``, and let the policy learn of both."""
        arm = self.state.decide(number, m, node, self.drawn[unit, m])
        forced = 1.0 if self.state.reason == c.FORCED else 0.0
        self.arms[unit, m] = arm
        self.reasons[unit, m] = self.state.reason
        self.nodes[unit] = self.state.observed.child[node, arm]
        self.state.take(c.ARRIVED, number, m, node, forced)
        self.state.take(c.GIVEN, number, m, arm, forced)
