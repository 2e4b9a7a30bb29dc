"""What the exact learner remembers, as a handful of plain arrays.

Notation, here and in the kernels
---------------------------------
==============  ===========================================================================
``m``           stage, from 0; *link* m joins stage m to stage m + 1
``a``, ``k``    an arm of stage m, an arm of stage m + 1 (the *label* of a row)
``d``           features of a stage; ``D``, ``K`` the most of any stage (arrays are padded)
row             the features of one unit at one stage; *fixed* if its target is the
                outcome, else its target is the best of the next stage's Q-hat
counted         a row that takes part in the fit; an arm with no counted row has no Q-hat
page            everything kept for one arm of one stage, ``pages[m, a]``
lead            best minus second best Q-hat of a unit at stage m + 1, over the length of
                its features in the whitened metric
level           units with about the same lead, checked together
==============  ===========================================================================

A page has ``D`` columns; its rows are named by the constants below. ``FACTOR`` starts the
triangular factor R of the counted rows (D rows), then come the minimum-norm operator
(D rows, used while the rows lack rank) and, for each label k, the transposed cross
moments X[a, k]ᵀ = Σ ψ_{m+1} ψ_mᵀ (D rows each).
"""

from typing import NamedTuple

import numpy as np

from dtrbandit.kernels.triangular import FACTOR

ROWS, MODE = 0, 1  # columns of tallies: counted rows, and how to solve:
FULL, SHORT, ILL = 0, 1, 2  # full rank; lacking rank; too ill-conditioned for X

HEAD, TAIL, FILL, OLD_HEAD, OLD_FILL = range(5)  # columns of chains; in its last row
FREE, USED, HELD, DEPTH = range(4)  # first free block, blocks, units, levels in use
UNIT, NODE, LABEL = 0, 1, 2  # columns of tags
RADIUS, SLACK = 0, 1  # rows of gauges; in its last column
PATH, STEPS = 0, 1  # length and number of the steps since the levels were set
UNITS, RECHECKS, FLIPS, LIMIT = 0, 1, 2, 3  # entries of sizes; LIMIT + m for link m

LEVELS = 64  # at most; radii shrink by √2, to about the length of a step
BLOCK = 32  # slots per block of a level's chain


class Learner(NamedTuple):
    """The state of the learner: small arrays first, then those with an entry per unit."""

    child: np.ndarray  # (nodes, K) int32: the next node, -1 infeasible
    shape: np.ndarray  # (M, 2) int64: arms and features of each stage
    pages: np.ndarray  # (M, K, FACTOR + 2 D + K D, D)
    tallies: np.ndarray  # (M, K, 2) int64: ROWS, MODE
    whitener: np.ndarray  # (M - 1, D, D): C, upper triangular, CᵀC the pooled Gram matrix
    references: np.ndarray  # (M - 1, LEVELS + 1, K, D): whitened; the last, at the last scan
    gauges: np.ndarray  # (M - 1, 2, LEVELS + 1): RADIUS, SLACK; last, PATH, STEPS
    chains: np.ndarray  # (M - 1, LEVELS + 1, 5) int64: each level's blocks; last, FREE ...
    sizes: np.ndarray  # (3 + M,) int64: UNITS, RECHECKS, FLIPS, LIMIT of each link
    rows: np.ndarray  # (capacity, M D + 1): features of each stage, then the outcome
    marks: np.ndarray  # (capacity, 3 M + 1) int32: nodes, arms, counted, last stage
    cells: np.ndarray  # (M - 1, slots, D): features of stage m + 1 at whitened length 1
    tags: np.ndarray  # (M - 1, slots, 3) int32: UNIT, NODE, LABEL
    follows: np.ndarray  # (M - 1, blocks) int32: the next block of a chain


def create(child: np.ndarray, arms: list[int], features: list[int], *, capacity: int = 64) -> Learner:
    """Return the learner of a design before its first unit.

    ``child[node, arm]`` is the tree of feasible arms; ``arms`` and ``features`` count
    those of each stage.
    """
    stages, most_arms, most_features = len(arms), max(arms), max(features)
    links = stages - 1
    learner = Learner(
        child=np.ascontiguousarray(child, dtype=np.int32),
        shape=np.array(list(zip(arms, features, strict=True)), dtype=np.int64),
        pages=np.zeros((stages, most_arms, FACTOR + (2 + most_arms) * most_features, most_features)),
        tallies=np.zeros((stages, most_arms, 2), dtype=np.int64),
        whitener=np.zeros((links, most_features, most_features)),
        references=np.zeros((links, LEVELS + 1, most_arms, most_features)),
        gauges=np.zeros((links, 2, LEVELS + 1)),
        chains=np.zeros((links, LEVELS + 1, 5), dtype=np.int64),
        sizes=np.zeros(LIMIT + stages, dtype=np.int64),
        **_unit_arrays(stages, most_features, 0),
    )
    learner.chains[:, LEVELS, FREE] = -1
    return grow(learner, capacity)


def grow(learner: Learner, capacity: int) -> Learner:
    """Return the learner with room for ``capacity`` units; the small arrays are shared."""
    stages, _, _, most_features = learner.pages.shape
    roomy = _unit_arrays(stages, most_features, capacity)
    for name, array in roomy.items():
        old = getattr(learner, name)
        array[tuple(slice(size) for size in old.shape)] = old
    return learner._replace(**roomy)


def _unit_arrays(stages: int, most_features: int, capacity: int) -> dict[str, np.ndarray]:
    # Every level may have one block partly filled, and one more is being read.
    blocks = -(-capacity // BLOCK) + LEVELS + 1
    links = stages - 1
    return {
        "rows": np.zeros((capacity, stages * most_features + 1)),
        "marks": np.full((capacity, 3 * stages + 1), -1, dtype=np.int32),
        "cells": np.zeros((links, blocks * BLOCK, most_features)),
        "tags": np.zeros((links, blocks * BLOCK, 3), dtype=np.int32),
        "follows": np.zeros((links, blocks), dtype=np.int32),
    }
