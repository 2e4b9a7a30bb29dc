"""Units that are treated one stage at a time: an agent sees of their potential outcomes what it has led to."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dtrbandit.design.spec import Design
from dtrbandit.environments.potential_outcomes import (
    Environment,
    PotentialOutcomes,
    by_node,
    reached,
    require_environment,
)
from dtrbandit.errors import ObservationError, ProtocolError
from dtrbandit.kernels.arrays import Array, Mask


class Seen(NamedTuple):
    """What an agent sees: features (count, D), the stage (count,), and 1 where an arm is feasible, (count, K)."""

    features: Array
    stage: NDArray[np.int64]
    feasible: NDArray[np.int8]


class Episodes:
    """Units in progress at ``count`` places, drawn in batches.

    Attributes
    ----------
    over
        (count,): whether the unit is through. Before the first unit it is True.
    outcome
        (count,): the outcome of a unit that its last arm brought to its end; else 0.
    """

    def __init__(self, environment: Environment, count: int, *, batch: int) -> None:
        require_environment(environment, "an episode")
        self._environment, self._design, self._batch = environment, environment.design, batch
        self._units = self._coming = _blank(self._design, count)
        self._stage, self._feasible = _stages_and_feasible(self._design)
        self._node = np.zeros(count, dtype=np.int64)
        self.over, self.outcome = np.ones(count, dtype=np.bool_), np.zeros(count)
        self.forget()

    def forget(self) -> None:
        """Drop the units that were drawn and have not come yet."""
        self._coming = _blank(self._design, 0)

    def begin(self, places: Mask, rng: np.random.Generator) -> None:
        """Let a new unit come to each of these places."""
        wanted = int(places.sum())
        if len(self._coming.outcome) < wanted:
            self._coming = _table(self._environment.draw(self._batch, rng))
        for values, new in zip(self._units, self._coming, strict=True):
            values[places] = new[:wanted]
        self._coming = self._coming.after(wanted)
        self._node[places], self.over[places], self.outcome[places] = 0, False, 0.0

    def give(self, arms: NDArray[np.int64]) -> None:
        """Give each unit that is not through its arm, (count,)."""
        going = np.flatnonzero(~self.over)
        self._require_feasible(going, arms)
        node = self._design.tree.child[self._node[going], arms[going]]
        self._node[going], self.over[going] = node, self._units.ends[going, node]
        self.outcome[:] = 0.0
        self.outcome[going] = np.where(self.over[going], self._units.outcome[going, node], 0.0)

    def seen(self) -> Seen:
        """Return what an agent sees now. A unit that is through has zeros, a stage beyond the last, and no arm."""
        place, over = np.arange(len(self.over)), self.over
        stage = np.where(over, len(self._design.stages), self._stage[self._node])
        feasible = np.where(over[:, None], 0, self._feasible[self._node]).astype(np.int8)
        return Seen(self._units.features[place, self._node], stage, feasible)

    def _require_feasible(self, going: NDArray[np.int64], arms: NDArray[np.int64]) -> None:
        node, arm, count = self._node[going], arms[going], self._feasible.shape[1]
        refused = (arm < 0) | (arm >= count) | (self._feasible[node, np.clip(arm, 0, count - 1)] == 0)
        if refused.any():
            first = int(np.argmax(refused))
            stage, allowed = self._stage[node[first]], np.flatnonzero(self._feasible[node[first]])
            raise ProtocolError(
                f"the unit at place {going[first]} cannot be given arm {arm[first]} at stage "
                f"{self._design.stages[stage].name!r} after arms {self._design.tree.arms_to[node[first]]}: feasible "
                f"are {allowed.tolist()}, see the action mask"
            )


class _Table(NamedTuple):
    """What becomes of n units at each node of the design's tree, (n, nodes, …)."""

    features: Array
    ends: Mask
    outcome: Array

    def after(self, taken: int) -> _Table:
        """Return what is left when the first units are taken."""
        return _Table(self.features[taken:], self.ends[taken:], self.outcome[taken:])


def _blank(design: Design, n: int) -> _Table:
    nodes = len(design.tree.arms_to)
    features = np.zeros((n, nodes, max(design.dimensions)))
    return _Table(features, np.ones((n, nodes), dtype=np.bool_), np.zeros((n, nodes)))


def _table(units: PotentialOutcomes) -> _Table:
    """Return what each unit brings to each node: features where it is treated, an outcome where it ends."""
    design, brought = units.design, by_node(units)
    table, through = _blank(design, len(units.outcome)), reached(brought.enters, design.tree)
    table.outcome[:] = brought.outcome[:, brought.leaf]
    for node, stays in enumerate(through.T):
        d = design.dimensions[len(design.tree.arms_to[node])]
        table.features[stays, node, :d] = brought.features[stays, node, :d]
        table.ends[:, node] = ~stays
    if not (np.isfinite(table.features).all() and np.isfinite(table.outcome).all()):
        raise ObservationError(
            "the environment drew a unit whose features or outcome are not finite numbers where they can be seen; "
            "dtrbandit.environments.checked(units) names it"
        )
    return table


def _stages_and_feasible(design: Design) -> tuple[NDArray[np.int64], NDArray[np.int8]]:
    """Return the stage of each node, (nodes,), and its feasible arms, (nodes, K)."""
    feasible = np.zeros((len(design.tree.arms_to), max(design.arm_counts)), dtype=np.int8)
    feasible[: len(design.tree.child)] = design.tree.child >= 0
    return np.array([len(arms) for arms in design.tree.arms_to]), feasible
