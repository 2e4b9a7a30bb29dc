"""From the choice of a policy of one's own to a decision: checked, completed, and refused whole."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import dtrbandit as dtr
from dtrbandit.policies import Choice
from dtrbandit.record import Completed, History
from dtrbandit.record.events import Fact
from small_session import DESIGN, FAIR, Says


@dataclass(frozen=True)
class Holding:
    """A policy that holds a built-in one, and so has its state: it halves outcomes, and may insist on an arm."""

    insists_on: int | None = None

    def init(self, design: dtr.Design) -> Any:
        return dtr.Greedy().init(design)

    def update(self, state: Any, history: History, event: Fact) -> Any:
        halved = event._replace(outcome=event.outcome / 2) if isinstance(event, Completed) else event
        return dtr.Greedy().update(state, history, halved)

    def decide(self, state: Any, history: History, u: float) -> Choice:
        chosen = dtr.Greedy().decide(state, history, u)
        arm = chosen.arm if self.insists_on is None else self.insists_on
        return Choice(arm, "rule", tuple(float(each == arm) for each in range(2)), (), chosen.q_hat or ())

    def estimates(self, state: Any) -> Any:
        return dtr.Greedy().estimates(state)


def test_a_policy_that_holds_a_built_in_one_is_not_trusted_with_its_arms() -> None:
    session = dtr.Session(DESIGN, Holding(insists_on=0))
    session.enroll("u1", {"start1": 12})
    session.override("u1", "other", reason="allergy")
    log = session.log

    with pytest.raises(dtr.DesignError, match="chose arm 0"):  # other, ssri is no plan
        session.respond("u1", {"start2": 9, "end1": 8})

    assert session.log == log


def test_a_policy_that_holds_a_built_in_one_learns_its_own_way_when_resumed() -> None:
    session = dtr.Session(DESIGN, Holding())
    for unit in range(9):
        session.enroll(f"u{unit}", {"start1": 12.0 + unit})
        session.respond(f"u{unit}", {"start2": 9.0 - unit % 4, "end1": 8.0})
        session.complete(f"u{unit}", -8.0 + unit)

    resumed = dtr.Session.resume(session.log, policy=Holding())

    assert resumed.coefficients() == session.coefficients()
    assert resumed.coefficients() != dtr.Session.resume(_under_greedy(session)).coefficients()


def _under_greedy(session: dtr.Session) -> list[Any]:
    opened = dtr.Session(DESIGN, dtr.Greedy()).log[0]
    return [opened, *session.log[1:]]


@pytest.mark.parametrize(
    ("choice", "named"),
    [
        (None, r"the policy Says.*: decide\(state, history, u\) must return a Choice\(.*\) for unit 'u1', found None"),
        (
            Choice(0, "coin", None),  # type: ignore[arg-type]  # on purpose
            "with propensities None",
        ),
        (
            Choice(0, "coin", ("half", "half")),  # type: ignore[arg-type]  # likewise
            r"with propensities \('half', 'half'\)",
        ),
        (FAIR._replace(q_hat=(1.0,)), "q_hat"),
        (FAIR._replace(q_tilde=(1.0, 2.0, 9.0), q_hat=(2.0, 4.0)), "q_tilde"),
        (FAIR._replace(q_hat=(math.inf, 1.0)), "q_hat"),
        (FAIR._replace(q_hat={"a": 1.0, "z": 2.0}), "q_hat"),
        (FAIR._replace(q_hat={"a": math.nan}), "q_hat"),
        (Choice(0, None, (0.5, 0.5)), "the reason None"),  # type: ignore[arg-type]  # on purpose
        (Choice(0, 5, (0.5, 0.5)), "the reason 5"),  # type: ignore[arg-type]  # likewise
        (FAIR._replace(contenders=(7,)), "the contenders"),
        (FAIR._replace(contenders=(-1,)), "the contenders"),
    ],
)
def test_a_choice_that_a_log_could_not_hold_is_refused(choice: Any, named: str) -> None:
    session = dtr.Session(dtr.Design([dtr.Stage("only", ("a", "b"), "1 + x")]), Says(choice))

    with pytest.raises(dtr.DesignError, match=named):
        session.enroll("u1", {"x": 1.0})

    assert session.version == 1


@pytest.mark.parametrize("estimates", [(1.0, None), {"a": 1.0, "b": None}, {"b": 2.0}, ()], ids=str)
def test_what_a_policy_of_ones_own_says_is_written_and_read_back(estimates: Any, tmp_path: Path) -> None:
    policy = Says(FAIR._replace(q_hat=estimates))
    session = dtr.Session(dtr.Design([dtr.Stage("only", ("a", "b"), "1 + x")]), policy)

    decision = session.enroll("u1", {"x": 1.0})
    dtr.write_log(tmp_path / "log.jsonl", session.log)
    read = dtr.read_log(tmp_path / "log.jsonl")

    assert read == session.log
    assert dtr.Session.resume(read, policy=policy).enroll("u1", {"x": 1.0}) == decision
    dtr.verify(read, policy=policy)


def decided(choice: Any) -> dtr.Decision:
    return dtr.Session(dtr.Design([dtr.Stage("only", ("a", "b"), "1 + x")]), Says(choice)).enroll("u1", {"x": 1.0})


def test_a_choice_in_numbers_becomes_a_decision_in_labels() -> None:
    choice = Choice(1, "coin", (0.25, 0.75), (1.0, None), {"a": 2.0, "b": 3.0}, (0, 1))

    assert decided(choice) == dtr.Decision(
        "u1", 1, "only", "b", "coin", 0.75, {"a": 1.0, "b": None}, {"a": 2.0, "b": 3.0}, ("a", "b")
    )


def test_the_contenders_are_the_arms_that_could_have_come_unless_the_policy_names_them() -> None:
    assert decided(FAIR).contenders == ("a", "b")
    assert decided(Choice(0, "sure", (1.0, 0.0))).contenders == ("a",)
    assert decided(FAIR._replace(contenders=(1,))).contenders == ("b",)


def test_a_policy_without_estimates_has_none_for_each_arm() -> None:
    assert decided(FAIR).q_hat == decided(FAIR).q_tilde == {"a": None, "b": None}


@pytest.mark.parametrize(
    "propensities", [(0.5,), (0.5, 0.5, 0.0), (0.5, 0.6), (1.5, -0.5), (math.nan, 0.5), (0.5, 0.5 - 1e-6), (0.0, 1.0)]
)
def test_propensities_that_are_no_probabilities_are_refused(propensities: tuple[float, ...]) -> None:
    with pytest.raises(dtr.DesignError, match="of 2 arms, sum to 1, and are above 0 for the arm chosen"):
        decided(FAIR._replace(propensities=propensities))


@pytest.mark.parametrize("arm", [2, -1, "a", None])
def test_an_arm_that_is_not_feasible_is_refused(arm: Any) -> None:
    with pytest.raises(dtr.DesignError, match=rf"chose arm {arm} .* feasible are the arms \[0, 1\]"):
        decided(FAIR._replace(arm=arm))


def test_an_update_that_forgets_to_return_the_state_is_told_so() -> None:
    class Forgetful(Says):
        def init(self, design: dtr.Design) -> Any:
            return [design]

        def update(self, state: Any, history: Any, event: Any) -> Any:
            state.append((history, event))

    session = dtr.Session(dtr.Design([dtr.Stage("only", ("a", "b"), "1 + x")]), Forgetful(FAIR))

    with pytest.raises(dtr.DesignError, match=r"update\(state, history, event\) must return the state.* found None"):
        session.enroll("u1", {"x": 1.0})
