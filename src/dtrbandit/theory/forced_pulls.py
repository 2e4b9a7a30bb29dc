"""How often the schedule forces an arm by round t: exactly, and as the paper bounds it."""

from __future__ import annotations

import math
from typing import NamedTuple

from dtrbandit.design.parameters import whole
from dtrbandit.design.schedule import place
from dtrbandit.design.spec import Design
from dtrbandit.design.tree import Plan


class Between(NamedTuple):
    """A lower and an upper bound."""

    low: float
    high: float


class ForcedPulls(NamedTuple):
    """|𝒯_{a,m}(t)|, with bounds for any plans, and those of the lemma where it speaks of this design and round."""

    stage: str
    arm: str
    pulls: int
    bounds: Between
    lemma: Between | None


def forced_pulls(t: int, plans: tuple[Plan, ...], *, q: int, stage: int, arm: int) -> int:
    """Return |𝒯_{a,m}(t)|: in how many rounds up to ``t`` the schedule forces an arm at a stage.

    Of P plans, p have the arm. Block 2ⁿ − 1 of P·q rounds is forced and gives it q·p times (eq. "forced samples K";
    docs/readings.md, 14), so by round t there are ⌊log₂(b + 1)⌋ + 1 such blocks, b = ⌊(t − 1) / (P·q)⌋, of which the
    last may have only begun.

    Examples
    --------
    >>> two_by_two = ((0, 0), (0, 1), (1, 0), (1, 1))
    >>> [forced_pulls(t, two_by_two, q=1, stage=0, arm=1) for t in (2, 3, 4, 8, 28, 32)]
    [0, 1, 2, 4, 6, 8]
    """
    t, q = whole(t, "forced_pulls: t", low=0), whole(q, "forced_pulls: q", low=1)
    if t == 0:
        return 0
    forced, latest, offset = place(t, len(plans), q)
    having = [number for number, plan in enumerate(plans) if plan[stage] == arm]
    if not forced:
        return (latest + 1) * q * len(having)
    begun = sum(min(max(offset + 1 - number * q, 0), q) for number in having)
    return latest * q * len(having) + begun


def forced_pull_bounds(t: int, plans: tuple[Plan, ...], *, q: int, stage: int, arm: int) -> Between:
    """Return bounds on |𝒯_{a,m}(t)| for any plans: p·q·log₂(t / Pq) and p·q·⌈log₂(1 + t / Pq)⌉.

    Blocks 0, …, 2ⁿ − 1 are over by round 2ⁿ·P·q, and the last of them begins after round (2ⁿ − 1)·P·q.
    """
    t, q = whole(t, "forced_pull_bounds: t", low=0), whole(q, "forced_pull_bounds: q", low=1)
    blocks, having = t / (len(plans) * q), sum(plan[stage] == arm for plan in plans)
    return Between(
        having * q * max(math.log2(blocks), 0.0) if t else 0.0, float(having * q * math.ceil(math.log2(1 + blocks)))
    )


def forced_pull_lemma(t: int, *, q: int) -> Between:
    """Return q·log t and 3q·log t: for two by two arms and t ≥ 64q² (lemma "forced pull numbers")."""
    t, q = whole(t, "forced_pull_lemma: t", low=1), whole(q, "forced_pull_lemma: q", low=1)
    return Between(q * math.log(t), 3 * q * math.log(t))


def forced_pull_table(t: int, design: Design, *, q: int) -> tuple[ForcedPulls, ...]:
    """Return the forced pulls of every arm of a design by round ``t``; ``pandas.DataFrame`` takes it as it is."""
    plans = design.arm_plans
    lemma = design.arm_counts == (2, 2) and len(plans) == 4 and t >= 64 * q**2
    return tuple(
        ForcedPulls(
            each.name,
            label,
            forced_pulls(t, plans, q=q, stage=m, arm=arm),
            forced_pull_bounds(t, plans, q=q, stage=m, arm=arm),
            forced_pull_lemma(t, q=q) if lemma else None,
        )
        for m, each in enumerate(design.stages)
        for arm, label in enumerate(each.arms)
    )
