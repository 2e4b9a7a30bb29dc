"""Units that are treated one stage at a time: an agent sees of their potential outcomes what it has led to."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dtrbandit.design.feasibility import left_for_sets
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


class Observed(NamedTuple):
    """What an agent sees: features (count, D), the stage (count,), and 1 where an arm is feasible, (count, K)."""

    features: Array
    stage: NDArray[np.int64]
    feasible: NDArray[np.int8]


class Episodes:
    """Units under way, one in each of ``count`` slots; they are drawn in batches.

    Attributes
    ----------
    ended
        (count,): whether the unit has ended. Before the first unit it is True.
    outcome
        (count,): the outcome of a unit that its last arm brought to its end; else 0.
    """

    def __init__(self, environment: Environment, count: int, *, batch: int) -> None:
        require_environment(environment, "an episode")
        self._environment, self._design, self._batch = environment, environment.design, batch
        self._units = self._coming = _blank(self._design, count)
        self._stage, self._feasible = _stages_and_feasible(self._design)
        self._node = np.zeros(count, dtype=np.int64)
        self.ended, self.outcome = np.ones(count, dtype=np.bool_), np.zeros(count)
        self.drop_waiting()

    def drop_waiting(self) -> None:
        """Drop the units that were drawn and have not started yet."""
        self._coming = _blank(self._design, 0)

    def begin(self, slots: Mask, rng: np.random.Generator) -> None:
        """Start a new unit in each of these slots."""
        wanted = int(slots.sum())
        if len(self._coming.outcome) < wanted:
            self._coming = _table(self._environment.draw(self._batch, rng))
        for values, new in zip(self._units, self._coming, strict=True):
            values[slots] = new[:wanted]
        self._coming = self._coming.after(wanted)
        self._node[slots], self.ended[slots], self.outcome[slots] = 0, False, 0.0

    def assign(self, arms: NDArray[np.int64]) -> None:
        """Give each unit that has not ended its arm, (count,)."""
        going = np.flatnonzero(~self.ended)
        self._require_feasible(going, arms)
        node = self._design.tree.child[self._node[going], arms[going]]
        self._node[going], self.ended[going] = node, self._units.ends[going, node]
        self.outcome[:] = 0.0
        self.outcome[going] = np.where(self.ended[going], self._units.outcome[going, node], 0.0)

    def observe(self) -> Observed:
        """Return what an agent sees now. A unit that has ended has zeros, a stage beyond the last, and no arm."""
        ended = self.ended
        stage = np.where(ended, len(self._design.stages), self._stage[self._node])
        feasible = np.where(ended[:, None], 0, self._feasible[self._node]).astype(np.int8)
        return Observed(self._units.features[np.arange(len(ended)), self._node], stage, feasible)

    def _require_feasible(self, going: NDArray[np.int64], arms: NDArray[np.int64]) -> None:
        node, arm, count = self._node[going], arms[going], self._feasible.shape[1]
        refused = (arm < 0) | (arm >= count) | (self._feasible[node, np.clip(arm, 0, count - 1)] == 0)
        if refused.any():
            first = int(np.argmax(refused))
            stage, allowed = self._stage[node[first]], np.flatnonzero(self._feasible[node[first]])
            raise ProtocolError(
                f"the unit in slot {going[first]} cannot be given arm {arm[first]} at stage "
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
    """Return what each unit has at each node: features where it is treated, an outcome where it ends."""
    design, nodes = units.design, by_node(units)
    table, entered = _blank(design, len(units.outcome)), reached(nodes.enters, design.tree)
    table.outcome[:] = nodes.outcome[:, nodes.leaf]
    for node, stays in enumerate(entered.T):
        d = design.dimensions[len(design.tree.arms_to[node])]
        table.features[stays, node, :d] = nodes.features[stays, node, :d]
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
    feasible[: len(design.tree.child)] = left_for_sets(design.tree, [()])[0]
    return np.array([len(arms) for arms in design.tree.arms_to]), feasible
