"""What the exact learner believes, as a handful of plain arrays; what was observed is in ``observed.py``.

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

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dtrbandit.design.spec import Design
from dtrbandit.estimators.observed import Number, longer
from dtrbandit.kernels.triangular import FACTOR

ROWS, MODE = 0, 1  # columns of tallies: counted rows, and how to solve:
FULL, SHORT, ILL = 0, 1, 2  # full rank; lacking rank; too ill-conditioned for X

HEAD, TAIL, FILL, OLD_HEAD, OLD_FILL = range(5)  # columns of chains; in its last row
FREE, USED, HELD, DEPTH = range(4)  # first free block, blocks, units, levels in use
UNIT, NODE, LABEL = 0, 1, 2  # columns of tags
RADIUS, SLACK = 0, 1  # rows of gauges; in its last column
PATH, STEPS = 0, 1  # length and number of the steps since the levels were set
RECHECKS, FLIPS, LIMIT = 0, 1, 2  # entries of sizes; LIMIT + m for link m

LEVELS = 64  # at most; radii shrink by √2, to about the length of a step
BLOCK = 32  # slots per block of a level's chain


class Beliefs(NamedTuple):
    """The state of the learner: small arrays first, then those with an entry per unit."""

    pages: NDArray[np.float64]  # (M, K, FACTOR + 2 D + K D, D)
    tallies: NDArray[np.int64]  # (M, K, 2): ROWS, MODE
    whitener: NDArray[np.float64]  # (M - 1, D, D): C, upper triangular, CᵀC the pooled Gram matrix
    references: NDArray[np.float64]  # (M - 1, LEVELS + 1, K, D): whitened; the last, at the last scan
    gauges: NDArray[np.float64]  # (M - 1, 2, LEVELS + 1): RADIUS, SLACK; last, PATH, STEPS
    chains: NDArray[np.int64]  # (M - 1, LEVELS + 1, 5): each level's blocks; last, FREE ...
    sizes: NDArray[np.int64]  # (2 + M,): RECHECKS, FLIPS, LIMIT of each link
    counted: NDArray[np.bool_]  # (capacity, M): which rows take part in the fit
    cells: NDArray[np.float64]  # (M - 1, slots, D): features of stage m + 1 at whitened length 1
    tags: NDArray[np.int32]  # (M - 1, slots, 3): UNIT, NODE, LABEL
    follows: NDArray[np.int32]  # (M - 1, blocks): the next block of a chain


def create(design: Design) -> Beliefs:
    """Return the beliefs before the first unit, without room for any."""
    stages, arms, features = len(design.stages), max(design.arm_counts), max(design.dimensions)
    links = stages - 1
    beliefs = Beliefs(
        pages=np.zeros((stages, arms, FACTOR + (2 + arms) * features, features)),
        tallies=np.zeros((stages, arms, 2), dtype=np.int64),
        whitener=np.zeros((links, features, features)),
        references=np.zeros((links, LEVELS + 1, arms, features)),
        gauges=np.zeros((links, 2, LEVELS + 1)),
        chains=np.zeros((links, LEVELS + 1, 5), dtype=np.int64),
        sizes=np.zeros(LIMIT + stages, dtype=np.int64),
        counted=np.zeros((0, stages), dtype=np.bool_),
        cells=np.zeros((links, 0, features)),
        tags=np.zeros((links, 0, 3), dtype=np.int32),
        follows=np.zeros((links, 0), dtype=np.int32),
    )
    beliefs.chains[:, LEVELS, FREE] = -1
    return beliefs


def grow(beliefs: Beliefs, capacity: int, nodes: int = 0) -> Beliefs:  # one signature
    """Return the beliefs with room for ``capacity`` units; the small arrays are shared."""
    # Every level may have one block partly filled, and one more is being read.
    blocks = -(-capacity // BLOCK) + LEVELS + 1
    return beliefs._replace(
        counted=longer(beliefs.counted, capacity, 0),
        cells=_wider(beliefs.cells, blocks * BLOCK),
        tags=_wider(beliefs.tags, blocks * BLOCK),
        follows=_wider(beliefs.follows, blocks),
    )


def _wider(array: NDArray[Number], length: int) -> NDArray[Number]:
    """Return a copy with more entries along the second axis."""
    copy = np.zeros((len(array), length, *array.shape[2:]), dtype=array.dtype)
    copy[:, : array.shape[1]] = array
    return copy
