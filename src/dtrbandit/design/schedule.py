"""The forced-pull schedule (paper, eq. "forced samples" and eq. "forced samples K").

Rounds come in blocks of P·q, P the number of feasible plans; counted from 0, block 2ⁿ − 1 is forced for
n = 0, 1, 2, …, and gives each plan to q rounds. With P = K₁K₂ this is the paper's schedule for K arms, with
P = 4 the one for two.
"""

from __future__ import annotations

from dtrbandit.design.feasibility import Plan
from dtrbandit.kernels import constants as c

BUILT_FROM = c.BUILT_FROM


def place(t: int, plans: int, q: int) -> tuple[bool, int, int]:
    """Return where round ``t`` (from 1) stands in the schedule of so many plans: (forced, latest, offset).

    ``latest`` is the n of the last forced block that has begun by this round (for a free round the block that
    ends with the paper's e_t); ``offset`` counts the rounds before this one in its own block.

    Examples
    --------
    >>> place(9, 4, 1)
    (False, 1, 0)
    """
    size = max(plans * q, 1)  # compiled, a division by zero would end the program
    block, offset = (t - 1) // size, (t - 1) % size
    latest, power = 0, 1
    while latest < 62 and 2 * power <= block + 1:  # compiled, a whole number has 64 bits
        latest += 1
        power *= 2
    return block + 1 == power, latest, offset


def forced_plan(t: int, plans: tuple[Plan, ...], *, q: int) -> Plan | None:
    """Return the plan prescribed for round ``t``, or None when the policy may choose.

    Examples
    --------
    >>> [forced_plan(t, ((0, 0), (0, 1), (1, 0), (1, 1)), q=1) for t in (1, 4, 8, 9)]
    [(0, 0), (1, 1), (1, 1), None]
    """
    forced, _, offset = place(t, len(plans), q)
    return plans[offset // q] if forced else None
