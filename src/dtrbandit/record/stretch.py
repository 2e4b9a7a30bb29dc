"""A stretch of usual facts, checked all together: most of a long log.

Facts are usual if they are enrolments, decisions, responses, outcomes and withdrawals that could come one after the
other. They are then looked at column by column, in a fraction of the time that one after the other takes. A stretch
with anything else in it, or with anything wrong, is left to ``record/rules.py``, which takes facts one by one and says
what is wrong.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dtrbandit.design.contexts import LARGEST
from dtrbandit.design.feasibility import Barred, left_for_sets
from dtrbandit.design.formula import Formula, Matrix, Vector
from dtrbandit.design.spec import Design
from dtrbandit.errors import DTRError
from dtrbandit.record.bundle import Bundle, Head, Integers, Unusual, require_usual
from dtrbandit.record.bundling import side_by_side_of
from dtrbandit.record.contraindications import accept_exclude
from dtrbandit.record.events import Assigned, Decision, Enrolled, Event, Responded, Withdrawn
from dtrbandit.record.histories import Histories, UnitRecord, barred_by
from dtrbandit.record.packed import KINDS as HEAD_KINDS
from dtrbandit.record.reasons import accept_reason
from dtrbandit.record.rules import ROUNDING, is_unit_id, what_is_wrong
from dtrbandit.record.sites import accept_site
from dtrbandit.record.values import Values

Mask = NDArray[np.bool_]

ENROLLED, RESPONDED, ASSIGNED, COMPLETED, WITHDRAWN = range(5)


class Stretch(NamedTuple):
    """Usual facts, and what a policy learns from them. Arrays have an entry for each fact, unless it says otherwise.

    Attributes
    ----------
    bundle
        The facts as they go on record.
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

    bundle: Bundle
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

    def ended(self) -> Integers:
        """Return the rounds of units that have an outcome or are withdrawn in it."""
        return self.rounds[self.kind >= COMPLETED]


def usual_stretch(histories: Histories, events: Sequence[Event]) -> Stretch | None:
    """Return events as a stretch if they are usual and may be recorded next, else None. Nothing is changed."""
    try:
        return _Reading(histories, side_by_side_of(histories, events)).stretch()
    except (Unusual, DTRError):
        return None


class _Units(NamedTuple):
    """The units of a stretch by number, in the order of their rounds, and where they stand."""

    records: list[UnitRecord | None]  # None if they enrol
    reported: Integers  # contexts so far
    node: Integers
    arms: Integers  # (units, M), −1 where none
    columns: Matrix  # (units, columns of the design), NaN where not known
    left: Mask
    barring: Integers  # what is contraindicated for them, as a number


class _Common(NamedTuple):
    """What facts with the same head have in common, in numbers."""

    kind: int
    stage: int = -1  # that they are about, if they name one
    columns: tuple[int, ...] = ()  # of the stage, that a context has
    arm: int = -1
    forced: bool = False
    barred: Barred = ()  # by what they exclude


def _common_to(design: Design, head: Head) -> _Common:
    """Return what the facts of a head have in common; Unusual or a DTRError if a log cannot hold it."""
    kind, parts = HEAD_KINDS[head[0]], head[1:]
    if kind is Enrolled:
        labels, exclude, reason, site = parts
        accept_site(site)
        return _common_to_arrivals(design, ENROLLED, 0, labels, (exclude, reason))
    if kind is Responded:
        stage, labels, *said = parts
        return _common_to_arrivals(design, RESPONDED, design.stage_number(stage), labels, tuple(said))
    if kind is Assigned:
        return _common_to_decisions(design, parts)
    if kind is Withdrawn:
        accept_reason(parts[0], "who withdraws")
        return _Common(WITHDRAWN)
    return _Common(COMPLETED)


def _common_to_arrivals(design: Design, kind: int, m: int, labels: tuple[str, ...], said: tuple[Any, ...]) -> _Common:
    columns = tuple([place for place, column in enumerate(design.columns[m]) if column in labels])
    require_usual(labels == tuple([design.columns[m][place] for place in columns]))
    exclude, reason = said
    if exclude is reason is None:
        return _Common(kind, m, columns)
    require_usual(exclude is not None)
    excluded, _ = accept_exclude(design, "who arrives", m, dict(exclude), reason)
    return _Common(kind, m, columns, barred=barred_by(design, excluded))


