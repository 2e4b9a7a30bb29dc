"""Events and decisions, as people read them."""

from __future__ import annotations

from dtrbandit.record.events import REASONS
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
