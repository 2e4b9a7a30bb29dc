"""A cohort in words."""

from __future__ import annotations

import dtrbandit as dtr
from dtrbandit.evaluation import Cohort
from evaluation.collected import leavers_session


def test_a_cohort_from_a_log_says_how_its_arms_came_about_beside_its_numbers() -> None:
    session = leavers_session(dtr.EpsilonGreedy(epsilon=0.1), 60, seed=1)
    decision = session.enroll("u61", {"x": 0.0})
    session.override("u61", "a" if decision.arm == "b" else "b", reason="allergy")
    session.withdraw("u61", reason="lost")

    words = " ".join(str(Cohort.from_log(session.log)).split())

    assert "A cohort of 61 units:" in words
    assert "1 dropped out 1 of them before an arm at stage second" in words
    assert "EpsilonGreedy gave the arms by what earlier units had taught: units are not independent." in words
    assert "Recorded propensities of free decisions: 0.1 to 0.9; 0 certain." in words
    assert "Given another arm than was decided (overrides): 1 unit." in words
    assert max(len(line) for line in str(Cohort.from_log(session.log)).splitlines()) <= 100
