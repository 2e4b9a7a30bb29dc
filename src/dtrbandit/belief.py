"""What a session believes after some events: units' histories and the state of its policy."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from dtrbandit._version import NUMERICS, RELEASES
from dtrbandit.deciding import Rule, decision_of, trusted
from dtrbandit.design.spec import Design
from dtrbandit.errors import DesignError, DTRError, LogError
from dtrbandit.kernels.stream import uniform
from dtrbandit.policies.builtin import is_compiled
from dtrbandit.policies.facts import choose, update
from dtrbandit.policies.plain_values import policy_from_dict, policy_to_dict, require_same
from dtrbandit.policies.policy import Policy, is_policy
from dtrbandit.record.answers import RULES, refuse, require_in_turn
from dtrbandit.record.events import Assigned, Decision, Event, Fact, Opened
from dtrbandit.record.histories import Histories, History
from dtrbandit.record.log import Log

Learn = Callable[[Any, History, Fact], Any]


class Belief:
    """Histories and a policy's state, learnt from the first ``version`` events of a log.

    Whatever interrupts or refuses more events leaves it not ``whole``: it may then hold half a fact. Its ``log`` is as
    it was, and ``again`` reads that.
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
        self._choose: Rule = choose if built_in else trusted(self.policy, self.design)
        self._learn: Learn = update if built_in else self.policy.update

    @property
    def log(self) -> Log:
        """The events that it was learnt from."""
        return Log(self.histories.log, 0, self.version)

    def again(self) -> Belief:
        """Return what its log leads to."""
        return believed(self.log, self.design, self.policy)

    def decide(self, history: History) -> Decision:
        """Return the decision for a unit that has arrived."""
        u = uniform(self.seed, history.round, len(history.arms), len(self.design.stages))
        return decision_of(self._choose(self.state, history, u), history, self.design)

    def learn(self, facts: Sequence[Fact], arrived: History) -> None:
        """Believe the facts of an answer; ``arrived`` is the history that the first leads to."""
        self.whole = False
        histories, history, learn = self.histories, arrived, self._learn
        for fact in facts:
            if fact is not facts[0]:
                history = histories.advance(fact)
            histories.record(fact, history)
            self.state = learn(self.state, history, fact)
        self.version += len(facts)  # from here on they count
        self.whole = True

    def fold(self, events: Sequence[Event], *, decide_again: bool = False) -> None:
        """Check events as if they came for the first time, and believe all of them or none.

        This one loop resumes, verifies and follows. With ``decide_again`` every decision must be the one that the
        policy would make.
        """
        histories, state = self.histories, self.state
        learn = self._learn  # all events are known here: what learns them faster together can take its place
        due: Decision | str | None = None  # the decision that must come next, or the unit that it must be for
        for sequence, event in enumerate(events, self.version + 1):
            try:
                if decide_again or (due is None) is (type(event) is Assigned):
                    require_in_turn(event, due)
                rule = RULES.get(type(event))
                fact = rule(histories, *event) if rule else None
                if fact is None:
                    refuse(event)
                history = histories.advance(fact)
                due = None
                if history.feasible:
                    due = self.decide(history) if decide_again else history.unit
                self.whole = False
                histories.record(fact, history)
                state = self.state = learn(state, history, fact)
            except DTRError as error:
                raise LogError(f"event {sequence} of the log, {type(event).__name__}: {error}") from error
        if due is not None:
            last = self.version + len(events)
            raise LogError(f"the log ends after event {last}, before the decision that it led to; it was cut off")
        self.version += len(events)
        self.whole = True

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name not in ("_choose", "_learn")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._find_rules()


def believed(
    log: Iterable[Event], design: Design | None, policy: Policy[Any] | None, *, decide_again: bool = False
) -> Belief:
    """Return what a log leads to; design and policy are needed only where the log cannot hold them."""
    events = log if isinstance(log, Sequence) else list(log)
    belief = _opened(events[0] if events else None, design, policy)
    belief.fold(events[1:], decide_again=decide_again)
    return belief


def _opened(event: Event | None, design: Design | None, policy: Policy[Any] | None) -> Belief:
    """Return what the first event of a log leads to."""
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
