"""The facts of a stored log: read again when they are asked for, and in columns what pages show of them.

The columns have a row for each decision and each unit, and are kept up to date by each fact.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dtrbandit.design.spec import Design
from dtrbandit.kernels.arrays import Named, under, within
from dtrbandit.record import events
from dtrbandit.record.chain import Record, Stored, record_of, require_links
from dtrbandit.record.codec import Reader
from dtrbandit.record.events import Decision, Fact
from dtrbandit.record.histories import History
from dtrbandit.record.units import Histories
from dtrbandit.record.values import Values
from dtrbandit.storage.store import Storage

NAN = float("nan")
IN_FLIGHT, COMPLETED, WITHDRAWN, VOIDED = range(4)
VOID = -1  # the arm of a row that counts nowhere
FREE, FORCED, FREED = range(3)  # rounds; freed: begun as forced, and decided freely at a later stage
ENDS: Mapping[type, int] = {events.Completed: COMPLETED, events.Withdrawn: WITHDRAWN, events.Voided: VOIDED}
SCHEDULED = {"forced", "only_feasible"}  # reasons that leave a forced round one


class StageColumns:
    """The decisions of a stage in their order: round, arm really given, reason, lead by Q̃, features.

    ``rows`` has the row of each unit by its round, less one; −1: none.
    """

    KINDS: Mapping[str, str] = {
        "rounds": "q", "arms": "b", "reasons": "i", "leads": "d", "features": "d", "rows": "q",
    }  # fmt: skip

    def __init__(self, dimension: int) -> None:
        self.dimension = dimension
        self.rounds, self.arms, self.reasons = array("q"), array("b"), array("i")
        self.leads, self.features, self.rows = array("d"), array("d"), array("q")

    def add(self, t: int, arm: int, reason: int, lead: float, features: NDArray[np.float64]) -> None:
        """Add a decision."""
        self.rows[t - 1] = len(self.rounds)
        self.rounds.append(t)
        self.arms.append(arm)
        self.reasons.append(reason)
        self.leads.append(lead)
        self.features.frombytes(features.tobytes())

    def change(self, t: int, arm: int, features: NDArray[np.float64] | None = None) -> None:
        """Let another arm, or other features, count for the unit of a round."""
        row = self.rows[t - 1]
        if row >= 0:
            self.arms[row] = arm
            if features is not None:
                start = row * self.dimension
                self.features[start : start + self.dimension] = array("d", features.tobytes())

    def columns(self) -> tuple[NDArray[np.int64], NDArray[np.int8], NDArray[np.int32], NDArray[np.float64]]:
        """Return copies of rounds, arms, reasons and leads."""
        return (
            np.array(self.rounds, dtype=np.int64),
            np.array(self.arms, dtype=np.int8),
            np.array(self.reasons, dtype=np.int32),
            np.array(self.leads),
        )

    def matrix(self) -> NDArray[np.float64]:
        """Return a copy of the features, (decisions, d)."""
        return np.array(self.features, dtype=np.float64).reshape(len(self.rounds), self.dimension)


class Ledger:
    """The columns of one log.

    Attributes
    ----------
    outcomes, ends, forced
        Of units, by round, less one.
    forced_changes
        How often something new was known of a unit in a forced round.
    opened, version, names, held, closed, ended
        In a copy, what histories say: the first event, and how many there are; names of units, by round; why accrual is
        held, by site (None: everywhere); the arms that are closed; why the trial ended.
    """

    KINDS: Mapping[str, str] = {"outcomes": "d", "ends": "b", "forced": "b"}
    opened: events.Opened
    version: int
    names: list[str]
    held: dict[str | None, str]
    closed: list[events.ArmClosed]
    ended: str | None

    def __init__(self, design: Design) -> None:
        self.design = design
        self.stages = [StageColumns(dimension) for dimension in design.dimensions]
        self._numbers: dict[str, int] = {}  # of reasons
        self.outcomes, self.ends, self.forced = array("d"), array("b"), array("b")
        self.forced_changes = 0

    def append(self, fact: Fact, history: History) -> None:
        """Take in a fact, which has led to this history."""
        kind: type = type(fact)
        t = history.round
        if isinstance(fact, events.Assigned):
            self._decide(fact.decision, history)
        elif kind is events.Enrolled:
            self.outcomes.append(NAN)
            self.ends.append(IN_FLIGHT)
            self.forced.append(FREE)
            for stage in self.stages:
                stage.rows.append(-1)
        elif kind in ENDS:
            self._end(t, ENDS[kind], NAN if history.outcome is None or kind is events.Voided else history.outcome)
            if kind is events.Voided:
                for stage in self.stages:
                    stage.change(t, VOID)
        elif kind is events.Corrected or kind is events.Overridden:
            self._amend(history)

    def _decide(self, decision: Decision, history: History) -> None:
        t, m = history.round, len(history.arms) - 1
        reason = self._numbers.setdefault(decision.reason, len(self._numbers))
        self.stages[m].add(t, history.arms[m], reason, lead(decision), history.features[m])
        if m == 0 and decision.reason == "forced":
            self.forced[t - 1] = FORCED
        elif self.forced[t - 1] == FORCED and decision.reason not in SCHEDULED:
            self.forced[t - 1] = FREED

    def _end(self, t: int, how: int, outcome: float) -> None:
        self.ends[t - 1], self.outcomes[t - 1] = how, outcome
        self.forced_changes += self.forced[t - 1] != FREE

    def _amend(self, history: History) -> None:
        """Take arms, features and outcome of a unit as they hold now."""
        t = history.round
        for stage, arm, features in zip(self.stages, history.arms, history.features, strict=False):
            stage.change(t, arm, features)
        if history.outcome is not None:
            self.outcomes[t - 1] = history.outcome
        self.forced_changes += self.forced[t - 1] != FREE

    # -- what is asked of it ---------------------------------------------------------------------------------

    @property
    def reasons(self) -> list[str]:
        """The reasons of decisions by number, as they first came."""
        return list(self._numbers)

    @property
    def units(self) -> int:
        """How many units have enrolled."""
        return len(self.ends)

    def count(self, how: int) -> int:
        """Return how many units are in flight, completed, withdrawn or void."""
        return self.ends.count(how)

    def settled(self) -> int:
        """Return how many units, in the order of enrolment, come before the first that is under way."""
        return next((t for t, how in enumerate(self.ends) if how == IN_FLIGHT), len(self.ends))

    # -- as arrays -------------------------------------------------------------------------------------------

    def copy(self, histories: Histories) -> Ledger:
        """Return a copy, which stays as it is, with what histories say of the whole trial."""
        copy = Ledger(self.design)
        copy.load(self.reasons, self.arrays())
        copy.opened, copy.version, copy.names = histories.opened, histories.count, histories.names.copy()
        accrual, ended = histories.accrual.items(), histories.ended
        copy.held = {site: fact.reason for site, fact in accrual if isinstance(fact, events.Held)}
        copy.closed = [*histories.closed.values()]
        copy.ended = None if ended is None else ended.reason
        return copy

    def arrays(self) -> Named:
        """Return all columns by name, copied."""
        own = {**_arrays(self, self.KINDS), "forced_changes": np.array(self.forced_changes)}
        for m, stage in enumerate(self.stages):
            own |= under(str(m), _arrays(stage, stage.KINDS))
        return own

    def load(self, reasons: Sequence[str], arrays: Mapping[str, NDArray[Any]]) -> None:
        """Know what arrays say."""
        self._numbers = {reason: number for number, reason in enumerate(reasons)}
        self.forced_changes = int(arrays["forced_changes"])
        _load(self, self.KINDS, arrays)
        for m, stage in enumerate(self.stages):
            _load(stage, stage.KINDS, within(str(m), arrays))


def _arrays(part: object, kinds: Mapping[str, str]) -> Named:
    return {name: np.array(getattr(part, name), dtype=kind) for name, kind in kinds.items()}


def _load(part: object, kinds: Mapping[str, str], arrays: Mapping[str, NDArray[Any]]) -> None:
    for name, kind in kinds.items():
        setattr(part, name, array(kind, arrays[name].tobytes()))


def lead(decision: Decision) -> float:
    """Return by how much the best Q̃ of a decision exceeds the next best; NaN where there are not two.

    Examples
    --------
    >>> lead(Decision("u", 1, "first", "a", "clear", 1.0, {"a": 3.0, "b": 1.0}, {}, ("a",)))
    2.0
    """
    own, barred = decision.q_tilde, dict(decision.infeasible)
    pairs = own.pairs() if isinstance(own, Values) else own.items()  # twice as fast
    known = sorted([q for arm, q in pairs if q is not None and q == q and arm not in barred])
    return known[-1] - known[-2] if len(known) > 1 else NAN


class StoredFacts:
    """The facts of a stored log. Those that are not stored yet are kept here; all others are read when asked for."""

    def __init__(self, storage: Storage, design: Design) -> None:
        self._storage, self._reader = storage, Reader(design)
        self.ledger = Ledger(design)
        self._stored = 1  # so many events are
        self._new: dict[str, list[Fact]] = {}  # by unit

    def append(self, fact: Fact, history: History) -> None:
        """Keep a fact until it is stored."""
        self.ledger.append(fact, history)
        self._new.setdefault(history.unit, []).append(fact)

    def of_unit(self, unit: str) -> list[Fact]:
        """Return all that happened to a unit. One of an earlier trial may have had the same id."""
        facts = [record.event for record in self.records_of(unit)] + self._new.get(unit, [])
        return [fact for fact in facts if not isinstance(fact, events.Opened | events.Taught)]

    def records_of(self, unit: str) -> list[Record]:
        """Return the stored records of a unit, as far as they are believed."""
        found = self._storage.of_unit(unit, self._stored)
        return [record_of(each.text, number, self._reader) for number, each in checked_alone(self._storage, found)]

    def note_stored(self, sequence: int) -> None:
        """Take all that is kept here as stored; the log has so many events now."""
        self._new.clear()
        self._stored = sequence


def checked_alone(storage: Storage, found: Sequence[tuple[int, Stored]]) -> Sequence[tuple[int, Stored]]:
    """Return records of a log, each with its number and none of them the first, after a look at their hashes."""
    require_links(found, storage.pick([number - 1 for number, _ in found]))
    return found
