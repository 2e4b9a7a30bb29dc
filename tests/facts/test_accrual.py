"""Accrual is held and released: nobody enrols in between, and all else goes on."""

from __future__ import annotations

from pathlib import Path

import pytest

import dtrbandit as dtr
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


def test_a_log_in_which_a_unit_enrols_while_held_is_refused() -> None:
    session = held()
    elsewhere = dtr.Session(DESIGN, dtr.DTRBandit(q=1, delta=0.5))
    for unit in ("u1", "u2"):
        elsewhere.enroll(unit, {"start1": 1.0})

    with pytest.raises(dtr.LogError, match="event 5 of the log, Enrolled: unit 'u2' cannot enrol"):
        dtr.Session.resume([*session.log, *elsewhere.log[3:]])


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


# -- at one site -------------------------------------------------------------------------------------------------


def enrols(session: dtr.Session, unit: str, site: str | None) -> bool:
    try:
        session.enroll(unit, {"start1": 1.0}, site=site)
    except dtr.ProtocolError:
        return False
    return True


def test_a_held_site_enrols_nobody_and_others_go_on() -> None:
    session = dtr.Session(DESIGN, dtr.DTRBandit(q=1, delta=0.5))
    session.hold(reason="no staff", site="north")

    with pytest.raises(dtr.ProtocolError, match=r"held at site 'north' \(no staff\); release\(site='north'\)") as told:
        session.enroll("u1", {"start1": 1.0}, site="north")

    assert "no staff" not in told.value.blind
    assert "held at site 'north'" in told.value.blind
    assert enrols(session, "u2", "south")
    assert enrols(session, "u3", None)
    session.release(reason="staff is back", site="north")
    assert enrols(session, "u1", "north")
    assert session.log[1] == Held("no staff", "north")


def test_holds_everywhere_and_at_a_site_end_each_by_itself() -> None:
    session = dtr.Session(DESIGN, dtr.DTRBandit(q=1, delta=0.5))
    session.hold(reason="no staff", site="north")
    session.hold(reason="a safety signal")
    version = session.version
    session.hold(reason="no staff", site="north")
    session.hold(reason="a safety signal")
    assert session.version == version

    assert not any(enrols(session, f"u{site}", site) for site in ("north", "south", None))
    session.release(reason="looked at")
    assert [enrols(session, f"u{site}", site) for site in ("north", "south", None)] == [False, True, True]
    with pytest.raises(dtr.ProtocolError, match="at site 'south' was never held"):
        session.release(reason="why not", site="south")
    with pytest.raises(dtr.ProtocolError, match=r"at site 'north' already \(no staff\), found another reason"):
        session.hold(reason="holidays", site="north")
    session.release(reason="staff is back", site="north")
    assert enrols(session, "unorth", "north")


def test_units_of_a_held_site_that_are_under_way_go_on() -> None:
    session = dtr.Session(DESIGN, dtr.DTRBandit(q=1, delta=0.5))
    session.enroll("u1", {"start1": 1.0}, site="north")
    session.hold(reason="no staff", site="north")

    session.enroll("u1", {"start1": 1.0}, site="north")  # again
    session.respond("u1", {"start2": 0.5, "end1": 9.0})
    session.complete("u1", 2.0)

    assert session.version == 7


def test_the_summary_names_the_sites_that_are_held() -> None:
    session = held()
    session.hold(reason="no staff", site="north")
    session.hold(reason="a move", site="south")
    session.release(reason="moved", site="south")

    summary = session.summary()

    assert (summary.held, summary.held_sites) == ("a safety signal", {"north": "no staff"})
    assert "Accrual is held: a safety signal.\nAccrual is held at site north: no staff." in str(summary)


def test_a_log_in_which_a_held_site_enrols_is_refused() -> None:
    session = dtr.Session(DESIGN, dtr.DTRBandit(q=1, delta=0.5))
    elsewhere = dtr.Session(DESIGN, dtr.DTRBandit(q=1, delta=0.5))
    elsewhere.enroll("u1", {"start1": 1.0}, site="north")
    session.hold(reason="no staff", site="north")

    with pytest.raises(dtr.LogError, match="event 3 of the log, Enrolled: unit 'u1' cannot enrol"):
        dtr.Session.resume([*session.log, *elsewhere.log[1:]])
    assert session.enroll("u1", {"start1": 1.0}, site="south").round == 1
    assert dtr.Session.resume(list(session.log)).log == session.log


def test_the_name_of_a_held_site_can_be_read() -> None:
    session = dtr.Session(DESIGN, dtr.Greedy())

    for verb in (session.hold, session.release):
        with pytest.raises(dtr.ObservationError, match="name of a site"):
            verb(reason="why not", site=" north")
    assert session.version == 1
