"""Session: one event at a time, for any policy. A session is its log; everything else is a fold of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache, partial
from typing import Any

import numpy as np

from dtrbandit._version import NUMERICS, RELEASES
from dtrbandit.design.contexts import history_features
from dtrbandit.design.spec import Design
from dtrbandit.design.values import shown
from dtrbandit.errors import DesignError, DTRError, LogError, ProtocolError
from dtrbandit.estimators.estimates import Estimates
from dtrbandit.kernels.stream import uniform
from dtrbandit.policies.builtin import is_compiled
from dtrbandit.policies.facts import choose, update
from dtrbandit.policies.plain_values import policy_from_dict, policy_to_dict, require_same
from dtrbandit.policies.policy import Choice, Estimating, Numbers, Policy, is_policy
from dtrbandit.record.events import (
    Assigned,
    Completed,
    Corrected,
    Decision,
    Enrolled,
    Event,
    Fact,
    Opened,
    Overridden,
    Responded,
    Withdrawn,
)
from dtrbandit.record.histories import Histories, History
from dtrbandit.record.values import Values
from dtrbandit.summary import Coefficient, Summary, coefficient_table, summarise

new_decision = partial(tuple.__new__, Decision)  # from a tuple, in half the time
Rule = Callable[[Any, History, float], Choice]
LONG_LOG = 2_000  # units from which a log is folded in one go: faster, once that is compiled


class Session:
    """A trial in memory: units enrol, respond and complete in any order, and each arrival gets a decision.

    Repeating a call with equal content returns the recorded answer and writes nothing. An error changes nothing. A
    session is for one thread at a time; different sessions may run in different threads.

    Examples
    --------
    >>> import dtrbandit as dtr
    >>> stages = [dtr.Stage("first", ("a", "b"), "1 + x"), dtr.Stage("second", ("a", "b"), "1 + z")]
    >>> session = Session(dtr.Design(stages), dtr.DTRBandit(q=1, delta=0.5), seed=0)
    >>> session.enroll("u1", {"x": 0.3}).arm, session.respond("u1", {"z": 1.2}).arm
    ('a', 'a')
    >>> session.complete("u1", 2.5)
    >>> len(session.log)
    6
    """

    def __init__(self, design: Design, policy: Policy[Any], *, seed: int = 0) -> None:
        if not isinstance(design, Design):
            raise DesignError(f"a session needs a Design, found {design!r}; a file is read by Design.from_toml")
        if not is_policy(policy):
            raise DesignError(f"a session needs a policy such as Greedy(), found {policy!r}")
        if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or not 0 <= seed < 2**64:
            raise DesignError(f"seed must be a whole number from 0 to 2**64 - 1, found {seed!r}")
        self.design = design
        self.policy = policy
        self.seed = int(seed)
        self._log: list[Event] = [Opened(design.to_dict(), policy_to_dict(policy), self.seed, NUMERICS)]
        self._histories = Histories(design)
        self._state: Any = policy.init(design)
        # a policy that holds a built-in one has its state, but rules of its own
        self._built_in = is_compiled(policy)
        self._choose: Rule = choose if self._built_in else trusted(policy, design)
        self._learn: Callable[[Any, History, Fact], Any] = update if self._built_in else policy.update
        self._whole = True

    # -- the verbs -------------------------------------------------------------------------------------------

    def enroll(self, unit: str, context: Mapping[str, float]) -> Decision:
        """Enrol a unit with its first context and decide its first arm."""
        fact = self._known().enrolled(unit, context)
        if fact is None:
            return self._histories.units[unit].decisions[0]
        return self._arrive(fact, self._histories.advance(fact))

    def respond(self, unit: str, context: Mapping[str, float], *, stage: str | None = None) -> Decision | None:
        """Record the response of a unit and decide its next arm; None if the unit leaves early.

        ``stage`` is needed only where two stages observe nothing new.
        """
        fact = self._known().responded(unit, context, stage)
        if fact is None:
            m, decisions = (
                self._histories.stage_of_response(unit, context, stage),
                self._histories.units[unit].decisions,
            )
            return decisions[m] if m < len(decisions) else None
        history = self._histories.advance(fact)
        if history.feasible:
            return self._arrive(fact, history)
        self._believe(fact, arrived=history)
        return None

    def complete(self, unit: str, outcome: float) -> None:
        """Record the outcome of a unit that has been through all its stages, or has left early."""
        self._tell(self._known().completed(unit, outcome))

    def withdraw(self, unit: str, *, reason: str) -> None:
        """Record that a unit is lost: it keeps what it taught so far and teaches nothing more."""
        self._tell(self._known().withdrawn(unit, reason))

    def override(self, unit: str, arm: str, *, reason: str, stage: str | None = None) -> Decision:
        """Record that another arm than the one decided was really given, at the latest stage or at ``stage``."""
        m = self._known().stage_of_override(unit, arm, reason, stage)
        self._tell(self._histories.overridden(unit, arm, reason, stage))
        return self._histories.units[unit].decisions[m]._replace(arm=arm, reason="override", propensity=None)

    def correct(
        self,
        unit: str,
        *,
        reason: str,
        outcome: float | None = None,
        stage: str | None = None,
        context: Mapping[str, float] | None = None,
    ) -> None:
        """Correct a recorded outcome, or columns of the context recorded at ``stage``.

        Estimates change from now on; decisions already made, and a Q̃ already frozen, do not.
        """
        self._tell(self._known().corrected(unit, reason, outcome, stage, context))

    # -- what is on record -----------------------------------------------------------------------------------

    @property
    def log(self) -> Sequence[Event]:
        """All events so far, in order."""
        return tuple(self._log)

    @classmethod
    def resume(
        cls, log: Iterable[Event], *, design: Design | None = None, policy: Policy[Any] | None = None
    ) -> Session:
        """Return the session that wrote a log, ready to make the same next decisions.

        What was assigned is read, never decided again. ``design`` and ``policy`` are needed only where they
        hold Python functions, which a log cannot.
        """
        return _reread(log, design, policy, decide_again=False)

    # -- what is believed ------------------------------------------------------------------------------------

    def q_hat(self, stage: str, history: Mapping[str, float | str]) -> dict[str, float | None]:
        """Return Q̂ of each arm at ``stage`` for a history: columns by name, earlier arms by their stage's name.

        Only what the stage's features use is needed. For LSVIUCB this is the estimate without its bonus.
        """
        m = self.design.stage_number(stage)
        features = history_features(self.design, m, history, where=f"q_hat at stage {stage!r}")
        values = (self._estimates().hat[m] * features).sum(axis=1).tolist()
        return {arm: q if q == q else None for arm, q in zip(self.design.stages[m].arms, values, strict=True)}

    def coefficients(self) -> tuple[Coefficient, ...]:
        """Return the coefficients of Q̂, and of Q̃ where the policy has it."""
        return coefficient_table(self.design, self._estimates())

    def summary(self) -> Summary:
        """Return where the trial stands: units, arms, estimates, and what cannot be estimated yet."""
        estimates = self._estimates() if isinstance(self.policy, Estimating) else None
        return summarise(self.design, self.policy, self._known().units, estimates)

    def __repr__(self) -> str:
        return f"<Session of {len(self._histories.units)} units under {self.policy!r}, seed {self.seed}>"

    # -- believing -------------------------------------------------------------------------------------------

    def _arrive(self, fact: Enrolled | Responded, history: History) -> Decision:
        """Decide, then believe the arrival and the decision together: no unit is ever without an arm."""
        decision = self._decide(history)
        self._believe(fact, Assigned(decision), arrived=history)
        return decision

    def _tell(self, fact: Fact | None) -> None:
        if fact is not None:
            self._believe(fact, arrived=self._histories.advance(fact))

    def _believe(self, *facts: Fact, arrived: History) -> None:
        """Fold facts into histories and policy; ``arrived`` is the history that the first leads to.

        Whatever interrupts this leaves a state that may have learnt half a fact: it is read from the log again
        before it is next used.
        """
        self._whole = False
        histories, history = self._histories, arrived
        for fact in facts:
            if fact is not facts[0]:
                history = histories.advance(fact)
            histories.record(fact, history)
            self._state = self._learn(self._state, history, fact)
        self._log.extend(facts)
        self._whole = True

    def _known(self) -> Histories:
        """Return the units' histories, read from the log again if the last update was interrupted."""
        if not self._whole:
            again = _reread(self._log, self.design, self.policy, decide_again=False)
            self._histories, self._state, self._whole = again._histories, again._state, True
        return self._histories

    def _decide(self, history: History) -> Decision:
        u = uniform(self.seed, history.round, len(history.arms), len(self.design.stages))
        return decision_of(self._choose(self._state, history, u), history, self.design)

    def _estimates(self) -> Estimates:
        self._known()
        if not isinstance(self.policy, Estimating):
            raise ProtocolError(f"the policy {self.policy!r} estimates nothing")
        return self.policy.estimates(self._state)


