"""The history of a unit, its features, and the history that a fact leads to. Nothing here changes anything."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from dtrbandit.design.contexts import LARGEST
from dtrbandit.design.feasibility import Barred, arms_left
from dtrbandit.design.spec import Design
from dtrbandit.errors import ObservationError
from dtrbandit.kernels.arrays import Vector
from dtrbandit.record.events import (
    Assigned,
    Completed,
    Corrected,
    Decision,
    Enrolled,
    Excluded,
    Fact,
    Overridden,
    Responded,
    Taught,
    Unblinded,
    Voided,
    Withdrawn,
    new,
)
from dtrbandit.record.values import Values

COMPLETED, LEFT_AND_COMPLETED, WITHDRAWN, VOIDED, AWAITS_OUTCOME = range(5)  # states of units
AWAITS_STAGE = 5  # and the number of the stage, from 1, whose response comes next, less one
Context = Values[float]
ONE = Values(("1",), (1.0,)).packed


class History(NamedTuple):
    """A unit so far, as a policy sees it.

    Attributes
    ----------
    round
        Its number t, from 1; 0 for a unit of an earlier trial (``Taught``).
    node
        The node of the design's tree that its arms lead to.
    features
        ψ_m(h_m) for each stage it arrived at, (d_m,) each.
    arms
        The arms really given, as numbers.
    feasible
        Whether each arm of the present stage may be given; empty while no decision is due.
    outcome
        Y, or None until it is known.
    excluded
        For each stage it arrived at, the stages and arms, by number, that were contraindicated by then; empty if there
        never were any.

    A unit that left early has an outcome and fewer arms than the design has stages. One of an earlier trial may have
    dropped out: it has no outcome, and if it entered another stage first, features of that stage and no arm there.
    """

    unit: str
    round: int
    node: int
    features: tuple[Vector, ...]
    arms: tuple[int, ...]
    feasible: tuple[bool, ...]
    outcome: float | None
    excluded: tuple[Barred, ...] = ()


NO_UNIT = History("", 0, 0, (), (), (), None)  # what a fact of the trial as a whole leads to


@dataclass(slots=True)
class UnitRecord:
    """What is on record of one unit: what was reported, and what holds now."""

    history: History
    contexts: tuple[Context, ...]  # as they hold now, corrections included
    reported: tuple[Context, ...]  # as they were first reported
    left: bool = False  # by enter_if, before the last stage
    outcome: float | None = None  # as it was first reported
    withdrawn: Withdrawn | None = None
    amendments: tuple[Overridden | Corrected, ...] = ()
    voided: Voided | None = None
    exclusions: tuple[tuple[int, Excluded, str], ...] = ()  # on arrival at which stage, which arms, and why
    site: str | None = None  # that enrolled it
    unblinded: tuple[Unblinded, ...] = ()  # each time that somebody was shown its story
    since: datetime | None = None  # when it began to await what comes next; None where nobody said

    def copy(self) -> UnitRecord:
        """Return a record that stays as it is."""
        return UnitRecord(*[getattr(self, name) for name in UnitRecord.__slots__])

    @property
    def awaited(self) -> int:
        """The number of the stage whose context comes next."""
        return len(self.reported)

    @property
    def ended(self) -> bool:
        """Whether nothing more is expected."""
        return self.outcome is not None or self.withdrawn is not None or self.voided is not None

    def state(self, stages: int) -> int:
        """Return the number of its state in a design of so many stages."""
        if self.voided is not None:
            return VOIDED
        if self.outcome is not None:
            return LEFT_AND_COMPLETED if self.left else COMPLETED
        if self.withdrawn is not None:
            return WITHDRAWN
        awaited = len(self.reported)
        return AWAITS_OUTCOME if self.left or awaited == stages else AWAITS_STAGE + awaited - 1


# -- the features ψ, from the contexts on record ----------------------------------------------------------------------


def features_at(design: Design, unit: str, m: int, contexts: tuple[Context, ...], arms: tuple[int, ...]) -> Vector:
    """Return ψ_m, given the contexts up to stage ``m`` and the arms before it; refuse values out of range."""
    features, _, _, pieces = design.parsed[m]
    if pieces is not None:  # each feature is 1 or a column
        packed = ONE
        for context in contexts:
            packed += context.packed
        return np.frombuffer(packed[pieces[0]] if len(pieces) == 1 else b"".join(map(packed.__getitem__, pieces)))
    row = features.row(columns_of(contexts), {design.stages[k].name: arms[k] for k in range(m)})
    if not all(-LARGEST <= value <= LARGEST for value in row):
        raise ObservationError(
            f"unit {unit!r}, stage {design.stages[m].name!r}: features must be finite and at most {LARGEST:g} in "
            f"size, found {dict(zip(features.names, row, strict=True))}"
        )
    vector = np.array(row)
    vector.setflags(write=False)
    return vector


def all_features(design: Design, unit: str, contexts: tuple[Context, ...], arms: tuple[int, ...]) -> tuple[Vector, ...]:
    """Return ψ for every stage whose columns are all known."""
    return tuple(
        features_at(design, unit, m, contexts[: m + 1], arms)
        for m, context in enumerate(contexts)
        if len(context) == len(design.columns[m])
    )


def columns_of(contexts: Iterable[Context]) -> dict[str, float]:
    """Return all columns of some contexts."""
    return dict(chain.from_iterable([context.pairs() for context in contexts]))


# -- the history that a fact leads to --------------------------------------------------------------------------


def advance(design: Design, known: UnitRecord | None, fact: Fact, closed: Barred = ()) -> History:
    """Return the history that a fact leads to; ``known`` is the record of its unit, None if it enrols.

    ``closed`` are the arms that are closed by then.
    """
    advances = ADVANCES.get(type(fact))
    if advances is None:
        return NO_UNIT if known is None else known.history
    history = advances(design, known, fact)
    if history.feasible and (closed or history.excluded):
        excluded = history.excluded[-1] if history.excluded else ()
        return history._replace(feasible=arms_left(design.tree, excluded, closed)[history.node])
    return history


def barred_by(design: Design, excluded: Excluded | None) -> Barred:
    """Return arms by stage as numbers, in order."""
    named = (excluded or {}).items()
    pairs = [(design.stage_number(stage), arm) for stage, arms in named for arm in arms]
    return tuple(sorted((m, design.stages[m].arms.index(arm)) for m, arm in pairs))


def _enrolled(design: Design, record: None, fact: Any) -> History:  # noqa: ARG001  # one signature
    unit, t, context, exclude, _, _ = fact
    first = features_at(design, unit, 0, (context,), ())
    excluded = (barred_by(design, exclude),) if exclude else ()
    return new(History, (unit, t, 0, (first,), (), design.tree.feasible[0], None, excluded))


def _taught(design: Design, record: None, fact: Taught) -> History:  # noqa: ARG001  # one signature
    unit, contexts, labels, outcome = fact
    given: Any = contexts
    arms = tuple([stage.arms.index(label) for stage, label in zip(design.stages, labels, strict=False)])
    features = all_features(design, unit, given, arms)
    if outcome is None and not goes_on(design, given, len(arms)):
        features = features[: len(arms)]  # whether it left or was lost, nothing follows from it
    return new(History, (unit, 0, design.tree.after(arms), features, arms, (), outcome, ()))


def goes_on(design: Design, contexts: tuple[Context, ...], m: int) -> bool:
    """Say whether a unit with these contexts arrived at stage ``m`` and entered it."""
    if len(contexts) <= m:
        return False
    condition = design.parsed[m].condition
    return condition is None or condition.holds(columns_of(contexts))


def after_assignment(design: Design, arrived: History, decision: Decision) -> History:
    """Return the history that an assignment leads to. Arms that are closed or contraindicated do not change it."""
    unit, t, node, features, arms, _, outcome, excluded = arrived
    tree = design.tree
    node = tree.following[node][design.stages[len(arms)].arms.index(decision.arm)]
    return new(History, (unit, t, node, features, tree.arms_to[node], (), outcome, excluded))


def _responded(design: Design, record: UnitRecord, fact: Any) -> History:
    unit, _, context, exclude, _ = fact
    _, t, node, features, arms, _, _, excluded = record.history
    m, contexts = len(record.reported), (*record.contexts, context)
    if exclude or excluded:
        before = excluded or ((),) * m
        excluded = (*before, tuple(sorted({*before[-1], *barred_by(design, exclude)})))
    _, condition, columns, _ = design.parsed[m]
    if context.labels == columns:
        features = (*features, features_at(design, unit, m, contexts, arms))
    enters = condition is None or condition.holds(columns_of(contexts))
    return new(History, (unit, t, node, features, arms, design.tree.feasible[node] if enters else (), None, excluded))


def _completed(design: Design, record: UnitRecord, fact: Completed) -> History:  # noqa: ARG001  # one signature
    unit, t, node, features, arms, feasible, _, excluded = record.history
    return new(History, (unit, t, node, features, arms, feasible, fact.outcome, excluded))


def _withdrawn(design: Design, record: UnitRecord, fact: Withdrawn | Voided) -> History:  # noqa: ARG001  # one signature
    return record.history._replace(feasible=())


def _overridden(design: Design, record: UnitRecord, fact: Overridden) -> History:
    m, arms = design.stage_number(fact.stage), record.history.arms
    arm = design.stages[m].arms.index(fact.arm)
    node = design.tree.after((*arms[:m], arm, *arms[m + 1 :]))
    arms = design.tree.arms_to[node]
    features = all_features(design, fact.unit, record.contexts, arms)
    return record.history._replace(node=node, arms=arms, features=features, feasible=())


def _corrected(design: Design, record: UnitRecord, fact: Corrected) -> History:
    outcome, contexts = merged(design, record, fact)
    features = all_features(design, fact.unit, contexts, record.history.arms)
    return record.history._replace(outcome=outcome, features=features)


def merged(design: Design, record: UnitRecord, fact: Corrected) -> tuple[float | None, tuple[Context, ...]]:
    """Return the outcome and the contexts after a correction."""
    if fact.stage is None or fact.context is None:
        return fact.outcome, record.contexts
    m = design.stage_number(fact.stage)
    context = in_order(design, m, {**record.contexts[m], **fact.context})
    return record.history.outcome, (*record.contexts[:m], context, *record.contexts[m + 1 :])


def in_order(design: Design, m: int, accepted: dict[str, float]) -> Context:
    """Return a context as it goes on record: its columns in the order of the design."""
    columns = design.columns[m]
    known = columns if len(accepted) == len(columns) else tuple([c for c in columns if c in accepted])
    return Values(known, tuple([accepted[column] for column in known]))


# what leads to another history; a fact of the trial as a whole leads to none, and any other to the one there was
ADVANCES: dict[type, Callable[[Design, Any, Any], History]] = {
    Enrolled: _enrolled,
    Assigned: lambda design, record, fact: after_assignment(design, record.history, fact.decision),
    Responded: _responded,
    Completed: _completed,
    Withdrawn: _withdrawn,
    Overridden: _overridden,
    Corrected: _corrected,
    Voided: _withdrawn,
    Taught: _taught,
}
