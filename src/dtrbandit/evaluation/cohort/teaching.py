"""A cohort as an earlier trial that teaches a new one: a fact for each of its units."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dtrbandit.design.spec import Design
from dtrbandit.errors import DesignError
from dtrbandit.evaluation.cohort.validation import in_rows
from dtrbandit.kernels.arrays import Mask
from dtrbandit.record.events import Taught
from dtrbandit.record.histories import Context
from dtrbandit.record.values import Values

if TYPE_CHECKING:
    from dtrbandit.evaluation.cohort.cohort import Cohort


def teaching(cohort: Cohort, design: Design) -> list[Taught]:
    """Return what each unit of a cohort teaches a trial of this design.

    A unit that dropped out teaches as far as it came: its contexts, and the arms it was given (docs/readings.md, 5).
    """
    _require_alike(cohort.design, design)
    if (cohort.weights != 1).any():
        raise DesignError(
            "prior: this cohort has weights, and a policy learns from every unit alike; without weights it is "
            "dataclasses.replace(cohort, weights=np.ones(len(cohort)), propensities=None)"
        )
    _require_feasible(cohort, design)
    seen, outcomes = _contexts_seen(cohort), cohort.outcome.tolist()
    columns = [_context_of_each(cohort, m) for m in range(len(design.stages))]
    labels = [stage.arms for stage in design.stages]
    return [
        Taught(
            unit,
            tuple([columns[m][row] for m in range(seen[row])]),
            tuple([own[arm] for own, arm in zip(labels, arms, strict=True) if arm >= 0]),
            outcome if outcome == outcome else None,
        )
        for row, (unit, arms, outcome) in enumerate(zip(cohort.units, cohort.arms.tolist(), outcomes, strict=True))
    ]


def _require_alike(earlier: Design, design: Design) -> None:
    """Refuse a cohort whose stages, arms, columns or conditions differ. Formulas and plans may."""
    pairs = (
        ("stages", [stage.name for stage in earlier.stages], [stage.name for stage in design.stages]),
        ("arms", [stage.arms for stage in earlier.stages], [stage.arms for stage in design.stages]),
        ("columns", list(earlier.columns), list(design.columns)),
        ("enter_if", [stage.enter_if for stage in earlier.stages], [stage.enter_if for stage in design.stages]),
    )
    for what, theirs, ours in pairs:
        if theirs != ours:
            raise DesignError(
                f"prior: the earlier trial has other {what}, {theirs}, than this design, {ours}; read the earlier "
                "trial's data with this design, Cohort.from_frame(frame, design, ...)"
            )


def _require_feasible(cohort: Cohort, design: Design) -> None:
    """Refuse units whose arms no plan of this design has, by row."""
    node, wrong = np.zeros(len(cohort), dtype=np.int64), np.zeros(len(cohort), dtype=np.bool_)
    for m in range(len(design.stages)):
        arm = cohort.arms[:, m].astype(np.int64)
        given = (arm >= 0) & ~wrong
        node[given] = design.tree.child[node[given], arm[given]]
        wrong |= node < 0
    if wrong.any():
        raise DesignError(
            f"prior: {in_rows(wrong)} had arms that no plan of this design has; leave them out, "
            "cohort.of(rows), or allow the plan"
        )


def _contexts_seen(cohort: Cohort) -> list[int]:
    """Return of how many stages each unit's context teaches: one for each arm, and where it then left or entered."""
    given = (cohort.arms >= 0).sum(axis=1)
    next_stage = np.minimum(given, cohort.arms.shape[1] - 1)
    more: Mask = cohort.left_early | cohort.entered[np.arange(len(cohort)), next_stage]
    seen: list[int] = (given + (more & (given < cohort.arms.shape[1]))).tolist()
    return [max(1, each) for each in seen]


def _context_of_each(cohort: Cohort, m: int) -> list[Context]:
    """Return the context of each unit at stage ``m``, with the columns that are known."""
    columns = cohort.design.columns[m]
    rows = (
        np.column_stack([cohort.contexts[m][column] for column in columns]) if columns else np.empty((len(cohort), 0))
    )
    whole: Mask = np.all(np.isfinite(rows), axis=1)
    return [
        Values(columns, row.tobytes()) if known else _known(columns, row.tolist())
        for row, known in zip(np.ascontiguousarray(rows, dtype=np.float64), whole.tolist(), strict=True)
    ]


def _known(columns: tuple[str, ...], numbers: list[float]) -> Context:
    pairs = [(column, number) for column, number in zip(columns, numbers, strict=True) if number == number]
    return Values(tuple([column for column, _ in pairs]), [number for _, number in pairs])
