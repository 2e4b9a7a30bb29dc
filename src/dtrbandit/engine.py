"""Sessions: one event at a time, for any policy. A session is its log; everything else follows from the log."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from typing import TYPE_CHECKING, Any, Unpack

from dtrbandit.belief import Belief, believed
from dtrbandit.design.contexts import history_features
from dtrbandit.design.spec import Design
from dtrbandit.design.values import shown
from dtrbandit.errors import Conflict, ProtocolError
from dtrbandit.estimators.estimates import Estimates
from dtrbandit.fast_path import NOT_TAKEN
from dtrbandit.forks import Turns
from dtrbandit.policies.policy import Estimating, Policy
from dtrbandit.record import commands
from dtrbandit.record.commands import Command, Reply
from dtrbandit.record.events import Decision, Event, new
from dtrbandit.record.histories import History
from dtrbandit.record.log import Log
from dtrbandit.record.teaching import Prior
from dtrbandit.record.units import Histories
from dtrbandit.summary import Coefficient, Standing, Summary, coefficient_table, summarise
from dtrbandit.words import counted

if TYPE_CHECKING:
    from dtrbandit.evaluation.looks import Contrast, LookOptions, Looks

Exclude = Mapping[str, Iterable[str]]  # arms by stage


class Session:
    """A trial in memory: units enrol, respond and complete in any order, and get a decision at each stage.

    Repeating a call with equal content returns the recorded answer and writes nothing. An error changes nothing.
    Verbs take turns: a session may be called from several threads. ``prior``, a cohort of an earlier trial, teaches Q̂
    before the first unit enrols (docs/guardrails.md).

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

    def __init__(self, design: Design, policy: Policy[Any], *, seed: int = 0, prior: Prior | None = None) -> None:
        self._begin(Belief(design, policy, seed))
        if prior is not None:
            self._belief.teach(prior)

    def _begin(self, belief: Belief) -> None:
        self.design, self.policy, self.seed = belief.design, belief.policy, belief.seed
        self._belief = belief
        self._answered: tuple[Reply, History] | None = None  # the last answer, and the history that it leads to
        self._turns = Turns(_nested, _cut_off)
        self._alone = self._turns.alone

    # -- the verbs -------------------------------------------------------------------------------------------

    def enroll(
        self,
        unit: str,
        context: Mapping[str, float],
        *,
        exclude: Exclude | None = None,
        reason: str | None = None,
        site: str | None = None,
    ) -> Decision:
        """Enrol a unit with its first context and decide its first arm.

        ``exclude`` names arms by stage that are contraindicated for this unit, ``{"first": ["ssri"]}``, for a reason.
        The unit belongs to ``site``, for good; no decision depends on it.
        """
        # an arrival at the first stage has a decision
        return self._alone(self._take, new(commands.Enroll, (unit, context, exclude, reason, site)))  # type: ignore[return-value]

    def respond(
        self,
        unit: str,
        context: Mapping[str, float],
        *,
        stage: str | None = None,
        exclude: Exclude | None = None,
        reason: str | None = None,
    ) -> Decision | None:
        """Record the response of a unit and decide its next arm; None if the unit leaves early.

        ``stage`` is needed only where two stages observe nothing new. ``exclude`` names arms of this stage and later
        ones that are contraindicated from now on, beside those that were before.
        """
        return self._alone(self._take, new(commands.Respond, (unit, context, stage, exclude, reason)))

    def complete(self, unit: str, outcome: float) -> None:
        """Record the outcome of a unit that has been through all its stages, or has left early."""
        self._alone(self._take, new(commands.Complete, (unit, outcome)))

    def withdraw(self, unit: str, *, reason: str) -> None:
        """Record that a unit is lost: it keeps what it taught so far and teaches nothing more."""
        self._alone(self._take, commands.Withdraw(unit, reason))

    def override(self, unit: str, arm: str, *, reason: str, stage: str | None = None) -> Decision:
        """Record that another arm than the one decided was really given, at the latest stage or at ``stage``."""
        # the decision that was overridden
        return self._alone(self._take, commands.Override(unit, arm, reason, stage))  # type: ignore[return-value]

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
        self._alone(self._take, commands.Correct(unit, reason, outcome, stage, context))

    def hold(self, *, reason: str, site: str | None = None) -> None:
        """Hold accrual, everywhere or at a site: no unit enrols until ``release``. Units under way go on."""
        self._alone(self._take, commands.Hold(reason, site))

    def release(self, *, reason: str, site: str | None = None) -> None:
        """Let units enrol again, everywhere or at a site. A hold everywhere and that of a site end each by itself."""
        self._alone(self._take, commands.Release(reason, site))

    def close_arm(self, stage: str, arm: str, *, reason: str) -> None:
        """Close an arm of a stage: no decision from now on gives it, and no later max runs over it.

        Units keep what they were given. Decisions already made, and a Q̃ already frozen, do not change.
        """
        self._alone(self._take, commands.CloseArm(stage, arm, reason))

    def end(self, *, reason: str) -> None:
        """End the trial: nothing more is decided. Late outcomes and amendments are still recorded."""
        self._alone(self._take, commands.End(reason))

    def upgrade(self, *, reason: str) -> None:
        """Go on, by the numerics of this release, with a log that another release began."""
        self._alone(self._take, commands.Upgrade(reason))

    def void(self, unit: str, *, reason: str) -> None:
        """Record that a unit should never have been enrolled: it teaches nothing, and its round stays used.

        What was learnt of it is taken back. Decisions already made, and a Q̃ already frozen, do not change.
        """
        self._alone(self._take, commands.Void(unit, reason))

    def unblind(self, unit: str, *, reason: str) -> tuple[Decision, ...]:
        """Record that somebody looks behind the arms of a unit, and return its decisions. Nothing is learnt from it.

        Each look is recorded, also for the same reason.
        """
        return self._alone(self._unblind, commands.Unblind(unit, reason))

    def _unblind(self, command: commands.Unblind) -> tuple[Decision, ...]:
        self._take(command)
        histories = self._belief.histories
        return histories.decisions(histories.known_id(command.unit))

    def _take(self, command: Command) -> Decision | None:
        """Answer and believe. No reply is made for it: it would cost as much as a fact."""
        belief = self._belief if self._belief.whole else self._whole()
        if belief.fast_path is not None and (reply := belief.fast_path.take(command)) is not NOT_TAKEN:
            return reply
        facts, known, arrived, decision = belief.find(command)
        if facts:
            belief.learn(facts, known, arrived)
        return decision

    # -- the seam: answer, write, believe --------------------------------------------------------------------

    def answer(self, command: Command) -> Reply:
        """Return what a command leads to, and change nothing.

        A repetition of what is on record has a reply without facts.
        """
        return self._alone(self._answer, command)

    def _answer(self, command: Command) -> Reply:
        belief = self._whole()
        facts, _, arrived, decision = belief.find(command)
        reply = Reply(facts, decision, belief.version)
        if facts:
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
        belief = self._whole()
        if not reply.facts:
            return
        if reply.version != belief.version:
            raise Conflict(
                f"this reply was made at version {reply.version}, and the session is at version {belief.version}; "
                "follow what is new, then answer again"
            )
        if self._answered is not None and reply is self._answered[0]:
            arrived = self._answered[1]
            belief.learn(reply.facts, belief.histories.get(arrived.unit), arrived)
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
        return self._belief.log

    def since(self, version: int) -> Sequence[Event]:
        """Return the events after the first ``version`` ones."""
        log = self.log
        if type(version) is not int or not 0 <= version <= len(log):
            raise ProtocolError(f"this session has the versions 0 to {len(log)}, found {shown(version)}")
        return log[version:]

    @property
    def histories(self) -> Histories:
        """The records of all units, as they are now; whoever changes something there breaks the session."""
        with self._turns.lock:
            return self._readable().histories

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
        return summarise(self.standing())

    def standing(self) -> Standing:
        """Return what a summary is made of; verbs wait for this, and not for what is counted in it."""
        with self._turns.lock:
            return self._readable().standing()

    def monitor(self, contrast: Contrast, **how: Unpack[LookOptions]) -> Looks:
        """Return the difference of two regimes, or arms, with limits that hold at every look, as ``dtr.monitor`` does.

        It advises and changes nothing: neither the log nor any decision.
        """
        from dtrbandit.evaluation.looks import monitor  # here: whoever only decides loads no statistics

        return monitor(self.log, contrast, design=self.design, **how)

    def __repr__(self) -> str:
        with self._turns.lock:
            units = counted(len(self._readable().histories), "unit")
            return f"<Session of {units} under {self.policy!r}, seed {self.seed}>"

    def _estimates(self) -> Estimates:
        with self._turns.lock:
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
        if self._turns.is_nested() and not self._belief.whole:
            raise ProtocolError("a verb of this session is under way in this thread; read after it")
        return self._whole()

    def __getstate__(self) -> Belief:
        with self._turns.lock:
            return deepcopy(self._readable())  # within the turn: others may go on while it is pickled

    def __setstate__(self, belief: Belief) -> None:
        self._begin(belief)  # a copy takes turns of its own


def _nested() -> ProtocolError:
    return ProtocolError("a verb of this session is under way in this thread; call the next one after it")


def _cut_off() -> ProtocolError:
    return ProtocolError(
        "another thread was in a call of this session when this process was forked: what it holds here may be half "
        "changed. Its log is whole: go on with Session.resume(session.log, design=session.design, "
        "policy=session.policy)"
    )
