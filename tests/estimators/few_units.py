"""Some units that have gone through all stages, as the store has them."""

from __future__ import annotations

import numpy as np

import dtrbandit as dtr
from dtrbandit.estimators.observed import ARRIVED, COMPLETED, GIVEN, LEFT, Observed, create, grow, observe
from estimators.oracle import bare_design

PLANS: list[tuple[int, ...]] = [(0, 0), (0, 1), (1, 1)]


def small_design(features: tuple[int, int] = (2, 3)) -> dtr.Design:
    """Return a design of two stages with two arms each, of which three plans are feasible."""
    return bare_design(PLANS, [2, 2], list(features))


def store(design: dtr.Design, room: int) -> Observed:
    """Return an empty store with room for some units."""
    return grow(create(design), room)


def observed_units(design: dtr.Design, n: int, *, seed: int = 0, leave: int = 0) -> Observed:
    """Return n units whose outcomes are known; every ``leave``-th left before the second stage, if that is not 0."""
    rng, seen, stages = np.random.default_rng(seed), store(design, n), len(design.stages)
    for unit in range(n):
        node, left = 0, bool(leave) and unit % leave == 0
        for m in range(1 if left else stages):
            observe(seen, ARRIVED, unit, m, node, 0.0, rng.normal(size=design.dimensions[m]))
            arm = int(rng.choice(np.flatnonzero(design.tree.child[node] >= 0)))
            observe(seen, GIVEN, unit, m, arm, 0.0, np.zeros(0))
            node = int(design.tree.child[node, arm])
        if left:
            observe(seen, LEFT, unit, 1, node, 0.0, rng.normal(size=design.dimensions[1]))
        observe(seen, COMPLETED, unit, 0 if left else stages - 1, -1, float(rng.normal()), np.zeros(0))
    return seen