def _common_to_decisions(design: Design, parts: tuple[Any, ...]) -> _Common:
    stage, arm, reason, contenders, infeasible, tilde, hat = parts
    m = design.stage_number(stage)
    arms = design.stages[m].arms
    require_usual(tilde == hat == arms and arm in arms)
    nothing: Values[float | None] = Values(arms, [None] * len(arms))
    decision = Decision("", 0, stage, arm, reason, None, nothing, nothing, contenders, infeasible)
    require_usual(what_is_wrong(decision, arms) is None)
    return _Common(ASSIGNED, m, arm=arms.index(arm), forced=reason == "forced")


class _Reading:
    """One look at a stretch. Positions are places in it; units are numbered within it."""

    def __init__(self, histories: Histories, bundle: Bundle) -> None:
        self.histories, self.design, self.bundle = histories, histories.design, bundle
        require_usual(bundle.units and histories.ended is None)
        self.common = [_common_to(self.design, head) for head in bundle.heads]
        self.kind = self._by_head([each.kind for each in self.common])
        self.about = self._by_head([each.stage for each in self.common])
        self._require_accrual()
        self.excluded: dict[Barred, int] = {(): 0}  # sets of contraindications, numbered
        self.rounds = self._rounds()
        numbers, self.unit = np.unique(self.rounds, return_inverse=True)
        self.units = self._units(numbers, len(histories))
        self.is_arrival = self.kind <= RESPONDED
        self.decided = np.zeros(len(self.kind), dtype=np.bool_)  # arrivals that a decision for the same unit follows
        self.decided[:-1] = (self.kind[1:] == ASSIGNED) & (self.unit[1:] == self.unit[:-1]) & self.is_arrival[:-1]
        require_usual(self.decided.sum() == (self.kind == ASSIGNED).sum())

    def _by_head(self, values: Sequence[int]) -> Integers:
        """Return what the head of each fact says."""
        result: Integers = np.array(values, dtype=np.int64)[self.bundle.which]
        return result

    def _require_accrual(self) -> None:
        """Require that accrual is held at none of the sites of newcomers."""
        for each, head in zip(self.common, self.bundle.heads, strict=True):
            if each.kind == ENROLLED:
                require_usual(self.histories.hold_of(head[-1]) is None)

    def _rounds(self) -> Integers:
        """Return the round of each fact's unit; newcomers have the next ones."""
        known, names, enrols = self.histories.log.rounds, self.bundle.units, self.kind == ENROLLED
        require_usual(set(map(type, names)) == {str})
        newcomers = list(compress(names, enrols.tolist()))
        rounds = range(len(known) + 1, len(known) + 1 + len(newcomers))
        require_usual(all(map(is_unit_id, newcomers)))
        new = dict(zip(newcomers, rounds, strict=True))
        require_usual(len(new) == len(newcomers) and known.keys().isdisjoint(new))
        found = np.array([new.get(name) or known.get(name) or 0 for name in names], dtype=np.int64)
        require_usual(found.all())
        says = enrols | (self.kind == ASSIGNED)
        require_usual((self.bundle.said == found)[says].all())
        return found

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
            require_usual(record is not None)
            assert record is not None
            _, _, node, _, arms, _, _, excluded = record.history
            if excluded:
                units.barring[i] = self.excluded.setdefault(excluded[-1], len(self.excluded))
            units.reported[i], units.node[i], units.left[i] = len(record.reported), node, record.left
            units.arms[i, : len(arms)] = arms
            for context, (labels, own) in zip(record.contexts, columns, strict=False):
                require_usual(context.labels == labels or record.left)
                if context.labels == labels:
                    units.columns[i, own] = context.numbers
        return units

    def stretch(self) -> Stretch:
        """Return the stretch, or raise Unusual."""
        stage = self._stages()
        n = len(self.kind)
        node, arm = np.full(n, -1, dtype=np.int64), np.full(n, -1, dtype=np.int64)
        value, features = np.zeros(n), np.zeros((n, max(self.design.dimensions)))
        self.barring = np.zeros(n, dtype=np.int64)
        for m in range(len(self.design.stages)):
            arrived = np.flatnonzero(self.is_arrival & (stage == m))
            if len(arrived):
                self._arrive(m, arrived, node, arm, value, features)
        completed = np.flatnonzero(self.kind == COMPLETED)
        value[completed] = self._outcomes(completed)
        teaches = self.kind >= ASSIGNED
        teaches[self.is_arrival & ~self.decided] = True  # those who left
        excluded = tuple(self.excluded)
        return Stretch(
            self.bundle, self.rounds, self.kind, teaches, stage, node, arm, value, features, self.barring, excluded
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
        require_usual(((self.kind == ENROLLED) == (first & enrolling)).all())
        require_usual(not (before(completed | withdrawn) > 0).any())
        require_usual(not (left & arrival).any() and (arrivals[arrival] < stages).all())
        require_usual((left | (arrivals == stages))[completed].all())
        entered = arrivals - left  # of facts other than arrivals: how many stages
        result: Integers = np.where(arrival, arrivals, np.where(withdrawn, entered, entered - 1))
        return result

    def _arrive(self, m: int, at: Integers, node: Integers, arm: Integers, value: Vector, features: Matrix) -> None:
        """Take the arrivals at stage ``m``, at these positions, and the decisions that follow them."""
        design, units, unit, decided = self.design, self.units, self.unit[at], self.decided[at]
        units.columns[unit, _columns(design, m)] = self._contexts(m, at)
        self._exclude(at)
        parsed = design.parsed[m]
        require_usual((self.about[at] == m).all())
        whole: Mask = np.all(np.isfinite(units.columns[unit, _columns(design, m)]), axis=1)
        known = {name: units.columns[unit, j] for j, name in enumerate(_names(design, m))}
        enters = np.ones(len(at), dtype=np.bool_)
        if m > 0 and parsed.condition is not None:
            require_usual(not any(np.isnan(known[column]).any() for column in parsed.condition.columns))
            enters = parsed.condition.mask(known)
        require_usual((enters == decided).all() and (whole | ~enters).all())
        stands, psi = np.where(whole, units.node[unit], -1), self._features(m, unit[whole], known, whole)
        told = np.where(decided, at + 1, at)  # a decision tells of the arrival as well; a response, who left
        node[told], self.barring[told] = stands, units.barring[unit]
        features[told[whole], : psi.shape[1]] = psi
        given, entering = told[decided], unit[decided]
        arm[given] = units.arms[entering, m] = self._decisions(m, given, entering)
        value[given] = self._by_head([each.forced for each in self.common])[given]
        units.node[entering] = design.tree.child[units.node[entering], arm[given]]

    def _contexts(self, m: int, at: Integers) -> Matrix:
        """Return the contexts of arrivals, NaN where a column is missing."""
        rows, which = np.full((len(at), len(self.design.columns[m])), np.nan), self.bundle.which[at]
        for head in np.unique(which).tolist():
            own, columns = which == head, self.common[head].columns
            found = self.bundle.numbers[at[own], : len(columns)]
            require_usual((np.abs(found) <= LARGEST).all())
            rows[np.ix_(own, columns)] = found
        return rows

    def _features(self, m: int, unit: Integers, known: dict[str, Vector], whole: Mask) -> Matrix:
        """Return ψ_m of units whose columns are all known."""
        formula, design = self.design.parsed[m].features, self.design
        require_usual(isinstance(formula, Formula))  # one of one's own may have other bits for many units than for one
        arms = {design.stages[k].name: self.units.arms[unit, k] for k in range(m)}
        with np.errstate(over="ignore", invalid="ignore"):
            psi = formula.matrix({name: column[whole] for name, column in known.items()}, arms, len(unit))
        require_usual((np.abs(psi) <= LARGEST).all())
        return psi

    def _decisions(self, m: int, at: Integers, unit: Integers) -> Integers:
        """Return the arms that decisions at stage ``m`` give, as numbers."""
        require_usual((self.about[at] == m).all())
        propensity = self.bundle.numbers[at, :1]
        require_usual((np.isnan(propensity) | ((propensity >= 0) & (propensity <= 1 + ROUNDING))).all())
        arms = self._by_head([each.arm for each in self.common])[at]
        left = left_for_sets(self.design.tree, tuple(self.excluded), self.histories.barred)
        require_usual(left[self.units.barring[unit], self.units.node[unit], arms].all())
        return arms

    def _exclude(self, at: Integers) -> None:
        """Take what arrivals say of contraindications."""
        excludes = self._by_head([bool(each.barred) for each in self.common])[at] > 0
        sets = list(self.excluded)
        for i in at[excludes].tolist():
            unit, barred = self.unit[i], self.common[self.bundle.which[i]].barred
            known = tuple(sorted({*sets[self.units.barring[unit]], *barred}))
            if known not in self.excluded:
                self.excluded[known] = len(sets)
                sets.append(known)
            self.units.barring[unit] = self.excluded[known]

    def _outcomes(self, at: Integers) -> Vector:
        outcomes = self.bundle.numbers[at, 0] if len(at) else np.zeros(0)
        require_usual((np.abs(outcomes) <= LARGEST).all())
        return outcomes


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
