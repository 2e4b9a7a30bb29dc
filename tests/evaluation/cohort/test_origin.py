"""How arms came about: what is recorded, and in words."""

from __future__ import annotations

from functools import partial

import numpy as np
import pandas as pd
import pytest

import dtrbandit as dtr
from dtrbandit.evaluation import Cohort
from dtrbandit.evaluation.cohort.origin import Origin, Recorded, Waiting
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
    assert said in " ".join(origin.in_words(3))


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
    assert told(origin="adaptive").collected_by == "a policy that learnt"
    assert "Arms were given at random." in str(told(origin="randomised"))
    with pytest.raises(
        dtr.DesignError, match="origin must be one of 'randomised', 'observational', 'adaptive', or None"
    ):
        told(origin="by chance")  # type: ignore[arg-type]  # wrong on purpose
