"""What a session believes after some events: units' histories and the state of its policy."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from dtrbandit._version import NUMERICS, RELEASES
from dtrbandit.deciding import checked
from dtrbandit.design.spec import Design
from dtrbandit.errors import DesignError, DTRError, LogError
from dtrbandit.interpreted import compile_for
from dtrbandit.kernels.stream import uniform
from dtrbandit.policies.backlog import all_at_once, learn_from_now_on
from dtrbandit.policies.builtin import is_compiled
from dtrbandit.policies.facts import decide_for, update
from dtrbandit.policies.plain_values import policy_from_dict, policy_to_dict, require_same
from dtrbandit.policies.policy import Policy, is_policy
from dtrbandit.record.answers import RULES, refuse, require_in_turn
from dtrbandit.record.events import Assigned, Completed, Corrected, Decision, Event, Fact, Opened, Overridden
from dtrbandit.record.histories import Histories, History, advance
from dtrbandit.record.log import Log

Learn = Callable[[Any, History, Fact], Any]
Decide = Callable[[Any, History, float], Decision]
LONG = 1_000  # events from which facts are taken many at a time


class Belief:
    """Histories and a policy's state, learnt from the first ``version`` events of a log.

    An interruption or a refusal while it takes more events leaves it not ``whole``: it may then hold half a fact. Its
    ``log`` is as it was, and ``again`` learns from that.
    """

    def __init__(self, design: Design, policy: Policy[Any], seed: int) -> None:
        if not isinstance(design, Design):
            raise DesignError(f"a session needs a Design, found {design!r}; a file is read by Design.from_toml")
        if not is_policy(policy):
            raise DesignError(f"a session needs a policy such as Greedy(), found {policy!r}")
        if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or not 0 <= seed < 2**64:
            raise DesignError(f"seed must be a whole number from 0 to 2**64 - 1, found {seed!r}")
        self.design = design
        self.policy = policy
        self.seed = int(seed)
        self.histories = Histories(design, Opened(design.to_dict(), policy_to_dict(policy), self.seed, NUMERICS))
        self.state: Any = policy.init(design)
        self.version = 1
        self.whole = True
        self._find_rules()

    def _find_rules(self) -> None:
        """Find the functions that decide and learn."""
        built_in = is_compiled(self.policy)
        self._decide: Decide = decide_for if built_in else checked(self.policy, self.design)
        self._learn: Learn = update if built_in else self.policy.update

    @property
    def log(self) -> Log:
        """The events that it was learnt from."""
        return Log(self.histories.log, 0, self.version)

    def again(self) -> Belief:
        """Return a whole belief, learnt from the log again."""
        return believed(self.log, self.design, self.policy)

    def decide(self, history: History) -> Decision:
        """Return the decision for a unit that has arrived."""
        u = uniform(self.seed, history.round, len(history.arms), len(self.design.stages))
        return self._decide(self.state, history, u)

    def learn(self, facts: Sequence[Fact], arrived: History) -> None:
        """Record the facts of an answer and learn from them; ``arrived`` is the history that the first leads to."""
        self.whole = False
        histories, learn = self.histories, self._learn
        for fact in facts:
            known = histories.get(arrived.unit)
            history = arrived if fact is facts[0] else advance(self.design, known, fact)
            histories.record(fact, known, history)
            self.state = learn(self.state, history, fact)
        self.version += len(facts)  # from here on they count
        self.whole = True

    def fold(self, events: Sequence[Event], *, decide_again: bool = False) -> None:
        """Check events as if they came for the first time, then record and learn from all of them or none.

        With ``decide_again`` every decision must be the one that the policy would make.
        """
        long = len(events) >= LONG and is_compiled(self.policy)
        if long:
            units = len(events) // (2 * len(self.design.stages) + 1)
            compile_for("the log", [self.policy], self.design, units=units)
        if long and not decide_again:
            self.whole = False
            turn = self._last_amendment_that_counts(events)
            with all_at_once(self.state, learning=turn is None):
                self._fold(events, turn=turn)
        else:
            self._fold(events, decide_again=decide_again)
        self.version += len(events)  # from here on they count
        self.whole = True

    def _fold(self, events: Sequence[Event], *, decide_again: bool = False, turn: int | None = None) -> None:
        """Take events one by one: the loop behind resuming, verifying and following.

        Until event ``turn`` the policy only writes facts down. From then on it learns.
        """
        histories, design, state, learn = self.histories, self.design, self.state, self._learn
        due: Decision | str | None = None  # the decision that must come next, or the unit that it must be for
        for sequence, event in enumerate(events, self.version + 1):
            try:
                if decide_again or (due is None) is (type(event) is Assigned):
                    require_in_turn(event, due)
                rule = RULES.get(type(event))
                fact, known = rule(histories, event) if rule else (None, None)
                if fact is None:
                    refuse(event)
                history = advance(design, known, fact)
                due = None
                if history.feasible:
                    due = self.decide(history) if decide_again else history.unit
                self.whole = False
                histories.record(fact, known, history)
                if sequence == turn:
                    learn_from_now_on(state)
                state = self.state = learn(state, history, fact)
            except DTRError as error:
                raise LogError(f"event {sequence} of the log, {type(event).__name__}: {error}") from error
        if due is not None:
            last = self.version + len(events)
            raise LogError(f"the log ends after event {last}, before the decision that it led to; it was cut off")

    def _last_amendment_that_counts(self, events: Sequence[Event]) -> int | None:
        """Return the number of the last amendment to a unit whose rows already count; None if there is none."""
        amended = {_unit_of(event) for event in events if isinstance(event, Overridden | Corrected)}
        records = [self.histories.get(unit) for unit in amended]
        arms = Counter({record.history.unit: len(record.history.arms) for record in records if record})
        ended = {record.history.unit for record in records if record and record.history.outcome is not None}
        last = None
        for sequence, event in enumerate(events if amended else (), self.version + 1):
            unit = _unit_of(event)
            if isinstance(event, Assigned):
                arms[unit] += 1
            elif isinstance(event, Completed):
                ended.add(unit)
            elif isinstance(event, Overridden | Corrected) and (arms[unit] > 1 or unit in ended):
                last = sequence
        return last

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name not in ("_decide", "_learn")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._find_rules()


def _unit_of(event: Event) -> str:
    """Return the unit of an event that is not checked yet; an empty text if it has none."""
    unit = getattr(getattr(event, "decision", event), "unit", None)
    return unit if isinstance(unit, str) else ""


def believed(
    log: Iterable[Event], design: Design | None, policy: Policy[Any] | None, *, decide_again: bool = False
) -> Belief:
    """Return the belief that a log leads to. Design and policy are needed only where the log cannot hold them."""
    events = log if isinstance(log, Sequence) else list(log)
    belief = _opened(events[0] if events else None, design, policy)
    belief.fold(events[1:], decide_again=decide_again)
    return belief


def _opened(event: Event | None, design: Design | None, policy: Policy[Any] | None) -> Belief:
    """Return the belief that the first event of a log leads to."""
    if not isinstance(event, Opened):
        found = repr(event) if isinstance(event, str) else type(event).__name__
        raise LogError(f"a log begins with Opened, found {found}; use a whole log, or read_log(path) for a file")
    if event.numerics != NUMERICS:
        release = RELEASES.get(event.numerics, f"whose NUMERICS is {event.numerics}")
        raise LogError(
            f"this log has numerics {event.numerics}, this release has {NUMERICS}: "
            f"the next decision could differ; use dtrbandit release {release}"
        )
    belief = Belief(design or Design.from_dict(event.design), policy or policy_from_dict(event.policy), event.seed)
    require_same(event, belief.design, belief.policy)
    return belief
