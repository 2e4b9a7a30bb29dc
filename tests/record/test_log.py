"""A log as it is read: a sequence that nothing changes."""

from __future__ import annotations

import pickle

import pytest

from dtrbandit.record.log import amended_units, kinds
from small_session import session_of, some_session


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


def test_a_slice_is_a_log_and_a_slice_with_steps_a_list() -> None:
    log = session_of(2).log

    assert repr(log[3:4]) == "<Log of 1 event>"
    assert type(log[3:9][1:]) is type(log)
    assert log[3:9][1:] == log[4:9]
    assert log[1:9:2] == [log[place] for place in range(1, 9, 2)]
    assert type(log[1:9:2]) is list
    assert log[20:] == log[5:2] == log[-1:3] == []


def test_logs_of_other_sessions_are_equal_where_their_events_are() -> None:
    one, other = session_of(2), session_of(2)

    assert one.log == other.log
    other.withdraw(other.enroll("more", {"x": 0.0}).unit, reason="lost")
    assert one.log != other.log
    assert one.log == other.log[:11]
    assert one.log != list(other.log[1:])


def test_a_log_that_is_being_read_is_not_disturbed_by_what_follows() -> None:
    session = session_of(1)
    log = session.log
    events = iter(log)
    first = next(events)

    session.enroll("later", {"x": 1.0})

    assert [first, *events] == list(log) == list(session.log[:6])
    assert pickle.loads(pickle.dumps(log)) == log


def test_kinds_and_units_are_told_of_a_log_as_of_a_list() -> None:
    session = some_session()
    session.hold(reason="no drug")
    session.release(reason="drug")
    session.correct("u1", outcome=1.0, reason="typo")
    session.void("u2", reason="not eligible")

    told = list(kinds(session.log))

    assert told == list(kinds(list(session.log)))
    assert [kind for kind, _ in told] == [type(event) for event in session.log]
    assert told[:2] == [(type(session.log[0]), ""), (type(session.log[1]), "u0")]
    assert list(kinds(session.log[-2:])) == told[-2:]


def test_amended_units_are_found_in_a_log_as_in_a_list() -> None:
    session = some_session()
    assert amended_units(session.log) == amended_units(list(session.log)) == set()

    session.override("u3", "other", reason="allergy")
    session.correct("u1", outcome=1.0, reason="typo")
    session.void("u2", reason="not eligible")

    assert amended_units(session.log) == amended_units(list(session.log)) == {"u1", "u2", "u3"}
    assert amended_units(session.log[-2:]) == {"u1", "u2"}


def test_what_is_no_event_has_no_unit() -> None:
    assert list(kinds(["Enrolled", 3])) == [(str, ""), (int, "")]  # type: ignore[list-item]  # as a caller might
