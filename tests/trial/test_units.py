"""Who is in flight, what each awaits and since when, and the story of one."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

import dtrbandit as dtr
from dtrbandit.trial import Trial
from trial.small_trial import POLICY, under_way

DAYS = {"first": 14.0, "second": 10.0}


def test_units_in_flight_say_what_they_await_and_since_when() -> None:
    trial, _ = under_way()

    found = {unit.unit: unit for unit in trial.units()}

    assert {name: (unit.stage, unit.awaiting, unit.round) for name, unit in found.items()} == {
        "early": ("first", "second", 1),
        "middle": ("second", "outcome", 2),
        "left": ("first", "outcome", 3),
    }
    times = {record.sequence: record.time for record in trial.records()}
    assert [unit.since for unit in trial.units()] == [times[3], times[7], times[10]]
    stories = {name: trial.unit(name) for name in found}
    assert all(unit.arm == stories[name].arms[unit.stage] for name, unit in found.items())


def test_what_is_due_follows_from_the_expected_days() -> None:
    trial, clock = under_way()
    days = {unit.unit: (unit.due - unit.since).days for unit in trial.units() if unit.due and unit.since}
    assert days == {"early": 14, "middle": 10, "left": 10}  # who left has an outcome when the full course would end

    clock.now += timedelta(days=12)

    assert [unit.unit for unit in trial.units(overdue=True)] == ["middle", "left"]
    assert [unit.unit for unit in trial.units(overdue=False)] == ["early"]
    assert [unit.unit for unit in trial.units(awaiting="outcome")] == ["middle", "left"]
    assert [unit.unit for unit in trial.units(awaiting="second", overdue=True)] == []


def test_an_amendment_does_not_restart_the_wait() -> None:
    trial, _ = under_way()
    before = trial.units()

    trial.correct("early", stage="first", context={"x": 3.0}, reason="typo")

    assert trial.units() == before


def test_without_expected_days_nothing_is_due() -> None:
    trial = Trial.create("pilot", dtr.Design([dtr.Stage("s", ("a", "b"), "1 + x")]), POLICY, storage="memory://")
    trial.enroll("u1", {"x": 1.0})

    (unit,) = trial.units()

    assert (unit.due, unit.overdue, unit.awaiting) == (None, False, "outcome")


def test_a_stage_that_nobody_awaits_is_refused() -> None:
    trial, _ = under_way()

    with pytest.raises(dtr.ProtocolError, match=r"one of \['second', 'outcome'\], found 'first'"):
        trial.units(awaiting="first")


def test_a_story_reads_well() -> None:
    trial, _ = under_way()
    arm = trial.unit("middle").arms["second"]
    other = {"a": "b", "b": "a"}[arm]
    trial.override("middle", other, reason="allergy", actor="Dr. B")
    trial.complete("middle", 2.5)
    trial.correct("middle", outcome=3.5, reason="typo")
    trial.correct("middle", stage="second", context={"z": 0.75}, reason="typo")

    story = trial.unit("middle")

    assert story.arms["second"] == other
    assert [decision.stage for decision in story.decisions] == ["first", "second"]
    assert [record.sequence for record in story.records] == [4, 5, 6, 7, 21, 22, 23, 24]
    lines = str(story).splitlines()
    assert lines[0] == "Unit middle (round 2): it is complete."
    assert lines[2].split("  ")[-1] == "enrolled with x 1"
    assert f"stage second: {other} was given instead (allergy) (Dr. B)" in lines[6]
    assert [line.split("  ")[-1] for line in lines[7:]] == [
        "outcome 2.5",
        "corrected outcome to 3.5 (typo)",
        "corrected stage second to z 0.75 (typo)",
    ]


@pytest.mark.parametrize(
    ("unit", "status"),
    [
        ("early", "it awaits its response at stage 'second' (z, r)"),
        ("left", "it left early and awaits its outcome"),
        ("gone", "it was withdrawn (moved away)"),
        ("void", "it was voided (not eligible)"),
        ("done", "it is complete"),
    ],
)
def test_a_story_says_where_the_unit_stands(unit: str, status: str) -> None:
    trial, _ = under_way()

    story = trial.unit(unit)

    assert story.status == status
    assert story.records[0].time is not None
    assert story.records[0].time > datetime(2026, 11, 17, tzinfo=UTC)


def test_a_unit_that_is_expected_after_the_end_of_the_calendar_is_never_late() -> None:
    design = dtr.Design([dtr.Stage("only", ("a", "b"), "1 + x", expected_days=4e6)])
    with Trial.create("long", design, dtr.Greedy(), storage="memory://", seed=1) as trial:
        trial.units()
        trial.enroll("u1", {"x": 0.5})

        (unit,) = trial.units()

    assert (unit.due, unit.overdue) == (None, False)
