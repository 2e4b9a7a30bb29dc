"""What a session believes after some events: units' histories and the state of its policy."""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from itertools import repeat
from typing import Any

import numpy as np

from dtrbandit._version import NUMERICS
from dtrbandit.deciding import checked, learning
from dtrbandit.design.spec import Design
from dtrbandit.design.values import NO_NUMBERS
from dtrbandit.errors import DesignError, DTRError, LogError
from dtrbandit.fast_path import FastPath
from dtrbandit.kernels.stream import uniform
from dtrbandit.policies.facts import decide_for, update
from dtrbandit.policies.policy import Estimating, Policy, is_policy
from dtrbandit.policies.registry import is_builtin, policy_from_dict, policy_to_dict, require_same
from dtrbandit.record.answers import RULES, answer_to, refuse, require_in_turn
from dtrbandit.record.commands import Command
from dtrbandit.record.contraindications import infeasible_arms
from dtrbandit.record.events import (
    AMENDMENTS,
    TEACHES,
    ArmClosed,
    Assigned,
    Completed,
    Decision,
    Event,
    Fact,
    Opened,
    new,
)
from dtrbandit.record.histories import NO_UNIT, History, UnitRecord, advance, after_assignment
from dtrbandit.record.log import Log, PackedLog, amended_units, kinds
from dtrbandit.record.teaching import Prior, facts_of
from dtrbandit.record.trial_rules import refuse_other_numerics, require_going_on, segments
from dtrbandit.record.units import Facts, Histories
from dtrbandit.summary import Standing, standing

LONG = 10_000  # events: of so many
Learn = Callable[[Any, History, Fact], Any]
Decide = Callable[[Any, History, float], Decision]
# facts, the record of their unit so far, the history that the first leads to, and the answer
Found = tuple[tuple[Fact, ...], UnitRecord | None, History, Decision | None]
Due = Decision | str | None  # the decision that must come next, or the unit that it must be for


