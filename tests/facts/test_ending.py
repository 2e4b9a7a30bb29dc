"""The end of a trial: no more arms, and what still happens is recorded."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import dtrbandit as dtr
from dtrbandit.record import Ended
from small_session import session_of, some_session


def ended() -> dtr.Session:
    session = some_session()
    session.respond("in flight", {"start2": 0.0, "end1": 9.0})
    session.enroll("waiting", {"start1": 1.0})
    session.end(reason="enough is known")
    return session


@pytest.mark.parametrize(
    "attempt",
    [
        lambda s: s.enroll("late", {"start1": 1.0}),
        lambda s: s.respond("waiting", {"start2": 0.0, "end1": 9.0}),
        lambda s: s.hold(reason="why"),
        lambda s: s.end(reason="another"),
        lambda s: s.upgrade(reason="why"),
    ],
    ids=["enroll", "respond", "hold", "end", "upgrade"],
)
def test_an_ended_trial_gives_no_arm_and_does_not_go_on(attempt: Callable[[dtr.Session], object]) -> None:
    session = ended()
    before = list(session.log)

    with pytest.raises(dtr.ProtocolError):
        attempt(session)

    assert session.log == before


def test_what_happens_to_units_after_the_end_is_recorded() -> None:
    session = ended()

    session.complete("in flight", 2.0)
    session.correct("in flight", outcome=1.0, reason="typo")
    assert session.respond("waiting", {"end1": 1.0}) is None  # it leaves: no arm is asked for
    session.complete("waiting", 3.0)
    session.void("u1", reason="not eligible")

    again = dtr.Session.resume(session.log)
    assert again.log == session.log
    assert again.coefficients() == session.coefficients()
    dtr.verify(session.log)


def test_repetitions_are_answered_after_the_end() -> None:
    session = ended()
    version = session.version

    session.end(reason="enough is known")

    assert session.enroll("in flight", {"start1": 0.0}).unit == "in flight"
    assert session.version == version


def test_a_log_that_decides_after_its_end_is_refused() -> None:
    session = session_of(300)
    log = [*session.log[:6], Ended("enough"), *session.log[6:]]

    with pytest.raises(dtr.LogError, match=r"event 8 .*the trial ended \(enough\)"):
        dtr.Session.resume(log)


def test_the_end_survives_a_file(tmp_path: Path) -> None:
    session = ended()

    dtr.write_log(tmp_path / "log", session.log)

    assert dtr.read_log(tmp_path / "log")[-1] == Ended("enough is known")
    with pytest.raises(dtr.ProtocolError, match="the trial ended"):
        dtr.Session.resume(dtr.read_log(tmp_path / "log")).enroll("late", {"start1": 1.0})


def test_an_end_needs_a_reason() -> None:
    with pytest.raises(dtr.ObservationError, match="a reason must be a text"):
        some_session().end(reason=" ")
