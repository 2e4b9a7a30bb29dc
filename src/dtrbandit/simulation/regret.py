"""Regret: what a policy loses against the best regime (Proposition 1; docs/readings.md, 9)."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from dtrbandit.design.feasibility import left_for_sets, sets_of
from dtrbandit.environments.potential_outcomes import PotentialOutcomes
from dtrbandit.kernels.arrays import Array, Mask

Arms = NDArray[np.int8]

LOWEST = -np.finfo(np.float64).max  # of a Q that an environment does not give: a unit that left


class Truth:
    """The true Q-functions of drawn units, made ready to judge arms.

    Attributes
    ----------
    oracle
        (n,): the outcome of each unit under the plan that takes argmax_a Q_m at each stage; of equal arms the lowest.
    """

    def __init__(self, units: PotentialOutcomes) -> None:
        assert units.q is not None
        n, counts = len(units.outcome), units.design.arm_counts
        feasible = feasible_for_each(units)
        q = [_masked(q.reshape(n, -1, k), mask) for q, k, mask in zip(units.q, counts, feasible, strict=True)]
        with np.errstate(invalid="ignore"):  # a unit that left may have any Q, infinite ones too
            self._gaps = [_best(values)[:, :, None] - values for values in q]
        self.oracle = _oracle(units, q, feasible)

    def regret(self, arms: Arms) -> Array:
        """Return max_a Q_m − Q_m(A_m) along each unit's own history, (n, M); 0 at stages without an arm.

        The maximum is over the arms feasible in the environment for that unit, even where the learner has fewer plans
        or an arm is closed.
        """
        n, stages = arms.shape
        rows, cell = np.arange(n), np.zeros(n, dtype=np.int64)
        regret = np.zeros((n, stages))
        for m, gap in enumerate(self._gaps):
            entered = arms[:, m] >= 0
            arm = np.maximum(arms[:, m], 0)
            np.copyto(regret[:, m], gap[rows, cell, arm], where=entered)
            cell = cell * gap.shape[2] + arm
        return regret


def feasible_for_each(units: PotentialOutcomes) -> list[Mask]:
    """Return, for each stage, which arms are feasible for each unit after which earlier arms, (n, K₁ ⋯ K_{m−1}, K_m).

    Where nothing is contraindicated the first axis has length 1: one row stands for all units.
    """
    design, counts = units.design, units.design.arm_counts
    numbers, sets = sets_of(units.excluded, len(units.outcome))
    left = left_for_sets(design.tree, sets)  # (sets, nodes, K)
    masks = [np.zeros((len(sets), math.prod(counts[:m]), k), dtype=np.bool_) for m, k in enumerate(counts)]
    for node, arms in enumerate(design.tree.arms_to[: left.shape[1]]):
        m = len(arms)
        cell = np.ravel_multi_index(arms, counts[:m]) if arms else 0
        masks[m][:, cell] = left[:, node, : counts[m]]
    return masks if len(sets) == 1 else [mask[numbers] for mask in masks]


def _masked(q: Array, mask: Mask) -> Array:
    return q if mask.all() else np.where(mask, q, np.nan)


def _best(q: Array) -> Array:
    """Return the maximum over the last axis, leaving out NaN; a loop over arms is fast, since there are few."""
    best = q[..., 0]
    for arm in range(1, q.shape[-1]):
        best = np.fmax(best, q[..., arm])
    return best


def _oracle(units: PotentialOutcomes, q: list[Array], feasible: list[Mask]) -> Array:
    """Return the outcome of each unit under the first best of the feasible arms at each stage, (n,)."""
    n = len(units.outcome)
    rows, cell = np.arange(n), np.zeros(n, dtype=np.int64)
    for values, mask in zip(q, feasible, strict=True):
        best, first, every = np.full(n, -np.inf), np.zeros(n, dtype=np.int64), mask.all()
        for arm in range(values.shape[2]):
            own = np.fmax(values[rows, cell, arm], LOWEST)
            if not every:
                own[~mask[rows if len(mask) > 1 else 0, cell, arm]] = -np.inf
            np.putmask(first, own > best, arm)
            np.maximum(best, own, out=best)
        cell = cell * values.shape[2] + first
    outcome: Array = units.outcome.reshape(n, -1)[rows, cell]
    return outcome
