"""The history that a fact leads to."""

from __future__ import annotations

from typing import get_args

import dtrbandit as dtr
from dtrbandit.record.events import ArmClosed, Fact, Held, Unblinded
from dtrbandit.record.histories import ADVANCES, NO_UNIT, advance, barred_by, goes_on, in_order
from dtrbandit.record.values import Values
from small_session import DESIGN


def test_a_context_goes_on_record_in_the_order_of_its_columns() -> None:
    assert in_order(DESIGN, 1, {"end1": 1.0, "start2": 2.0}).labels == ("start2", "end1")
    assert in_order(DESIGN, 1, {"end1": 1.0}).labels == ("end1",)


def test_a_fact_of_the_trial_leads_to_no_unit() -> None:
    assert advance(DESIGN, None, Held("supply")) is NO_UNIT
    assert advance(DESIGN, None, ArmClosed("first", "ssri", "harm")) is NO_UNIT


def test_a_look_leads_to_the_history_that_there_was() -> None:
    session = dtr.Session(DESIGN, dtr.Greedy())
    session.enroll("u", {"start1": 0.5})
    record = session.histories.get("u")
    assert record is not None

    assert advance(DESIGN, record, Unblinded("u", "a reaction")) is record.history


def test_arms_that_are_closed_are_not_feasible_on_arrival() -> None:
    session = dtr.Session(DESIGN, dtr.Greedy())
    session.enroll("u", {"start1": 0.5})
    enrolled = session.log[1]
    assert not isinstance(enrolled, str)

    assert advance(DESIGN, None, enrolled, barred_by(DESIGN, {"first": ("ssri",)})).feasible == (False, True)  # type: ignore[arg-type]


def test_only_kinds_of_facts_advance() -> None:
    assert set(ADVANCES) <= set(get_args(Fact))


def test_a_unit_goes_on_where_it_enters() -> None:
    first = Values(("start1",), (0.5,))

    assert goes_on(DESIGN, (first, Values(("start2", "end1"), (1.0, 9.0))), 1)
    assert not goes_on(DESIGN, (first, Values(("end1",), (2.0,))), 1)
    assert not goes_on(DESIGN, (first,), 1)
