"""Whether the targets of a stage are smooth: how many units are near a boundary between two later arms.

A unit is *near* if a feasible arm cannot be told from the best one at some later stage that it entered:
gap² ≤ 10.83 · Var(gap), the 99.9 % quantile of χ²₁. For it the maximum has a kink where the data are.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dtrbandit.evaluation.qlearning.induction import Sample, StageFit
from dtrbandit.evaluation.qlearning.influence import influences, root_of
from dtrbandit.kernels.arrays import Mask

NEAR = NormalDist().inv_cdf(1 - 0.001 / 2) ** 2


class Regularity(NamedTuple):
    """Whether the maximum in the targets of a stage is smooth for the units that count there.

    Attributes
    ----------
    units, near
        How many units count at the stage, and how many of them are near a boundary at a later one.
    share
        p̂, the share of these by weight.
    """

    units: int
    near: int
    share: float


def regularity(sample: Sample, stages: Sequence[StageFit], m: int) -> Regularity:
    """Return how many units that count at stage ``m`` are near a boundary later on."""
    counted = sample.rows[m].any(axis=1)
    near = np.zeros_like(counted)
    for k, phi in enumerate(influences(stages[m + 1 :]), m + 1):
        near |= counted & near_boundary(stages[k], sample.feasible[k], phi)
    share = float(sample.weights[near].sum() / sample.weights[counted].sum())
    return Regularity(int(counted.sum()), int(near.sum()), share)


def near_boundary(stage: StageFit, feasible: Mask, phi: NDArray[np.float64]) -> Mask:
    """Say for which units some feasible arm cannot be told from the best one: gap² ≤ 10.83 · Var(gap), (n,).

    A unit that did not enter, or had no choice, is not near. An arm whose variance nobody knows is.
    """
    root = root_of(phi)
    q = stage.features @ stage.coefficients.T
    near = np.zeros(len(q), dtype=np.bool_)
    for b in range(q.shape[1]):
        for c in range(q.shape[1]):
            asked = (stage.best == b) & feasible[:, c] & (b != c)
            psi, gap = stage.features[asked], q[asked, b] - q[asked, c]
            near[asked] |= ~(gap**2 > NEAR * ((psi @ (root[:, b] - root[:, c]).T) ** 2).sum(axis=1))
    return near
