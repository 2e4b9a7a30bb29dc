"""What may be recorded next: repetitions, stages told apart, and decisions that a log can hold."""

from __future__ import annotations

import math
import re
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest

import dtrbandit as dtr
from dtrbandit.record import Assigned, Completed, Enrolled, Histories, Responded, Withdrawn
from dtrbandit.record.rules import accept, completed, enrolled, expects, on_record, responded, withdrawn
from dtrbandit.record.values import Values
from small_session import DESIGN, some_session


def test_repeating_any_call_returns_the_recorded_answer_and_writes_nothing() -> None:
    session = dtr.Session(DESIGN, dtr.DTRBandit(q=1, delta=1.0))
    calls: list[Any] = [
        lambda: session.enroll("u1", {"start1": 12}),
        lambda: session.override("u1", "other", reason="allergy"),
        lambda: session.respond("u1", {"start2": 9, "end1": 8}),
        lambda: session.complete("u1", -8.0),
        lambda: session.correct("u1", outcome=-7.0, reason="typo"),
        lambda: session.correct("u1", stage="first", context={"start1": 13.0}, reason="typo"),
        lambda: session.enroll("u2", {"start1": 12}),
        lambda: session.respond("u2", {"end1": 3.0}),
        lambda: session.complete("u2", -3.0),
        lambda: session.enroll("u3", {"start1": 12}),
        lambda: session.withdraw("u3", reason="moved away"),
    ]
    answers = [call() for call in calls]
    log = session.log

    assert [call() for call in calls] == answers
    assert session.log == log


def test_a_unit_leaves_early_with_only_the_columns_that_decide_it() -> None:
    session = dtr.Session(DESIGN, dtr.DTRBandit(q=1, delta=1.0))
    session.enroll("u1", {"start1": 12})

    assert session.respond("u1", {"end1": 4.0}) is None
    session.complete("u1", -4.0)

    assert session.coefficients()[0].hat == pytest.approx(-4.0 / 145)  # one row (1, 12): minimum norm


def test_with_three_stages_a_repeated_response_is_told_from_the_next_by_its_columns() -> None:
    stages = [dtr.Stage(f"s{m}", ("a", "b"), f"1 + x{m}") for m in range(3)]
    session = dtr.Session(dtr.Design(stages), dtr.DTRBandit(q=1, delta=1.0))
    session.enroll("u", {"x0": 1})
    second = session.respond("u", {"x1": 1})

    assert session.respond("u", {"x1": 1}) == second
    third = session.respond("u", {"x2": 1})
    assert session.respond("u", {"x1": 1}) == second
    assert session.respond("u", {"x2": 1}) == third
    assert len(session.log) == 7


def test_a_stage_that_observes_nothing_new_needs_its_name() -> None:
    stages = [
        dtr.Stage("s0", ("a", "b"), "1 + x"),
        dtr.Stage("s1", ("a", "b"), "1 + x"),
        dtr.Stage("s2", ("a", "b"), "1"),
    ]
    session = dtr.Session(dtr.Design(stages), dtr.DTRBandit(q=1, delta=1.0))
    session.enroll("u", {"x": 1})
    second = session.respond("u", {})

    with pytest.raises(dtr.ProtocolError, match="stage="):
        session.respond("u", {})
    assert session.respond("u", {}, stage="s1") == second
    third = session.respond("u", {}, stage="s2")
    assert session.respond("u", {}) == third


@pytest.mark.parametrize(
    "change",
    [
        {"q_hat": {"ssri": "x"}},
        {"q_hat": None},
        {"q_hat": {"ssri": math.nan}},
        {"q_tilde": {"elsewhere": 1.0}},
        {"propensity": "no"},
        {"propensity": 7.0},
        {"reason": []},
        {"reason": None},
        {"contenders": ["ssri"]},
        {"contenders": ("elsewhere",)},
    ],
    ids=str,
)
def test_a_decision_that_a_log_could_not_hold_is_not_followed(change: dict[str, Any]) -> None:
    session = some_session()
    other = dtr.Session.resume(session.log)
    other.enroll("new", {"start1": 12.0})
    arrival, assigned = other.since(session.version)
    version = session.version

    with pytest.raises(dtr.LogError, match=next(iter(change))):
        session.follow([arrival, Assigned(assigned.decision._replace(**change))])  # type: ignore[union-attr]

    assert session.version == version
    session.follow([arrival, assigned])
    assert session.log == other.log


def histories(session: dtr.Session) -> Histories:
    return session._belief.histories


def test_rules_return_the_fact_to_record_and_change_nothing() -> None:
    session = some_session()
    known, version = histories(session), session.version
    waiting = known.in_flight["in flight"]

    assert enrolled(known, ("next", None, {"start1": 1}, None, None, None)) == (
        Enrolled("next", 11, {"start1": 1.0}),
        None,
    )
    assert enrolled(known, ("in flight", None, {"start1": 0}, None, None, None)) == (None, waiting)
    assert responded(known, ("in flight", None, {"end1": 3}, None, None)) == (
        Responded("in flight", "second", {"end1": 3.0}),
        waiting,
    )
    assert completed(known, ("u0", 2)) == (Completed("u0", 2.0), known.in_flight["u0"])
    assert withdrawn(known, ("u0", "lost")) == (Withdrawn("u0", "lost"), known.in_flight["u0"])
    assert withdrawn(known, ("u8", "moved away"))[0] is None
    assert session.version == version == known.count


def test_a_log_must_number_rounds_without_gaps() -> None:
    with pytest.raises(dtr.ProtocolError, match="the next round is 11, found 12"):
        enrolled(histories(some_session()), ("next", 12, {"start1": 1.0}, None, None, None))


@pytest.mark.parametrize(
    ("unit", "words"),
    [
        ("u8", r"it was withdrawn \(moved away\)"),
        ("u1", "it is complete"),
        ("u0", "it left early and awaits its outcome"),
        ("in flight", r"it awaits its response at stage 'second' \(start2, end1\)"),
    ],
)
def test_what_a_unit_waits_for_is_said_in_words(unit: str, words: str) -> None:
    known = histories(some_session())

    assert re.fullmatch(words, expects(known, on_record(known, unit)))


def test_numbers_are_accepted_alike_however_they_come() -> None:
    known = histories(some_session())
    forms: list[Any] = [
        {"start2": 1.0, "end1": 2.0},
        {"end1": 2, "start2": np.float32(1)},
        Values(("start2", "end1"), (1.0, 2.0)),
        Values(("end1", "start2"), (2.0, 1.0)),
        MappingProxyType({"end1": 2.0, "start2": 1.0}),
    ]

    for form in forms:
        accepted = accept(known, "u", 1, form)
        assert type(accepted) is Values
        assert accepted.labels == ("start2", "end1")
        assert accepted.numbers == (1.0, 2.0)


@pytest.mark.parametrize("number", [math.nan, math.inf, 2e100, None, True])
def test_packed_numbers_are_checked_like_all_others(number: Any) -> None:
    known = histories(some_session())

    for form in ({"start2": 1.0, "end1": number}, Values(("start2", "end1"), (1.0, number))):
        if number is not True:  # packing has made it 1.0
            with pytest.raises(dtr.ObservationError, match="column 'end1'"):
                accept(known, "u", 1, form)
