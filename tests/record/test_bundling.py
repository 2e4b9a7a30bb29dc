"""Events are cut into stretches, and brought side by side as they go on record."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

import dtrbandit as dtr
from dtrbandit.record import Assigned, Corrected, Enrolled, Event
from dtrbandit.record.bundle import Unusual
from dtrbandit.record.bundling import side_by_side_of, stretches
from dtrbandit.record.packed import MOST_REASONS, facts_of
from dtrbandit.record.sequences import Pieces
from small_session import session_of

AMENDMENT = Corrected("u0", 1.0, None, None, "typo")
LOG = list(session_of(12).log)[1:41]


def cut(events: Sequence[Event], most: int = 1000, shortest: int = 5) -> list[tuple[bool, list[Event]]]:
    return [(usual, list(run)) for usual, run in stretches(events, most, shortest)]


def test_events_are_cut_where_something_else_than_usual_comes() -> None:
    found = cut([*LOG[:30], AMENDMENT, *LOG[30:35], AMENDMENT, *LOG[35:]])

    assert found == [
        (True, LOG[:30]), (False, [AMENDMENT]), (True, LOG[30:35]), (False, [AMENDMENT]), (True, LOG[35:]),
    ]  # fmt: skip


def test_runs_that_are_too_short_are_left_with_their_neighbours() -> None:
    found = cut([*LOG[:10], AMENDMENT, *LOG[10:14], AMENDMENT, *LOG[14:]])

    assert found == [(True, LOG[:10]), (False, [AMENDMENT, *LOG[10:14], AMENDMENT]), (True, LOG[14:])]


@pytest.mark.parametrize("most", [1, 2, 3, 7])
def test_a_decision_stays_with_what_it_answers(most: int) -> None:
    found = cut(LOG, most, 1)

    assert [event for _, run in found for event in run] == LOG
    assert not [run for _, run in found if type(run[0]) is Assigned]
    assert max(len(run) for _, run in found) <= most + 1


def test_pieces_are_taken_as_they_are() -> None:
    assert cut(Pieces([LOG[:7], LOG[7:]], most=7), 2) == [(True, LOG[:7]), (True, LOG[7:])]


def test_events_one_by_one_stand_side_by_side_as_those_of_a_log_do() -> None:
    session = session_of(12)
    empty = dtr.Session(session.design, session.policy)._belief.histories

    one_by_one, packed = (side_by_side_of(empty, events) for events in (list(session.log)[1:], session.log[1:]))

    assert list(facts_of(one_by_one, one_by_one.said)) == list(facts_of(packed, packed.said)) == list(session.log[1:])
    with pytest.raises(Unusual):
        side_by_side_of(empty, [*LOG, AMENDMENT])


class Text(str):
    """A text that is equal to another one, and of another kind."""


class Few(tuple[str, ...]):
    """Likewise."""


@pytest.mark.parametrize("field", ["reason", "contenders", "site"])
def test_what_is_equal_but_of_another_kind_is_left_to_the_rules(field: str) -> None:
    session = session_of(3)
    empty = dtr.Session(session.design, session.policy)._belief.histories
    events = list(session.log)[1:]
    if field == "site":
        enrolled = events[5]
        assert isinstance(enrolled, Enrolled)
        events[5] = enrolled._replace(site=Text("north"))
    else:
        assigned = events[6]
        assert isinstance(assigned, Assigned)
        decision = assigned.decision
        strange: Any = Text(decision.reason) if field == "reason" else Few(decision.contenders)
        events[6] = Assigned(decision._replace(**{field: strange}))

    with pytest.raises(Unusual):
        side_by_side_of(empty, events)


def test_a_log_with_more_reasons_than_heads_is_taken_side_by_side() -> None:
    session = session_of(1)
    for number in range(MOST_REASONS + 5):
        session.enroll(f"v{number}", {"x": 0.5})
        session.withdraw(f"v{number}", reason=f"reason {number}")
    empty = dtr.Session(session.design, session.policy)._belief.histories

    found = side_by_side_of(empty, session.log[1:])

    assert list(facts_of(found, found.said)) == list(session.log[1:])


def test_the_first_event_and_no_event_are_not_usual() -> None:
    log = session_of(2)._belief.histories.log

    for start, stop in ((0, 4), (5, 5)):
        with pytest.raises(Unusual):
            log.bundle(start, stop)
