"""What pages count, in columns: one row per decision and one per unit, brought up to date with what is new alone.

A ledger follows the log of one trial. Reading half a million events takes seconds; it is done once, and after that each
look costs what has happened since the last one.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from dtrbandit.design.spec import Design
from dtrbandit.record.events import (
    ArmClosed,
    Assigned,
    Completed,
    Corrected,
    Decision,
    Ended,
    Enrolled,
    Event,
    Held,
    Overridden,
    Released,
    Responded,
    Voided,
    Withdrawn,
)
from dtrbandit.record.features import Context, all_features, features_at
from dtrbandit.record.histories import in_order
from dtrbandit.record.values import Values
from dtrbandit.trial import Trial

NAN = float("nan")
IN_FLIGHT, COMPLETED, WITHDRAWN, VOIDED = range(4)
VOID = -1  # the arm of a row that counts nowhere
FREE, FORCED, FREED = range(3)  # rounds; freed: begun as forced, and decided freely at a later stage
SCHEDULED = {"forced", "only_feasible"}  # reasons that leave a forced round one


class StageColumns:
    """The decisions of a stage in their order: round, arm really given, reason, lead by Q̃, features."""

    def __init__(self, dimension: int) -> None:
        self.dimension = dimension
        self.rounds, self.arms, self.reasons = array("l"), array("b"), array("b")
        self.leads, self.features = array("d"), array("d")
        self.rows: dict[int, int] = {}  # by round

    def add(self, t: int, arm: int, reason: int, lead: float, features: NDArray[np.float64]) -> None:
        """Add a decision."""
        self.rows[t] = len(self.rounds)
        self.rounds.append(t)
        self.arms.append(arm)
        self.reasons.append(reason)
        self.leads.append(lead)
        self.features.frombytes(features.tobytes())

    def change(self, t: int, arm: int, features: NDArray[np.float64] | None = None) -> None:
        """Let another arm, or other features, count for the unit of a round."""
        row = self.rows.get(t)
        if row is None:
            return
        self.arms[row] = arm
        if features is not None:
            start = row * self.dimension
            self.features[start : start + self.dimension] = array("d", features.tolist())

    def columns(self) -> tuple[NDArray[np.int64], NDArray[np.int8], NDArray[np.int8], NDArray[np.float64]]:
        """Return copies of rounds, arms, reasons and leads."""
        kinds = (self.rounds, np.int64), (self.arms, np.int8), (self.reasons, np.int8), (self.leads, np.float64)
        return tuple(np.array(values, dtype=kind) for values, kind in kinds)  # type: ignore[return-value]  # four

    def matrix(self) -> NDArray[np.float64]:
        """Return a copy of the features, (decisions, d)."""
        return np.array(self.features, dtype=np.float64).reshape(len(self.rounds), self.dimension)


class Ledger:
    """The columns of one log. ``follow`` brings them up to date."""

    def __init__(self, design: Design, opened: Event) -> None:
        self.design, self.opened = design, opened
        self.version = 1
        self.stages = [StageColumns(dimension) for dimension in design.dimensions]
        self.reasons: list[str] = []  # by number, as they first came
        self.names: list[str] = []  # of units, by round
        self.outcomes, self.ends, self.forced = array("d"), array("b"), array("b")  # by round
        self.held: dict[str | None, str] = {}  # why accrual is held, by site; None: everywhere
        self.closed: list[ArmClosed] = []
        self.ended: str | None = None
        self.forced_changes = 0  # how often something new was known of a unit in a forced round
        self._rounds: dict[str, int] = {}
        self._contexts: dict[str, tuple[Context, ...]] = {}  # of units in flight
        self._amended: dict[str, None] = {}  # units to read again: the database may be away just then

    def follow(self, trial: Trial) -> Ledger:
        """Take in what is new; return the ledger itself, or a new one if the trial has another log by now."""
        log = trial.session_log()
        if log[0] != self.opened:
            return Ledger(trial.design, log[0]).follow(trial)
        for event in log[self.version :]:
            unit = self._take(event)
            self.version += 1
            if unit is not None:
                self._amended[unit] = None
                self._note(unit)
        for unit in list(self._amended):
            self._read_again(trial, unit)
            del self._amended[unit]
        return self

    def _take(self, event: Event) -> str | None:
        """Take in an event; return the unit whose rows it amends, if any."""
        match event:
            case Assigned(decision):
                self._decide(decision)
            case Enrolled():
                self._enrol(event)
            case Responded(unit=unit, context=context):
                self._contexts[unit] += (context,)  # type: ignore[operator]  # as recorded
            case Completed(unit=unit, outcome=outcome):
                self._end(unit, COMPLETED, outcome)
            case Withdrawn(unit=unit):
                self._end(unit, WITHDRAWN, NAN)
            case Voided(unit=unit):
                self._end(unit, VOIDED, NAN)
                for stage in self.stages:
                    stage.change(self._rounds[unit], VOID)
            case Corrected(unit=unit, outcome=float(outcome)):
                self.outcomes[self._rounds[unit] - 1] = outcome
                self._note(unit)
            case Corrected(unit=unit) | Overridden(unit=unit):
                return unit
            case _:
                self._take_of_trial(event)
        return None

    def _enrol(self, event: Enrolled) -> None:
        self._rounds[event.unit] = event.round
        self._contexts[event.unit] = (event.context,)  # type: ignore[assignment]  # as recorded
        self.names.append(event.unit)
        self.outcomes.append(NAN)
        self.ends.append(IN_FLIGHT)
        self.forced.append(FREE)

    def _take_of_trial(self, event: Event) -> None:
        match event:
            case Held(reason=reason, site=site):
                self.held[site] = reason
            case Released(site=site):
                self.held.pop(site, None)
            case ArmClosed():
                self.closed.append(event)
            case Ended(reason=reason):
                self.ended = reason

    def _decide(self, decision: Decision) -> None:
        m = self.design.stage_number(decision.stage)
        t, stage = decision.round, self.design.stages[m]
        if decision.reason not in self.reasons:
            self.reasons.append(decision.reason)
        before = tuple([self.stages[k].arms[self.stages[k].rows[t]] for k in range(m)])
        features = features_at(self.design, decision.unit, m, self._contexts[decision.unit], before)
        arm, reason = stage.arms.index(decision.arm), self.reasons.index(decision.reason)
        self.stages[m].add(t, arm, reason, lead(decision), features)
        if m == 0 and decision.reason == "forced":
            self.forced[t - 1] = FORCED
        elif self.forced[t - 1] == FORCED and decision.reason not in SCHEDULED:
            self.forced[t - 1] = FREED

    def _end(self, unit: str, how: int, outcome: float) -> None:
        t = self._rounds[unit]
        self.ends[t - 1], self.outcomes[t - 1] = how, outcome
        self._contexts.pop(unit, None)
        self._note(unit)

    def _note(self, unit: str) -> None:
        self.forced_changes += self.forced[self._rounds[unit] - 1] != FREE

    def _read_again(self, trial: Trial, unit: str) -> None:
        """Take arms and features of a unit as they hold now, after overrides and corrections."""
        t, story = self._rounds[unit], trial.unit(unit)
        if self.ends[t - 1] == VOIDED:
            return
        contexts: list[Context] = []
        for record in story.records:
            match record.event:
                case Enrolled(context=context) | Responded(context=context):
                    contexts.append(in_order(self.design, len(contexts), dict(context)))
                case Corrected(stage=str(name), context=Mapping() as changed):
                    m = self.design.stage_number(name)
                    contexts[m] = in_order(self.design, m, {**contexts[m], **changed})
        arms = tuple(s.arms.index(story.arms[s.name]) for s in self.design.stages[: len(story.arms)])
        known = all_features(self.design, unit, tuple(contexts), arms)
        for stage, arm, features in zip(self.stages, arms, known, strict=False):
            stage.change(t, arm, features)
        if unit in self._contexts:
            self._contexts[unit] = tuple(contexts)

    # -- what is asked of it ---------------------------------------------------------------------------------

    @property
    def units(self) -> int:
        """How many units have enrolled."""
        return len(self.names)

    def count(self, how: int) -> int:
        """Return how many units are in flight, completed, withdrawn or void."""
        return self.ends.count(how)

    def settled(self) -> int:
        """Return how many units, in the order of enrolment, come before the first that is under way."""
        return next((t for t, how in enumerate(self.ends) if how == IN_FLIGHT), len(self.ends))


def lead(decision: Decision) -> float:
    """Return by how much the best Q̃ of a decision exceeds the next best; NaN where there are not two.

    Examples
    --------
    >>> lead(Decision("u", 1, "first", "a", "clear", 1.0, {"a": 3.0, "b": 1.0}, {}, ("a",)))
    2.0
    """
    barred = {arm for arm, _ in decision.infeasible}
    own = decision.q_tilde
    pairs = own.pairs() if isinstance(own, Values) else own.items()  # twice as fast
    known = sorted(q for arm, q in pairs if q is not None and q == q and arm not in barred)
    return known[-1] - known[-2] if len(known) > 1 else NAN
