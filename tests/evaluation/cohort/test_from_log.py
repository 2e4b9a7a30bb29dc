"""Cohorts from logs: the units that have ended, as they stand after overrides and corrections."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import dtrbandit as dtr
from dtrbandit.errors import LogError, NotEstimable
from dtrbandit.evaluation import Cohort
from evaluation import cohorts
from evaluation.small_frame import DESIGN


@pytest.mark.parametrize("load", [cohorts.adhd, cohorts.autism])
def test_a_log_of_what_happened_gives_the_cohort_back(load: Callable[[], Cohort]) -> None:
    cohort = load()

    again = Cohort.from_log(cohorts.session_of(cohort, dtr.UniformRandom()).log)

    assert again.units == cohort.units
    assert again.design == cohort.design
    np.testing.assert_array_equal(again.arms, cohort.arms)
    np.testing.assert_array_equal(again.outcome, cohort.outcome)
    for one, other in zip(again.features, cohort.features, strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_log_is_read_as_it_stands_and_units_under_way_are_left_out() -> None:
    session = dtr.Session(DESIGN, dtr.FixedRegime(rule={"first": "ssri", "second": "other"}))
    for unit in ("u1", "u2", "u3", "u4"):
        session.enroll(unit, {"start1": 10.0})
    session.respond("u1", {"end1": 3.0})
    session.complete("u1", -3.0)
    session.correct("u1", outcome=-4.0, reason="typing error")
    session.respond("u2", {"end1": 9.0, "start2": 9.0})
    session.override("u2", "ssri", reason="allergy")
    session.correct("u2", stage="second", context={"start2": 9.5}, reason="typing error")
    session.withdraw("u2", reason="moved away")
    session.override("u3", "other", reason="allergy")
    session.withdraw("u3", reason="moved away")

    cohort = Cohort.from_log(session.log)

    assert cohort.units == ("u1", "u2", "u3")
    assert cohort.arms.tolist() == [[0, -1], [0, 0], [1, -1]]
    np.testing.assert_array_equal(cohort.outcome, [-4.0, np.nan, np.nan])
    np.testing.assert_array_equal(cohort.contexts[1]["start2"], [np.nan, 9.5, np.nan])


def test_a_log_without_an_ended_unit_or_an_opening_is_refused() -> None:
    session = dtr.Session(DESIGN, dtr.UniformRandom())
    session.enroll("u1", {"start1": 10.0})

    with pytest.raises(NotEstimable, match="none of the 1 units of the log has an outcome yet"):
        Cohort.from_log(session.log)
    with pytest.raises(LogError, match="a log begins with Opened, found Enrolled"):
        Cohort.from_log(session.log[1:])
    with pytest.raises(LogError, match="a log begins with Opened and has no other"):
        Cohort.from_log([*session.log, *session.log])


@pytest.mark.parametrize(
    ("policy", "learner"),
    [(dtr.DTRBandit(q=1, delta=1.0), "DTRBandit"), (dtr.Greedy(), "Greedy"), (dtr.UniformRandom(), None)],
)
def test_a_cohort_knows_the_policy_that_learnt_while_it_chose(policy: dtr.Greedy, learner: str | None) -> None:
    cohort = Cohort.from_log(cohorts.session_of(cohorts.adhd(), policy).log)

    assert cohort.collected_by == learner
    assert ("units are not independent" in str(cohort)) == (learner is not None)