class Belief:
    """Histories and a policy's state, learnt from the first ``version`` events of a log.

    An interruption or a refusal while it takes more events leaves it not ``whole``: it may then hold half a fact. Its
    ``log`` is as it was, and ``again`` learns from that.
    """

    def __init__(
        self,
        design: Design,
        policy: Policy[Any],
        seed: int,
        *,
        opened: Opened | None = None,
        facts: Facts | None = None,
    ) -> None:
        if not isinstance(design, Design):
            raise DesignError(f"a session needs a Design, found {design!r}; a file is read by Design.from_toml")
        if not is_policy(policy):
            raise DesignError(f"a session needs a policy such as Greedy(), found {policy!r}")
        if isinstance(seed, NO_NUMBERS) or not isinstance(seed, int | np.integer) or not 0 <= seed < 2**64:
            raise DesignError(f"seed must be a whole number from 0 to 2**64 - 1, found {seed!r}")
        self.design = design
        self.policy = policy
        self.seed = int(seed)
        opened = opened or Opened(design.to_dict(), policy_to_dict(policy), self.seed, NUMERICS)
        self.histories = histories = Histories(design, opened)
        histories.facts = PackedLog(opened, histories.names, histories.rounds) if facts is None else facts
        self.state: Any = policy.init(design)
        self.version = 1
        self.whole = True
        self._find_rules()

    def _find_rules(self) -> None:
        """Find the functions that decide and learn."""
        built_in = is_builtin(self.policy)
        self._decide: Decide = decide_for if built_in else checked(self.policy, self.design)
        self._learn: Learn = update if built_in else learning(self.policy)
        facts = self.histories.facts
        self.fast_path = FastPath(self, facts) if built_in and isinstance(facts, PackedLog) else None

    @property
    def log(self) -> Log:
        """The events that it was learnt from, if it keeps them itself."""
        assert isinstance(self.histories.facts, PackedLog)
        return Log(self.histories.facts, 0, self.version)

    def again(self) -> Belief:
        """Return a whole belief, learnt from the log again."""
        return believed(self.log, self.design, self.policy)

    def standing(self) -> Standing:
        """Return what a summary is made of."""
        estimates = self.policy.estimates(self.state) if isinstance(self.policy, Estimating) else None
        return standing(self.design, self.policy, self.histories, estimates)

    def decide(self, history: History) -> Decision:
        """Return the decision for a unit that has arrived."""
        histories = self.histories
        if histories.numerics != NUMERICS:
            refuse_other_numerics(histories.numerics)
        _, t, _, _, arms, _, _, excluded = history
        u = uniform(self.seed, t, len(arms), len(self.design.stages))
        decision = self._decide(self.state, history, u)
        if excluded or histories.barred:
            decision = decision._replace(infeasible=infeasible_arms(histories, history))
        return decision

    def find(self, command: Command) -> Found:
        """Return what a command leads to, and change nothing."""
        histories = self.histories
        fact, known, decision = answer_to(histories, command)
        if fact is None:
            return (), known, NO_UNIT, decision
        history = advance(self.design, known, fact, histories.barred)
        if histories.ended is not None:
            require_going_on(histories.ended, fact, history)
        if not history.feasible:
            return (fact,), known, history, decision
        decision = self.decide(history)
        return (fact, new(Assigned, (decision,))), known, history, decision

    def learn(
        self, facts: Sequence[Fact], known: UnitRecord | None, arrived: History, time: datetime | None = None
    ) -> None:
        """Record the facts of an answer and learn from them; ``time`` is when that was.

        ``known`` is the record of their unit so far, and ``arrived`` the history that the first fact leads to.
        """
        self.whole = False
        histories, fact = self.histories, facts[0]
        histories.record(fact, known, arrived, time)
        if type(fact) in TEACHES:
            self.state = self._learn(self.state, arrived, fact)
        for assigned in facts[1:]:
            assert type(assigned) is Assigned
            history = after_assignment(self.design, arrived, assigned.decision)
            histories.record(assigned, histories.in_flight[history.unit], history, time)
            self.state = self._learn(self.state, history, assigned)
        self.version += len(facts)  # from here on they count
        self.whole = True

    def teach(self, prior: Prior) -> None:
        """Record and learn what an earlier trial teaches, before anything else."""
        try:
            self.fold(facts_of(prior, self.design))
        except LogError as error:
            raise DesignError(f"prior: {error.__cause__ or error}") from error

    def fold(
        self, events: Sequence[Event], times: Iterable[datetime | None] = repeat(None), *, decide_again: bool = False
    ) -> None:
        """Check events as if they came for the first time, then record and learn from all of them or none.

        ``times`` are theirs. With ``decide_again`` every decision must be the one that the policy would make.
        """
        with without_collecting(len(events)):
            due = self._fold(events, times, decide_again=decide_again)
        if due is not None:
            last = self.version + len(events)
            told = f"the log ends after event {last}, before the decision that it led to; it was cut off"
            raise LogError(told, sequence=last + 1)
        self.version += len(events)  # from here on they count
        self.whole = True

    def _fold(self, events: Sequence[Event], times: Iterable[datetime | None], *, decide_again: bool) -> Due:
        """Take events one by one: the loop behind resuming, verifying and following. Return what is due after them.

        An amendment to a unit whose rows already count makes a built-in policy learn everything again. So until the
        last of these it only writes facts down, unless its decisions are asked for.
        """
        puts_off = is_builtin(self.policy) and not decide_again
        last_relearning = self._last_amendment_that_counts(events) if puts_off else None
        if last_relearning is not None:
            self.state.learning = False
        try:
            return self._take_all(zip(events, times, strict=False), last_relearning, decide_again=decide_again)
        finally:
            if puts_off:
                self.state.learning = True

    def _take_all(
        self, events: Iterable[tuple[Event, datetime | None]], last_relearning: int | None, *, decide_again: bool
    ) -> Due:
        due: Due = None
        histories, design, state, learn = self.histories, self.design, self.state, self._learn
        for sequence, (event, time) in enumerate(events, self.version + 1):
            try:
                kind = type(event)
                if type(due) is Decision or (due is None) is (kind is Assigned):
                    require_in_turn(event, due)
                rule = RULES.get(kind)
                fact, known = rule(histories, event) if rule else (None, None)
                if fact is None:
                    refuse(event)
                history = advance(design, known, fact, histories.barred)
                if histories.ended is not None:
                    require_going_on(histories.ended, fact, history)
                due = None
                if history.feasible:
                    own = decide_again and histories.numerics == NUMERICS
                    due = self.decide(history) if own else history.unit
                self.whole = False
                histories.record(fact, known, history, time)
                if sequence == last_relearning:
                    state.learning = True
                if kind in TEACHES:
                    state = self.state = learn(state, history, fact)
            except DTRError as error:
                told = f"event {sequence} of the log, {type(event).__name__}: {error}"
                raise LogError(told, sequence=sequence) from error
        return due

    def _last_amendment_that_counts(self, events: Sequence[Event]) -> int | None:
        """Return the number of the last amendment to a unit whose rows already count; None if there is none.

        Likewise of the last arm closed: both make the learner begin anew.
        """
        amended = amended_units(events)
        records = [self.histories.get(unit) for unit in amended]
        arms = Counter({record.history.unit: len(record.history.arms) for record in records if record})
        ended = {record.history.unit for record in records if record and record.history.outcome is not None}
        last = None
        for sequence, (kind, unit) in enumerate(kinds(events) if amended else (), self.version + 1):
            if kind is Assigned:
                arms[unit] += 1
            elif kind is Completed:
                ended.add(unit)
            elif kind is ArmClosed or (kind in AMENDMENTS and (arms[unit] > 1 or unit in ended)):
                last = sequence
        return last

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name not in ("_decide", "_learn", "fast_path")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._find_rules()


