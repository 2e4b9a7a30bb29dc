"""Accrual is held and released: nobody enrols in between, and all else goes on."""

from __future__ import annotations

from pathlib import Path

import pytest

import dtrbandit as dtr
from dtrbandit import belief
from dtrbandit.evaluation import Cohort
from dtrbandit.record import Held, Released
from small_session import DESIGN


def held() -> dtr.Session:
    """Return a session with a unit in flight, whose accrual is held."""
    session = dtr.Session(DESIGN, dtr.DTRBandit(q=1, delta=0.5))
    session.enroll("u1", {"start1": 1.0})
    session.hold(reason="a safety signal")
    return session


def test_nobody_enrols_while_accrual_is_held_and_the_message_says_why() -> None:
    session = held()

    with pytest.raises(dtr.ProtocolError, match=r"'u2' cannot enrol: accrual is held \(a safety signal\); release"):
        session.enroll("u2", {"start1": 1.0})

    assert session.log[-1] == Held("a safety signal")


def test_units_under_way_go_on_and_their_verbs_may_be_repeated() -> None:
    session = held()
    plain = dtr.Session(DESIGN, dtr.DTRBandit(q=1, delta=0.5))
    plain.enroll("u1", {"start1": 1.0})
    first = session.enroll("u1", {"start1": 1.0})

    second = session.respond("u1", {"start2": 0.5, "end1": 9.0})
    session.complete("u1", 2.0)
    session.correct("u1", outcome=1.5, reason="typing error")

    assert first == session.log[2].decision  # type: ignore[union-attr]
    assert second == plain.respond("u1", {"start2": 0.5, "end1": 9.0})
    assert len(session.log) == 8


def test_after_the_release_units_enrol_in_the_next_round() -> None:
    session = held()

    session.release(reason="the board has looked at it")

    assert session.enroll("u2", {"start1": 1.0}).round == 2
    assert [type(event) for event in session.log[3:5]] == [Held, Released]


def test_a_repetition_writes_nothing_and_another_reason_is_refused() -> None:
    session = held()

    session.hold(reason="a safety signal")
    assert session.version == 4
    with pytest.raises(dtr.ProtocolError, match=r"held already \(a safety signal\), found another reason, 'no staff'"):
        session.hold(reason="no staff")
    session.release(reason="a safety signal")
    session.release(reason="a safety signal")
    assert session.version == 5
    with pytest.raises(dtr.ProtocolError, match=r"released already \(a safety signal\)"):
        session.release(reason="no staff")
    session.hold(reason="a safety signal")  # a second time
    assert session.version == 6


def test_what_was_never_held_cannot_be_released() -> None:
    session = dtr.Session(DESIGN, dtr.Greedy())

    with pytest.raises(dtr.ProtocolError, match="never held"):
        session.release(reason="why not")

    assert session.version == 1


def test_the_file_resume_verify_and_follow_know_it(tmp_path: Path) -> None:
    session = held()
    dtr.write_log(tmp_path / "log", session.log)
    resumed = dtr.Session.resume(dtr.read_log(tmp_path / "log"))
    follower = dtr.Session.resume(session.log[:1])

    dtr.verify(session.log)
    follower.follow(session.since(1))

    for other in (resumed, follower):
        assert list(other.log) == list(session.log)
        with pytest.raises(dtr.ProtocolError, match="accrual is held"):
            other.enroll("u2", {"start1": 1.0})


def test_a_log_in_which_a_unit_enrols_while_held_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    session = held()
    elsewhere = dtr.Session(DESIGN, dtr.DTRBandit(q=1, delta=0.5))
    for unit in ("u1", "u2"):
        elsewhere.enroll(unit, {"start1": 1.0})
    monkeypatch.setattr(belief, "LONG", 1)  # in stretches
    monkeypatch.setattr(belief, "STRETCH", 3)

    for log in ([*session.log, *elsewhere.log[3:]], [*session.log[:3], *session.log[3:], *elsewhere.log[3:]]):
        with pytest.raises(dtr.LogError, match="event 5 of the log, Enrolled: unit 'u2' cannot enrol"):
            dtr.Session.resume(log)


def test_the_summary_says_that_accrual_is_held() -> None:
    session = held()

    assert session.summary().held == "a safety signal"
    assert "Accrual is held: a safety signal." in str(session.summary())
    session.release(reason="over")
    assert session.summary().held is None
    assert "held" not in str(session.summary())
    empty = dtr.Session(DESIGN, dtr.Greedy())
    empty.hold(reason="not yet")
    assert str(empty.summary()) == "0 units enrolled under Greedy().\nAccrual is held: not yet."


def test_a_cohort_of_a_log_that_was_held_has_its_units() -> None:
    session = held()
    session.respond("u1", {"start2": 0.5, "end1": 9.0})
    session.complete("u1", 2.0)

    assert Cohort.from_log(session.log).units == ("u1",)
