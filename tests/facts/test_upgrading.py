"""Logs that another release began: read as they are, and gone on with only when that is on record."""

from __future__ import annotations

import pytest

import dtrbandit as dtr
from dtrbandit.record import Assigned, Opened, Upgraded
from dtrbandit.record.events import Event
from dtrbandit.record.trial_rules import Segment, segments
from small_session import session_of, some_session

OLD = dtr.NUMERICS - 1


def of_numerics(numerics: int, session: dtr.Session) -> list[Event]:
    opened = session.log[0]
    assert isinstance(opened, Opened)
    return [opened._replace(numerics=numerics), *session.log[1:]]


def test_a_log_of_other_numerics_is_read_and_teaches_the_same() -> None:
    session = some_session()

    old = dtr.Session.resume(of_numerics(OLD, session))

    assert old.log == of_numerics(OLD, session)
    assert old.coefficients() == session.coefficients()


def test_facts_come_on_record_and_decisions_wait_for_the_upgrade() -> None:
    old = dtr.Session.resume(of_numerics(OLD, some_session()))

    old.withdraw("in flight", reason="moved away")
    with pytest.raises(dtr.LogError, match=f"numerics {OLD}.*has {dtr.NUMERICS}.*release.*upgrade"):
        old.enroll("next", {"start1": 0.0})
    old.upgrade(reason="the old release is gone")

    assert old.enroll("next", {"start1": 0.0}).round == 11
    assert Upgraded(dtr.NUMERICS, dtr.__version__, "the old release is gone") in list(old.log)
    assert dtr.Session.resume(old.log).log == old.log


def test_an_upgrade_to_what_is_there_already_is_refused_and_a_repetition_is_not() -> None:
    session = some_session()
    with pytest.raises(dtr.ProtocolError, match="nothing to upgrade"):
        session.upgrade(reason="why not")
    old = dtr.Session.resume(of_numerics(OLD, session))
    old.upgrade(reason="go on")
    version = old.version

    old.upgrade(reason="go on")

    assert old.version == version


def upgraded() -> dtr.Session:
    """Return a session whose first half is of other numerics."""
    session = dtr.Session.resume(of_numerics(OLD, session_of(20)))
    session.upgrade(reason="go on")
    for t in range(20, 40):
        session.enroll(f"u{t}", {"x": t % 7 / 7})
        session.respond(f"u{t}", {"z": t % 5 / 5})
        session.complete(f"u{t}", t % 3)
    return session


def test_a_log_knows_which_numerics_decided_what() -> None:
    session = upgraded()

    assert segments(session.histories) == (Segment(1, 101, OLD), Segment(102, len(session.log), dtr.NUMERICS))
    assert [part.own for part in segments(session.histories)] == [False, True]


def test_verify_derives_its_own_part_and_names_the_release_for_the_other() -> None:
    session = upgraded()
    with pytest.raises(dtr.LogError, match=f"events 1 to 101 have numerics {OLD}: .*All others lead to"):
        dtr.verify(session.log)
    log = list(session.log)
    place, decision = next((n, e.decision) for n, e in enumerate(log) if n > 110 and isinstance(e, Assigned))
    log[place] = Assigned(decision._replace(arm={"a": "b", "b": "a"}[decision.arm]))

    with pytest.raises(dtr.LogError, match=f"event {place + 1} "):
        dtr.verify(log)


@pytest.mark.parametrize("fields", [(1.5, "0.2", "why"), (7, None, "why"), (7, "0.2", "")])
def test_an_upgrade_that_cannot_be_recorded_is_refused(fields: tuple[int, str, str]) -> None:
    session = some_session()
    before = list(session.log)

    with pytest.raises(dtr.LogError, match=f"event {len(before) + 1} of the log, Upgraded"):
        session.follow([Upgraded(*fields)])

    assert session.log == before