def verify(log: Iterable[Event], *, design: Design | None = None, policy: Policy[Any] | None = None) -> None:
    """Decide again everything that a log assigned, and refuse the log at the first difference."""
    _reread(log, design, policy, decide_again=True)


def _reread(log: Iterable[Event], design: Design | None, policy: Policy[Any] | None, *, decide_again: bool) -> Session:
    """Return the session that a log leads to, checking each event as if it came for the first time."""
    events = list(log)
    session = _opened(events[0] if events else None, design, policy)
    due: Decision | str | None = None  # the decision that must come next, or the unit that it must be for
    for sequence, event in enumerate(events[1:], 2):
        try:
            _require_in_turn(event, due)
            fact = _checked(session._histories, event)
            history = session._histories.advance(fact)
            due = None
            if isinstance(fact, Enrolled | Responded) and history.feasible:
                due = session._decide(history) if decide_again else fact.unit
            session._believe(fact, arrived=history)
        except DTRError as error:
            raise LogError(f"event {sequence} of the log, {type(event).__name__}: {error}") from error
    if due is not None:
        raise LogError(f"the log ends after event {len(events)}, before the decision that it led to; it was cut off")
    return session


def _opened(event: Event | None, design: Design | None, policy: Policy[Any] | None) -> Session:
    """Return the new session that the first event of a log speaks of."""
    if not isinstance(event, Opened):
        found = repr(event) if isinstance(event, str) else type(event).__name__
        raise LogError(f"a log begins with Opened, found {found}; use a whole log, or read_log(path) for a file")
    if event.numerics != NUMERICS:
        release = RELEASES.get(event.numerics, f"whose NUMERICS is {event.numerics}")
        raise LogError(
            f"this log has numerics {event.numerics}, this release has {NUMERICS}: "
            f"the next decision could differ; use dtrbandit release {release}"
        )
    session = Session(
        design or Design.from_dict(event.design), policy or policy_from_dict(event.policy), seed=event.seed
    )
    require_same(event, session.design, session.policy)
    return session


