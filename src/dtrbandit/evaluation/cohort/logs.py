"""Cohorts and logs: units read from the log of a trial, and as facts that teach a new one.

Units of a log come in the order of their enrolment, up to the first that has not ended. Who leaves early ends first, so
that all who have ended by some day are a biased sample. Void units are left out, and so are those of an earlier trial.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dtrbandit.design.spec import Design
from dtrbandit.errors import DesignError, LogError, NotEstimable
from dtrbandit.evaluation.cohort.origin import ADAPTIVE, OBSERVATIONAL, RANDOMISED, Kind, Origin, Recorded, Waiting
from dtrbandit.evaluation.cohort.validation import in_rows
from dtrbandit.kernels.arrays import Mask
from dtrbandit.record.events import (
    TEACHES,
    Assigned,
    Completed,
    Corrected,
    Decision,
    Enrolled,
    Event,
    Opened,
    Overridden,
    Responded,
    Taught,
    TrialFact,
    Voided,
    Withdrawn,
)
from dtrbandit.record.histories import Context
from dtrbandit.record.values import Values
from dtrbandit.words import counted

if TYPE_CHECKING:
    import pandas as pd

    from dtrbandit.evaluation.cohort.cohort import Cohort

LEARN_NOTHING: dict[str, Kind] = {"UniformRandom": RANDOMISED, "FixedRegime": OBSERVATIONAL}  # built-in; others may
UNIT, OUTCOME, FORCED = "the unit", "the outcome", "forced"


@dataclass
class _Told:
    """What a log tells of a unit: its row, its decisions with the arms on record before each, first and last event."""

    row: dict[str, object]
    enrolled: int
    decisions: list[tuple[Decision, tuple[object, ...]]] = field(default_factory=list)
    ended: int | None = None


Excluded = tuple[NDArray[np.bool_], ...]


def log_frame(log: Iterable[Event], design: Design | None) -> tuple[pd.DataFrame, Design, Origin, Excluded | None]:
    """Return a row per unit, the design, how the arms came about, and what units could not have, if anything.

    The columns are those of the contexts, the names of stages for arms, ``UNIT`` and ``OUTCOME``.
    """
    import pandas as pd

    whole = log if isinstance(log, Sequence) else list(log)
    events = iter(whole)
    opened = next(events, None)
    if not isinstance(opened, Opened):
        raise LogError(f"a log begins with Opened, found {type(opened).__name__}; use a whole log, or read_log(path)")
    design = Design.from_dict(opened.design) if design is None else design
    told = list(_units(events, design))
    ended = list(takewhile(lambda each: each.ended is not None, told))
    if not ended:
        _refuse(told)
    columns = [
        UNIT,
        *(name for context in design.columns for name in context),
        *(s.name for s in design.stages),
        OUTCOME,
    ]
    name = str(opened.policy.get("name"))
    origin = Origin(_kind(opened.policy), name, _recorded(ended, design), _waiting(told[len(ended) :]), log=whole)
    return pd.DataFrame([each.row for each in ended], columns=columns), design, origin, _excluded(ended, design)


def _kind(policy: Mapping[str, object]) -> Kind:
    """Return how a policy, as a log names it, chooses arms. A policy of one's own may learn, whatever its name is.

    Of Python code a log says which: of a built-in policy the parameters that are functions, else the class.
    """
    own = "function" in policy and not str(policy["function"]).startswith("rule=")
    kind: Kind = ADAPTIVE if own else LEARN_NOTHING.get(str(policy.get("name")), ADAPTIVE)
    return kind


def _excluded(told: Sequence[_Told], design: Design) -> Excluded | None:
    """Return which arms the units could not have at each stage, (n, K_m); None if they could have all."""
    masks = tuple(np.zeros((len(told), count), dtype=np.bool_) for count in design.arm_counts)
    for i, each in enumerate(told):
        for m, (decision, _) in enumerate(each.decisions):
            for arm, _ in decision.infeasible:
                masks[m][i, design.stages[m].arms.index(arm)] = True
    return masks if any(mask.any() for mask in masks) else None


def _units(events: Iterable[Event], design: Design) -> Iterable[_Told]:
    """Return what is told of each unit, in the order of enrolment."""
    units: dict[str, _Told] = {}
    stages = [stage.name for stage in design.stages]
    for place, event in enumerate(events, 1):
        if isinstance(event, Opened):
            raise LogError("a log begins with Opened and has no other; use one whole log")
        if isinstance(event, TrialFact | Taught) or type(event) not in TEACHES:
            continue
        if isinstance(event, Voided):
            del units[event.unit]
            continue
        told = units.setdefault(event.unit, _Told({UNIT: event.unit}, place))
        if isinstance(event, Assigned):
            before = tuple(told.row[name] for name in stages[: len(told.decisions)])
            told.decisions.append((event.decision, before))
        told.row.update(_told(event))
        if isinstance(event, Completed | Withdrawn):
            told.ended = place
    return units.values()


def _refuse(told: Sequence[_Told]) -> None:
    """Say why no unit of a log can be used."""
    done = sum(each.ended is not None for each in told)
    if not done:
        raise NotEstimable(
            f"none of the {counted(len(told), 'unit')} of the log has an outcome yet, or was withdrawn; wait for some"
        )
    raise NotEstimable(
        f"unit {told[0].row[UNIT]!r}, which enrolled first, is still under way, and {done} behind it have ended. Units "
        "count in the order of enrolment: who leaves early ends first, so that all who have ended are a biased sample. "
        "Wait for it, or withdraw it if it is lost"
    )


def _waiting(told: Sequence[_Told]) -> Waiting | None:
    """Return the units from the first one under way on."""
    if not told:
        return None
    ended = sum(each.ended is not None for each in told)
    return Waiting(str(told[0].row[UNIT]), len(told) - ended, ended)


def _recorded(told: Sequence[_Told], design: Design) -> Recorded:
    """Return the decisions of units as arrays."""
    n, counts, tree = len(told), design.arm_counts, design.tree
    arms, forced = np.full((n, len(counts)), -1, dtype=np.int8), np.zeros((n, len(counts)), dtype=np.bool_)
    feasible = tuple(np.zeros((n, count), dtype=np.bool_) for count in counts)
    propensities = tuple(np.full((n, count), np.nan) for count in counts)
    for i, each in enumerate(told):
        for m, (decision, before) in enumerate(each.decisions):
            given = tuple(stage.arms.index(str(arm)) for stage, arm in zip(design.stages, before, strict=False))
            arms[i, m], forced[i, m] = design.stages[m].arms.index(decision.arm), decision.reason == FORCED
            feasible[m][i] = tree.feasible[tree.after(given)]
            feasible[m][i, [design.stages[m].arms.index(arm) for arm, _ in decision.infeasible]] = False
            propensities[m][i] = _probabilities(decision.propensity, int(arms[i, m]), feasible[m][i])
    places = np.array([(each.enrolled, each.ended) for each in told], dtype=np.int64)
    return Recorded(arms, feasible, propensities, forced, places[:, 0], places[:, 1])


def _probabilities(propensity: float | None, arm: int, feasible: np.typing.NDArray[np.bool_]) -> np.typing.ArrayLike:
    """Return the probability of each arm, as far as that of one tells, (K,)."""
    if propensity is None:
        return np.where(feasible, np.nan, 0.0)
    others = int(feasible.sum()) - 1
    rest = 0.0 if propensity == 1 else 1 - propensity if others == 1 else np.nan
    found = np.where(feasible, rest, 0.0)
    found[arm] = propensity
    return found


def _told(event: Event) -> dict[str, object]:
    """Return what an event says of its unit, by column."""
    match event:
        case Enrolled(context=context) | Responded(context=context):
            return dict(context)
        case Assigned(decision):
            return {decision.stage: decision.arm}
        case Overridden(stage=stage, arm=arm):
            return {stage: arm}
        case Completed(outcome=outcome):
            return {OUTCOME: outcome}
        case Corrected(outcome=outcome, context=context):
            return {OUTCOME: outcome} if context is None else dict(context)
        case _:
            return {}


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
