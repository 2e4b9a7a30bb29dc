"""Cohorts and logs: units read from the log of a trial, and as facts that teach a new one.

Units of a log come in the order of their enrolment, up to the first that has not ended. Who leaves early ends first, so
that all who have ended by some day are a biased sample. Void units are left out, and so are those of an earlier trial.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dtrbandit.design.spec import Design
from dtrbandit.errors import DesignError, LogError, NotEstimable
from dtrbandit.evaluation.cohort.feasibility import NotExcluded, nodes_of
from dtrbandit.evaluation.cohort.origin import ADAPTIVE, OBSERVATIONAL, RANDOMISED, Kind, Origin, Recorded, Waiting
from dtrbandit.evaluation.cohort.validation import FollowUp, Problems, UnitData, in_rows
from dtrbandit.kernels.arrays import Mask, Vector
from dtrbandit.policies.registry import BUILTIN
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
    from dtrbandit.evaluation.cohort.cohort import Cohort

FORCED = "forced"


@dataclass
class LoggedUnit:
    """A unit as a log has it, after overrides and corrections.

    ``before`` has the arms on record when each decision was made. ``enrolled`` and ``ended`` are the positions in the
    log of the unit's first event, and of its outcome or withdrawal.
    """

    unit: str
    enrolled: int
    columns: dict[str, float] = field(default_factory=dict)
    arms: list[str] = field(default_factory=list)
    outcome: float | None = None
    decisions: list[Decision] = field(default_factory=list)
    before: list[tuple[str, ...]] = field(default_factory=list)
    ended: int | None = None


class LoggedUnits(NamedTuple):
    """The units of a log that have ended, the design, how the arms came about, and what units could not have."""

    units: Sequence[LoggedUnit]
    design: Design
    origin: Origin
    excluded: tuple[Mask, ...] | None

    def column(self, name: str) -> Vector:
        """Return a column of a context, (n,), NaN where it was not observed."""
        return np.array([each.columns.get(name, np.nan) for each in self.units])

    @property
    def outcome(self) -> Vector:
        """The outcomes, (n,), NaN where there is none."""
        return np.array([np.nan if each.outcome is None else each.outcome for each in self.units])

    def arms(self) -> NDArray[np.int8]:
        """Return the arms, (n, M), −1 where none was given, or refuse units that do not fit the design."""
        stages, everybody = self.design.stages, np.zeros(len(self.units), dtype=np.bool_)
        given = np.full((len(self.units), len(stages)), -1, dtype=np.int64)
        for i, each in enumerate(self.units):
            given[i, : len(each.arms)] = _numbers(each.arms, self.design)
        columns = {name: (self.column(name), everybody) for own in self.design.columns for name in own}
        data = UnitData(columns, given, ~np.isnan(self.outcome), [stage.name for stage in stages])
        nothing = NotExcluded(self.design, [np.zeros((len(given), count), bool) for count in self.design.arm_counts])
        problems = Problems("the log does not fit the design (units are counted from 1, in the order of enrolment)")
        follow_up = FollowUp(self.design, data, problems, left=nothing)
        problems.refuse()
        return follow_up.arms


def read_log_units(log: Iterable[Event], design: Design | None) -> LoggedUnits:
    """Return the units of a log up to the first that has not ended, as they stand after overrides and corrections."""
    whole = log if isinstance(log, Sequence) else list(log)
    events = iter(whole)
    opened = next(events, None)
    if not isinstance(opened, Opened):
        raise LogError(f"a log begins with Opened, found {type(opened).__name__}; use a whole log, or read_log(path)")
    design = Design.from_dict(opened.design) if design is None else design
    units = list(_units(events))
    ended = list(takewhile(lambda each: each.ended is not None, units))
    if not ended:
        _refuse(units)
    excluded, waiting = _excluded(ended, design), _waiting(units[len(ended) :])
    recorded = _recorded(ended, design, excluded)
    origin = Origin(_kind(opened.policy), str(opened.policy.get("name")), recorded, waiting, log=whole)
    return LoggedUnits(ended, design, origin, excluded if any(mask.any() for mask in excluded) else None)


def _kind(policy: Mapping[str, object]) -> Kind:
    """Return how a policy, as a log names it, chooses arms.

    A policy of one's own counts as one that learns, whatever its name is, unless the log has it that its class says
    otherwise. Of Python code a log says which: of a built-in policy the parameters that are functions, else the class.
    """
    own = "function" in policy and not str(policy["function"]).startswith("rule=")
    built_in = None if own else BUILTIN.get(str(policy.get("name")))
    if built_in is None:
        learns, randomises = policy.get("learns", True), policy.get("randomises", False)
    else:
        learns, randomises = built_in.learns, built_in.randomises
    kind: Kind = ADAPTIVE
    if learns is False:
        kind = RANDOMISED if randomises is True else OBSERVATIONAL
    return kind


def _numbers(labels: Sequence[str], design: Design) -> tuple[int, ...]:
    """Return arms by number."""
    return tuple([stage.arms.index(arm) for stage, arm in zip(design.stages, labels, strict=False)])


def _excluded(units: Sequence[LoggedUnit], design: Design) -> tuple[Mask, ...]:
    """Return which arms the units could not have at each stage, (n, K_m)."""
    masks = tuple(np.zeros((len(units), count), dtype=np.bool_) for count in design.arm_counts)
    for i, each in enumerate(units):
        for m, decision in enumerate(each.decisions):
            for arm, _ in decision.infeasible:
                masks[m][i, design.stages[m].arms.index(arm)] = True
    return masks


def _units(events: Iterable[Event]) -> Iterable[LoggedUnit]:
    """Return the units of a log in the order of enrolment."""
    units: dict[str, LoggedUnit] = {}
    for position, event in enumerate(events, 1):
        if isinstance(event, Opened):
            raise LogError("a log begins with Opened and has no other; use one whole log")
        if isinstance(event, TrialFact | Taught) or type(event) not in TEACHES:
            continue
        if isinstance(event, Voided):
            del units[event.unit]
            continue
        _record(units.setdefault(event.unit, LoggedUnit(event.unit, position)), event, position)
    return units.values()


def _record(unit: LoggedUnit, event: Event, position: int) -> None:
    """Write down what an event says of its unit."""
    match event:
        case Enrolled(context=context) | Responded(context=context):
            unit.columns |= context
        case Assigned(decision):
            unit.before.append(tuple(unit.arms))
            unit.decisions.append(decision)
            unit.arms.append(decision.arm)
        case Overridden(stage=stage, arm=arm):
            unit.arms[[decision.stage for decision in unit.decisions].index(stage)] = arm
        case Completed(outcome=outcome):
            unit.outcome, unit.ended = outcome, position
        case Withdrawn():
            unit.ended = position
        case Corrected(outcome=outcome, context=context):
            if context is None:
                unit.outcome = outcome
            else:
                unit.columns |= context


def _refuse(units: Sequence[LoggedUnit]) -> None:
    """Say why no unit of a log can be used."""
    done = sum(each.ended is not None for each in units)
    if not done:
        raise NotEstimable(
            f"none of the {counted(len(units), 'unit')} of the log has an outcome yet, or was withdrawn; wait for some"
        )
    raise NotEstimable(
        f"unit {units[0].unit!r}, which enrolled first, is still under way, and {done} behind it have ended. Units "
        "count in the order of enrolment: who leaves early ends first, so that all who have ended are a biased sample. "
        "Wait for it, or withdraw it if it is lost"
    )


def _waiting(units: Sequence[LoggedUnit]) -> Waiting | None:
    """Return the units from the first one under way on."""
    if not units:
        return None
    ended = sum(each.ended is not None for each in units)
    return Waiting(units[0].unit, len(units) - ended, ended)


def _recorded(units: Sequence[LoggedUnit], design: Design, excluded: Sequence[Mask]) -> Recorded:
    """Return the decisions of units as arrays."""
    n, counts, tree = len(units), design.arm_counts, design.tree
    arms, forced = np.full((n, len(counts)), -1, dtype=np.int8), np.zeros((n, len(counts)), dtype=np.bool_)
    feasible = tuple(np.zeros((n, count), dtype=np.bool_) for count in counts)
    propensities = tuple(np.full((n, count), np.nan) for count in counts)
    for i, each in enumerate(units):
        for m, (decision, before) in enumerate(zip(each.decisions, each.before, strict=True)):
            arms[i, m], forced[i, m] = design.stages[m].arms.index(decision.arm), decision.reason == FORCED
            feasible[m][i] = tree.feasible[tree.after(_numbers(before, design))] & ~excluded[m][i]
            propensities[m][i] = _probabilities(decision.propensity, int(arms[i, m]), feasible[m][i])
    positions = np.array([(each.enrolled, each.ended) for each in units], dtype=np.int64)
    return Recorded(arms, feasible, propensities, forced, positions[:, 0], positions[:, 1])


def _probabilities(propensity: float | None, arm: int, feasible: Mask) -> np.typing.ArrayLike:
    """Return the probability of each arm, as far as that of one tells, (K,)."""
    if propensity is None:
        return np.where(feasible, np.nan, 0.0)
    others = int(feasible.sum()) - 1
    rest = 0.0 if propensity == 1 else 1 - propensity if others == 1 else np.nan
    found = np.where(feasible, rest, 0.0)
    found[arm] = propensity
    return found


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
    wrong: Mask = np.any((cohort.arms >= 0) & (nodes_of(design.tree, cohort.arms)[:, 1:] < 0), axis=1)
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
        Values(columns, row.tobytes()) if known else known_context(columns, row.tolist())
        for row, known in zip(np.ascontiguousarray(rows, dtype=np.float64), whole.tolist(), strict=True)
    ]


def known_context(columns: Sequence[str], numbers: Sequence[float]) -> Context:
    """Return a context with the columns that are known, which are not NaN."""
    pairs = [(column, number) for column, number in zip(columns, numbers, strict=True) if number == number]
    return Values(tuple([column for column, _ in pairs]), [number for _, number in pairs])
