"""What built-in policies remember beside the learner, as plain arrays, and how they show a decision.

Arrays that a policy does not use are empty. ``unit`` is a round's number less one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dtrbandit.design.formula import Matrix, Vector
from dtrbandit.design.spec import Design

# kinds of policy
DTR_BANDIT, EPSILON_GREEDY, LSVI_UCB, FIXED_REGIME, UNIFORM_RANDOM = range(5)

# reasons, by number
REASON_NAMES = ("forced", "clear", "close", "greedy", "explore", "optimistic", "uniform", "rule", "only_feasible")
FORCED, CLEAR, CLOSE, GREEDY, EXPLORE, OPTIMISTIC, UNIFORM, RULE, ONLY_FEASIBLE = range(9)

# rows of what is shown of a decision, one column per arm
Q_TILDE, Q_HAT, PROPENSITY, CONTENDER = range(4)

# entries of the tally
FORCED_UNITS, PULLS, PULLED = range(3)

LIVE = 0  # page of the forced estimate that still learns; 1 + n is the one frozen after forced block n
BLOCKS = 64  # forced blocks double in distance: more than any trial will see


class Memory(NamedTuple):
    """The arrays of a policy, small ones first, then those with an entry per unit."""

    numbers: Vector  # the policy's parameters
    plans: NDArray[np.int64]  # (P, M): feasible plans
    tally: NDArray[np.int64]  # (3,): FORCED_UNITS, PULLS, PULLED
    tilde: NDArray[np.float64]  # (1 + BLOCKS, M, K, D): coefficients of Q̃, NaN where there are none
    frozen: NDArray[np.bool_]  # (BLOCKS,): whether Q̃ was frozen after the block
    drawn: NDArray[np.int64]  # (BLOCKS, nodes, K): slots of a permuted block that are used up
    ridge: NDArray[np.float64]  # (2, M, K, D + 3, D): optimistic ridge regression, in use and as it is now
    scheduled: NDArray[np.int8]  # (capacity, M): the arm scheduled in a forced round, −1 where none was
    forced: NDArray[np.int32]  # (capacity,): the units of forced rounds, in order
    pulls: NDArray[np.int32]  # (P d + capacity,): plans of initial pulls to make, in order
    pulled: NDArray[np.int32]  # (capacity,): the plan of a unit's initial pull, −1 for none


def create_memory(design: Design, kind: int, numbers: Vector, *, scores: list[Matrix] | None = None) -> Memory:
    """Return the memory of a policy before the first unit."""
    stages, arms, features = len(design.stages), max(design.arm_counts), max(design.dimensions)
    bandit, greedy, optimist = kind == DTR_BANDIT, kind == EPSILON_GREEDY, kind == LSVI_UCB
    pages = 1 + BLOCKS if bandit else int(kind == FIXED_REGIME)
    pulls = np.repeat(np.arange(len(design.arm_plans)), features) if greedy else np.zeros(0)
    memory = Memory(
        numbers=np.asarray(numbers, dtype=np.float64),
        plans=np.array(design.arm_plans, dtype=np.int64),
        tally=np.array([0, len(pulls), 0], dtype=np.int64),
        tilde=np.full((pages, stages, arms, features), np.nan),
        frozen=np.zeros(BLOCKS if bandit else 0, dtype=np.bool_),
        drawn=np.zeros((BLOCKS if bandit else 0, *design.tree.child.shape), dtype=np.int64),
        ridge=np.zeros((2, stages, arms, features + 3, features) if optimist else (0, 0, 0, 0, 0)),
        scheduled=np.zeros((0, stages if bandit else 0), dtype=np.int8),
        forced=np.zeros(0, dtype=np.int32),
        pulls=pulls.astype(np.int32),
        pulled=np.zeros(0, dtype=np.int32),
    )
    for m, matrix in enumerate(scores or []):
        memory.tilde[LIVE, m, : matrix.shape[0], : matrix.shape[1]] = matrix
    return memory


def grow_memory(memory: Memory, kind: int, capacity: int) -> Memory:
    """Return the memory with room for ``capacity`` units; the small arrays are shared."""
    if kind == DTR_BANDIT:
        scheduled = np.full((capacity, memory.plans.shape[1]), -1, dtype=np.int8)
        scheduled[: len(memory.scheduled)] = memory.scheduled
        return memory._replace(scheduled=scheduled, forced=_longer(memory.forced, capacity))
    if kind == EPSILON_GREEDY:
        pulled = np.full(capacity, -1, dtype=np.int32)
        pulled[: len(memory.pulled)] = memory.pulled
        # every unit may have to be made up for, so the pulls to make may grow by one for each
        start = len(memory.pulls) - len(memory.pulled)
        return memory._replace(pulled=pulled, pulls=_longer(memory.pulls, start + capacity))
    return memory


def _longer(array: NDArray[np.int32], length: int) -> NDArray[np.int32]:
    longer = np.zeros(length, dtype=np.int32)
    longer[: len(array)] = array
    return longer
