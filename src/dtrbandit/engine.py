"""Session: one event at a time, for any policy. A session is its log; everything else is a fold of it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from dtrbandit._version import NUMERICS, RELEASES
from dtrbandit.deciding import Rule, decision_of, trusted
from dtrbandit.design.contexts import history_features
from dtrbandit.design.spec import Design
from dtrbandit.design.values import shown
from dtrbandit.errors import Conflict, DesignError, DTRError, LogError, ProtocolError
from dtrbandit.estimators.estimates import Estimates
from dtrbandit.kernels.stream import uniform
from dtrbandit.policies.builtin import BUILTIN, choose, policy_from_dict, policy_to_dict, update
from dtrbandit.policies.compiled_policy import CompiledState
from dtrbandit.policies.policy import Estimating, Policy, is_policy
from dtrbandit.record.answers import RULES, answer_to, refuse, require_in_turn
from dtrbandit.record.commands import Command, Complete, Correct, Enroll, Override, Reply, Respond, Withdraw
from dtrbandit.record.events import Assigned, Decision, Event, Fact, Opened
from dtrbandit.record.histories import Histories, History
from dtrbandit.record.log import Log
from dtrbandit.summary import Coefficient, Summary, coefficient_table, summarise

Learn = Callable[[Any, History, Fact], Any]


class Session:
    """A trial in memory: units enrol, respond and complete in any order, and each arrival gets a decision.

    Repeating a call with equal content returns the recorded answer and writes nothing. An error changes nothing.
    Verbs take turns: a session may be called from several threads.

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
        self._histories = Histories(design, Opened(design.to_dict(), policy_to_dict(policy), self.seed, NUMERICS))
        self._state: Any = policy.init(design)
        self._version = 1
        self._whole = True  # False while histories and state may hold more, or half of more, than _version events
        self._answered: tuple[Reply | None, History | None] = None, None  # the last, and the history it leads to
        self._take_up()

    def _take_up(self) -> None:
        """Find what is not part of a session's state: its lock and its policy's functions."""
        self._turn = threading.RLock()
        # a policy that holds a built-in one has its state, but rules of its own
        built_in = type(self.policy) in BUILTIN.values() and type(self._state) is CompiledState
        self._choose: Rule = choose if built_in else trusted(self.policy, self.design)
        self._learn: Learn = update if built_in else self.policy.update

    # -- the verbs -------------------------------------------------------------------------------------------

    def enroll(self, unit: str, context: Mapping[str, float]) -> Decision:
        """Enrol a unit with its first context and decide its first arm."""
        return self._tell(Enroll(unit, context))  # type: ignore[return-value]  # an arrival at the first stage has one

    def respond(self, unit: str, context: Mapping[str, float], *, stage: str | None = None) -> Decision | None:
        """Record the response of a unit and decide its next arm; None if the unit leaves early.

        ``stage`` is needed only where two stages observe nothing new.
        """
        return self._tell(Respond(unit, context, stage))

    def complete(self, unit: str, outcome: float) -> None:
        """Record the outcome of a unit that has been through all its stages, or has left early."""
        self._tell(Complete(unit, outcome))

    def withdraw(self, unit: str, *, reason: str) -> None:
        """Record that a unit is lost: it keeps what it taught so far and teaches nothing more."""
        self._tell(Withdraw(unit, reason))

    def override(self, unit: str, arm: str, *, reason: str, stage: str | None = None) -> Decision:
        """Record that another arm than the one decided was really given, at the latest stage or at ``stage``."""
        return self._tell(Override(unit, arm, reason, stage))  # type: ignore[return-value]  # one that was overridden

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
        self._tell(Correct(unit, reason, outcome, stage, context))

    def _tell(self, command: Command) -> Decision | None:
        with self._turn:
            reply = self._answer(command)
            self._believe(reply)
            return reply.decision

    # -- the seam: answer, write, believe --------------------------------------------------------------------

    def answer(self, command: Command) -> Reply:
        """Return what a command leads to, and change nothing.

        A repetition of what is on record has a reply without facts.
        """
        with self._turn:
            return self._answer(command)

    def _answer(self, command: Command) -> Reply:
        histories = self._histories if self._whole else self._known()
        fact, decision = answer_to(histories, command)
        if fact is None:
            return Reply((), decision, self._version)
        arrived = histories.advance(fact)
        facts: tuple[Fact, ...] = (fact,)
        if arrived.feasible:
            decision = self._decide(arrived)
            facts = (fact, Assigned(decision))
        reply = Reply(facts, decision, self._version)
        self._answered = reply, arrived
        return reply

    def believe(self, reply: Reply) -> None:
        """Record the facts of a reply and learn from them: the only way in which a session changes.

        A reply from elsewhere is checked as ``follow`` checks a tail. Raises Conflict if the session has moved on
        since the answer.
        """
        with self._turn:
            if not isinstance(reply, Reply):
                raise ProtocolError(f"found {shown(reply)}, which is no Reply; session.answer(command) gives one")
            self._believe(reply)

    def _believe(self, reply: Reply) -> None:
        facts, _, version = reply
        if not facts:
            return
        if version != self._version:
            raise Conflict(
                f"this reply was made at version {version}, and the session is at version {self._version}; "
                "follow what is new, then answer again"
            )
        if not self._whole:
            self._known()
        answered, arrived = self._answered
        if reply is answered:
            self._learn_facts(facts, arrived)
        else:
            self._fold(facts)

    def follow(self, events: Iterable[Event]) -> None:
        """Take a tail of the log that was written elsewhere, each event checked; a tail is believed whole or not."""
        with self._turn:
            self._known()
            self._fold(events if isinstance(events, Sequence) else list(events))

    # -- what is on record -----------------------------------------------------------------------------------

    @property
    def version(self) -> int:
        """The number of events on record."""
        return self._version

    @property
    def log(self) -> Log:
        """All events so far, in order; copies nothing, and does not change when the session goes on."""
        with self._turn:
            return Log(self._histories.log, 0, self._version)

    def since(self, version: int) -> Sequence[Event]:
        """Return the events after the first ``version`` ones."""
        log = self.log
        if type(version) is not int or not 0 <= version <= len(log):
            raise ProtocolError(f"this session has the versions 0 to {len(log)}, found {shown(version)}")
        return log[version:]

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
        with self._turn:
            estimates = self._estimates() if isinstance(self.policy, Estimating) else None
            return summarise(self.design, self.policy, self._known(), estimates)

    def __repr__(self) -> str:
        with self._turn:
            return f"<Session of {len(self._known())} units under {self.policy!r}, seed {self.seed}>"

    def _estimates(self) -> Estimates:
        with self._turn:
            self._known()
            if not isinstance(self.policy, Estimating):
                raise ProtocolError(f"the policy {self.policy!r} estimates nothing")
            return self.policy.estimates(self._state)

    # -- believing -------------------------------------------------------------------------------------------

    def _learn_facts(self, facts: Sequence[Fact], arrived: History | None) -> None:
        """Fold facts into histories and policy; ``arrived`` is the history that the first leads to.

        Whatever interrupts this leaves histories and a state that may hold half a fact: they are read from the log
        again, as far as it counts, before they are next used.
        """
        self._whole = False
        histories, history, learn = self._histories, arrived, self._learn
        for fact in facts:
            if history is None:
                history = histories.advance(fact)
            histories.record(fact, history)
            self._state = learn(self._state, history, fact)
            history = None
        self._version += len(facts)  # from here on they count
        self._whole = True

    def _fold(self, events: Sequence[Event], *, decide_again: bool = False) -> None:
        """Check events as if they came for the first time, and believe all of them or none.

        This one loop resumes, verifies and follows. With ``decide_again`` every decision must be the one that the
        policy would make.
        """
        histories, state = self._histories, self._state
        learn = self._learn  # all events are known here: what learns them faster together can take its place
        due: Decision | str | None = None  # the decision that must come next, or the unit that it must be for
        for sequence, event in enumerate(events, self._version + 1):
            try:
                if due is None:
                    if type(event) is Assigned:
                        require_in_turn(event, due)
                elif decide_again or type(event) is not Assigned or event.decision.unit != due:
                    require_in_turn(event, due)
                rule = RULES.get(type(event))
                fact = rule(histories, *event) if rule else None
                if fact is None:
                    refuse(event)
                history = histories.advance(fact)
                due = None
                if history.feasible:
                    due = self._decide(history) if decide_again else history.unit
                self._whole = False
                histories.record(fact, history)
                state = learn(state, history, fact)
            except DTRError as error:
                raise LogError(f"event {sequence} of the log, {type(event).__name__}: {error}") from error
        if due is not None:
            raise LogError(
                f"the log ends after event {self._version + len(events)}, before the decision that it led to; "
                "it was cut off"
            )
        self._state = state
        self._version += len(events)
        self._whole = True

    def _known(self) -> Histories:
        """Return the units' histories, read from the log again if the last update was interrupted or refused."""
        if not self._whole:
            log = Log(self._histories.log, 0, self._version)
            again = _reread(log, self.design, self.policy, decide_again=False)
            self._histories, self._state, self._whole = again._histories, again._state, True
        return self._histories

    def _decide(self, history: History) -> Decision:
        u = uniform(self.seed, history.round, len(history.arms), len(self.design.stages))
        return decision_of(self._choose(self._state, history, u), history, self.design)

    def __getstate__(self) -> dict[str, Any]:
        with self._turn:
            self._known()
            return {name: value for name, value in vars(self).items() if name not in ("_turn", "_choose", "_learn")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._take_up()


def verify(log: Iterable[Event], *, design: Design | None = None, policy: Policy[Any] | None = None) -> None:
    """Decide again everything that a log assigned, and refuse the log at the first difference."""
    _reread(log, design, policy, decide_again=True)


def _reread(log: Iterable[Event], design: Design | None, policy: Policy[Any] | None, *, decide_again: bool) -> Session:
    """Return the session that a log leads to."""
    events = log if isinstance(log, Sequence) else list(log)
    session = _opened(events[0] if events else None, design, policy)
    session._fold(events[1:], decide_again=decide_again)
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
    if session.log[0] != event:
        raise LogError(f"the log was opened with {event}, which is not the design and policy given here")
    return session
