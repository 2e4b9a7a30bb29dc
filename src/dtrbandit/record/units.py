"""The records of all units, and what is counted of them: the fold of a log.

``Histories.record`` is the only way in which a fact comes on record. Facts are not checked here: ``record/rules.py``
says what may be recorded next.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any, Protocol
from unicodedata import normalize

from dtrbandit._version import NUMERICS
from dtrbandit.design.feasibility import Barred
from dtrbandit.design.spec import Design
from dtrbandit.record.events import (
    ArmClosed,
    Assigned,
    Completed,
    Corrected,
    Decision,
    Ended,
    Enrolled,
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
)
from dtrbandit.record.histories import NO_UNIT, VOIDED, History, UnitRecord, advance, barred_by, in_order, merged
from dtrbandit.record.values import Values, folded

SCALE = 1074  # every float is a whole multiple of 2**-1074


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

    def known_id(self, unit: str) -> str:
        """Return the id by which a unit is known: as it stands, or in the composed form that new ids have (NFC).

        This acts on what is asked, never on what is on record: a log keeps the ids that it has.
        """
        if not isinstance(unit, str):
            return unit
        plain = str.__str__(unit)  # NumPy has texts of its own kind
        return plain if plain.isascii() or plain in self.rounds else normalize("NFC", plain)

    def look_alike(self, unit: str) -> str | None:
        """Return a known id that differs from this one only in case, or in how Unicode writes a letter."""
        key = folded(unit)
        return self.folded.get(key, key if key in self.rounds else None)

    def decisions(self, unit: str) -> tuple[Decision, ...]:
        """Return all decisions about a unit that is known, from its facts."""
        return tuple([fact.decision for fact in self.facts.of_unit(unit) if isinstance(fact, Assigned)])

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
            self._enroll(_newcomer(fact, history), time)
        else:
            self._add(fact, known, history, time)

    def add_name(self, unit: str) -> None:
        """Give a unit the next round."""
        self.names.append(unit)
        self.rounds[unit] = len(self.names)
        key = folded(unit)
        if key != unit:
            self.folded[key] = unit

    def _enroll(self, record: UnitRecord, time: datetime | None) -> None:
        """Count a unit that has enrolled."""
        record.since = time
        self.add_name(record.history.unit)
        self.in_flight[record.history.unit] = record
        self.tally.states[record.state(len(self.design.stages))] += 1
        if record.exclusions:
            self.tally.excluded += 1

    def _add(self, fact: Any, record: UnitRecord, history: History, time: datetime | None) -> None:
        """Add a fact to the record of its unit, and count what it changes."""
        tally, kind, stages = self.tally, type(fact), len(self.design.stages)
        if kind is Assigned:
            m = len(history.arms) - 1
            tally.count_decision(m, history.arms[m], fact.decision.reason)
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
        record = _newcomer(first, advance(self.design, None, first))
        for each in others:
            fact = _with_values(self.design, len(record.reported), each)
            add(self.design, record, fact, advance(self.design, record, fact))
        return record


def _with_values(design: Design, m: int, fact: Any) -> Any:
    """Return a fact that was read from a text as it was recorded: its context in the order of the design."""
    if not isinstance(fact, Enrolled | Responded) or type(fact.context) is Values:
        return fact
    return fact._replace(context=in_order(design, m, dict(fact.context)))


# -- what is on record after it -----------------------------------------------------------------------------------


def _newcomer(fact: Any, history: History) -> UnitRecord:
    _, _, context, exclude, reason, site = fact
    contexts = (context,)
    exclusions = ((0, exclude, reason),) if exclude else ()
    return UnitRecord(history, contexts, contexts, exclusions=exclusions, site=site)


def add(design: Design, record: UnitRecord, fact: Any, history: History) -> None:
    """Add a fact, and the history that it led to, to the record of its unit."""
    kind = type(fact)
    if kind is Responded:
        _, _, context, exclude, reason = fact
        if exclude:
            record.exclusions += ((len(record.reported), exclude, reason),)
        untouched = record.contexts is record.reported
        contexts = record.contexts = (*record.contexts, context)
        record.reported = contexts if untouched else (*record.reported, context)
        record.left = not history.feasible
    elif kind is Completed:
        record.outcome = fact.outcome
    elif kind is Withdrawn:
        record.withdrawn = fact
    elif kind is Voided:
        record.voided = fact
    elif kind is Unblinded:
        record.unblinded += (fact,)
    elif kind is Corrected or kind is Overridden:
        if kind is Corrected:
            _, record.contexts = merged(design, record, fact)
        record.amendments += (fact,)
    record.history = history


# -- the tally: a summary reads it, and looks at no unit for it ------------------------------------------------------


def whole(number: float) -> int:
    """Return a float in units of 2**-1074, exactly.

    Examples
    --------
    >>> whole(0.1) + whole(0.2) - whole(0.1) == whole(0.2)
    True
    """
    numerator, denominator = number.as_integer_ratio()  # the denominator is a power of 2, at most 2**1074
    return numerator << SCALE + 1 - denominator.bit_length()


class Tally:
    """Counts of units by state, of arms given, of reasons and of amendments, and the sum of outcomes.

    Attributes
    ----------
    states
        How many units are in each state, by its number.
    given
        How often each arm was really given, by stage and arm.
    reasons
        How often each reason led to a decision, in the order in which they first came.
    overridden, corrected
        How many amendments there were of each kind.
    excluded, unblinded
        How many units have contraindications, and of how many somebody was shown the story.
    outcomes, total
        How many outcomes count, and their sum in units of 2**-1074. It is exact, so that their order does not matter.
    """

    COUNTS = ("overridden", "corrected", "excluded", "unblinded", "outcomes", "total")

    def __init__(self) -> None:
        self.states: Counter[int] = Counter()
        self.given: Counter[tuple[int, int]] = Counter()
        self.reasons: Counter[str] = Counter()
        self.overridden = self.corrected = self.excluded = self.unblinded = self.outcomes = self.total = 0

    @property
    def mean_outcome(self) -> float | None:
        """The mean of the outcomes that count, rounded once; None if there is none."""
        return self.total / (self.outcomes << SCALE) if self.outcomes else None

    def move(self, before: int, after: int) -> None:
        """Count a unit in another state."""
        self.states[before] -= 1
        self.states[after] += 1

    def count_decision(self, m: int, arm: int, reason: str) -> None:
        """Count an arm that is given at a stage, and the reason for it."""
        self.given[m, arm] += 1
        self.reasons[reason] += 1

    def count_outcome(self, before: float | None, after: float | None) -> None:
        """Let an outcome count in the place of another; None: no outcome."""
        if before is not None:
            self.outcomes -= 1
            self.total -= whole(before)
        if after is not None:
            self.outcomes += 1
            self.total += whole(after)

    def count_arms(self, before: tuple[int, ...], after: tuple[int, ...]) -> None:
        """Let the arms of a unit count in the place of others."""
        for m, (old, new) in enumerate(zip(before, after, strict=True)):
            if old != new:
                self.given[m, old] -= 1
                self.given[m, new] += 1

    def copy(self) -> Tally:
        """Return a copy, which stays as it is."""
        return Tally.from_dict(self.to_dict())

    def to_dict(self) -> dict[str, Any]:
        """Return all counts as plain values."""
        own = {name: str(getattr(self, name)) for name in self.COUNTS}  # a sum may be longer than JSON's numbers
        given = [[m, arm, count] for (m, arm), count in self.given.items()]
        return {**own, "states": [*self.states.items()], "given": given, "reasons": [*self.reasons.items()]}

    @staticmethod
    def from_dict(counts: Mapping[str, Any]) -> Tally:
        """Return the tally that ``to_dict`` describes."""
        tally = Tally()
        tally.states = Counter(dict(counts["states"]))
        tally.given = Counter({(m, arm): count for m, arm, count in counts["given"]})
        tally.reasons = Counter(dict(counts["reasons"]))
        for name in Tally.COUNTS:
            setattr(tally, name, int(counts.get(name, 0)))  # one that is new has counted nothing yet
        return tally
