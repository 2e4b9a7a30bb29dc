"""Some units that have gone through all stages, as the store has them."""

from __future__ import annotations

import numpy as np

import dtrbandit as dtr
from dtrbandit.estimators.observed import Observed
from dtrbandit.kernels import constants as c

LABELS = "abcd"
PLANS: list[tuple[int, ...]] = [(0, 0), (0, 1), (1, 1)]


def bare_design(plans: list[tuple[int, ...]], arms: list[int], features: list[int]) -> dtr.Design:
    """Return a design whose features are bare columns."""
    stages = [
        dtr.Stage(f"s{m}", tuple(LABELS[:k]), "0 + " + " + ".join(f"x{m}_{j}" for j in range(d)))
        for m, (k, d) in enumerate(zip(arms, features, strict=True))
    ]
    return dtr.Design(stages, plans=[tuple(LABELS[arm] for arm in plan) for plan in plans])


def small_design(features: tuple[int, int] = (2, 3)) -> dtr.Design:
    """Return a design of two stages with two arms each, of which three plans are feasible."""
    return bare_design(PLANS, [2, 2], list(features))


def store(design: dtr.Design, room: int) -> Observed:
    """Return an empty store with room for some units."""
    seen = Observed(design)
    seen.reserve(room)
    return seen


def observed_units(design: dtr.Design, n: int, *, seed: int = 0, leave: int = 0) -> Observed:
    """Return n units whose outcomes are known; every ``leave``-th left before the second stage, if that is not 0."""
    rng, seen, stages = np.random.default_rng(seed), store(design, n), len(design.stages)
    for unit in range(n):
        node, left = 0, bool(leave) and unit % leave == 0
        for m in range(1 if left else stages):
            seen.psi[: design.dimensions[m]] = rng.normal(size=design.dimensions[m])
            seen.observe(c.ARRIVED, unit, m, node, 0.0)
            arm = int(rng.choice(np.flatnonzero(design.tree.child[node] >= 0)))
            seen.observe(c.GIVEN, unit, m, arm, 0.0)
            node = int(design.tree.child[node, arm])
        if left:
            seen.psi[: design.dimensions[1]] = rng.normal(size=design.dimensions[1])
            seen.observe(c.LEFT, unit, 1, node, 0.0)
        seen.observe(c.COMPLETED, unit, 0 if left else stages - 1, -1, float(rng.normal()))
    return seen
