"""Units' histories: the fold of a log.

``advance`` returns the history that a fact leads to, and changes nothing. ``Histories.record`` is the only way in which
a fact comes on record. Facts are not checked here: ``record/rules.py`` says what may be recorded next.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple, Protocol
from unicodedata import normalize

from dtrbandit._version import NUMERICS
from dtrbandit.design.feasibility import Barred, arms_left
from dtrbandit.design.formula import Vector
from dtrbandit.design.spec import Design
from dtrbandit.record.events import (
    ArmClosed,
    Assigned,
    Completed,
    Corrected,
    Decision,
    Ended,
    Enrolled,
    Excluded,
    Fact,
    Held,
    Opened,
    Overridden,
    Released,
    Responded,
    Taught,
    TrialFact,
    Unblinded,
    Upgraded,
    Voided,
    Withdrawn,
    new,
)
from dtrbandit.record.features import Context, all_features, columns_of, features_at
from dtrbandit.record.tally import (
    AWAITS_OUTCOME,
    AWAITS_STAGE,
    COMPLETED,
    LEFT_AND_COMPLETED,
    VOIDED,
    WITHDRAWN,
    Tally,
)
from dtrbandit.record.values import Values


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
    """What is on record of one unit: what was reported, what holds now, and what was decided."""

    history: History
    contexts: tuple[Context, ...]  # as they hold now, corrections included
    reported: tuple[Context, ...]  # as they were first reported
    decisions: tuple[Decision, ...] = ()
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
        """Return the number of its state (``record/tally.py``), in a design of so many stages."""
        if self.voided is not None:
            return VOIDED
        if self.outcome is not None:
            return LEFT_AND_COMPLETED if self.left else COMPLETED
        if self.withdrawn is not None:
            return WITHDRAWN
        awaited = len(self.reported)
        return AWAITS_OUTCOME if self.left or awaited == stages else AWAITS_STAGE + awaited - 1


def folded(unit: str) -> str:
    """Return an id without regard to case and to how Unicode writes its letters.

    Examples
    --------
    >>> folded("U1"), folded("Ame\u0301lie") == folded("AM\u00c9LIE")
    ('u1', True)
    """
    if unit.isascii():
        return unit.lower()
    return normalize("NFKC", normalize("NFKC", unit).casefold())


class Facts(Protocol):
    """Where facts are kept, so that what happened to a unit that has ended can be read again."""

    def append(self, fact: Fact, history: History) -> None:
        """Keep a fact, which has led to this history."""

    def of_unit(self, unit: str) -> Iterable[Fact]:
        """Return all that happened to a unit that is known, in order."""


class Histories:
    """The records of all units, and what concerns the trial as a whole.

    The record of a unit in flight is kept. That of a unit that has ended is made again from its facts when it is asked
    for.
    """

    def __init__(self, design: Design, opened: Opened) -> None:
        self.design, self.opened = design, opened
        self.facts: Facts  # whoever makes this says where they are kept
        self.count = 1  # of events on record
        self.names: list[str] = []  # of units, by round
        self.rounds: dict[str, int] = {}  # the reverse; numbers and texts are nothing to the garbage collector
        self.folded: dict[str, str] = {}  # ids without regard to case and normalisation, where that makes a difference
        self.in_flight: dict[str, UnitRecord] = {}  # in the order of their rounds
        self.accrual: dict[str | None, Held | Released] = {}  # the last of these for each site; None: everywhere
        self.closed: dict[tuple[int, int], ArmClosed] = {}  # by stage and arm
        self.barred: Barred = ()  # the arms that are closed
        self.ended: Ended | None = None
        self.numerics = opened.numerics  # of whoever decides now
        self.quiet = opened.numerics == NUMERICS  # nothing is held, closed or ended, and this release decides
        self.upgrades: list[tuple[int, Upgraded]] = []  # each with its number in the log
        self.taught: set[str] = set()  # units of an earlier trial
        self.tally = Tally()

    def __len__(self) -> int:
        return len(self.names)

    def __iter__(self) -> Iterator[UnitRecord]:
        """Give the records of all units in the order of their rounds, one at a time."""
        for unit in self.names:
            yield self.in_flight.get(unit) or self._read(unit)

    def get(self, unit: str) -> UnitRecord | None:
        """Return what is on record of a unit, None if it is not enrolled."""
        record = self.in_flight.get(unit)
        return self._read(unit) if record is None and unit in self.rounds else record

    def hold_of(self, site: str | None) -> Held | None:
        """Return by what accrual is held for a site, None if it is not."""
        for fact in (self.accrual.get(None), self.accrual.get(site)):
            if type(fact) is Held:
                return fact
        return None

    def record(self, fact: Fact, known: UnitRecord | None, history: History, time: datetime | None = None) -> None:
        """Put a fact on record, and the history that it leads to; ``time`` is when that was.

        ``known`` is the unit's record, None if it enrols, and if there is no unit.
        """
        self.facts.append(fact, history)
        self.count += 1
        kind = type(fact)
        if history is NO_UNIT:
            self.add_of_trial(fact)  # type: ignore[arg-type]  # no other leads to it
        elif kind is Taught:
            self.taught.add(history.unit)
        elif known is None:
            record = _newcomer(fact, history)
            record.since = time
            self.note_enrolled(record)
        else:
            self._add(fact, known, history, time)

    def add_name(self, unit: str) -> None:
        """Give a unit the next round."""
        self.names.append(unit)
        self.rounds[unit] = len(self.names)
        key = folded(unit)
        if key != unit:
            self.folded[key] = unit

    def note_enrolled(self, record: UnitRecord) -> None:
        """Count a unit that has enrolled."""
        unit = record.history.unit
        self.add_name(unit)
        self.in_flight[unit] = record
        self.tally.states[record.state(len(self.design.stages))] += 1
        if record.exclusions:
            self.tally.excluded += 1

    def _add(self, fact: Any, record: UnitRecord, history: History, time: datetime | None) -> None:
        """Add a fact to the record of its unit, and count what it changes."""
        tally, kind, stages = self.tally, type(fact), len(self.design.stages)
        if kind is Assigned:
            m = len(history.arms) - 1
            tally.count_decision(m, history.arms[m], fact.decision.reason)
            record.decisions += (fact.decision,)
            record.history, record.since = history, time
            return
        before = record.state(stages)
        outcome = None if before == VOIDED else record.history.outcome
        if kind is Overridden:
            tally.overridden += 1
            tally.count_arms(record.history.arms, history.arms)
        elif kind is Corrected:
            tally.corrected += 1
        elif kind is Unblinded:
            tally.unblinded += not record.unblinded
        elif kind is Responded:
            tally.excluded += bool(fact.exclude and not record.exclusions)
            record.since = time
        add(self.design, record, fact, history)
        after = record.state(stages)
        if after != before:
            tally.move(before, after)
        now = None if after == VOIDED else history.outcome
        if now != outcome:
            tally.count_outcome(outcome, now)
        if record.ended:
            self.in_flight.pop(history.unit, None)

    def add_of_trial(self, fact: TrialFact) -> None:
        """Note what concerns the trial as a whole, the last of ``count`` events."""
        match fact:
            case Held() | Released():
                self.accrual[fact.site] = fact
            case Ended():
                self.ended = fact
            case Upgraded():
                self.upgrades.append((self.count, fact))
                self.numerics = fact.numerics
            case ArmClosed():
                ((m, arm),) = barred_by(self.design, {fact.stage: (fact.arm,)})
                self.closed[m, arm] = fact
                self.barred = tuple(sorted(self.closed))
        self.quiet = not (self.accrual or self.closed or self.ended) and self.numerics == NUMERICS

    def _read(self, unit: str) -> UnitRecord:
        """Return the record of a unit, from its facts."""
        first, *others = self.facts.of_unit(unit)
        first = _with_values(self.design, 0, first)
        record = _newcomer(first, _enrolled(self.design, None, first))
        for each in others:
            fact = _with_values(self.design, len(record.reported), each)
            add(self.design, record, fact, advance(self.design, record, fact))
        return record


def _with_values(design: Design, m: int, fact: Any) -> Any:
    """Return a fact that was read from a text as it was recorded: its context in the order of the design."""
    if not isinstance(fact, Enrolled | Responded) or type(fact.context) is Values:
        return fact
    return fact._replace(context=in_order(design, m, dict(fact.context)))


# -- the history that a fact leads to --------------------------------------------------------------------------


def advance(design: Design, known: UnitRecord | None, fact: Fact, closed: Barred = ()) -> History:
    """Return the history that a fact leads to; ``known`` is the record of its unit, None if it enrols.

    ``closed`` are the arms that are closed by then.
    """
    history = ADVANCES[type(fact)](design, known, fact)
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


def _unblinded(design: Design, record: UnitRecord, fact: Unblinded) -> History:  # noqa: ARG001  # one signature
    return record.history


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


ADVANCES: dict[type, Callable[[Design, Any, Any], History]] = {
    Enrolled: _enrolled,
    Assigned: lambda design, record, fact: after_assignment(design, record.history, fact.decision),
    Responded: _responded,
    Completed: _completed,
    Withdrawn: _withdrawn,
    Overridden: _overridden,
    Corrected: _corrected,
    Held: lambda *_: NO_UNIT,
    Released: lambda *_: NO_UNIT,
    ArmClosed: lambda *_: NO_UNIT,
    Ended: lambda *_: NO_UNIT,
    Upgraded: lambda *_: NO_UNIT,
    Voided: _withdrawn,
    Unblinded: _unblinded,
    Taught: _taught,
}


# -- what is on record after it -----------------------------------------------------------------------------------


def _newcomer(fact: Any, history: History) -> UnitRecord:
    _, _, context, exclude, reason, site = fact
    contexts = (context,)
    record = UnitRecord(history, contexts, contexts)
    if site is not None:
        record.site = site
    if exclude:
        record.exclusions = ((0, exclude, reason),)
    return record


def _add_response(record: UnitRecord, fact: Any) -> None:
    _, _, context, exclude, reason = fact
    if exclude:
        record.exclusions += ((len(record.reported), exclude, reason),)
    _add_context(record, context)


def _add_context(record: UnitRecord, context: Context) -> None:
    untouched = record.contexts is record.reported
    contexts = record.contexts = (*record.contexts, context)
    record.reported = contexts if untouched else (*record.reported, context)


def add(design: Design, record: UnitRecord, fact: Any, history: History) -> None:
    """Add a fact, and the history that it led to, to the record of its unit."""
    kind = type(fact)
    if kind is Assigned:
        record.decisions += (fact.decision,)
    elif kind is Responded:
        _add_response(record, fact)
        record.left = not history.feasible
    elif kind is Completed:
        record.outcome = fact.outcome
    elif kind is Withdrawn:
        record.withdrawn = fact
    elif kind is Voided:
        record.voided = fact
    elif kind is Unblinded:
        record.unblinded += (fact,)
    else:
        if kind is Corrected:
            _, record.contexts = merged(design, record, fact)
        record.amendments += (fact,)
    record.history = history
