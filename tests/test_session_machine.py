"""A Hypothesis state machine over the session's verbs, against a naive model that shares no code with it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

import dtrbandit as dtr
from paper.literal import Trajectory, feasible_arms, hat_estimates, schedule, tilde_estimates

ARMS = ("a", "b")
PLANS = [(0, 0), (0, 1), (1, 1)]
DESIGN = dtr.Design(
    [
        dtr.Stage("first", arms=ARMS, features="1 + x"),
        dtr.Stage("second", arms=ARMS, features="1 + z + C(first)", enter_if="r > 0"),
    ],
    plans=[tuple(ARMS[arm] for arm in plan) for plan in PLANS],
)
POLICIES = [
    dtr.DTRBandit(q=1, delta=0.5),
    dtr.DTRBandit(q=2, delta=0.5, schedule="permuted"),
    dtr.EpsilonGreedy(epsilon=0.2),
    dtr.UniformRandom(),
]
numbers = st.integers(-4, 4).map(lambda n: n / 2)


@dataclass
class NaiveUnit:
    """Everything said of a unit, as it was said."""

    round: int
    contexts: list[dict[str, float]]
    said: list[dict[str, float]]
    decided: list[dtr.Decision] = field(default_factory=list)
    arms: list[int] = field(default_factory=list)
    outcome: float | None = None
    said_outcome: float | None = None
    withdrawn: str | None = None

    @property
    def left(self) -> bool:
        return len(self.contexts) == 2 and self.contexts[1]["r"] <= 0

    @property
    def open(self) -> bool:
        return self.said_outcome is None and self.withdrawn is None

    def trajectory(self) -> Trajectory:
        rows = [np.array([1.0, self.contexts[0]["x"]])]
        if len(self.contexts) == 2 and not self.left:
            rows.append(np.array([1.0, self.contexts[1]["z"], float(self.arms[0] == 1)]))
        feasible = [feasible_arms(PLANS, tuple(self.arms[:m])) for m in range(len(rows))]
        return Trajectory(
            features=rows,
            feasible=feasible,
            arms=list(self.arms),
            forced=self.forced(),
            left=self.left,
            outcome=self.outcome,
        )

    def forced(self) -> list[bool]:
        return [d.reason == "forced" and ARMS[a] == d.arm for d, a in zip(self.decided, self.arms, strict=True)]


class SessionMachine(RuleBasedStateMachine):
    @initialize(policy=st.sampled_from(POLICIES), seed=st.integers(0, 5))
    def open_session(self, policy: Any, seed: int) -> None:
        self.session = dtr.Session(DESIGN, policy, seed=seed)
        self.policy = policy
        self.units: dict[str, NaiveUnit] = {}

    def pick(self, index: int) -> tuple[str, NaiveUnit]:
        name = sorted(self.units)[index % len(self.units)]
        return name, self.units[name]

    def accepts(self, call: Callable[[], Any], *, new: bool, events: int = 1) -> Any:
        before = len(self.session.log)
        answer = call()
        assert len(self.session.log) - before == (events if new else 0)
        return answer

    def refuses(self, call: Callable[[], Any]) -> None:
        log = self.session.log
        with pytest.raises(dtr.ProtocolError):
            call()
        assert self.session.log == log

    def take(self, unit: NaiveUnit, decision: dtr.Decision) -> None:
        """Check a decision as far as it is prescribed, and believe it."""
        m = len(unit.arms)
        feasible = feasible_arms(PLANS, tuple(unit.arms))
        arm = ARMS.index(decision.arm)
        assert arm in feasible
        assert (decision.round, decision.stage) == (unit.round, ("first", "second")[m])
        if isinstance(self.policy, dtr.DTRBandit) and self.policy.schedule == "paper":
            plan = schedule(PLANS, self.policy.q, 200).get(unit.round)
            if plan and (*unit.arms, *plan[m:]) in PLANS:
                assert (arm, decision.reason) == (plan[m], "forced")
            elif len(feasible) == 1:
                assert decision.reason == "only_feasible"
        unit.decided.append(decision)
        unit.arms.append(arm)

    @rule(x=numbers)
    def enroll(self, x: float) -> None:
        name = f"u{len(self.units):02d}"
        decision = self.accepts(lambda: self.session.enroll(name, {"x": x}), new=True, events=2)
        self.units[name] = NaiveUnit(len(self.units) + 1, [{"x": x}], [{"x": x}])
        self.take(self.units[name], decision)

    @precondition(lambda self: self.units)
    @rule(index=st.integers(0, 99), x=numbers)
    def enroll_again(self, index: int, x: float) -> None:
        name, unit = self.pick(index)
        if unit.said[0] == {"x": x}:
            assert self.accepts(lambda: self.session.enroll(name, {"x": x}), new=False) == unit.decided[0]
        else:
            self.refuses(lambda: self.session.enroll(name, {"x": x}))

    @precondition(lambda self: self.units)
    @rule(index=st.integers(0, 99), z=numbers, r=st.sampled_from([-1.0, 1.0, 1.0, 1.0]))
    def respond(self, index: int, z: float, r: float) -> None:
        name, unit = self.pick(index)
        context = {"z": z, "r": r}
        if len(unit.said) == 2 and unit.said[1] == context:
            answer = self.accepts(lambda: self.session.respond(name, context), new=False)
            assert answer == (unit.decided[1] if len(unit.decided) == 2 else None)
        elif len(unit.said) == 2 or not unit.open:
            self.refuses(lambda: self.session.respond(name, context))
        else:
            enters = r > 0
            decision = self.accepts(lambda: self.session.respond(name, context), new=True, events=1 + enters)
            unit.contexts.append(dict(context))
            unit.said.append(context)
            assert (decision is not None) == enters
            if enters:
                self.take(unit, decision)

    @precondition(lambda self: self.units)
    @rule(index=st.integers(0, 99), y=numbers)
    def complete(self, index: int, y: float) -> None:
        name, unit = self.pick(index)
        if unit.said_outcome == y:
            self.accepts(lambda: self.session.complete(name, y), new=False)
        elif not unit.open or len(unit.said) == 1:
            self.refuses(lambda: self.session.complete(name, y))
        else:
            self.accepts(lambda: self.session.complete(name, y), new=True)
            unit.outcome = unit.said_outcome = y

    @precondition(lambda self: self.units)
    @rule(index=st.integers(0, 99), reason=st.sampled_from(["moved away", "ill"]))
    def withdraw(self, index: int, reason: str) -> None:
        name, unit = self.pick(index)
        if unit.withdrawn == reason:
            self.accepts(lambda: self.session.withdraw(name, reason=reason), new=False)
        elif not unit.open:
            self.refuses(lambda: self.session.withdraw(name, reason=reason))
        else:
            self.accepts(lambda: self.session.withdraw(name, reason=reason), new=True)
            unit.withdrawn = reason

    @precondition(lambda self: self.units)
    @rule(index=st.integers(0, 99), arm=st.integers(0, 1), m=st.integers(0, 1))
    def override(self, index: int, arm: int, m: int) -> None:
        name, unit = self.pick(index)
        stage = ("first", "second")[m]
        number = len(self.session.log)  # a reason of its own, so that nothing is a repetition
        call = lambda: self.session.override(name, ARMS[arm], stage=stage, reason=f"because {number}")  # noqa: E731
        arms = (*unit.arms[:m], arm, *unit.arms[m + 1 :])
        possible = len(unit.arms) > m and any(plan[: len(arms)] == arms for plan in PLANS)
        if not possible or unit.arms[m] == arm:
            self.refuses(call)
        else:
            answer = self.accepts(call, new=True)
            assert (answer.arm, answer.reason, answer.propensity) == (ARMS[arm], "override", None)
            assert self.accepts(call, new=False) == answer
            unit.arms[m] = arm

    @precondition(lambda self: self.units)
    @rule(index=st.integers(0, 99), y=numbers)
    def correct_outcome(self, index: int, y: float) -> None:
        name, unit = self.pick(index)
        number = len(self.session.log)
        call = lambda: self.session.correct(name, outcome=y, reason=f"because {number}")  # noqa: E731
        if unit.outcome is None or unit.outcome == y:
            self.refuses(call)
        else:
            self.accepts(call, new=True)
            self.accepts(call, new=False)
            unit.outcome = y

    @precondition(lambda self: self.units)
    @rule(index=st.integers(0, 99), column=st.sampled_from(["x", "z", "r"]), value=numbers)
    def correct_context(self, index: int, column: str, value: float) -> None:
        name, unit = self.pick(index)
        m = int(column != "x")
        stage = ("first", "second")[m]
        number = len(self.session.log)
        call = lambda: self.session.correct(  # noqa: E731
            name, stage=stage, context={column: value}, reason=f"because {number}"
        )
        known = len(unit.contexts) > m
        flips = known and column == "r" and (value > 0) == unit.left
        if not known or flips or unit.contexts[m][column] == value:
            self.refuses(call)
        else:
            self.accepts(call, new=True)
            unit.contexts[m] = {**unit.contexts[m], column: value}

    @invariant()
    def estimates_are_those_of_a_naive_refit(self) -> None:
        if not hasattr(self, "session") or isinstance(self.policy, dtr.UniformRandom):
            return
        units = [unit.trajectory() for unit in self.units.values()]
        hat, tilde = hat_estimates(units, [2, 2]), tilde_estimates(units, [2, 2])
        found = iter(self.session.coefficients())
        for m, size in enumerate((2, 3)):
            for arm in range(2):
                rows = [next(found) for _ in range(size)]
                assert_same([row.hat for row in rows], hat[m][arm])
                if isinstance(self.policy, dtr.DTRBandit):
                    assert_same([row.tilde for row in rows], tilde[m][arm])

    @invariant()
    def a_resumed_session_is_the_same(self) -> None:
        if hasattr(self, "session") and len(self.session.log) % 5 == 0:
            resumed = dtr.Session.resume(self.session.log)
            assert resumed.log == self.session.log
            assert resumed.enroll("new", {"x": 0.5}) == dtr.Session.resume(self.session.log).enroll("new", {"x": 0.5})
            if not isinstance(self.policy, dtr.UniformRandom):
                assert resumed.coefficients() == self.session.coefficients()

    def teardown(self) -> None:
        if hasattr(self, "session"):
            dtr.verify(self.session.log)
            assert "enrolled" in str(self.session.summary())


def assert_same(found: list[float | None], expected: Any) -> None:
    if expected is None:
        assert found == [None] * len(found)
    else:
        assert found == pytest.approx(expected, rel=1e-7, abs=1e-7)


TestSession = SessionMachine.TestCase
TestSession.settings = settings(
    max_examples=60, stateful_step_count=40, deadline=None, suppress_health_check=list(HealthCheck)
)
