"""The fold of a log: what is on record after each fact."""

from __future__ import annotations

from typing import Any
from unicodedata import normalize

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dtrbandit as dtr
from dtrbandit.record import Histories, History
from dtrbandit.record.events import (
    Assigned,
    Completed,
    Corrected,
    Decision,
    Enrolled,
    Opened,
    Overridden,
    Responded,
    UnitFact,
    Withdrawn,
)
from dtrbandit.record.histories import advance
from dtrbandit.record.log import PackedLog
from dtrbandit.record.texts import folded
from dtrbandit.record.values import Values
from small_session import DESIGN


def assigned(unit: str, t: int, stage: str, arm: str) -> Assigned:
    return Assigned(Decision(unit, t, stage, arm, "greedy", 1.0, {}, {}, (arm,)))


COURSE: list[UnitFact] = [
    Enrolled("u", 1, Values(("start1",), (12.0,))),
    assigned("u", 1, "first", "ssri"),
    Responded("u", "second", Values(("start2", "end1"), (9.0, 8.0))),
    assigned("u", 1, "second", "ssri"),
    Overridden("u", "second", "other", "allergy"),
    Corrected("u", None, "first", Values(("start1",), (13.0,)), "misread"),
    Completed("u", -8.0),
    Corrected("u", -7.0, None, None, "typo"),
]
EXPECTED = [  # node, features, arms, feasible, outcome
    (0, [[1.0, 12.0]], (), (True, True), None),
    (1, [[1.0, 12.0]], (0,), (), None),
    (1, [[1.0, 12.0], [1.0, 9.0]], (0,), (True, True), None),
    (3, [[1.0, 12.0], [1.0, 9.0]], (0, 0), (), None),
    (4, [[1.0, 12.0], [1.0, 9.0]], (0, 1), (), None),
    (4, [[1.0, 13.0], [1.0, 9.0]], (0, 1), (), None),
    (4, [[1.0, 13.0], [1.0, 9.0]], (0, 1), (), -8.0),
    (4, [[1.0, 13.0], [1.0, 9.0]], (0, 1), (), -7.0),
]


def opened() -> Histories:
    histories = Histories(DESIGN, Opened(DESIGN.to_dict(), {"name": "Greedy"}, 0, 1))
    histories.facts = PackedLog(histories.opened, histories.names, histories.rounds)
    return histories


def told(*facts: UnitFact) -> Histories:
    histories = opened()
    for fact in facts:
        known = histories.get(fact.unit)
        histories.record(fact, known, advance(DESIGN, known, fact))
    return histories


def plain(history: History) -> tuple[Any, ...]:
    features = [each.tolist() for each in history.features]
    return history.node, features, history.arms, history.feasible, history.outcome


def test_each_fact_leads_to_the_history_that_the_design_says() -> None:
    histories = opened()

    for fact, expected in zip(COURSE, EXPECTED, strict=True):
        known = histories.get("u")
        history = advance(DESIGN, known, fact)
        assert plain(history) == expected
        assert history[:2] == ("u", 1)
        histories.record(fact, known, history)

    assert histories.facts.of_unit("u") == COURSE
    assert histories.count == 1 + len(COURSE)


@pytest.mark.parametrize("count", range(1, len(COURSE)))
def test_advancing_changes_nothing(count: int) -> None:
    histories, twin = told(*COURSE[:count]), told(*COURSE[:count])

    for _ in range(2):
        assert plain(advance(DESIGN, histories.get("u"), COURSE[count])) == EXPECTED[count]

    assert histories.count == count + 1
    assert repr(histories.get("u")) == repr(twin.get("u"))


def test_a_unit_that_has_ended_is_told_again_as_it_was() -> None:
    record = told(*COURSE).get("u")

    assert record is not None
    assert not told(*COURSE).in_flight
    assert plain(record.history) == EXPECTED[-1]
    assert [dict(context) for context in record.reported] == [{"start1": 12.0}, {"start2": 9.0, "end1": 8.0}]
    assert [dict(context) for context in record.contexts] == [{"start1": 13.0}, {"start2": 9.0, "end1": 8.0}]
    assert [decision.arm for decision in told(*COURSE).decisions("u")] == ["ssri", "ssri"]
    assert record.outcome == -8.0
    assert record.amendments == (COURSE[4], COURSE[5], COURSE[7])
    assert record.ended
    assert not record.left


def test_a_unit_in_flight_is_the_same_object_until_it_ends() -> None:
    histories = told(*COURSE[:3])

    record = histories.get("u")

    assert record is histories.in_flight["u"] is histories.get("u")
    assert record.awaited == 2
    assert not record.ended
    assert histories.get("nobody") is None


def test_a_leaver_has_no_arm_to_come_and_no_features_where_columns_are_missing() -> None:
    histories = told(*COURSE[:2], Responded("u", "second", Values(("end1",), (3.0,))))
    record = histories.in_flight["u"]

    assert record.left
    assert plain(record.history) == (1, [[1.0, 12.0]], (0,), (), None)


def test_a_withdrawn_unit_waits_for_nothing() -> None:
    gone = Withdrawn("u", "moved away")

    record = told(*COURSE[:3], gone).get("u")

    assert record is not None
    assert record.withdrawn == gone
    assert record.ended
    assert record.history.feasible == ()


def test_units_come_in_the_order_of_their_rounds_whether_they_have_ended_or_not() -> None:
    later = [Enrolled(f"v{t}", t, Values(("start1",), (1.0,))) for t in (2, 3)]

    histories = told(COURSE[0], *later, *COURSE[1:])

    assert len(histories) == 3
    assert [record.history.unit for record in histories] == ["u", "v2", "v3"]
    assert list(histories.in_flight) == ["v2", "v3"]


def test_the_history_on_record_is_the_one_that_the_session_decides_by() -> None:
    session = dtr.Session(DESIGN, dtr.Greedy())
    session.enroll("u", {"start1": 12.0})

    record = session._belief.histories.get("u")

    assert record is not None
    assert plain(record.history) == (1, [[1.0, 12.0]], (0,), (), None)


@given(st.text(min_size=1), st.text(min_size=1))
def test_an_id_looks_like_a_known_one_if_both_fold_to_the_same(one: str, other: str) -> None:
    histories = opened()
    histories.add_name(one)

    assert (histories.look_alike(other) is not None) == (folded(one) == folded(other))
    assert histories.known_id(one) == one
    assert histories.known_id(other) in (other, normalize("NFC", other))


def test_what_is_no_text_is_no_known_id() -> None:
    number: Any = 7

    assert opened().known_id(number) is number
