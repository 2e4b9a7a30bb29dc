"""What the optimistic ridge regression believes, as a handful of plain arrays.

``ridge[IN_USE]`` is what decisions look at, ``ridge[NOW]`` is up to date. Each stage and arm has a small table with D
columns: D rows with the triangular factor R of Λ = λI + Σ φφᵀ, then the rows named below.
"""

from __future__ import annotations

from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from dtrbandit.design.spec import Design

Number = TypeVar("Number", bound=np.generic)

INVERSE, MOMENT, WEIGHTS = 0, 1, 2  # rows below R: reciprocals of its diagonal, Σ φ·target, and w
IN_USE, NOW = 0, 1
OWN, NEXT = 0, 1  # of a block: the features of the stage itself, and of the next
NODE, FILL = 0, 1  # columns of owners: the node that a block belongs to, and its rows
BLOCK = 128  # rows of a block
BONUS, RIDGE, OBSERVED, RARE, CLIP = range(5)  # places among the numbers; clips of all stages, then divisors


class Beliefs(NamedTuple):
    """What is believed, and the rows behind it; features are divided as the policy asks.

    Its numbers are β times the outcome's scale, λ, two options, the clip of each stage, and the divisors of the
    features of each.
    """

    numbers: NDArray[np.float64]
    ridge: NDArray[np.float64]  # (2, M, K, D + 3, D)
    fixed: NDArray[np.float64]  # (M, K, D): Σ φ·outcome over the rows whose target is the outcome
    latest: NDArray[np.int64]  # (M - 1, nodes): the block that a node's rows go to, −1 before the first
    used: NDArray[np.int64]  # (M - 1,): how many blocks there are
    owners: NDArray[np.int64]  # (M - 1, blocks, 2): NODE, FILL
    blocks: NDArray[np.float64]  # (M - 1, blocks, 2, D, BLOCK): OWN, NEXT
    values: NDArray[np.float64]  # (M - 1, blocks, K, BLOCK): of each row and arm of the next stage, when last swept
    valued: NDArray[np.int64]  # (M - 1, blocks, K): how many rows have such a value that still holds, from the first


def create(design: Design) -> Beliefs:
    """Return beliefs before the first unit; ``prepared`` puts the numbers of a policy in."""
    stages, arms, features = len(design.stages), max(design.arm_counts), max(design.dimensions)
    nodes = len(design.tree.feasible)
    return Beliefs(
        numbers=np.zeros(0),
        ridge=np.zeros((2, stages, arms, features + 3, features)),
        fixed=np.zeros((stages, arms, features)),
        latest=np.full((stages - 1, nodes), -1, dtype=np.int64),
        used=np.zeros(stages - 1, dtype=np.int64),
        owners=np.zeros((stages - 1, 0, 2), dtype=np.int64),
        blocks=np.zeros((stages - 1, 0, 2, features, BLOCK)),
        values=np.zeros((stages - 1, 0, arms, BLOCK)),
        valued=np.zeros((stages - 1, 0, arms), dtype=np.int64),
    )


def grow(beliefs: Beliefs, capacity: int, nodes: int = 0) -> Beliefs:
    """Return the beliefs with room for ``capacity`` units: every node with a row may have one block partly filled."""
    links, known = beliefs.latest.shape
    nodes = max(nodes, known)
    count = -(-capacity // BLOCK) + min(nodes, capacity)
    latest = np.full((links, nodes), -1, dtype=np.int64)
    latest[:, :known] = beliefs.latest
    return beliefs._replace(
        latest=latest,
        owners=_longer(beliefs.owners, count),
        blocks=_longer(beliefs.blocks, count),
        values=_longer(beliefs.values, count),
        valued=_longer(beliefs.valued, count),
    )


def _longer(array: NDArray[Number], count: int) -> NDArray[Number]:
    """Return a copy with so many blocks, zero where it had none."""
    longer = np.zeros((len(array), count, *array.shape[2:]), dtype=array.dtype)
    longer[:, : array.shape[1]] = array
    return longer
