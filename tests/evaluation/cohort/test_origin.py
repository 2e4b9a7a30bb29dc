"""How arms came about: what is recorded, and in words."""

from __future__ import annotations

from functools import partial

import numpy as np
import pandas as pd
import pytest

import dtrbandit as dtr
from dtrbandit.environments import Synthetic
from dtrbandit.errors import NotEstimable
from dtrbandit.evaluation import Cohort
from dtrbandit.evaluation.cohort.origin import Origin, Recorded, Waiting
from evaluation import cohorts
from evaluation.collected import LEAVERS, leavers_session, synthetic_session
from evaluation.tiny_trials import ONE_STAGE

RECORDED = Recorded(
    arms=np.array([[0, 1], [1, -1], [0, 0]], dtype=np.int8),
    feasible=(
        np.ones((3, 2), dtype=np.bool_),
        np.array([[True, True], [False, False], [True, False]]),
    ),
    propensities=(
        np.array([[0.9, 0.1], [0.0, 1.0], [0.5, 0.5]]),
        np.array([[0.8, 0.2], [np.nan, np.nan], [1.0, 0.0]]),
    ),
    forced=np.array([[False, False], [True, False], [False, False]]),
    enrolled=np.array([1, 5, 8]),
    ended=np.array([4, 7, 11]),
)


def test_the_probability_of_the_arm_decided_is_read_off_those_of_all_arms() -> None:
    np.testing.assert_array_equal(RECORDED.propensity, [[0.9, 0.2], [1.0, np.nan], [0.5, 1.0]])


def test_a_decision_is_free_if_neither_a_schedule_nor_the_plans_prescribed_it() -> None:
    np.testing.assert_array_equal(RECORDED.chosen_freely, [[True, True], [False, False], [True, False]])


def test_what_is_recorded_of_some_units_is_theirs() -> None:
    rows = np.array([True, False, True])

    own = Origin("adaptive", "Mine", RECORDED).of(rows).recorded

    assert own is not None
    np.testing.assert_array_equal(own.arms, RECORDED.arms[rows])
    np.testing.assert_array_equal(own.propensity, RECORDED.propensity[rows])
    np.testing.assert_array_equal(own.chosen_freely, RECORDED.chosen_freely[rows])
    assert own.enrolled.tolist() == [1, 8]
    assert own.ended.tolist() == [4, 11]


@pytest.mark.parametrize(
    ("origin", "said"),
    [
        (Origin("randomised"), "Arms were given at random."),
        (Origin("observational", "FixedRegime"), "FixedRegime gave the arms by the unit's own record, not at random."),
        (Origin("adaptive"), "taught: units are not independent. No propensities are on record."),
        (Origin("adaptive", "Mine", RECORDED), "Decisions: 1 forced, 3 free."),
        (Origin("adaptive", "Mine", RECORDED), "free decisions: 0.2 to 0.9; 0 certain."),
        (Origin("randomised", "DTRBandit", RECORDED, among=9), "Forced rounds of DTRBandit alone, 3 of 9 units"),
        (Origin("randomised", overridden=2), "2 of them had another arm than was decided, and count as decided."),
        (
            Origin("randomised", freed=1),
            "Left out: 1 for whom an override, or an arm that was contraindicated or closed, changed",
        ),
        (Origin("randomised", waiting=Waiting("u4", 2, 5)), "all units from 'u4' on, the first that is still under"),
        (Origin("randomised", waiting=Waiting("u4", 2, 5)), "(2 under way, 5 ended)"),
    ],
)
def test_an_origin_is_told_in_words(origin: Origin, said: str) -> None:
    assert said in " ".join(origin.describe(3))


def test_only_what_was_given_at_random_by_a_log_has_known_probabilities() -> None:
    assert Origin("randomised", "UniformRandom", RECORDED).known_choice == "recorded"
    assert Origin("randomised", "DTRBandit", RECORDED, among=9).known_choice == "shares"
    assert Origin("adaptive", "DTRBandit", RECORDED).known_choice is None
    assert Origin("randomised").known_choice is None


def test_a_frame_says_how_its_arms_came_about_if_its_reader_does() -> None:
    frame = pd.DataFrame({"x": [0.0, 1.0], "A1": ["a", "b"], "Y": [1.0, 2.0]})
    told = partial(Cohort.from_frame, frame, ONE_STAGE, arms=["A1"], outcome="Y")

    assert told().origin is None
    assert told().collected_by is None
    assert "intervals assume that no policy learnt from earlier units" in " ".join(str(told()).split())
    assert told(origin="adaptive").collected_by == "a policy that learnt"
    assert "Arms were given at random." in str(told(origin="randomised"))
    assert "not stated" not in str(told(origin="randomised"))
    with pytest.raises(
        dtr.DesignError, match="origin must be one of 'randomised', 'observational', 'adaptive', or None"
    ):
        told(origin="by chance")  # type: ignore[arg-type]  # wrong on purpose


def overridden_session() -> dtr.Session:
    """Return four forced rounds, of which two are overridden at the first stage and one at the second.

    The plans are a-a, a-b, b-b and b-c. After the override of u1 to b its plan cannot go on, and after that of u2 its
    plan a-b can; but other arms are feasible then.
    """
    session = dtr.Session(LEAVERS, dtr.DTRBandit(q=1, delta=1.0))
    for unit, override in (("u1", "b"), ("u2", "b"), ("u3", None), ("u4", None)):
        session.enroll(unit, {"x": 0.5})
        if override:
            session.override(unit, override, reason="allergy")
        session.respond(unit, {"r": 1.0})
        session.complete(unit, 1.0)
    session.override("u4", "b", reason="allergy")
    session.enroll("u5", {"x": 0.5})
    session.respond("u5", {"r": -1.0})
    session.override("u5", "b", reason="allergy")
    session.complete("u5", 2.0)
    return session


