"""The contract of a policy: subclass it in your tests and name your policy.

::

    class TestMyPolicy(PolicyContract):
        def policy(self):
            return MyPolicy()

pytest then finds the tests below. They run on two designs, both with early leavers. One has two stages, of two and
three arms; the other has three stages and an irregular tree of plans. Several units are under way at once. Some
withdraw, and some are voided. Arms and contexts are amended, also after later stages were decided. For some units arms
are contraindicated, and an arm is closed on the way.

A policy that means to learn from an earlier trial (``Session(..., prior=...)``) sets ``teachable = True``. Its sessions
then also begin with units of one. ``update`` is told of each by a ``Taught`` fact, with a history of round 0 that holds
all that happened to the unit.
"""

from __future__ import annotations

import copy
import pickle
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dtrbandit.belief import verify
from dtrbandit.design.spec import Design
from dtrbandit.design.stages import Stage
from dtrbandit.engine import Session
from dtrbandit.errors import ProtocolError
from dtrbandit.policies.policy import Choice, Policy
from dtrbandit.policies.uniform_random import UniformRandom
from dtrbandit.record.events import Assigned, Taught
from dtrbandit.record.histories import History, UnitRecord

TWO_STAGES = Design(
    [
        Stage("first", arms=("a", "b"), features="1 + x"),
        Stage("second", arms=("a", "b", "c"), features="1 + x + z", enter_if="z > -1"),
    ],
    plans=[("a", "a"), ("a", "b"), ("a", "c"), ("b", "b"), ("b", "c")],
)
THREE_STAGES = Design(
    [
        Stage("first", arms=("a", "b"), features="1 + x"),
        Stage("second", arms=("a", "b"), features="1 + x + z", enter_if="z > -1 or x > 0"),
        Stage("third", arms=("a", "b"), features="1 + w + C(first)", enter_if="w > -1"),
    ],
    plans=[tuple(plan) for plan in ("aab", "aba", "abb", "bba", "bbb")],
)
ROUNDS = 50
CLOSING = 40  # the round before which an arm is closed
APART = 2  # rounds from one stage of a unit to its next
DRAWS = 2_000  # evenly spread u: an arm's share is exact up to one draw for each arm


