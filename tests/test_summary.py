"""Where a trial stands: counts, estimates, and what is not determined yet."""

from __future__ import annotations

import dtrbandit as dtr
from dtrbandit.summary import Gap
from small_session import DESIGN, some_session


def test_a_summary_counts_units_arms_and_what_is_not_determined() -> None:
    session = dtr.Session(DESIGN, dtr.DTRBandit(q=1, delta=1.0))
    session.enroll("u1", {"start1": 1.0})
    session.respond("u1", {"start2": 1.0, "end1": 9.0})
    session.complete("u1", 2.0)
    session.enroll("u2", {"start1": 1.0})
    session.enroll("u3", {"start1": 1.0})
    session.respond("u3", {"end1": 1.0})

    summary = session.summary()

    assert summary.units == 3
    assert {name: n for name, n in summary.status.items() if n} == {
        "completed": 1,
        "awaiting the response at stage second": 1,
        "awaiting the outcome": 1,
    }
    assert summary.given == {"first": {"ssri": 2, "other": 1}, "second": {"ssri": 1, "other": 0}}
    assert summary.mean_outcome == 2.0
    gaps = {(gap.stage, gap.arm): (gap.features, gap.missing) for gap in summary.gaps if gap.estimate == "hat"}
    assert gaps["first", "ssri"] == (("1", "start1"), 1)
    assert gaps["second", "other"] == (("1", "start2"), 2)
    assert "Not determined yet" in str(summary)
    assert repr(summary) == str(summary)


def test_units_are_counted_by_where_they_stand() -> None:
    session = dtr.Session(DESIGN, dtr.FixedRegime(rule={"first": "ssri", "second": "ssri"}))
    for unit in ("done", "left", "gone", "first", "last", "leaving"):
        session.enroll(unit, {"start1": 1.0})
    for unit in ("done", "last"):
        session.respond(unit, {"start2": 1.0, "end1": 9.0})
    for unit in ("left", "leaving"):
        session.respond(unit, {"end1": 1.0})
    session.complete("done", 2.0)
    session.complete("left", 6.0)
    session.withdraw("gone", reason="moved away")
    session.override("done", "other", reason="allergy")
    session.correct("left", outcome=4.0, reason="typo")

    summary = session.summary()

    assert summary.status == {
        "completed": 1,
        "left early, completed": 1,
        "withdrawn": 1,
        "voided": 0,
        "awaiting the response at stage second": 1,
        "awaiting the outcome": 2,
        "arms overridden": 1,
        "values corrected": 1,
        "unblinded": 0,
        "with contraindications": 0,
    }
    assert summary.units == 6
    assert summary.given["second"] == {"ssri": 1, "other": 1}  # what was really given
    assert summary.reasons == {"rule": 8}
    assert summary.mean_outcome == 3.0  # as corrected
    assert not summary.coefficients
    assert not summary.gaps


def test_estimates_have_a_line_for_each_stage_arm_and_feature() -> None:
    session = some_session()

    lines = session.coefficients()

    assert [line[:3] for line in lines] == [
        (stage, arm, term)
        for stage, terms in (("first", ("1", "start1")), ("second", ("1", "start2")))
        for arm in ("ssri", "other")
        for term in terms
    ]
    assert lines == session.summary().coefficients


def test_without_forced_rounds_there_is_no_column_for_them() -> None:
    greedy = dtr.Session(DESIGN, dtr.Greedy())
    greedy.enroll("u", {"start1": 1.0})

    assert {line.tilde for line in greedy.coefficients()} == {None}
    assert "forced rounds" not in str(greedy.summary())
    assert "forced rounds" in str(some_session().summary())


def test_a_gap_says_what_is_missing() -> None:
    hat = Gap("hat", "first", "ssri", ("1", "start1"), 2)

    assert str(hat) == "ssri at stage first: intercept, start1 (at least 2 more units)"
    assert str(hat._replace(estimate="tilde", features=("start1",), missing=1)) == (
        "ssri at stage first: start1 (at least 1 more unit in forced rounds)"
    )


def test_the_summary_of_a_session_without_units_is_one_line() -> None:
    assert str(dtr.Session(DESIGN, dtr.Greedy()).summary()) == "0 units enrolled under Greedy()."
