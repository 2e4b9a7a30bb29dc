"""A log as it is read: a sequence that nothing changes."""

from __future__ import annotations

import pytest

import dtrbandit as dtr


def session_of(units: int) -> dtr.Session:
    stages = [dtr.Stage("first", ("a", "b"), "1 + x"), dtr.Stage("second", ("a", "b"), "1 + z")]
    session = dtr.Session(dtr.Design(stages), dtr.DTRBandit(q=1, delta=0.5))
    for t in range(units):
        session.enroll(f"u{t}", {"x": t % 7 / 7})
        session.respond(f"u{t}", {"z": t % 5 / 5})
        session.complete(f"u{t}", t % 3)
    return session


def test_a_log_is_a_snapshot_that_is_read_as_a_sequence() -> None:
    session = session_of(2)

    log = session.log
    session.enroll("later", {"x": 1.0})

    assert len(log) == 11
    assert log == list(log)
    assert log == tuple(log)
    assert list(log) == log == log[:]
    assert log != session.log
    assert log == session.log[:11]
    assert log[2:5] == list(log)[2:5]
    assert log[::-1] == list(log)[::-1]
    assert log[5:2] == []
    assert log[-1] == log[10] == log[5:][-1]
    assert log.index(log[3]) == 3
    assert log != 11
    assert repr(log) == "<Log of 11 events>"
    with pytest.raises(IndexError):
        log[11]
    with pytest.raises(TypeError, match="unhashable"):
        hash(log)