def _require_in_turn(event: Event, due: Decision | str | None) -> None:
    if due is None:
        if isinstance(event, Assigned):
            raise LogError(f"no decision is due for unit {event.unit!r}: its arrival is missing or out of order")
        return
    unit = due if isinstance(due, str) else due.unit
    if not isinstance(event, Assigned) or event.unit != unit:
        raise LogError(f"the decision for unit {unit!r} must come here: the log is out of order or incomplete")
    if isinstance(due, Decision) and event.decision != due:
        found, expected = event.decision, due
        field = next(name for name in Decision._fields if getattr(found, name) != getattr(expected, name))
        raise LogError(
            f"unit {unit!r}, stage {expected.stage!r}: the log has {field} {getattr(found, field)!r}, "
            f"but these facts lead to {getattr(expected, field)!r}"
        )


def _checked(histories: Histories, event: Event) -> Fact:
    """Return the event if it may be recorded next, else raise what its verb would have raised."""
    fact: Fact | None
    if isinstance(event, Assigned):
        fact = histories.assigned(event.decision)
    elif isinstance(event, Enrolled):
        fact = histories.enrolled(event.unit, event.context)
    elif isinstance(event, Responded):
        fact = histories.responded(event.unit, event.context, event.stage)
    elif isinstance(event, Completed):
        fact = histories.completed(event.unit, event.outcome)
    elif isinstance(event, Withdrawn):
        fact = histories.withdrawn(event.unit, event.reason)
    elif isinstance(event, Overridden):
        fact = histories.overridden(event.unit, event.arm, event.reason, event.stage)
    elif isinstance(event, Corrected):
        fact = histories.corrected(event.unit, event.reason, event.outcome, event.stage, event.context)
    elif isinstance(event, Opened):
        raise LogError("a log is opened once")
    else:
        raise LogError(f"found {shown(event)}, which is no event")
    if fact is None or fact != event:
        raise LogError(f"found {event}, expected {'nothing, it is on record already' if fact is None else fact}")
    return fact


def decision_of(choice: Choice, history: History, design: Design) -> Decision:
    """Return a choice, of a built-in policy or a trusted rule, as it goes on record, in labels."""
    arm, reason, propensities, q_tilde, q_hat, contenders = choice
    stage = design.stages[len(history.arms)]
    arms, unit, t = stage.arms, history.unit, history.round
    labels = _labels(arms, contenders)
    return new_decision((unit, t, stage.name, arms[arm], reason, propensities[arm], q_tilde, q_hat, labels))


def trusted(policy: Policy[Any], design: Design) -> Rule:
    """Return the rule of a policy that is not ours to trust: its choices are checked and completed."""

    def decide(state: Any, history: History, u: float) -> Choice:
        choice = policy.decide(state, history, u)
        _require_feasible(choice, history)
        arms = design.stages[len(history.arms)].arms
        return choice._replace(
            q_tilde=_by_label(arms, choice.q_tilde),
            q_hat=_by_label(arms, choice.q_hat),
            contenders=choice.contenders or tuple(arm for arm, p in enumerate(choice.propensities) if p > 0),
        )

    return decide


def _by_label(arms: tuple[str, ...], numbers: Numbers) -> Values[float | None]:
    return numbers if isinstance(numbers, Values) else Values(arms, numbers or (None,) * len(arms))


def _require_feasible(choice: Choice, history: History) -> None:
    arms = [arm for arm, yes in enumerate(history.feasible) if yes]
    honest = all(p >= 0 for p in choice.propensities) and abs(sum(choice.propensities) - 1) < 1e-9
    if choice.arm not in arms or len(choice.propensities) != len(history.feasible) or not honest:
        raise DesignError(
            f"the policy chose arm {choice.arm} with propensities {choice.propensities} for unit {history.unit!r}; "
            f"feasible are the arms {arms}; propensities are one for each of {len(history.feasible)} arms and sum to 1"
        )


@lru_cache(maxsize=1024)
def _labels(arms: tuple[str, ...], numbers: tuple[int, ...]) -> tuple[str, ...]:
    """Return the labels of some arms; equal ones share them."""
    return tuple(arms[number] for number in numbers)
