"""Hypothesis state machines over the session's verbs.

Two oracles: a naive model of what may be said and of the estimates, which shares no code with the package, and a
second session under the plain refit, whose every decision must be the same. Each run begins with some finished and
unfinished units, so that free rounds are reached; then at most ``FRESH`` units more are enrolled, and most steps
bring units further or amend what is on record.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

import dtrbandit as dtr
from paper.literal import Plan, Trajectory, Vector, feasible_arms, hat_estimates, schedule, tilde_estimates
from policies.twins import Twins

FRESH = 6
ARMS = ("a", "b")
Context = dict[str, float]
numbers = st.integers(-300, 300).map(lambda n: n / 100)
some = st.integers(0, 99)
reasons = st.sampled_from(["because", "for another reason"])
COMMANDS: dict[str, Any] = {
    kind.__name__.lower(): kind
    for kind in (dtr.Enroll, dtr.Respond, dtr.Complete, dtr.Withdraw, dtr.Override, dtr.Correct)
}


@dataclass(frozen=True)
class Problem:
    """A design, and what the naive model must know of it."""

    design: dtr.Design
    plans: list[Plan]
    columns: list[tuple[str, ...]]
    decisive: list[tuple[str, ...]]  # the columns of enter_if that a stage observes itself
    features: list[Callable[[Context, Plan], list[float]]]
    enters: list[Callable[[Context], bool]]
    policies: list[Any]

    @property
    def names(self) -> list[str]:
        return [stage.name for stage in self.design.stages]

    @property
    def dimensions(self) -> list[int]:
        return [2, *(4 if m == 1 else 3 for m in range(1, len(self.plans[0])))]


TWO = Problem(
    design=dtr.Design(
        [
            dtr.Stage("first", ARMS, "1 + x"),
            dtr.Stage("second", ARMS, "1 + x + z + C(first)", enter_if="r > -1.5 or x > 2"),
        ],
        plans=[tuple(plan) for plan in ("aa", "ab", "bb")],
    ),
    plans=[(0, 0), (0, 1), (1, 1)],
    columns=[("x",), ("z", "r")],
    decisive=[(), ("r",)],
    features=[lambda h, _: [1.0, h["x"]], lambda h, arms: [1.0, h["x"], h["z"], float(arms[0] == 1)]],
    enters=[lambda _: True, lambda h: h["r"] > -1.5 or h["x"] > 2],
    policies=[
        dtr.DTRBandit(q=1, delta=0.5),
        dtr.DTRBandit(q=1, delta=0.5, schedule="permuted"),
        dtr.EpsilonGreedy(epsilon=0.2),
        dtr.LSVIUCB(beta=0.5, leavers="optimistic", clip=(9.0, 2.0)),
        dtr.UniformRandom(),
    ],
)
THREE = Problem(
    design=dtr.Design(
        [
            dtr.Stage("first", ARMS, "1 + x"),
            dtr.Stage("second", ARMS, "1 + z + x:z + C(first)", enter_if="r > -2 or x > 2"),
            dtr.Stage("third", ARMS, "1 + w + C(second)", enter_if="w > -2 or x > 2"),
        ],
        plans=[tuple(plan) for plan in ("aab", "aba", "abb", "bba", "bbb")],
    ),
    plans=[(0, 0, 1), (0, 1, 0), (0, 1, 1), (1, 1, 0), (1, 1, 1)],
    columns=[("x",), ("z", "r"), ("w",)],
    decisive=[(), ("r",), ("w",)],
    features=[
        lambda h, _: [1.0, h["x"]],
        lambda h, arms: [1.0, h["z"], h["x"] * h["z"], float(arms[0] == 1)],
        lambda h, arms: [1.0, h["w"], float(arms[1] == 1)],
    ],
    enters=[lambda _: True, lambda h: h["r"] > -2 or h["x"] > 2, lambda h: h["w"] > -2 or h["x"] > 2],
    policies=[
        dtr.DTRBandit(q=1, delta=1.0),
        dtr.DTRBandit(q=1, delta=(0.5, 1.0, 2.0), schedule="permuted"),
        dtr.EpsilonGreedy(epsilon=0.2),
        dtr.LSVIUCB(beta=0.5, bound=(1.0, 2.0, (1.0, 3.0, 1.0)), switching="rare"),
    ],
)


@dataclass
class NaiveUnit:
    """Everything said of a unit, as it was said, and as it holds now."""

    problem: Problem
    round: int
    contexts: list[Context]
    said: list[Context]
    decided: list[dtr.Decision] = field(default_factory=list)
    arms: list[int] = field(default_factory=list)
    left: bool = False
    outcome: float | None = None
    said_outcome: float | None = None
    withdrawn: str | None = None
    latest: dict[tuple[str | int, ...], tuple[float, str]] = field(default_factory=dict)  # amendment of a field

    @property
    def open(self) -> bool:
        return self.said_outcome is None and self.withdrawn is None

    @property
    def due(self) -> int | None:
        """The stage that the unit is to respond at next, None if there is none."""
        return None if self.left or not self.open or len(self.said) == len(self.problem.columns) else len(self.said)

    @staticmethod
    def known(contexts: Sequence[Context]) -> Context:
        return {column: value for context in contexts for column, value in context.items()}

    def enters(self, m: int, contexts: Sequence[Context]) -> bool:
        return self.problem.enters[m](self.known(contexts[: m + 1]))

    def alternatives(self) -> list[int]:
        """The stages whose arm could have been the other one, of a unit that went beyond its first stage."""
        arms = tuple(self.arms)
        other = [(*arms[:m], 1 - arms[m], *arms[m + 1 :]) for m in range(len(arms))]
        plans = {plan[: len(arms)] for plan in self.problem.plans}
        return [m for m in range(len(arms)) if other[m] in plans and len(self.contexts) > 1]

    def trajectory(self) -> Trajectory:
        entered = range(len(self.contexts) - self.left)
        known, arms = self.known(self.contexts), tuple(self.arms)
        return Trajectory(
            features=[np.array(self.problem.features[m](known, arms)) for m in entered],
            feasible=[feasible_arms(self.problem.plans, arms[:m]) for m in entered],
            arms=list(arms),
            forced=[d.reason == "forced" and ARMS[a] == d.arm for d, a in zip(self.decided, arms, strict=True)],
            left=self.left,
            outcome=self.outcome,
        )


class Seam:
    """A session whose verbs go different ways in turn: all must lead to the same."""

    def __init__(self, session: dtr.Session) -> None:
        self.session, self.said = session, 0

    def __getattr__(self, name: str) -> Any:
        return partial(self.say, name) if name in COMMANDS else getattr(self.session, name)

    def say(self, verb: str, *content: Any, **more: Any) -> Any:
        self.said += 1
        if self.said % 3:
            return getattr(self.session, verb)(*content, **more)
        if self.said % 2:
            reply = self.session.answer(COMMANDS[verb](*content, **more))
            self.session.believe(reply)
            return reply.decision
        elsewhere = dtr.Session.resume(self.session.log)
        if self.said % 4:
            self.session.believe(elsewhere.answer(COMMANDS[verb](*content, **more)))
            return getattr(elsewhere, verb)(*content, **more)
        answer = getattr(elsewhere, verb)(*content, **more)
        self.session.follow(elsewhere.since(self.session.version))
        return answer


class SessionMachine(RuleBasedStateMachine):
    """Abstract: the test below names a problem and a policy."""

    problem: Problem
    policy: Any
    tally: Counter[str]  # over all runs of a machine

    # -- both oracles ----------------------------------------------------------------------------------------

    @initialize(seed=st.integers(0, 99), blocks=st.sampled_from([5, 2, 6]))  # free rounds begin or go on
    def open_session(self, seed: int, blocks: int) -> None:
        self.learns = not isinstance(self.policy, dtr.UniformRandom)
        self.twins = Twins(self.problem.design, self.policy, seed=seed, tally=self.tally) if self.learns else None
        session = self.twins.session if self.twins else dtr.Session(self.problem.design, self.policy, seed=seed)
        self.session: Any = Seam(session)
        if self.twins:
            self.twins.session = self.session  # it has the same verbs
        self.units: dict[str, NaiveUnit] = {}
        self.careful = False  # the past is told without looking at everything after each step
        rng = np.random.default_rng(seed)
        for _ in range(blocks * len(self.problem.plans)):
            self.enrol_one({"x": draw(rng)})
            for index in rng.integers(0, len(self.units), size=3):
                self.step_on(list(self.units.values())[index], [draw(rng) for _ in range(2)], whole=True)
            (index, which), chance = rng.integers(0, 99, size=2).tolist(), rng.random()
            if chance < 0.3 and any(unit.alternatives() for unit in self.units.values()):
                self.override_late(index, which)
            elif chance < 0.5:
                self.correct_outcome(index, draw(rng), "because")
            elif chance < 0.7:
                self.correct_context(index, which, draw(rng), "because")
        self.careful, self.past, self.seen = True, len(self.units), 0

    def pick(self, index: int) -> tuple[str, NaiveUnit]:
        name = sorted(self.units)[index % len(self.units)]
        return name, self.units[name]

    def say(self, verb: str, *content: Any, **more: Any) -> Any:
        if self.twins is not None:
            return self.twins.tell(verb, *content, **more)
        return getattr(self.session, verb)(*content, **more)

    def accepts(self, verb: str, *content: Any, events: int, **more: Any) -> Any:
        before = self.session.log
        answer = self.say(verb, *content, **more)
        assert len(self.session.log) - len(before) == events
        if self.careful and isinstance(answer, dtr.Decision) and events == 2:
            resumed = dtr.Session.resume(before)
            assert getattr(resumed, verb)(*content, **more) == answer
        return answer

    def refuses(self, verb: str, *content: Any, **more: Any) -> None:
        log = self.session.log
        with pytest.raises(dtr.ProtocolError):
            getattr(self.session, verb)(*content, **more)
        assert self.session.log == log
        self.tally["refused"] += 1

    def take(self, unit: NaiveUnit, decision: dtr.Decision) -> None:
        """Check a decision as far as it is prescribed, and believe it."""
        m, plans = len(unit.arms), self.problem.plans
        feasible = feasible_arms(plans, tuple(unit.arms))
        arm = ARMS.index(decision.arm)
        assert arm in feasible
        assert (decision.round, decision.stage) == (unit.round, self.problem.names[m])
        assert decision.propensity is not None
        assert 0 < decision.propensity <= 1
        if isinstance(self.policy, dtr.UniformRandom):
            assert decision.propensity == 1 / len(feasible)
        if isinstance(self.policy, dtr.DTRBandit) and self.policy.schedule == "paper":
            plan = schedule(plans, self.policy.q, 200).get(unit.round)
            if plan and all((*unit.arms[:k], *plan[k:]) in plans for k in range(m + 1)):
                assert (arm, decision.reason) == (plan[m], "forced")
            elif len(feasible) == 1:
                assert decision.reason == "only_feasible"
        unit.decided.append(decision)
        unit.arms.append(arm)

    # -- units come and go on --------------------------------------------------------------------------------

    def enrol_one(self, context: Context) -> None:
        name = f"u{len(self.units):02d}"
        decision = self.accepts("enroll", name, context, events=2)
        self.units[name] = NaiveUnit(self.problem, len(self.units) + 1, [context], [context])
        self.take(self.units[name], decision)

    def step_on(self, unit: NaiveUnit, values: list[float], *, whole: bool) -> None:
        """Let a unit respond or complete, whichever is due."""
        name, m = f"u{unit.round - 1:02d}", unit.due
        if not unit.open:
            return
        if m is None:
            self.accepts("complete", name, values[0], events=1)
            unit.outcome = unit.said_outcome = values[0]
            self.tally["completed"] += 1
            return
        context = dict(zip(self.problem.columns[m], values, strict=False))
        enters = unit.enters(m, [*unit.contexts, context])
        if not enters and not whole:  # a leaver need not say more than what made it leave
            context = {column: context[column] for column in self.problem.decisive[m]}
        decision = self.accepts("respond", name, context, events=1 + enters)
        unit.contexts.append(context)
        unit.said.append(context)
        unit.left = not enters
        assert (decision is not None) == enters
        self.tally["left early"] += unit.left
        if enters:
            self.take(unit, decision)

    @precondition(lambda self: len(self.units) < self.past + FRESH)
    @rule(x=numbers)
    def enroll(self, x: float) -> None:
        self.enrol_one({"x": x})

    @precondition(lambda self: any(unit.open for unit in self.units.values()))
    @rule(index=some, values=st.tuples(numbers, numbers), whole=st.booleans())
    def advance(self, index: int, values: tuple[float, float], whole: bool) -> None:
        waiting = [unit for unit in self.units.values() if unit.open]
        self.step_on(waiting[index % len(waiting)], list(values), whole=whole)

    @precondition(lambda self: any(unit.open for unit in self.units.values()))
    @rule(values=st.tuples(numbers, numbers))
    def advance_the_last(self, values: tuple[float, float]) -> None:
        self.step_on([unit for unit in self.units.values() if unit.open][-1], list(values), whole=True)

    @precondition(lambda self: sum(unit.withdrawn is not None for unit in self.units.values()) < 3)
    @precondition(lambda self: self.units)
    @rule(index=some, reason=st.sampled_from(["moved away", "ill"]))
    def withdraw(self, index: int, reason: str) -> None:
        name, unit = self.pick(index)
        if unit.withdrawn == reason:
            self.accepts("withdraw", name, reason=reason, events=0)
        elif not unit.open:
            self.refuses("withdraw", name, reason=reason)
        else:
            self.accepts("withdraw", name, reason=reason, events=1)
            unit.withdrawn = reason
            self.tally["withdrawn"] += 1

    # -- things said twice, too late or too early ------------------------------------------------------------

    @precondition(lambda self: self.units)
    @rule(index=some, which=some, other=numbers, same=st.sampled_from(["as said", "as it holds", "otherwise"]))
    def say_a_context_again(self, index: int, which: int, other: float, same: str) -> None:
        name, unit = self.pick(index)
        m = which % len(unit.said)
        verb = "respond" if m else "enroll"
        otherwise = {**unit.said[m], self.problem.decisive[m][0] if m else "x": other}
        context = {"as said": unit.said[m], "as it holds": unit.contexts[m], "otherwise": otherwise}[same]
        if context in (unit.said[m], unit.contexts[m]):
            answer = self.accepts(verb, name, context, events=0)
            assert answer == (unit.decided[m] if m < len(unit.decided) else None)
        else:
            self.refuses(verb, name, context)

    @precondition(lambda self: self.units)
    @rule(index=some, y=numbers, same=st.booleans())
    def complete(self, index: int, y: float, same: bool) -> None:
        name, unit = self.pick(index)
        if same and unit.said_outcome is not None:
            self.accepts("complete", name, unit.said_outcome, events=0)
            self.accepts("complete", name, unit.outcome, events=0)
        elif unit.due is not None or (not unit.open and y not in (unit.said_outcome, unit.outcome)):
            self.refuses("complete", name, y)

    @precondition(lambda self: self.units)
    @rule(index=some, values=st.tuples(numbers, numbers))
    def respond_when_nothing_is_due(self, index: int, values: tuple[float, float]) -> None:
        name, unit = self.pick(index)
        m = len(unit.said)
        if unit.due is None and m < len(self.problem.columns):
            context = dict(zip(self.problem.columns[m], values, strict=False))
            self.refuses("respond", name, context)

    # -- amendments ------------------------------------------------------------------------------------------

    def try_override(self, name: str, m: int, arm: int, reason: str = "because") -> None:
        unit, stage = self.units[name], self.problem.names[m]
        arms = (*unit.arms[:m], arm, *unit.arms[m + 1 :])
        possible = len(unit.arms) > m and any(plan[: len(arms)] == arms for plan in self.problem.plans)
        if unit.latest.get(("arm", m)) == (arm, reason):
            answer = self.accepts("override", name, ARMS[arm], stage=stage, reason=reason, events=0)
            assert answer.arm == ARMS[unit.arms[m]] == ARMS[arm]
            return
        if not possible or unit.arms[m] == arm:
            self.refuses("override", name, ARMS[arm], stage=stage, reason=reason)
            return
        answer = self.accepts("override", name, ARMS[arm], stage=stage, reason=reason, events=1)
        assert (answer.arm, answer.reason, answer.propensity) == (ARMS[arm], "override", None)
        assert self.accepts("override", name, ARMS[arm], stage=stage, reason=reason, events=0) == answer
        unit.arms[m], unit.latest["arm", m] = arm, (arm, reason)
        self.tally["late override" if len(unit.contexts) > m + 1 or unit.outcome is not None else "override"] += 1

    @precondition(lambda self: self.units)
    @rule(index=some, arm=st.integers(0, 1), which=some, reason=reasons)
    def override(self, index: int, arm: int, which: int, reason: str) -> None:
        self.try_override(self.pick(index)[0], which % len(self.problem.names), arm, reason)

    @precondition(lambda self: any(unit.alternatives() for unit in self.units.values()))
    @rule(index=some, which=some)
    def override_late(self, index: int, which: int) -> None:
        names = [name for name, unit in self.units.items() if unit.alternatives()]
        name = names[index % len(names)]
        stages = self.units[name].alternatives()
        m = stages[which % len(stages)]
        for _ in range(3 if which % 4 == 0 else 1):  # there, and at times back and there again
            self.try_override(name, m, 1 - self.units[name].arms[m])

    @precondition(lambda self: any(unit.open for unit in self.units.values()))
    @rule(which=some)
    def override_the_last(self, which: int) -> None:
        unit = [unit for unit in self.units.values() if unit.open][-1]
        m = which % len(unit.arms)
        self.try_override(f"u{unit.round - 1:02d}", m, 1 - unit.arms[m])

    @precondition(lambda self: self.units)
    @rule(index=some, y=numbers, reason=reasons)
    def correct_outcome(self, index: int, y: float, reason: str) -> None:
        name, unit = self.pick(index)
        if unit.latest.get(("outcome",)) == (y, reason):
            self.accepts("correct", name, outcome=y, reason=reason, events=0)
        elif unit.outcome is None or unit.outcome == y:
            self.refuses("correct", name, outcome=y, reason=reason)
        else:
            self.accepts("correct", name, outcome=y, reason=reason, events=1)
            self.accepts("correct", name, outcome=y, reason=reason, events=0)
            unit.outcome, unit.latest["outcome",] = y, (y, reason)
            self.tally["corrected outcome"] += 1

    @precondition(lambda self: any(unit.outcome is not None for unit in self.units.values()))
    @rule(index=some, y=numbers)
    def correct_an_outcome_there_and_back(self, index: int, y: float) -> None:
        _, unit = self.pick(index)
        if unit.outcome is not None and unit.outcome != y:
            before, version = unit.outcome, self.session.version
            for value in (y, before, y):
                self.correct_outcome(index, value, "because")
            self.tally["there and back"] += self.session.version == version + 3

    @precondition(lambda self: self.units)
    @rule(index=some, which=some, value=numbers, reason=reasons)
    def correct_context(self, index: int, which: int, value: float, reason: str) -> None:
        name, unit = self.pick(index)
        reached = self.problem.columns[: len(unit.contexts) + (index % 7 == 6)]  # at times one stage too far
        pairs = [(m, column) for m, columns in enumerate(reached) for column in columns]
        m, column = pairs[which % len(pairs)]
        more = {
            "stage": self.problem.names[m],
            "context": {column: value},
            "reason": reason,
        }
        if unit.latest.get((m, column)) == (value, reason):
            self.accepts("correct", name, events=0, **more)
            return
        if len(unit.contexts) <= m or unit.contexts[m].get(column) == value:
            self.refuses("correct", name, **more)
            return
        contexts = [{**known, column: value} if k == m else known for k, known in enumerate(unit.contexts)]
        entered = [True] * (len(contexts) - unit.left) + [False] * unit.left
        if [unit.enters(k, contexts) for k in range(len(contexts))] != entered:
            self.refuses("correct", name, **more)
        else:
            self.accepts("correct", name, events=1, **more)
            unit.contexts, unit.latest[m, column] = contexts, (value, reason)
            self.accepts("respond" if m else "enroll", name, contexts[m], events=0)
            self.tally["a correction said again"] += contexts[m] != unit.said[m]
            self.tally["corrected context"] += 1

    # -- what must hold after every step ---------------------------------------------------------------------

    @invariant()
    def estimates_are_those_of_a_naive_refit(self) -> None:
        if not isinstance(self.policy, dtr.DTRBandit | dtr.EpsilonGreedy) or self.seen == len(self.session.log):
            return
        self.seen = len(self.session.log)
        units = [unit.trajectory() for unit in self.units.values()]
        counts = [2] * len(self.problem.names)
        hat, tilde = hat_estimates(units, counts), tilde_estimates(units, counts)
        found = iter(self.session.coefficients())
        for m, size in enumerate(self.problem.dimensions):
            for arm in range(2):
                rows = [next(found) for _ in range(size)]
                assert_same([row.hat for row in rows], hat[m][arm])
                if isinstance(self.policy, dtr.DTRBandit):
                    assert_same([row.tilde for row in rows], tilde[m][arm])

    @invariant()
    def a_resumed_session_is_the_same(self) -> None:
        if len(self.session.log) % 5 == 0:
            resumed = dtr.Session.resume(self.session.log)
            assert resumed.log == self.session.log
            if self.learns:
                assert resumed.coefficients() == self.session.coefficients()

    def teardown(self) -> None:
        if hasattr(self, "session"):
            dtr.verify(self.session.log)
            assert "enrolled" in str(self.session.summary())


def draw(rng: np.random.Generator) -> float:
    return round(float(rng.normal(scale=1.5)), 3)


def assert_same(found: list[float | None], expected: Vector | None) -> None:
    if expected is None:
        assert found == [None] * len(found)
    else:
        assert found == pytest.approx(expected, rel=1e-7, abs=1e-7)


@pytest.mark.parametrize(
    ("problem", "policy"),
    [(problem, policy) for problem in (TWO, THREE) for policy in problem.policies],
    ids=lambda value: f"{len(value.names)} stages" if isinstance(value, Problem) else repr(value),
)
def test_any_course_of_events_is_told_as_the_naive_model_and_decided_as_the_plain_refit(
    problem: Problem, policy: Any
) -> None:
    tally: Counter[str] = Counter()
    machine = type("Machine", (SessionMachine,), {"problem": problem, "policy": policy, "tally": tally})

    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=12, stateful_step_count=50, deadline=None, suppress_health_check=list(HealthCheck)
        ),
    )

    assert tally["completed"] >= 50
    assert tally["late override"] >= 30
    assert tally["corrected outcome"] + tally["corrected context"] >= 30
    assert tally["there and back"] >= 5
    assert tally["a correction said again"] >= 5
    if not isinstance(policy, dtr.UniformRandom):
        assert tally["free"] >= 40
        assert tally["ties"] <= 0.05 * tally["free"]
