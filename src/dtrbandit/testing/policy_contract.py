"""The contract of a policy: subclass it in your tests and name your policy.

::

    class TestMyPolicy(PolicyContract):
        def policy(self):
            return MyPolicy()

pytest then finds the tests below. They run on a design with two stages of two and three arms, an infeasible
plan and early leavers, with units in flight, withdrawals, overrides and corrections.
"""

from __future__ import annotations

import copy
import pickle
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dtrbandit.design.spec import Design
from dtrbandit.design.stages import Stage
from dtrbandit.engine import Session, verify
from dtrbandit.policies.policy import Choice, Policy
from dtrbandit.record.histories import History

DESIGN = Design(
    [
        Stage("first", arms=("a", "b"), features="1 + x"),
        Stage("second", arms=("a", "b", "c"), features="1 + x + z", enter_if="z > -1"),
    ],
    plans=[("a", "a"), ("a", "b"), ("a", "c"), ("b", "b"), ("b", "c")],
)
ROUNDS = 60
DRAWS = 2_000  # evenly spread u: an arm's share is exact up to one draw for each arm


class PolicyContract:
    """What every policy must keep; abstract, since it names no policy."""

    def policy(self) -> Policy[Any]:
        """Return the policy under test, the same each time."""
        raise TypeError("a policy contract needs a method policy() that returns the policy under test")

    def design(self) -> Design:
        """Return a design that the policy can work with."""
        return DESIGN

    def test_deciding_changes_nothing(self) -> None:
        """Asking, however often and for whatever u, leaves the state as it was."""
        for policy, state, history in self._arrivals():
            before = pickle.dumps(state)
            for u in (0.0, 0.3, 0.999):
                policy.decide(state, history, u)
            assert pickle.dumps(state) == before, f"decide() changed the state at round {history.round}"

    def test_the_same_facts_lead_to_the_same_decisions(self) -> None:
        """Two runs agree, and a log decided again gives what it recorded."""
        log = self._run().log

        assert self._run().log == log
        verify(log, design=self.design(), policy=self.policy())

    def test_a_resumed_session_makes_the_same_next_decisions(self) -> None:
        """Recovery from the log changes no later decision."""
        whole = Session(self.design(), self.policy(), seed=3)
        drive(whole, range(ROUNDS // 2))
        resumed = Session.resume(whole.log, design=self.design(), policy=self.policy())

        drive(whole, range(ROUNDS // 2, ROUNDS))
        drive(resumed, range(ROUNDS // 2, ROUNDS))
        assert resumed.log == whole.log

    def test_only_feasible_arms_are_chosen(self) -> None:
        """For every u the arm is feasible, and infeasible arms have propensity zero."""
        for policy, state, history in self._arrivals():
            for u in np.linspace(0, 1, 101)[:-1]:
                choice = policy.decide(state, history, float(u))
                assert history.feasible[choice.arm], f"arm {choice.arm} is infeasible for {history}"
                assert all(p == 0 for p, yes in zip(choice.propensities, history.feasible, strict=True) if not yes)

    def test_propensities_are_honest(self) -> None:
        """They sum to one, do not depend on u, and are the shares in which arms are chosen over u."""
        for policy, state, history in self._arrivals(every=7):
            choices = [policy.decide(state, history, (i + 0.5) / DRAWS) for i in range(DRAWS)]
            _check_propensities(choices, history)

    def _run(self) -> Session:
        session = Session(self.design(), self.policy(), seed=3)
        drive(session, range(ROUNDS))
        return session

    def _arrivals(self, every: int = 1) -> Iterator[tuple[Policy[Any], Any, History]]:
        """Give the states and histories at which decisions were made in a run, some of them."""
        seen: list[tuple[Policy[Any], Any, History]] = []

        class Watched:
            """The policy, with a copy of each question that it is asked."""

            def __init__(self, policy: Policy[Any]) -> None:
                self.init, self.update, self._policy = policy.init, policy.update, policy

            def decide(self, state: Any, history: History, u: float) -> Choice:
                seen.append((self._policy, copy.deepcopy(state), history))
                return self._policy.decide(state, history, u)

        drive(Session(self.design(), Watched(self.policy()), seed=3), range(ROUNDS))
        return iter(seen[::every])


def _check_propensities(choices: list[Choice], history: History) -> None:
    propensities = choices[0].propensities
    assert all(choice.propensities == propensities for choice in choices), "propensities depend on u"
    assert abs(sum(propensities) - 1) < 1e-12, f"propensities {propensities} do not sum to one"
    shares = np.bincount([choice.arm for choice in choices], minlength=len(history.feasible)) / len(choices)
    worst = float(np.max(np.abs(shares - np.array(propensities))))
    assert worst <= len(propensities) / len(choices), f"chosen in shares {shares}, claimed {propensities}"


def drive(session: Session, rounds: range) -> None:
    """Enrol a unit in each round; 3 rounds later it responds, after 5 it ends, after 7 some are corrected."""
    for t in rounds:
        session.enroll(f"u{t}", _context(session.design, t, 0))
        if t % 11 == 4:
            _override(session, f"u{t}")
        if t >= 3 and t % 13 != 6:
            _respond(session, t - 3)
        if t >= 5:
            _end(session, t - 5)
        if t >= 7 and t % 8 == 7 and t % 13 != 10:
            session.correct(f"u{t - 7}", outcome=round(_values(t).sum() + 1, 3), reason="typing error")


def _respond(session: Session, t: int) -> None:
    for m in range(1, len(session.design.stages)):
        if session.respond(f"u{t}", _context(session.design, t, m), stage=session.design.stages[m].name) is None:
            return


def _end(session: Session, t: int) -> None:
    if (t + 3) % 13 == 6:
        session.withdraw(f"u{t}", reason="moved away")
    else:
        session.complete(f"u{t}", round(_values(t).sum(), 3))


def _override(session: Session, unit: str) -> None:
    decided = session.enroll(unit, _context(session.design, int(unit[1:]), 0)).arm
    others = [arm for arm in session.design.stages[0].arms if arm != decided]
    if others:
        session.override(unit, others[0], reason="allergy")


def _values(t: int) -> NDArray[np.float64]:
    return np.random.default_rng(t).normal(size=8).round(3)


def _context(design: Design, t: int, m: int) -> dict[str, float]:
    start = sum(map(len, design.columns[:m]))
    return {column: float(_values(t)[(start + j) % 8]) for j, column in enumerate(design.columns[m])}
