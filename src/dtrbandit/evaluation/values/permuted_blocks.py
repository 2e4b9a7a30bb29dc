"""Forced blocks in permuted order: which of their units have a score, and with which probabilities.

The plans of such a block are a random permutation of its slots. Before the block begins, each unit has each plan with
the same probability, whatever the units are like. So the probability of arm a after the arms p is

    plans with p and a / plans with p

The log recorded other numbers, those given the slots that earlier units of the block had used up. They reach 1 at the
block's end. With the ones above, and with whatever else enters a score settled before the block begins, the scores of
its units have the regime's value as their mean. They are not independent: a plan given to one unit is missing for
the others. For units that are alike, the covariance of two of them is −Var(g(plan)) / (slots − 1) with g the mean score
given the plan. It is never positive, so the sum of squares is the variance of the block's sum or more.

If a unit of the block could not draw from all slots, the probabilities of the units after it are others. This is so if
an arm was contraindicated or closed for it, or if an override changed which arms could follow. Then none of the block's
units has a score.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dtrbandit.design.schedule import place
from dtrbandit.design.spec import Design
from dtrbandit.evaluation.cohort.cohort import Cohort
from dtrbandit.evaluation.cohort.origin import recorded_of
from dtrbandit.kernels.arrays import Mask, Matrix
from dtrbandit.record.events import Assigned, Event, Opened, Overridden

FORCED = "forced"
NOT_FROM_ALL = (
    "{units:,} units of {blocks:,} forced blocks have no score: an arm was contraindicated or closed for one of the "
    "block, or an override changed which arms could follow."
)


class PermutedBlocks(NamedTuple):
    """The units of permuted forced blocks.

    Attributes
    ----------
    scored
        (n,): whose probabilities are those of the schedule.
    start
        (n,): the position in the log of the first decision of a scored unit's block; of others, their own first event.
    note
        Which blocks have no score, in a sentence; empty if all have.
    """

    scored: Mask
    start: NDArray[np.int64]
    note: str = ""


def permuted_blocks(cohort: Cohort) -> PermutedBlocks:
    """Return the units of permuted forced blocks; none if the policy of the log has no such blocks."""
    origin, recorded = recorded_of(cohort)
    q = 0 if origin.log is None else _permuted(origin.log[0])
    if origin.log is None or not q:
        return PermutedBlocks(np.zeros(len(cohort), dtype=np.bool_), recorded.enrolled)
    blocks = _blocks(origin.log, cohort.design, q)
    own = np.array([blocks.of_unit.get(unit, -1) for unit in cohort.units], dtype=np.int64)
    scored = (own >= 0) & ~np.isin(own, sorted(blocks.broken))
    start = recorded.enrolled.copy()
    start[scored] = [blocks.start[block] for block in own[scored].tolist()]
    left_out = (own >= 0) & ~scored
    note = NOT_FROM_ALL.format(units=left_out.sum(), blocks=len(np.unique(own[left_out]))) if left_out.any() else ""
    return PermutedBlocks(scored, start, note)


def scheduled_probabilities(design: Design, before: NDArray[np.integer[Any]]) -> Matrix:
    """Return the probability of each arm of the next stage after the arms ``before`` (n, m), (n, K_m)."""
    n, m = before.shape
    plans = np.array(design.arm_plans, dtype=np.int64)
    agree = (before[:, None, :] == plans[None, :, :m]).all(axis=2)  # (n, P)
    counts = agree.astype(float) @ (plans[:, m, None] == np.arange(design.arm_counts[m])).astype(float)
    total = counts.sum(axis=1, keepdims=True)
    found: Matrix = np.divide(counts, total, out=np.full((n, design.arm_counts[m]), np.nan), where=total > 0)
    return found


def _permuted(opened: Event) -> int:
    """Return q of a policy that forces blocks in permuted order, 0 for any other."""
    policy = opened.policy if isinstance(opened, Opened) else {}
    ours = policy.get("name") == "DTRBandit" and policy.get("schedule") == "permuted" and "function" not in policy
    return int(str(policy["q"])) if ours else 0


class _Blocks(NamedTuple):
    """The block of each unit of a forced round, where each starts in the log, and those not drawn from all slots."""

    of_unit: dict[str, int]
    start: dict[int, int]
    broken: set[int]


def _blocks(log: Sequence[Event], design: Design, q: int) -> _Blocks:
    blocks = _Blocks({}, {}, set())
    decided: defaultdict[str, list[int]] = defaultdict(list)
    given: defaultdict[str, list[int]] = defaultdict(list)
    labels = {stage.name: stage.arms for stage in design.stages}
    plans, after = len(design.arm_plans), design.tree.after
    for position, event in enumerate(log):
        if isinstance(event, Overridden) and event.unit in blocks.of_unit:
            stages = [stage.name for stage in design.stages]
            given[event.unit][stages.index(event.stage)] = labels[event.stage].index(event.arm)
        if not isinstance(event, Assigned):
            continue
        decision = event.decision
        forced, block, _ = place(decision.round, plans, q)
        if not forced:
            continue
        blocks.of_unit[decision.unit] = block
        blocks.start.setdefault(block, position)
        as_decided, as_given = after(tuple(decided[decision.unit])), after(tuple(given[decision.unit]))
        same = design.tree.feasible[as_decided] == design.tree.feasible[as_given]
        if decision.reason != FORCED or decision.infeasible or not same:
            blocks.broken.add(block)
        for arms in (decided, given):
            arms[decision.unit].append(labels[decision.stage].index(decision.arm))
    return blocks