def believed(
    log: Iterable[Event], design: Design | None, policy: Policy[Any] | None, *, decide_again: bool = False
) -> Belief:
    """Return the belief that a log leads to. Design and policy are needed only where the log cannot hold them."""
    events = log if isinstance(log, Sequence) else list(log)
    belief = opened_by(events[0] if events else None, design, policy)
    belief.fold(events[1:], decide_again=decide_again)
    return belief


def opened_by(
    event: Event | None,
    design: Design | None,
    policy: Policy[Any] | None,
    facts: Callable[[Design, Opened], Facts] | None = None,
) -> Belief:
    """Return the belief that the first event of a log leads to. ``facts`` says where it keeps them."""
    if not isinstance(event, Opened):
        found = repr(event) if isinstance(event, str) else type(event).__name__
        raise LogError(f"a log begins with Opened, found {found}; use a whole log, or read_log(path) for a file")
    design, policy = design or Design.from_dict(event.design), policy or policy_from_dict(event.policy)
    require_same(event, design, policy)
    return Belief(design, policy, event.seed, opened=event, facts=None if facts is None else facts(design, event))


def verify(log: Iterable[Event], *, design: Design | None = None, policy: Policy[Any] | None = None) -> None:
    """Decide again everything that a log assigned, and refuse the log at the first difference.

    What a release with other numerics decided is not decided again: then the error says which release can.
    """
    found = segments(believed(log, design, policy, decide_again=True).histories)
    others = [
        f"events {part.first} to {part.last} have numerics {part.numerics}: verify them by release {part.release}"
        for part in found
        if not part.own
    ]
    if others:
        raise LogError(
            f"dtrbandit has numerics {NUMERICS} here; {'; '.join(others)}. All others lead to what was decided"
        )


@contextmanager
def without_collecting(events: int) -> Iterator[None]:
    """Let the garbage collector rest if there are many events: it would look at everything, and find no garbage."""
    if events < LONG or not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
