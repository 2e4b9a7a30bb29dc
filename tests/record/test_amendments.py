"""Amendments: each repeats only the latest of its field, and what was said last is on record."""

from __future__ import annotations

import pytest

import dtrbandit as dtr

DESIGN = dtr.Design(
    [
        dtr.Stage("first", arms=("a", "b"), features="1 + x + w"),
        dtr.Stage("second", arms=("a", "b"), features="1 + z", enter_if="r > 0"),
    ]
)


def completed() -> dtr.Session:
    session = dtr.Session(DESIGN, dtr.Greedy())
    session.enroll("u", {"x": 1.0, "w": 1.0})
    session.respond("u", {"z": 1.0, "r": 1.0})
    session.complete("u", 1.0)
    return session


def on_record(session: dtr.Session) -> tuple[list[float], list[str], float]:
    """Return the columns, the arms and the outcome of the only unit, as a cohort reads them from the log."""
    cohort = dtr.Cohort.from_log(session.log)
    columns = [float(values[0]) for context in cohort.contexts for values in context.values()]
    arms = [stage.arms[arm] for stage, arm in zip(DESIGN.stages, cohort.arms[0].tolist(), strict=True)]
    return columns, arms, float(cohort.outcome[0])


@pytest.mark.parametrize("outcomes", [(2.0, 1.5, 2.0), (2.0, 1.0, 2.0, 1.0), (2.0, 2.0, 1.5, 1.5, 2.0, 2.0)])
def test_the_outcome_that_was_said_last_is_on_record(outcomes: tuple[float, ...]) -> None:
    session = completed()

    for outcome in outcomes:
        session.correct("u", outcome=outcome, reason="typo")

    changes = sum(now != before for before, now in zip((1.0, *outcomes), outcomes, strict=False))
    assert session.version == 6 + changes
    assert on_record(session)[2] == outcomes[-1]
    assert on_record(dtr.Session.resume(session.log))[2] == outcomes[-1]


def test_a_context_that_was_said_last_is_on_record_whichever_columns_it_shares() -> None:
    session = completed()
    said: list[dict[str, float]] = [{"x": 2.0}, {"x": 3.0, "w": 4.0}, {"x": 2.0}, {"w": 5.0}, {"x": 2.0}]

    for context in said:
        session.correct("u", stage="first", context=context, reason="typo")

    assert session.version == 6 + 4  # the last repeats the third: the one between is of another column
    assert on_record(session)[0][:2] == [2.0, 5.0]


@pytest.mark.parametrize("ended", [False, True])
def test_the_arm_that_was_said_last_is_on_record_and_returned(ended: bool) -> None:
    session = completed()
    if not ended:
        session = dtr.Session.resume(session.log[:5])
    first = session.enroll("u", {"x": 1.0, "w": 1.0}).arm
    other = "b" if first == "a" else "a"

    answers = [session.override("u", arm, reason="allergy", stage="first") for arm in (other, first, other, other)]

    assert [answer.arm for answer in answers] == [other, first, other, other]
    assert answers[2] == answers[3]
    assert session.version == (6 if ended else 5) + 3
    if not ended:
        session.complete("u", 1.0)
    assert on_record(session)[1][0] == other


def test_a_repetition_with_another_reason_says_that_nothing_is_to_correct() -> None:
    session = completed()
    session.correct("u", outcome=2.0, reason="typo")

    with pytest.raises(dtr.ProtocolError, match="nothing to correct"):
        session.correct("u", outcome=2.0, reason="another reason")


def test_an_override_without_its_stage_is_told_from_a_repetition_by_the_latest_of_each_stage() -> None:
    session = dtr.Session(DESIGN, dtr.FixedRegime(rule={"first": "a", "second": "a"}))
    session.enroll("u", {"x": 1.0, "w": 1.0})
    session.override("u", "b", reason="allergy")
    session.override("u", "a", reason="allergy")
    session.respond("u", {"z": 1.0, "r": 1.0})

    assert session.override("u", "b", reason="allergy").stage == "second"  # what was said of the first holds no more


def test_a_verb_repeats_what_was_first_reported_or_what_holds_now() -> None:
    session = completed()
    first, second = session.enroll("u", {"x": 1.0, "w": 1.0}), session.respond("u", {"z": 1.0, "r": 1.0})
    session.correct("u", outcome=2.0, reason="typo")
    session.correct("u", stage="first", context={"x": 3.0}, reason="typo")
    session.correct("u", stage="second", context={"z": 4.0}, reason="typo")
    version = session.version

    for outcome in (1.0, 2.0):
        session.complete("u", outcome)
    for x in (1.0, 3.0):
        assert session.enroll("u", {"x": x, "w": 1.0}) == first
    for z in (1.0, 4.0):
        assert session.respond("u", {"z": z, "r": 1.0}) == second

    assert session.version == version
    for verb, content in (("complete", 3.0), ("enroll", {"x": 2.0, "w": 1.0}), ("respond", {"z": 2.0, "r": 1.0})):
        with pytest.raises(dtr.ProtocolError, match="use correct"):
            getattr(session, verb)("u", content)


def test_a_leaver_whose_context_was_completed_later_repeats_it_with_all_columns() -> None:
    session = dtr.Session(DESIGN, dtr.Greedy())
    session.enroll("u", {"x": 1.0, "w": 1.0})
    session.respond("u", {"r": -1.0})
    session.correct("u", stage="second", context={"z": 2.0}, reason="found in the files")
    version = session.version

    assert session.respond("u", {"r": -1.0}) is None
    assert session.respond("u", {"z": 2.0, "r": -1.0}) is None
    assert session.version == version
