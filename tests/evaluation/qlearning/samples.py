"""Samples for Q-learning: the nine models of the literature, a small SMART, and one with everything in it."""

from __future__ import annotations

import numpy as np

from dtrbandit.evaluation.induction.induction import Sample


def smart(n: int, psi: float, rng: np.random.Generator) -> Sample:
    """Return a SMART: o₁, o₂ = ±1 and arms are fair coins, y = ψ·a₂ + noise; no first-stage contrast exists."""
    o1, o2 = (rng.choice([-1.0, 1.0], n) for _ in range(2))
    first, second = (rng.integers(2, size=n) for _ in range(2))
    ones, yes = np.ones(n), np.ones((n, 2), dtype=np.bool_)
    return Sample(
        features=(np.c_[ones, o1], np.c_[ones, o1, o2, first]),
        feasible=(yes, yes),
        rows=(first[:, None] == [0, 1], second[:, None] == [0, 1]),
        entered=yes,
        outcome=psi * second + rng.normal(size=n),
        weights=ones,
    )


def everything(n: int, rng: np.random.Generator) -> Sample:
    """Return three stages, three arms, one of them infeasible after another, leavers, drop-outs and weights."""
    arms = np.stack([rng.integers(3, size=n) for _ in range(3)], axis=1)
    arms[:, 1] = np.where((arms[:, 0] == 2) & (arms[:, 1] == 2), 0, arms[:, 1])
    feasible = [np.ones((n, 3), dtype=np.bool_) for _ in range(3)]
    feasible[1][arms[:, 0] == 2, 2] = False
    entered = np.ones((n, 3), dtype=np.bool_)
    entered[:, 1] = rng.random(n) < 0.8  # the others leave early
    entered[:, 2] = entered[:, 1] & (rng.random(n) < 0.8)
    outcome = rng.normal(size=n) + arms[:, 0] * 0.3
    lost = rng.random(n) < 0.1
    outcome[lost] = np.nan
    rows = []
    for m in range(3):
        known = ~lost | (entered[:, m + 1] if m < 2 else False)
        rows.append((entered[:, m] & known)[:, None] & (arms[:, m, None] == np.arange(3)))
    features = tuple(np.c_[np.ones(n), rng.normal(size=(n, m + 1))] for m in range(3))
    return Sample(features, tuple(feasible), tuple(rows), entered, outcome, rng.uniform(0.3, 3.0, size=n))
