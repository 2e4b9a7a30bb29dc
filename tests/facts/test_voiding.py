"""A void unit: its round stays used, it teaches nothing, and its story stays readable."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import dtrbandit as dtr
from dtrbandit.evaluation import Cohort
from dtrbandit.policies.policy import Estimating
from dtrbandit.policies.registry import examples
from dtrbandit.record import Enrolled, Voided
from small_session import DESIGN

POLICIES = examples()
STEPS: list[tuple[str, Any]] = [
    ("enroll", {"start1": 1.0}),
    ("respond", {"start2": 0.5, "end1": 9.0}),
    ("complete", 2.0),
]


def some_units(policy: Any) -> dtr.Session:
    session = dtr.Session(DESIGN, policy, seed=2)
    for t in range(12):
        session.enroll(f"u{t}", {"start1": t / 3})
        session.respond(f"u{t}", {"start2": -t / 5, "end1": 9.0 if t % 4 else 2.0})
        session.complete(f"u{t}", float(t * t % 7))
    return session


@pytest.mark.parametrize("policy", POLICIES, ids=repr)
@pytest.mark.parametrize("steps", [1, 2, 3])
def test_a_unit_may_be_voided_at_any_point_and_its_round_stays_used(policy: Any, steps: int) -> None:
    session = some_units(policy)
    for verb, content in STEPS[:steps]:
        getattr(session, verb)("wrong", content)

    session.void("wrong", reason="not eligible")

    assert session.log[-1] == Voided("wrong", "not eligible")
    assert session.enroll("next", {"start1": 1.0}).round == 14
    dtr.verify(session.log)


@pytest.mark.parametrize("policy", [each for each in POLICIES if isinstance(each, Estimating)], ids=repr)
def test_estimates_are_then_those_without_it(policy: Any) -> None:
    before, session = some_units(policy), some_units(policy)
    for verb, content in STEPS:
        getattr(session, verb)("wrong", content)
    seldom = isinstance(policy, dtr.LSVIUCB) and policy.switching == "rare"  # one unit need not be worth new estimates
    assert session.coefficients() != before.coefficients() or seldom

    session.void("wrong", reason="not eligible")

    for found, expected in zip(session.coefficients(), before.coefficients(), strict=True):
        assert found.hat == (None if expected.hat is None else pytest.approx(expected.hat, rel=1e-9))
        assert found.tilde == (None if expected.tilde is None else pytest.approx(expected.tilde, rel=1e-9))


def test_nothing_more_is_said_of_it_and_a_repetition_says_that_it_was_void() -> None:
    session = some_units(POLICIES[0])
    session.void("u3", reason="not eligible")
    version = session.version

    session.void("u3", reason="not eligible")
    attempts: list[Callable[[], object]] = [
        lambda: session.enroll("u3", {"start1": 1.0}),
        lambda: session.respond("u3", {"start2": -0.6, "end1": 9.0}),
        lambda: session.complete("u3", 2.0),
        lambda: session.withdraw("u3", reason="moved"),
        lambda: session.override("u3", "other", reason="allergy"),
        lambda: session.correct("u3", outcome=1.0, reason="misread"),
        lambda: session.void("u3", reason="another reason"),
    ]
    for attempt in attempts:
        with pytest.raises(dtr.ProtocolError, match=r"'u3' was voided.*\(not eligible\)"):
            attempt()

    assert session.version == version


def test_the_story_stays_readable(tmp_path: Path) -> None:
    session = some_units(POLICIES[0])
    session.enroll("in flight", {"start1": 1.0})
    session.void("in flight", reason="no consent")
    session.void("u1", reason="not eligible")
    dtr.write_log(tmp_path / "log", session.log)

    again = dtr.Session.resume(dtr.read_log(tmp_path / "log"))

    assert again.log == session.log
    record = again._belief.histories.get("u1")
    assert record is not None
    assert record.voided == Voided("u1", "not eligible")
    assert record.outcome == 1.0
    assert sum(isinstance(event, Enrolled) for event in again.log) == 13
    summary = again.summary()
    assert (summary.units, summary.status["voided"]) == (13, 2)
    assert "2  voided" in str(summary)
    assert summary.mean_outcome == pytest.approx(sum(t * t % 7 for t in range(12) if t != 1) / 11)


def test_a_cohort_of_the_log_is_without_it() -> None:
    session = some_units(POLICIES[0])
    session.void("u1", reason="not eligible")

    units = Cohort.from_log(session.log).units

    assert len(units) == 11
    assert "u1" not in units


def test_an_initial_pull_of_a_void_unit_is_made_up_for_once() -> None:
    session = dtr.Session(DESIGN, dtr.Greedy())
    arms: list[tuple[str, str]] = []
    for t in range(7):
        first = session.enroll(f"u{t}", {"start1": t / 3})
        second = session.respond(f"u{t}", {"start2": -t / 5, "end1": 9.0})
        assert second is not None
        arms += [(first.arm, second.arm)] if first.reason == "forced" else []
        if t == 1:
            session.void("u1", reason="not eligible")
            session.void("u1", reason="not eligible")

    plans = [("ssri", "ssri"), ("ssri", "other"), ("other", "other")]
    assert arms == [plan for plan in plans for _ in range(2)] + [plans[0]]
