"""What drawn units bring to each node of a design's tree; studies, episodes and theory share this table."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dtrbandit.design.feasibility import Tree
from dtrbandit.design.spec import Design
from dtrbandit.environments.potential_outcomes import PotentialOutcomes, along, observed
from dtrbandit.kernels.arrays import Array, Mask


class ByNode(NamedTuple):
    """What n units would bring to each node.

    Attributes
    ----------
    features, enters
        (n, inner nodes, D) and (n, inner nodes): the features on arrival, and whether the unit enters. A stage with
        fewer than D features is filled up with NaN. A unit that leaves with an incomplete context has NaN throughout.
    leaf
        (nodes,): the column of ``outcome`` for a unit that ends at the node.
    outcome
        (n, plans).
    """

    features: Array
    enters: Mask
    leaf: NDArray[np.int64]
    outcome: Array


def by_node(units: PotentialOutcomes, design: Design | None = None) -> ByNode:
    """Look up what each unit brings to each node; ``design`` is the learner's, by default the units' own.

    Examples
    --------
    >>> from dtrbandit.environments import Synthetic
    >>> table = by_node(Synthetic().draw(5, np.random.default_rng(0)))
    >>> table.features.shape, table.outcome.shape, table.leaf.tolist()
    ((5, 3, 2), (5, 4), [0, 0, 2, 0, 1, 2, 3])
    """
    design = design or units.design
    n, inner, plans = len(units.outcome), len(design.tree.child), design.arm_plans
    features = np.empty((n, inner, max(design.dimensions)))
    enters, leaf = np.ones((n, inner), dtype=np.bool_), np.zeros(inner + len(plans), dtype=np.int64)
    for node, arms in enumerate(design.tree.arms_to[:inner]):
        m, columns = len(arms), observed(units, arms)
        given = {design.stages[k].name: np.full(n, arm) for k, arm in enumerate(arms)}
        arrival = design.parsed[m]
        for j, values in enumerate(arrival.features.matrix(columns, given, n).T):  # not whole rows, which are short
            features[:, node, j] = values
        features[:, node, design.dimensions[m] :] = np.nan
        if arrival.condition is not None:
            enters[:, node] = arrival.condition.mask(columns)
            for name in arrival.columns:  # a leaver whose context is not whole has no features
                features[np.isnan(columns[name]), node] = np.nan
        leaf[node] = next(p for p, plan in enumerate(plans) if plan[:m] == arms)
    leaf[inner:] = np.arange(len(plans))
    return ByNode(features, enters, leaf, np.column_stack([along(units.outcome, plan) for plan in plans]))


def reached(enters: Mask, tree: Tree) -> Mask:
    """Return who enters each node and all before it, (n, inner nodes), if given the arms that lead there."""
    through = enters.copy()
    for node, parent in enumerate(tree.parents[: len(tree.child)]):
        if parent >= 0:
            through[:, node] &= through[:, parent]
    return through
