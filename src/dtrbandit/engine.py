"""Sessions: one event at a time, for any policy. A session is its log; everything else follows from the log."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import deepcopy
from types import FrameType
from typing import Any, TypeVar

from dtrbandit.belief import Belief, believed
from dtrbandit.design.contexts import history_features
from dtrbandit.design.spec import Design
from dtrbandit.design.values import shown
from dtrbandit.errors import Conflict, ProtocolError
from dtrbandit.estimators.estimates import Estimates
from dtrbandit.policies.policy import Estimating, Policy
from dtrbandit.record.answers import answer_to
from dtrbandit.record.commands import Command, Complete, Correct, Enroll, Override, Reply, Respond, Withdraw
from dtrbandit.record.events import Assigned, Decision, Event, Fact
from dtrbandit.record.histories import History, advance
from dtrbandit.record.log import Log
from dtrbandit.summary import Coefficient, Summary, coefficient_table, summarise

Given = TypeVar("Given")
Done = TypeVar("Done")


class Session:
    """A trial in memory: units enrol, respond and complete in any order, and get a decision at each stage.

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
        self._begin(Belief(design, policy, seed))

    def _begin(self, belief: Belief) -> None:
        self.design, self.policy, self.seed = belief.design, belief.policy, belief.seed
        self._belief = belief
        self._answered: tuple[Reply, History] | None = None  # the last answer, and the history that it leads to
        self._turn = threading.RLock()
        self._acting: FrameType | None = None  # the call that acts now; after an interruption one that has ended

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
        return self._alone(self._take, command)

    def _take(self, command: Command) -> Decision | None:
        reply = self._answer(command)
        self._believe(reply)
        return reply.decision

    def _alone(self, act: Callable[[Given], Done], given: Given) -> Done:
        """Let one verb act at a time. Other threads wait. A verb inside a verb, of a policy or a signal, is refused."""
        with self._turn:
            if self._is_nested():
                raise ProtocolError("a verb of this session is under way in this thread; call the next one after it")
            try:
                self._acting = sys._getframe()
                return act(given)
            finally:
                self._acting = None

    def _is_nested(self) -> bool:
        """Say whether a verb of this session is among the callers."""
        caller = None if self._acting is None else sys._getframe(1)
        while caller is not None and caller is not self._acting:
            caller = caller.f_back
        return caller is not None

    # -- the seam: answer, write, believe --------------------------------------------------------------------

    def answer(self, command: Command) -> Reply:
        """Return what a command leads to, and change nothing.

        A repetition of what is on record has a reply without facts.
        """
        return self._alone(self._answer, command)

    def _answer(self, command: Command) -> Reply:
        belief = self._belief if self._belief.whole else self._whole()
        fact, known, decision = answer_to(belief.histories, command)
        if fact is None:
            return Reply((), decision, belief.version)
        arrived = advance(belief.design, known, fact)
        facts: tuple[Fact, ...] = (fact,)
        if arrived.feasible:
            decision = belief.decide(arrived)
            facts = (fact, Assigned(decision))
        reply = Reply(facts, decision, belief.version)
        self._answered = reply, arrived
        return reply

    def believe(self, reply: Reply) -> None:
        """Record the facts of a reply and learn from them: the only way in which a session changes.

        A reply from elsewhere is checked as ``follow`` checks a tail. Raises Conflict if the session has moved on
        since the answer.
        """
        if not isinstance(reply, Reply):
            raise ProtocolError(f"found {shown(reply)}, which is no Reply; session.answer(command) gives one")
        self._alone(self._believe, reply)

    def _believe(self, reply: Reply) -> None:
        belief = self._belief if self._belief.whole else self._whole()
        if not reply.facts:
            return
        if reply.version != belief.version:
            raise Conflict(
                f"this reply was made at version {reply.version}, and the session is at version {belief.version}; "
                "follow what is new, then answer again"
            )
        if self._answered is not None and reply is self._answered[0]:
            belief.learn(reply.facts, self._answered[1])
        else:
            belief.fold(reply.facts)

    def follow(self, events: Iterable[Event]) -> None:
        """Take a tail of the log that was written elsewhere. Each event is checked, and all are taken or none."""
        tail = events if isinstance(events, Sequence) else list(events)
        self._alone(self._fold, tail)

    def _fold(self, tail: Sequence[Event]) -> None:
        self._whole().fold(tail)

    # -- what is on record -----------------------------------------------------------------------------------

    @property
    def version(self) -> int:
        """The number of events on record."""
        return self._belief.version

    @property
    def log(self) -> Log:
        """All events so far, in order. It copies nothing, and does not change when the session goes on."""
        with self._turn:
            return self._belief.log

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
        session = cls.__new__(cls)
        session._begin(believed(log, design, policy))
        return session

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
            return summarise(self.design, self.policy, self._readable().histories, estimates)

    def __repr__(self) -> str:
        with self._turn:
            return f"<Session of {len(self._readable().histories)} units under {self.policy!r}, seed {self.seed}>"

    def _estimates(self) -> Estimates:
        with self._turn:
            if not isinstance(self.policy, Estimating):
                raise ProtocolError(f"the policy {self.policy!r} estimates nothing")
            return self.policy.estimates(self._readable().state)

    def _whole(self) -> Belief:
        """Return what is believed, read from the log again if the last update was interrupted or refused."""
        if not self._belief.whole:
            self._belief = self._belief.again()
        return self._belief

    def _readable(self) -> Belief:
        """Return what is believed. Refuse if a verb under way in this thread has changed half of it."""
        if self._is_nested() and not self._belief.whole:
            raise ProtocolError("a verb of this session is under way in this thread; read after it")
        return self._whole()

    def __getstate__(self) -> Belief:
        with self._turn:
            return deepcopy(self._readable())  # within the turn: others may go on while it is pickled

    def __setstate__(self, belief: Belief) -> None:
        self._begin(belief)  # a copy takes turns of its own


def verify(log: Iterable[Event], *, design: Design | None = None, policy: Policy[Any] | None = None) -> None:
    """Decide again everything that a log assigned, and refuse the log at the first difference."""
    believed(log, design, policy, decide_again=True)
