"""Unblinding: each look is on record, and changes nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import dtrbandit as dtr
from dtrbandit.evaluation import Cohort
from dtrbandit.policies.registry import examples
from dtrbandit.record import Unblinded
from small_session import DESIGN, FAIR, Says, some_session

POLICIES = examples()


def play(policy: Any, *, looks: bool) -> dtr.Session:
    session = dtr.Session(DESIGN, policy, seed=3)
    for t in range(20):
        session.enroll(f"u{t}", {"start1": t % 7 / 7})
        session.respond(f"u{t}", {"start2": -t / 9, "end1": 9.0 if t % 4 else 2.0})
        if looks and t % 3 == 0:
            session.unblind(f"u{t}", reason="an emergency")
        session.complete(f"u{t}", float(t * t % 11))
        if looks and t % 3 == 1:
            session.unblind(f"u{t}", reason="an emergency")
    return session


@pytest.mark.parametrize("policy", POLICIES, ids=repr)
def test_no_decision_and_no_estimate_depends_on_it(policy: Any) -> None:
    plain, looked = play(policy, looks=False), play(policy, looks=True)

    assert [event for event in looked.log if not isinstance(event, Unblinded)] == list(plain.log)
    assert looked.enroll("next", {"start1": 0.5}) == plain.enroll("next", {"start1": 0.5})
    if not isinstance(policy, dtr.UniformRandom):
        assert looked.coefficients() == plain.coefficients()
    dtr.verify(looked.log)


def test_the_decisions_are_shown_and_every_look_is_recorded() -> None:
    session = some_session()
    version = session.version

    shown = session.unblind("u1", reason="an emergency")
    session.unblind("u1", reason="an emergency")  # by somebody else, perhaps
    session.unblind("u1", reason="a request of the ethics committee")

    assert shown == session.histories.decisions("u1")
    assert list(session.log[version:]) == [
        Unblinded("u1", "an emergency"),
        Unblinded("u1", "an emergency"),
        Unblinded("u1", "a request of the ethics committee"),
    ]
    assert session.summary().status["unblinded"] == 1
    assert "1  unblinded" in str(session.summary())


def test_it_may_happen_at_any_point_and_a_repetition_of_other_verbs_still_is_one() -> None:
    session = some_session()
    session.void("u2", reason="not eligible")
    session.end(reason="complete")

    for unit in ("in flight", "u0", "u8", "u2"):
        assert session.unblind(unit, reason="an emergency")

    version = session.version
    session.enroll("in flight", {"start1": 0.0})
    session.withdraw("u8", reason="moved away")
    assert session.version == version


@pytest.mark.parametrize("reason", ["", " ", None, 7])
def test_without_a_reason_nothing_is_shown(reason: Any) -> None:
    session = some_session()
    version = session.version

    with pytest.raises(dtr.ObservationError, match="reason"):
        session.unblind("u1", reason=reason)
    with pytest.raises(dtr.NotFound, match="unknown unit 'nobody'"):
        session.unblind("nobody", reason="an emergency")

    assert session.version == version


def test_a_policy_of_ones_own_is_not_told() -> None:
    class Remembers(Says):
        def update(self, state: Any, history: Any, event: Any) -> Any:  # noqa: ARG002  # remembers what it was told
            told.append(type(event).__name__)
            return state

    told: list[str] = []
    session = dtr.Session(DESIGN, Remembers(FAIR))
    session.enroll("u1", {"start1": 1.0})
    before = list(told)

    session.unblind("u1", reason="an emergency")

    assert told == before


def test_the_file_resume_and_follow_know_it(tmp_path: Path) -> None:
    session = play(POLICIES[0], looks=True)
    dtr.write_log(tmp_path / "log", session.log)
    follower = dtr.Session.resume(session.log[:1])

    resumed = dtr.Session.resume(dtr.read_log(tmp_path / "log"))
    follower.follow(session.since(1))

    for other in (resumed, follower):
        assert list(other.log) == list(session.log)
        assert [bool(record.unblinded) for record in other.histories] == [t % 3 < 2 for t in range(20)]


def test_a_cohort_has_the_same_units_and_not_those_that_are_void() -> None:
    plain, session = play(POLICIES[0], looks=False), play(POLICIES[0], looks=True)
    for each in (plain, session):
        each.void("u3", reason="not eligible")
    session.unblind("u3", reason="a request of the ethics committee")

    found, expected = Cohort.from_log(session.log), Cohort.from_log(plain.log)

    assert found.units == expected.units
    assert len(found.units) == 19
    assert found.outcome.tolist() == expected.outcome.tolist()
