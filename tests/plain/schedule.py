"""The forced-pull schedule (paper, eq. "forced samples" and eq. "forced samples K").

Rounds come in blocks of P·q, P the number of feasible plans; counted from 0, block 2ⁿ − 1 is forced for
n = 0, 1, 2, …, and gives each plan to q rounds. With P = K₁K₂ this is the paper's schedule for K arms, with
P = 4 the one for two.
"""

from __future__ import annotations

from typing import NamedTuple

from dtrbandit.design.feasibility import Plan, Tree


class Place(NamedTuple):
    """Where a round stands in the schedule.

    ``latest`` is the n of the last forced block that has begun by this round (for a free round the block that
    ends with the paper's e_t); ``offset`` counts the rounds before this one in its own block.
    """

    forced: bool
    latest: int
    offset: int


def place(t: int, *, plans: int, q: int) -> Place:
    """Return where round ``t`` (from 1) stands, given the number of plans.

    Examples
    --------
    >>> place(9, plans=4, q=1)
    Place(forced=False, latest=1, offset=0)
    """
    block, offset = divmod(t - 1, plans * q)
    latest = (block + 1).bit_length() - 1
    return Place(block + 1 == 1 << latest, latest, offset)


def next_of_plan(plan: Plan, arms: Plan, tree: Tree) -> int | None:
    """Return the arm that ``plan`` prescribes after ``arms``, or None once overrides have made it infeasible.

    An override that leaves the rest of the plan feasible changes nothing; after one that does not, all later
    stages are free (docs/readings.md, 6).
    """
    for m in range(len(arms) + 1):
        if tree.after((*arms[:m], *plan[m:])) < 0:
            return None
    return plan[len(arms)]