class PolicyContract:
    """What every policy must keep; abstract, since it names no policy."""

    teachable = False  # whether sessions of the contract also begin with units of an earlier trial

    def policy(self) -> Policy[Any]:
        """Return the policy under test, the same each time."""
        raise TypeError("a policy contract needs a method policy() that returns the policy under test")

    def policy_for(self, design: Design) -> Policy[Any]:  # noqa: ARG002  # most policies fit every design
        """Return the policy under test for a design; override it if its parameters depend on the stages."""
        return self.policy()

    def designs(self) -> tuple[Design, ...]:
        """Return designs that the policy can work with."""
        return TWO_STAGES, THREE_STAGES

    def test_deciding_changes_nothing(self) -> None:
        """Asking, however often and for whatever u, leaves the state as it was."""
        for policy, state, history in self._questions():
            before = pickle.dumps(state)
            for u in (0.0, 0.3, 0.999):
                policy.decide(state, history, u)
            assert pickle.dumps(state) == before, f"decide() changed the state at round {history.round}"

    def test_the_same_facts_lead_to_the_same_decisions(self) -> None:
        """Two runs agree, and a log that is decided again gives the same decisions."""
        for design in self.designs():
            log = self._run(design).log

            assert self._run(design).log == log
            verify(log, design=design, policy=self.policy_for(design))

    def test_a_resumed_session_makes_the_same_next_decisions(self) -> None:
        """Recovery from the log changes no later decision."""
        for design in self.designs():
            whole = Session(design, self.policy_for(design), seed=3)
            drive(whole, range(ROUNDS // 2))
            resumed = Session.resume(whole.log, design=design, policy=self.policy_for(design))

            drive(whole, range(ROUNDS // 2, ROUNDS))
            drive(resumed, range(ROUNDS // 2, ROUNDS))
            assert resumed.log == whole.log

    def test_only_feasible_arms_are_chosen(self) -> None:
        """For every u the arm is feasible, and infeasible arms have propensity zero."""
        for policy, state, history in self._questions():
            for u in np.linspace(0, 1, 101)[:-1]:
                choice = policy.decide(state, history, float(u))
                assert history.feasible[choice.arm], f"arm {choice.arm} is infeasible for {history}"
                assert all(p == 0 for p, yes in zip(choice.propensities, history.feasible, strict=True) if not yes)

    def test_propensities_are_honest(self) -> None:
        """They sum to one, do not depend on u, and are the shares in which arms are chosen over u."""
        for policy, state, history in self._questions(every=11):
            choices = [policy.decide(state, history, (i + 0.5) / DRAWS) for i in range(DRAWS)]
            _check_propensities(choices, history)

    def test_an_earlier_trial_teaches_and_takes_no_round(self) -> None:
        """The first unit has round 1; two runs, a resumed session and a log that is decided again agree."""
        for design in self.designs() if self.teachable else ():
            taught = [Session(design, self.policy_for(design), seed=3, prior=_Earlier()) for _ in range(2)]
            for session in taught:
                drive(session, range(ROUNDS // 2))
            log = taught[0].log
            resumed = Session.resume(log, design=design, policy=self.policy_for(design))

            first = next(event for event in log if isinstance(event, Assigned))
            assert first.decision.round == 1, f"the first unit has round {first.decision.round}"
            assert taught[1].log == log, "the same facts led to other decisions"
            verify(log, design=design, policy=self.policy_for(design))
            drive(taught[0], range(ROUNDS // 2, ROUNDS))
            drive(resumed, range(ROUNDS // 2, ROUNDS))
            assert resumed.log == taught[0].log, "a resumed session decides otherwise"

    def _run(self, design: Design) -> Session:
        session = Session(design, self.policy_for(design), seed=3)
        drive(session, range(ROUNDS))
        return session

    def _questions(self, every: int = 1) -> Iterator[tuple[Policy[Any], Any, History]]:
        """Give the policy, its state and the history at the decisions of a run; all, or one of so many."""
        seen: list[tuple[Policy[Any], Any, History]] = []
        numbers = count()

        class Watched:
            """The policy, with a copy of what it is asked."""

            def __init__(self, policy: Policy[Any]) -> None:
                self.init, self.update, self._policy = policy.init, policy.update, policy

            def decide(self, state: Any, history: History, u: float) -> Choice:
                if next(numbers) % every == 0:
                    seen.append((self._policy, copy.deepcopy(state), history))
                return self._policy.decide(state, history, u)

        for design in self.designs():
            drive(Session(design, Watched(self.policy_for(design)), seed=3), range(ROUNDS))
        return iter(seen)


class _Earlier:
    """An earlier trial: units of a session under chance alone, some of whom left early and some were lost."""

    def teaching(self, design: Design) -> list[Taught]:
        earlier = Session(design, UniformRandom(), seed=4)
        decided: Counter[str] = Counter()
        for t in range(ROUNDS // 2):
            earlier.enroll(f"u{t}", _context(design, t + ROUNDS, 0))
            decided[f"u{t}"] += 1
            for m in range(1, len(design.stages)):
                _respond(earlier, t, m, decided)
            _end(earlier, t)
        return [_taught(design, record) for record in earlier._belief.histories]


def _taught(design: Design, record: UnitRecord) -> Taught:
    arms = tuple(stage.arms[arm] for stage, arm in zip(design.stages, record.history.arms, strict=False))
    return Taught(record.history.unit, record.contexts, arms, record.history.outcome)


def _check_propensities(choices: list[Choice], history: History) -> None:
    propensities = choices[0].propensities
    assert all(choice.propensities == propensities for choice in choices), "propensities depend on u"
    assert abs(sum(propensities) - 1) < 1e-12, f"propensities {propensities} do not sum to one"
    shares = np.bincount([choice.arm for choice in choices], minlength=len(history.feasible)) / len(choices)
    worst = float(np.max(np.abs(shares - np.array(propensities))))
    assert worst <= len(propensities) / len(choices), f"chosen in shares {shares}, claimed {propensities}"


def drive(session: Session, rounds: range) -> None:
    """Enrol a unit in each round. Each unit goes a step further every APART rounds, and some are amended."""
    stages = len(session.design.stages)
    decided = Counter(event.unit for event in session.log if isinstance(event, Assigned))
    for t in rounds:
        _close(session, t)
        _enroll(session, t)
        decided[f"u{t}"] += 1
        if t % 11 == 4:
            _override(session, t, 0)
        for m in range(1, stages):
            _respond(session, t - APART * m, m, decided)
        _amend(session, t - APART * (stages - 1))
        _end(session, t - APART * stages)
        _amend(session, t - APART * (stages + 1))
        _void(session, t - APART * (stages + 1))


def _enroll(session: Session, t: int) -> None:
    """Enrol unit t; of some an arm of the last stage is contraindicated, unless nothing would be left."""
    unit, context, last = f"u{t}", _context(session.design, t, 0), session.design.stages[-1]
    if t % 9 == 2:
        with suppress(ProtocolError):
            arm = last.arms[t % len(last.arms)]
            session.enroll(unit, context, exclude={last.name: [arm]}, reason="allergy")
            return
    session.enroll(unit, context)


def _close(session: Session, t: int) -> None:
    """Close an arm of the second stage, the first that can be, in round CLOSING."""
    if t == CLOSING:
        stage = session.design.stages[1]
        for arm in stage.arms:
            with suppress(ProtocolError):
                session.close_arm(stage.name, arm, reason="harm")
                return


def _respond(session: Session, t: int, m: int, decided: Counter[str]) -> None:
    """Let unit t respond at stage m, unless it has left or is soon to be withdrawn; count its decisions."""
    unit, stage = f"u{t}", session.design.stages[m]
    lost = t % 13 == 6 and m == len(session.design.stages) - 1
    if decided[unit] == m and not lost:
        try:
            decided[unit] += session.respond(unit, _context(session.design, t, m), stage=stage.name) is not None
        except ProtocolError:
            session.withdraw(unit, reason="an override has led it to where nothing is left")


def _end(session: Session, t: int) -> None:
    with suppress(ProtocolError):  # it may be withdrawn already
        if t >= 0 and t % 13 == 6:
            session.withdraw(f"u{t}", reason="moved away")
        elif t >= 0:
            session.complete(f"u{t}", round(_values(t).sum(), 3))


def _amend(session: Session, t: int) -> None:
    """Override an arm of unit t, or correct its first context or its outcome, if it is its turn."""
    unit, design = f"u{t}", session.design
    if t < 0:
        return
    if t % 5 == 0:
        _override(session, t, t % len(design.stages))
    with suppress(ProtocolError):  # no outcome yet, or a context with which it would not have entered a stage
        if t % 5 == 1:
            session.correct(unit, outcome=round(_values(t).sum() + 1, 3), reason="typing error")
        elif t % 5 == 2 and design.columns[0]:
            value = float(_values(t + 1)[0])
            session.correct(unit, stage=design.stages[0].name, context={design.columns[0][0]: value}, reason="misread")


def _void(session: Session, t: int) -> None:
    """Void unit t, which has ended, if it is its turn."""
    if t >= 0 and t % 17 in (5, 10):
        session.void(f"u{t}", reason="never eligible")


def _override(session: Session, t: int, m: int) -> None:
    """Give unit t another arm at stage m: the first that fits its other arms."""
    stage = session.design.stages[m]
    reason = f"allergy, event {len(session.log)}"  # a new one each time: no repetition
    for arm in stage.arms:
        with suppress(ProtocolError):
            session.override(f"u{t}", arm, stage=stage.name, reason=reason)
            return


def _values(t: int) -> NDArray[np.float64]:
    return np.random.default_rng(t).normal(size=8).round(3)


def _context(design: Design, t: int, m: int) -> dict[str, float]:
    start = sum(map(len, design.columns[:m]))
    return {column: float(_values(t)[(start + j) % 8]) for j, column in enumerate(design.columns[m])}
