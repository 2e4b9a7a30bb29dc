"""A cohort in words: how many units did what, how their arms came about, and what the data cannot tell."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from textwrap import wrap
from typing import TYPE_CHECKING

import numpy as np

from dtrbandit.evaluation.cohort.origin import describe_origin
from dtrbandit.words import counted

if TYPE_CHECKING:
    from dtrbandit.evaluation.cohort.cohort import Cohort

WIDTH = 100


def describe(cohort: Cohort) -> str:
    """Return what one should know of a cohort, in lines."""
    left, dropped = int(cohort.left_early.sum()), int(cohort.dropped_out.sum())
    lines = [
        f"A cohort of {counted(len(cohort), 'unit')}:",
        f"  {len(cohort) - left - dropped:>6,}  completed all stages",
        f"  {left:>6,}  left early, with their outcome",
        f"  {dropped:>6,}  dropped out",
    ]
    given = (cohort.arms >= 0).sum(axis=1)
    for m, stage in enumerate(cohort.design.stages[1:], 1):
        lines += _counted((cohort.dropped_out & (given == m)).sum(), f"of them before an arm at stage {stage.name}")
    lines += _counted((cohort.dropped_out & (given == len(cohort.design.stages))).sum(), "of them after the last arm")
    lines += _origin(cohort)
    lines += _barred(cohort)
    if not np.all(cohort.weights == 1):
        lines.append(f"They stand for {cohort.weights.sum():,.6g} units.")
    lines += [str(cohort.left_out)] if cohort.left_out else []
    return "\n".join([*lines, *_plans(cohort), *_questions(cohort)])


def arms_given(cohort: Cohort) -> dict[str, dict[str, int]]:
    """Return how many units were given each arm, by stage."""
    found = {}
    for stage, arms in zip(cohort.design.stages, cohort.arms.T, strict=True):
        counts = np.bincount(arms[arms >= 0], minlength=len(stage.arms)).tolist()
        found[stage.name] = dict(zip(stage.arms, counts, strict=True))
    return found


def _counted(count: int, what: str) -> list[str]:
    return [f"    {count:>6,}  {what}"] if count else []


def _origin(cohort: Cohort) -> Iterator[str]:
    """Say how the arms came about, and how many units had others than were decided."""
    for words in describe_origin(cohort):
        yield from wrap(words, WIDTH, subsequent_indent="  ")
    changed = int(cohort.overridden.any(axis=1).sum())
    if changed:
        yield f"Given another arm than was decided (overrides): {counted(changed, 'unit')}."


def _barred(cohort: Cohort) -> Iterator[str]:
    """Say how many units could not have some arm, and what follows for forced rounds alone."""
    if cohort.excluded is None:
        return
    count = int(np.any([own.any(axis=1) for own in cohort.excluded], axis=0).sum())
    words = f"{counted(count, 'unit')} could not have some arm, which was contraindicated, or closed."
    if cohort.origin is not None and cohort.origin.among is not None:
        words += (
            " Where the schedule wanted such an arm, units were decided freely, so that such units are too few here."
        )
    yield from wrap(words, WIDTH, subsequent_indent="  ")


def _plans(cohort: Cohort) -> list[str]:
    """Return how many units completed each plan, and how many left early on the way."""
    completed = Counter(map(tuple, cohort.arms[~cohort.dropped_out].tolist()))
    lines = ["Plans of those with an outcome:"]
    plans = sorted({*cohort.design.arm_plans, *completed}, key=lambda plan: (min(plan) < 0, plan))
    for plan in plans:
        labels = [stage.arms[arm] for stage, arm in zip(cohort.design.stages, plan, strict=True) if arm >= 0]
        left = ", then left early" if min(plan) < 0 else ""
        lines.append(f"  {completed[plan]:>6,}  {', then '.join(labels)}{left}")
    return lines


def _questions(cohort: Cohort) -> list[str]:
    """Return what the data cannot tell, and the reader must: whether units left, or were lost."""
    lines = []
    for m, stage in enumerate(cohort.design.stages):
        condition, count = cohort.design.parsed[m].condition, int(cohort.left_or_lost_at(m).sum())
        if condition is None or not count:
            continue
        seen = " or ".join(repr(name) for name in condition.columns if name in cohort.design.columns[m])
        lines += [
            f"Kept out of stage {stage.name} by enter_if {stage.enter_if!r}, without an outcome: {count:,}.",
            "  They count as drop-outs. Did they leave, or were they lost? If they left, give them their outcome.",
        ]
        lines += [f"  If they were lost before {seen} was observed, blank it."] if seen else []
    return lines
