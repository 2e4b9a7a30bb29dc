"""Events and decisions, as people read them."""

from __future__ import annotations

import pytest

from dtrbandit.record.events import REASONS, Assigned, Decision
from dtrbandit.words import short_number
from small_session import some_session


def test_a_decision_reads_well() -> None:
    text = str(some_session().enroll("in flight", {"start1": 0.0}))

    assert text.startswith("Unit in flight (round 10), stage first: give ")
    assert "Reason: " in text
    header = next(line for line in text.splitlines() if line.startswith("Estimated outcome"))
    assert header.split() == ["Estimated", "outcome", "forced", "rounds", "all", "units"]
    assert all(len(line) >= len(header) for line in text.splitlines()[-2:])
    assert max(map(len, text.splitlines())) <= 100


def test_every_reason_has_an_explanation() -> None:
    reasons = [
        "forced",
        "clear",
        "close",
        "greedy",
        "explore",
        "optimistic",
        "uniform",
        "rule",
        "only_feasible",
        "override",
    ]

    assert list(REASONS) == reasons


DECISION = Decision(
    unit="u1",
    round=7,
    stage="first",
    arm="ssri",
    reason="clear",
    propensity=1.0,
    q_tilde={"ssri": -4.25, "other": -9.0},
    q_hat={"ssri": -4.5, "other": None},
    contenders=("ssri",),
)


def test_a_decision_shows_each_arm_with_its_estimates_and_marks_the_one_given() -> None:
    assert str(DECISION).splitlines() == [
        "Unit u1 (round 7), stage first: give ssri.",
        f"Reason: clear; {REASONS['clear']}.",
        "Estimated outcome   forced rounds       all units",
        "> ssri                     -4.250          -4.500",
        "  other                    -9.000               –   ruled out",
    ]


def test_a_decision_without_estimates_says_so() -> None:
    nothing = {"ssri": None, "other": None}

    text = str(DECISION._replace(reason="uniform", propensity=0.5, q_tilde=nothing, q_hat=nothing))

    assert text.splitlines()[2:] == [
        "The chance of this arm, before the draw, was 0.5.",
        "There are no estimates.",
    ]


def test_what_was_really_given_is_not_advice() -> None:
    text = str(DECISION._replace(reason="override", propensity=None, arm="other"))

    assert text.startswith("Unit u1 (round 7), stage first: other was given.\nReason: override; it is what was really")


def test_an_optimistic_estimate_is_headed_by_its_bonus_and_an_own_reason_stands_alone() -> None:
    assert "with bonus" in str(DECISION._replace(reason="optimistic"))
    assert "Reason: my own rule.\n" in str(DECISION._replace(reason="my own rule"))


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (None, "–"),
        (0.0, "0"),
        (1e-12, "0"),
        (-0.00012345, "-0.0001234"),
        (1.23456, "1.235"),
        (-123.456, "-123.5"),
        (1234567.8, "1,234,568"),
        (2e9, "2.000e+09"),
        (-3e-6, "-3.000e-06"),
    ],
)
def test_a_number_has_about_four_digits(value: float | None, words: str) -> None:
    assert short_number(value) == words


def test_an_assignment_is_of_the_unit_that_the_decision_is_for() -> None:
    assert Assigned(DECISION).unit == "u1"
