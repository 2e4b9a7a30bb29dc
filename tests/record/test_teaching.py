"""Units of an earlier trial teach before anything happens, and are no units of this one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import dtrbandit as dtr
from dtrbandit.policies.registry import examples
from dtrbandit.record import Opened, Taught
from dtrbandit.record.teaching import facts_of, histories_of, taught
from dtrbandit.record.units import Histories
from small_session import DESIGN, session_of

FIRST, SECOND = {"start1": 1.0}, {"start2": 0.5, "end1": 9.0}
WHOLE = Taught("a", (FIRST, SECOND), ("ssri", "other"), 2.0)
LEAVER = Taught("b", (FIRST, {"end1": 2.0}), ("other",), -1.0)
LOST = Taught("c", (FIRST, SECOND), ("ssri",), None)  # it entered the second stage, and was given nothing
POLICIES = examples()


@dataclass(frozen=True)
class Earlier:
    """An earlier trial that says what it is told to say."""

    facts: Sequence[Any]

    def teaching(self, design: dtr.Design) -> Sequence[Any]:  # noqa: ARG002  # the same for all
        return self.facts


def opened(*facts: Taught, policy: Any = POLICIES[0]) -> dtr.Session:
    return dtr.Session(DESIGN, policy, prior=Earlier(facts))


@pytest.mark.parametrize("policy", POLICIES, ids=repr)
def test_facts_stand_between_opened_and_the_first_unit_whose_round_is_one(policy: Any, tmp_path: Path) -> None:
    session = opened(WHOLE, LEAVER, LOST, policy=policy)

    decision = session.enroll("a", FIRST)  # an id of the earlier trial may come again
    dtr.write_log(tmp_path / "log", session.log)

    assert decision.round == 1
    assert session.log[1:4] == [WHOLE, LEAVER, LOST]
    assert dtr.read_log(tmp_path / "log") == session.log
    dtr.verify(session.log)
    resumed = dtr.Session.resume(session.log)
    assert resumed.respond("a", SECOND) == session.respond("a", SECOND)
    follower = dtr.Session.resume(session.log[:1])
    follower.follow(session.log[1:])
    assert follower.log == session.log
    assert follower.summary() == session.summary()


def test_rows_of_who_dropped_out_count_as_far_as_it_came() -> None:
    """The first row of LOST has its target, the best of the second stage, as soon as another unit has taught that."""
    session = opened(WHOLE, LEAVER, LOST)

    hat = session.q_hat("first", FIRST)
    assert hat == {"ssri": pytest.approx(2.0), "other": pytest.approx(-1.0)}
    assert session.q_hat("second", SECOND) == {"ssri": None, "other": pytest.approx(2.0)}
    assert [c.tilde for c in session.coefficients()] == [None] * 8
    assert session.summary().taught == 3
    assert session.summary().units == 0
    assert "Taught by 3 units of an earlier trial." in str(session.summary())


def test_a_leaver_without_an_outcome_teaches_nothing() -> None:
    session = opened(LEAVER._replace(outcome=None))

    assert {c.hat for c in session.coefficients()} == {None}


@pytest.mark.parametrize(
    ("fact", "words"),
    [
        (WHOLE._replace(unit=" a"), "printable text"),
        (WHOLE._replace(contexts=(FIRST,)), "1 context and 2 arms"),
        (WHOLE._replace(contexts=(FIRST, SECOND), arms=()), "2 contexts and 0 arms"),
        (WHOLE._replace(contexts=(), arms=()), "0 contexts"),
        (Taught("a", (FIRST, SECOND), "ssri", 2.0), "must be tuples"),  # type: ignore[arg-type]  # what is refused
        (WHOLE._replace(arms=("other", "ssri")), "no plan of this design has"),
        (WHOLE._replace(arms=("ssri", "none")), "no plan of this design has"),
        (WHOLE._replace(contexts=({"start1": 1.0, "z": 1.0}, SECOND)), "'z'"),
        (WHOLE._replace(contexts=(FIRST, {"start2": 1.0})), "'end1' missing"),
        (WHOLE._replace(contexts=(FIRST, {"end1": 9.0})), "'start2' missing"),
        (WHOLE._replace(contexts=(FIRST, {"start2": 1.0, "end1": 2.0})), "does not enter by enter_if"),
        (WHOLE._replace(outcome=float("nan")), "outcome"),
        (WHOLE._replace(contexts=(FIRST,), arms=("ssri",)), "neither went through all stages nor left early"),
        (LOST._replace(outcome=1.0), "neither went through all stages nor left early"),
        (WHOLE._replace(contexts=(FIRST,), arms=(), outcome=1.0), "neither"),
    ],
)
def test_what_cannot_have_happened_is_refused_by_unit(fact: Taught, words: str) -> None:
    with pytest.raises(dtr.DesignError, match=words):
        opened(LEAVER, fact)


def test_each_unit_teaches_once() -> None:
    with pytest.raises(dtr.DesignError, match="'a' of an earlier trial has taught already"):
        opened(WHOLE, WHOLE)


def test_nobody_teaches_once_something_has_happened() -> None:
    session = opened(WHOLE)
    session.hold(reason="not yet")

    with pytest.raises(dtr.LogError, match="before anything happens in it, and 1 event came before"):
        session.follow([LEAVER])
    assert len(session.log) == 3


def test_what_a_unit_taught_cannot_be_changed() -> None:
    session = opened(WHOLE)
    log = session.log

    calls: list[Callable[[], object]] = [
        lambda: session.void("a", reason="not eligible"),
        lambda: session.correct("a", outcome=1.0, reason="typing error"),
        lambda: session.override("a", "ssri", reason="allergy"),
        lambda: session.withdraw("a", reason="moved away"),
        lambda: session.complete("a", 1.0),
        lambda: session.respond("a", SECOND),
    ]
    for call in calls:
        with pytest.raises(dtr.ProtocolError, match="'a' is one of the earlier trial that taught this one"):
            call()
    assert session.log == log


@pytest.mark.parametrize(
    "prior", ["trial.csv", [WHOLE], Earlier, Earlier([LEAVER, FIRST]), Earlier([session_of(1).log[1]])]
)
def test_what_is_no_earlier_trial_is_refused(prior: Any) -> None:
    with pytest.raises(dtr.DesignError, match="prior"):
        dtr.Session(DESIGN, POLICIES[0], prior=prior)


def test_histories_are_those_that_a_policy_is_told() -> None:
    told: list[Any] = []

    class Listening(dtr.UniformRandom):
        def init(self, design: dtr.Design) -> list[Any]:  # noqa: ARG002
            return told

        def update(self, state: list[Any], history: Any, event: Any) -> list[Any]:
            state.append((history, event))
            return state

    prior = Earlier([WHOLE, LEAVER, LOST])
    dtr.Session(DESIGN, Listening(), prior=prior)

    assert [event for _, event in told] == list(facts_of(prior, DESIGN))
    assert [repr(history) for history, _ in told] == [repr(history) for history in histories_of(prior, DESIGN)]
    assert [history.round for history, _ in told] == [0, 0, 0]
    assert [len(history.features) for history, _ in told] == [2, 1, 2]
    assert [history.outcome for history, _ in told] == [2.0, -1.0, None]


def test_a_rule_returns_the_fact_as_it_goes_on_record() -> None:
    histories = Histories(DESIGN, Opened({}, {}, 0, 0))

    fact, known = taught(histories, WHOLE._replace(contexts=({"start1": 1}, {"end1": 9, "start2": 0.5}), outcome=2))

    assert fact == WHOLE
    assert known is None
    assert [context.labels for context in fact.contexts] == [("start1",), ("start2", "end1")]  # type: ignore[attr-defined]  # Values
