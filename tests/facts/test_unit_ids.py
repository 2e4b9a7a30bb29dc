"""Ids that people would take for the same: new ones are composed, and look-alikes are refused."""

from __future__ import annotations

import numpy as np
import pytest

import dtrbandit as dtr
from small_session import DESIGN

COMPOSED, DECOMPOSED = "Am\u00e9lie", "Ame\u0301lie"
CONTEXT = {"start1": 0.5}


def session_of(*units: str) -> dtr.Session:
    session = dtr.Session(DESIGN, dtr.Greedy())
    for unit in units:
        session.enroll(unit, CONTEXT)
    return session


def test_a_new_id_is_put_into_its_composed_form() -> None:
    session = session_of(DECOMPOSED)

    assert session.log[1].unit == COMPOSED  # type: ignore[union-attr]
    assert session.enroll(DECOMPOSED, CONTEXT) == session.enroll(COMPOSED, CONTEXT)
    assert session.respond(DECOMPOSED, {"start2": 0.5, "end1": 9.0}) is not None
    session.complete(COMPOSED, 1.0)
    session.correct(DECOMPOSED, outcome=2.0, reason="misread")

    assert session.summary().mean_outcome == 2.0
    assert len(session.histories) == 1


@pytest.mark.parametrize(
    ("known", "other"), [("u1", "U1"), ("U1", "u1"), (COMPOSED, DECOMPOSED.upper()), ("stra\u00dfe", "STRASSE")]
)
def test_an_id_that_differs_only_in_case_or_normalisation_is_refused_with_what_to_do(known: str, other: str) -> None:
    session = session_of(known)

    with pytest.raises(dtr.ProtocolError, match=f"{known!r}. If it is the same patient, use that id") as refused:
        session.enroll(other, CONTEXT)

    assert known not in str(refused.value.blind)
    assert session.version == 3
    assert session.enroll(known, CONTEXT).round == 1  # a repetition


def test_a_log_keeps_the_ids_that_it_has() -> None:
    first, second = session_of("u1"), session_of("u2")
    events = [*first.log, *second.log[1:]]
    events[3] = events[3]._replace(unit="U1", round=2)
    events[4] = events[4]._replace(decision=events[4].decision._replace(unit="U1", round=2))

    resumed = dtr.Session.resume(events)

    assert [unit.history.unit for unit in resumed.histories] == ["u1", "U1"]
    assert resumed.respond("U1", {"start2": 0.5, "end1": 9.0}) is not None
    old = [*first.log]
    old[1] = old[1]._replace(unit=DECOMPOSED)
    old[2] = old[2]._replace(decision=old[2].decision._replace(unit=DECOMPOSED))
    resumed = dtr.Session.resume(old)
    resumed.withdraw(DECOMPOSED, reason="moved away")
    with pytest.raises(dtr.ProtocolError, match="looks like that of another unit"):
        resumed.enroll(COMPOSED, CONTEXT)


def test_who_tries_ids_hears_nothing_while_accrual_is_held() -> None:
    session = session_of("u1")
    session.hold(reason="supply")

    with pytest.raises(dtr.ProtocolError, match="accrual is held"):
        session.enroll("U1", CONTEXT)


def test_somebody_looks_behind_the_arms_of_a_unit_by_either_form_of_its_id() -> None:
    session = session_of(DECOMPOSED)

    assert session.unblind(DECOMPOSED, reason="a reaction") == session.unblind(COMPOSED, reason="a reaction")


def test_texts_of_numpy_are_ids_as_others_are() -> None:
    session = session_of(np.str_(DECOMPOSED))

    assert type(session.log[1].unit) is str  # type: ignore[union-attr]
    assert session.respond(np.str_(COMPOSED), {"start2": 0.5, "end1": 9.0}) is not None
    assert len(session.histories) == 1
