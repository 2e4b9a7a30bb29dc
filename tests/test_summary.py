"""Where a trial stands: counts, estimates, and what is not determined yet."""

from __future__ import annotations

import dtrbandit as dtr
from small_session import DESIGN


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
