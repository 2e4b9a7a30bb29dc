"""A stretch of usual facts, checked all together: most of a long log.

Facts are usual if they are enrolments, decisions, responses, outcomes and withdrawals that could come one after the
other. They are then looked at column by column, in a fraction of the time that one after the other takes. A stretch
with anything else in it, or with anything wrong, is left to ``record/rules.py``, which takes facts one by one and says
what is wrong.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import compress, groupby, repeat
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dtrbandit.design.contexts import LARGEST
from dtrbandit.design.feasibility import Barred, left_for_sets
from dtrbandit.design.formula import Formula, Matrix, Vector
from dtrbandit.design.spec import Design
from dtrbandit.errors import DTRError
from dtrbandit.record.contraindications import accept_exclude
from dtrbandit.record.events import Assigned, Completed, Decision, Enrolled, Event, Fact, Responded, Withdrawn
from dtrbandit.record.histories import Histories, UnitRecord, barred_by
from dtrbandit.record.reasons import accept_reason
from dtrbandit.record.rules import accept, is_unit_id, is_usual, what_is_wrong
from dtrbandit.record.sites import accept_site
from dtrbandit.record.values import Values

Integers = NDArray[np.int64]
Mask = NDArray[np.bool_]

ENROLLED, RESPONDED, ASSIGNED, COMPLETED, WITHDRAWN = range(5)
KINDS: dict[type, int] = {
    Enrolled: ENROLLED,
    Responded: RESPONDED,
    Assigned: ASSIGNED,
    Completed: COMPLETED,
    Withdrawn: WITHDRAWN,
}


class Stretch(NamedTuple):
    """Usual facts, and what a policy learns from them. Arrays have an entry for each fact, unless it says otherwise.

    Attributes
    ----------
    facts
        As they go on record.
    rounds
        Of their units.
    kind
        ENROLLED, RESPONDED, ASSIGNED, COMPLETED or WITHDRAWN.
    teaches
        Whether a policy learns from the fact: a decision, a response without one, an outcome, a withdrawal.
    stage
        The stage that the unit has arrived at, or left before; of an outcome its last one, of a withdrawal the one
        after that.
    node
        Where the unit stood on arrival; −1 where features are not known.
    arm
        The arm given; −1 where none was.
    value
        The outcome; for a decision 1 if it was forced, else 0.
    features
        (facts, D): ψ of the stage, filled up with zeros.
    barring, excluded
        What was contraindicated for the unit on arrival, as a number, and the sets of contraindications by number.
    """

    facts: list[Fact]
    rounds: Integers
    kind: Integers
    teaches: Mask
    stage: Integers
    node: Integers
    arm: Integers
    value: Vector
    features: Matrix
    barring: Integers
    excluded: tuple[Barred, ...]

    def ended(self) -> set[int]:
        """Return the rounds of units that have an outcome or are withdrawn in it."""
        return set(self.rounds[self.kind >= COMPLETED].tolist())


class Unusual(Exception):  # noqa: N818  # it is no error
    """Something in a stretch must be looked at by itself."""


def runs(events: Sequence[Event], shortest: int) -> Iterator[tuple[bool, list[Event]]]:
    """Cut events where their kinds are not usual; say of each run whether it may be a stretch.

    Runs shorter than ``shortest`` are not worth looking at together.
    """
    every = list(events)
    if len(every) >= shortest and all(map(KINDS.__contains__, map(type, every))):
        yield True, every
        return
    rest: list[Event] = []
    for usual, group in groupby(every, lambda event: type(event) in KINDS):
        run = list(group)
        if usual and len(run) >= shortest:
            if rest:
                yield False, rest
            yield True, run
            rest = []
        else:
            rest += run
    if rest:
        yield False, rest


def usual_stretch(histories: Histories, events: Sequence[Event]) -> Stretch | None:
    """Return events as a stretch if they are usual and may be recorded next, else None. Nothing is changed."""
    try:
        return _Reading(histories, events).stretch()
    except (Unusual, DTRError):
        return None


def _require(usual: Any) -> None:
    if not usual:
        raise Unusual


class _Units(NamedTuple):
    """The units of a stretch by number, in the order of their rounds, and where they stand."""

    records: list[UnitRecord | None]  # None if they enrol
    reported: Integers  # contexts so far
    node: Integers
    arms: Integers  # (units, M), −1 where none
    columns: Matrix  # (units, columns of the design), NaN where not known
    left: Mask
    barring: Integers  # what is contraindicated for them, as a number


class _Reading:
    """One look at a stretch. Positions are places in it; units are numbered within it."""

    def __init__(self, histories: Histories, events: Sequence[Event]) -> None:
        self.histories, self.design = histories, histories.design
        self.kind = np.array(list(map(KINDS.get, map(type, events), repeat(-1))), dtype=np.int64)
        _require(len(events) and self.kind.min() >= 0)
        _require(histories.ended is None)
        self.facts: list[Any] = list(events)
        self._require_sites([fact.site for fact in compress(self.facts, self.kind == ENROLLED)])
        self.excluded: dict[Barred, int] = {(): 0}  # sets of contraindications, numbered
        self.decisions = [fact.decision for fact in compress(self.facts, self.kind == ASSIGNED)]
        _require(all(type(decision) is Decision for decision in self.decisions))
        names = [fact[0] for fact in self.facts]
        for i, decision in zip(np.flatnonzero(self.kind == ASSIGNED).tolist(), self.decisions, strict=True):
            names[i] = decision[0]
        _require(set(map(type, names)) == {str})
        self.rounds = self._rounds_of(names)
        numbers, self.unit = np.unique(self.rounds, return_inverse=True)
        self.units = self._units(numbers, len(histories))
        self.is_arrival = self.kind <= RESPONDED
        self.decided = np.zeros(len(names), dtype=np.bool_)  # arrivals that a decision for the same unit follows
        self.decided[:-1] = (self.kind[1:] == ASSIGNED) & (self.unit[1:] == self.unit[:-1]) & self.is_arrival[:-1]
        _require(self.decided.sum() == len(self.decisions))

    def _require_sites(self, sites: list[Any]) -> None:
        """Require that the sites of newcomers can be recorded, and that accrual is held at none of them."""
        _require(all(site is None or type(site) is str for site in sites))
        for site in set(sites):
            _require(self.histories.hold_of(accept_site(site)) is None)

    def _rounds_of(self, names: list[str]) -> Integers:
        """Return the round of each fact's unit; newcomers have the next ones."""
        known, enrolments = self.histories.log.rounds, list(compress(self.facts, self.kind == ENROLLED))
        newcomers = [fact.unit for fact in enrolments]
        rounds = range(len(known) + 1, len(known) + 1 + len(newcomers))
        _require(all(map(is_unit_id, newcomers)) and [fact.round for fact in enrolments] == list(rounds))
        new = dict(zip(newcomers, rounds, strict=True))
        _require(len(new) == len(newcomers) and known.keys().isdisjoint(new))
        found = [new.get(name) or known.get(name) or 0 for name in names]
        _require(all(found))
        return np.array(found, dtype=np.int64)

    def _units(self, rounds: Integers, enrolled: int) -> _Units:
        """Return where units stand before the stretch; those that have ended are not usual."""
        n, design, log = len(rounds), self.design, self.histories.log
        units = _Units(
            [None] * n,
            np.zeros(n, dtype=np.int64),
            np.zeros(n, dtype=np.int64),
            np.full((n, len(design.stages)), -1, dtype=np.int64),
            np.full((n, sum(map(len, design.columns))), np.nan),
            np.zeros(n, dtype=np.bool_),
            np.zeros(n, dtype=np.int64),
        )
        columns = [(labels, _columns(design, m)) for m, labels in enumerate(design.columns)]
        for i, t in enumerate(rounds[: np.searchsorted(rounds, enrolled, side="right")].tolist()):
            record = units.records[i] = self.histories.in_flight.get(log.names[t - 1])
            _require(record is not None)
            assert record is not None
            _, _, node, _, arms, _, _, excluded = record.history
            if excluded:
                units.barring[i] = self.excluded.setdefault(excluded[-1], len(self.excluded))
            units.reported[i], units.node[i], units.left[i] = len(record.reported), node, record.left
            units.arms[i, : len(arms)] = arms
            for context, (labels, own) in zip(record.contexts, columns, strict=False):
                _require(context.labels == labels or record.left)
                if context.labels == labels:
                    units.columns[i, own] = context.numbers
        return units

    def stretch(self) -> Stretch:
        """Return the stretch, or raise Unusual."""
        stage = self._stages()
        n = len(self.facts)
        node, arm = np.full(n, -1, dtype=np.int64), np.full(n, -1, dtype=np.int64)
        value, features = np.zeros(n), np.zeros((n, max(self.design.dimensions)))
        self.barring = np.zeros(n, dtype=np.int64)
        for m in range(len(self.design.stages)):
            arrived = np.flatnonzero(self.is_arrival & (stage == m))
            if len(arrived):
                self._arrive(m, arrived, node, arm, value, features)
        completed = np.flatnonzero(self.kind == COMPLETED)
        value[completed] = self._outcomes(completed)
        for fact in compress(self.facts, self.kind == WITHDRAWN):
            accept_reason(fact.reason, fact.unit)
        teaches = self.kind >= ASSIGNED
        teaches[self.is_arrival & ~self.decided] = True  # those who left
        excluded = tuple(self.excluded)
        return Stretch(
            self.facts, self.rounds, self.kind, teaches, stage, node, arm, value, features, self.barring, excluded
        )

    def _stages(self) -> Integers:
        """Return the stage that each fact is about; require that the facts of a unit come in turn."""
        stages, before = len(self.design.stages), _CountBefore(self.unit)
        arrivals = before(self.is_arrival) + self.units.reported[self.unit]
        leaving = self.is_arrival & ~self.decided
        left = self.units.left[self.unit] | (before(leaving) > 0)
        arrival, completed, withdrawn = self.is_arrival, self.kind == COMPLETED, self.kind == WITHDRAWN
        enrolling = np.array([record is None for record in self.units.records])[self.unit]
        first = before(np.ones(len(self.unit), dtype=np.bool_)) == 0
        _require(((self.kind == ENROLLED) == (first & enrolling)).all())
        _require(not (before(completed | withdrawn) > 0).any())
        _require(not (left & arrival).any() and (arrivals[arrival] < stages).all())
        _require((left | (arrivals == stages))[completed].all())
        entered = arrivals - left  # of facts other than arrivals: how many stages
        result: Integers = np.where(arrival, arrivals, np.where(withdrawn, entered, entered - 1))
        return result

    def _arrive(self, m: int, at: Integers, node: Integers, arm: Integers, value: Vector, features: Matrix) -> None:
        """Take the arrivals at stage ``m``, at these positions, and the decisions that follow them."""
        design, units, unit, decided = self.design, self.units, self.unit[at], self.decided[at]
        units.columns[unit, _columns(design, m)] = self._contexts(m, at)
        self._exclude(m, at)
        parsed = design.parsed[m]
        if m > 0:
            _require(all(self.facts[i].stage == design.stages[m].name for i in at.tolist()))
        whole: Mask = np.all(np.isfinite(units.columns[unit, _columns(design, m)]), axis=1)
        known = {name: units.columns[unit, j] for j, name in enumerate(_names(design, m))}
        enters = np.ones(len(at), dtype=np.bool_)
        if m > 0 and parsed.condition is not None:
            _require(not any(np.isnan(known[column]).any() for column in parsed.condition.columns))
            enters = parsed.condition.mask(known)
        _require((enters == decided).all() and (whole | ~enters).all())
        stands, psi = np.where(whole, units.node[unit], -1), self._features(m, unit[whole], known, whole)
        told = np.where(decided, at + 1, at)  # a decision tells of the arrival as well; a response, who left
        node[told], self.barring[told] = stands, units.barring[unit]
        features[told[whole], : psi.shape[1]] = psi
        given, entering = told[decided], unit[decided]
        arm[given] = units.arms[entering, m] = self._decisions(m, given, entering)
        value[given] = [self.facts[i].decision.reason == "forced" for i in given.tolist()]
        units.node[entering] = design.tree.child[units.node[entering], arm[given]]

    def _contexts(self, m: int, at: Integers) -> Matrix:
        """Return the contexts of arrivals, NaN where a column is missing; have facts hold them as they are recorded."""
        columns, packed = self.design.columns[m], []
        size, partly = 8 * len(columns), np.zeros(len(at), dtype=np.bool_)
        for k, i in enumerate(at.tolist()):
            fact = self.facts[i]
            context = fact.context
            if type(context) is not Values or context.labels != columns or len(context.packed) != size:
                context = accept(self.histories, fact.unit, m, context)
                self.facts[i] = fact._replace(context=context)
                if context.labels != columns:
                    partly[k] = True
                    known = dict(context.pairs())
                    context = Values(columns, [known.get(column, np.nan) for column in columns])
            packed.append(context.packed)
        rows = np.frombuffer(b"".join(packed)).reshape(len(at), len(columns))
        _require((np.abs(rows) <= LARGEST)[~partly].all())
        return rows

    def _features(self, m: int, unit: Integers, known: dict[str, Vector], whole: Mask) -> Matrix:
        """Return ψ_m of units whose columns are all known."""
        formula, design = self.design.parsed[m].features, self.design
        _require(isinstance(formula, Formula))  # one of one's own may have other bits for many units than for one
        arms = {design.stages[k].name: self.units.arms[unit, k] for k in range(m)}
        with np.errstate(over="ignore", invalid="ignore"):
            psi = formula.matrix({name: column[whole] for name, column in known.items()}, arms, len(unit))
        _require((np.abs(psi) <= LARGEST).all())
        return psi

    def _decisions(self, m: int, at: Integers, unit: Integers) -> Integers:
        """Return the arms that decisions at stage ``m`` give, as numbers."""
        stage = self.design.stages[m]
        decisions: list[Decision] = [self.facts[i].decision for i in at.tolist()]
        _require([decision[1] for decision in decisions] == self.rounds[at].tolist())
        for decision in decisions:
            if decision[2] != stage.name or decision[3] not in stage.arms:
                raise Unusual
            if not is_usual(decision, stage.arms) and what_is_wrong(decision, stage.arms):
                raise Unusual
        arms = np.array([stage.arms.index(decision[3]) for decision in decisions], dtype=np.int64)
        left = left_for_sets(self.design.tree, tuple(self.excluded), self.histories.barred)
        _require(left[self.units.barring[unit], self.units.node[unit], arms].all())
        return arms

    def _exclude(self, m: int, at: Integers) -> None:
        """Take what arrivals say of contraindications; have facts hold it as it is recorded."""
        sets = list(self.excluded)
        for i in at.tolist():
            fact, unit = self.facts[i], self.unit[i]
            if fact.exclude is not None or fact.reason is not None:
                exclude, reason = accept_exclude(self.design, fact.unit, m, fact.exclude, fact.reason)
                self.facts[i] = fact._replace(exclude=exclude, reason=reason)
                known = tuple(sorted({*sets[self.units.barring[unit]], *barred_by(self.design, exclude)}))
                if known not in self.excluded:
                    self.excluded[known] = len(sets)
                    sets.append(known)
                self.units.barring[unit] = self.excluded[known]

    def _outcomes(self, at: Integers) -> Vector:
        outcomes = [self.facts[i].outcome for i in at.tolist()]
        _require(set(map(type, outcomes)) <= {float})
        numbers = np.array(outcomes, dtype=np.float64)
        _require((np.abs(numbers) <= LARGEST).all())
        return numbers


class _CountBefore:
    """Counts, for each position, earlier positions of the same unit at which something was so."""

    def __init__(self, unit: Integers) -> None:
        self._order = np.argsort(unit, kind="stable")
        ordered = unit[self._order]
        self._first = np.searchsorted(ordered, ordered)  # where the unit's facts begin

    def __call__(self, was: Mask) -> Integers:
        ordered = was[self._order].astype(np.int64)
        earlier = np.cumsum(ordered) - ordered
        counts = np.empty_like(earlier)
        counts[self._order] = earlier - earlier[self._first]
        return counts


def _columns(design: Design, m: int) -> slice:
    """Return where the columns of stage ``m`` stand among those of all stages."""
    start = sum(map(len, design.columns[:m]))
    return slice(start, start + len(design.columns[m]))


def _names(design: Design, m: int) -> list[str]:
    """Return the names of all columns up to stage ``m``, in order."""
    return [name for columns in design.columns[: m + 1] for name in columns]