def test_units_without_overrides_are_as_they_were() -> None:
    cohort = Cohort.from_log(leavers_session(dtr.UniformRandom(), 20, seed=0).log)

    assert not cohort.overridden.any()
    assert cohort.as_scheduled() is cohort


def test_as_scheduled_a_unit_has_the_arms_decided_and_is_left_out_if_these_cannot_follow_each_other() -> None:
    cohort = Cohort.from_log(overridden_session().log)

    scheduled = cohort.as_scheduled()

    assert cohort.overridden.any(axis=1).tolist() == [True, True, False, True, True]
    assert scheduled.units == ("u3", "u4", "u5")  # u1 and u2 had other second arms to choose from
    assert [plan[: 1 + (plan[1] >= 0)] for plan in scheduled.arms.tolist()] == [[1, 1], [1, 2], [0]]
    assert scheduled.origin is not None
    assert (scheduled.origin.overridden, scheduled.origin.freed) == (2, 2)
    assert scheduled.outcome.tolist() == [1.0, 1.0, 2.0]
    assert not scheduled.overridden.any()


def test_forced_rounds_alone_are_those_of_the_schedule_with_its_arms() -> None:
    session = synthetic_session(dtr.DTRBandit(q=2, delta=0.5), 40, seed=1)

    forced = Cohort.from_log(session.log).forced()

    # blocks of 8 rounds: the first, the second and the fourth are forced
    assert forced.units == tuple(f"u{t}" for t in (*range(1, 17), *range(25, 33)))
    assert forced.arms.tolist() == [[0, 0], [0, 0], [0, 1], [0, 1], [1, 0], [1, 0], [1, 1], [1, 1]] * 3
    assert forced.collected_by is None
    assert "Forced rounds of DTRBandit alone, 24 of 40 units: a randomised trial." in str(forced)


def test_of_forced_rounds_those_that_an_override_freed_are_left_out_and_counted() -> None:
    forced = Cohort.from_log(overridden_session().log).forced()

    assert forced.units == ("u3", "u4", "u5")
    assert forced.arms.tolist() == [[1, 1], [1, 2], [0, -1]]
    assert forced.origin is not None
    assert (forced.origin.overridden, forced.origin.freed, forced.origin.among) == (2, 2, 5)


def test_q_learning_has_intervals_for_forced_rounds_and_none_for_all() -> None:
    cohort = Cohort.from_log(synthetic_session(dtr.DTRBandit(q=5, delta=0.5), 100, seed=1).log)

    everybody, forced = (dtr.QLearning(own.design).fit(own).coef_ for own in (cohort, cohort.forced()))

    assert everybody["low"].isna().all()
    assert forced["low"].notna().all()


def test_without_forced_rounds_or_a_log_there_is_nothing_to_return() -> None:
    with pytest.raises(NotEstimable, match="none of the 10 units was in a forced round of UniformRandom"):
        Cohort.from_log(leavers_session(dtr.UniformRandom(), 10, seed=0).log).forced()
    with pytest.raises(dtr.DesignError, match=r"no decisions are on record .* Cohort.from_log\(log\)"):
        cohorts.branching(20, seed=0).forced()


def test_forced_rounds_are_a_trial_whose_units_keep_what_was_observed() -> None:
    cohort = Cohort.from_log(leavers_session(dtr.DTRBandit(q=3, delta=0.5), 60, seed=2).log)

    forced = cohort.forced()

    rows = np.isin(cohort.units, forced.units)
    np.testing.assert_array_equal(forced.outcome, cohort.outcome[rows])
    np.testing.assert_array_equal(forced.contexts[1]["r"], cohort.contexts[1]["r"][rows])
    np.testing.assert_array_equal(forced.arms, cohort.arms[rows])


def test_a_forced_unit_with_one_arm_left_is_kept_whatever_its_plan_was() -> None:
    """Left out only after plans with the arm that it cannot have, such units would be too few."""
    session = dtr.Session(Synthetic().design, dtr.DTRBandit(q=2, delta=0.5), seed=0)
    for t in range(8):  # each of four plans twice
        exclude = {"second": ["2"]} if t % 2 else None
        session.enroll(f"u{t}", {"x1": 0.5})
        session.respond(f"u{t}", {"x2": 0.5}, exclude=exclude, reason="allergy" if exclude else None)
        session.complete(f"u{t}", 1.0)

    forced = Cohort.from_log(session.log).forced()

    assert len(forced) == 8
    assert forced.arms[1::2, 1].tolist() == [0, 0, 0, 0]
    assert forced.origin is not None
    assert forced.origin.freed == 0
    shares = forced.with_propensities(dtr.PropensityModel(choice={"first": "shares", "second": "shares"})).propensities
    assert shares is not None
    assert shares.probability.tolist() == [0.25, 0.5] * 4  # who had no choice at the second stage has that of the first


def test_that_units_with_contraindications_are_too_few_in_forced_rounds_is_said() -> None:
    """A unit that cannot have its scheduled plan is decided freely from the first stage on."""
    session = dtr.Session(Synthetic().design, dtr.DTRBandit(q=2, delta=0.5), seed=0)
    for t in range(8):
        session.enroll(
            f"u{t}", {"x1": 0.5}, exclude={"second": ["2"]} if t % 2 else None, reason="allergy" if t % 2 else None
        )
        session.respond(f"u{t}", {"x2": 0.5})
        session.complete(f"u{t}", 1.0)

    forced = Cohort.from_log(session.log).forced()

    assert len(forced) == 6
    assert "2 units could not have some arm" in str(forced)
    assert "so that such units are too few here" in " ".join(str(forced).split())
