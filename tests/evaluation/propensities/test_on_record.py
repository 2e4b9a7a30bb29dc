"""Probabilities without a model: recorded ones, and shares of arms given in fixed numbers."""

from __future__ import annotations

import numpy as np
import pytest

import dtrbandit as dtr
from dtrbandit.evaluation import Cohort
from dtrbandit.evaluation.propensities.on_record import recorded_probabilities, shares
from dtrbandit.evaluation.propensities.risk_sets import risk_sets
from evaluation.collected import leavers_session, synthetic_session
from evaluation.simulated_cohorts import cohort_of

PLANNED = dtr.PropensityModel(choice={"first": "shares", "second": "shares"})
RECORDED = dtr.PropensityModel(choice={"first": "recorded", "second": "recorded"})


@pytest.mark.parametrize("schedule", ["paper", "permuted"])
def test_in_whole_forced_blocks_shares_are_those_of_the_plans(schedule: str) -> None:
    policy = dtr.DTRBandit(q=2, delta=0.5, schedule=schedule)  # type: ignore[arg-type]  # both are schedules
    forced = Cohort.from_log(synthetic_session(policy, 32, seed=1).log).forced()

    fitted = forced.with_propensities(PLANNED).propensities

    assert fitted is not None
    assert len(forced) == 24
    np.testing.assert_allclose(fitted.model_of("first").happened, 2 / 4)  # plans with the arm, of four
    np.testing.assert_allclose(fitted.model_of("second").happened, 1 / 2)  # of the plans that agree so far


def test_shares_are_counted_among_units_with_the_same_arms_before_whatever_their_weights() -> None:
    design = dtr.Design([dtr.Stage("first", ("a", "b"), "1"), dtr.Stage("second", ("a", "b"), "1")])
    arms = np.array([[0, 0], [0, 1], [0, 1], [1, 0], [1, 1], [1, 1], [1, 1], [0, 1]])
    cohort = cohort_of(design, [{}, {}], arms, np.ones(8), np.arange(8.0))

    first, second = (shares(cohort, each) for each in risk_sets(cohort))

    np.testing.assert_array_equal(first, [[0.5, 0.5]] * 8)
    expected = np.where(arms[:, [0]] == 0, [[0.25, 0.75]], [[0.25, 0.75]])
    np.testing.assert_array_equal(second, expected)


def test_a_block_that_is_not_whole_has_the_shares_that_were_given() -> None:
    """DTRBandit(q=2) in 13 rounds: two blocks of eight, of which the second has two, two and one of its plans."""
    forced = Cohort.from_log(synthetic_session(dtr.DTRBandit(q=2, delta=0.5), 13, seed=1).log).forced()

    first, second = (shares(forced, each) for each in risk_sets(forced))

    assert len(forced) == 13
    np.testing.assert_allclose(first, [[8 / 13, 5 / 13]] * 13)
    np.testing.assert_allclose(second[forced.arms[:, 0] == 0], [[1 / 2, 1 / 2]] * 8)
    np.testing.assert_allclose(second[forced.arms[:, 0] == 1], [[3 / 5, 2 / 5]] * 5)


def test_recorded_probabilities_are_those_of_the_log() -> None:
    cohort = Cohort.from_log(leavers_session(dtr.EpsilonGreedy(epsilon=0.2), 60, seed=1).log)
    assert cohort.origin is not None
    assert cohort.origin.recorded is not None

    for each in risk_sets(cohort):
        found = recorded_probabilities(cohort, each)
        given = found[np.arange(len(each.rows)), each.happened]
        np.testing.assert_array_equal(given, cohort.origin.recorded.propensity[each.rows, each.m])
        np.testing.assert_allclose(found.sum(axis=1), 1.0)


def test_units_of_a_random_policy_have_known_propensities() -> None:
    cohort = Cohort.from_log(leavers_session(dtr.UniformRandom(), 40, seed=1).log)

    fitted = cohort.with_propensities(RECORDED).propensities

    assert fitted is not None
    expected = np.where(cohort.arms[:, 1] < 0, 0.5, 0.25)
    np.testing.assert_allclose(fitted.probability, expected)
    frame = dtr.evaluate(cohort, {"b, then b": dtr.FixedRegime(rule={"first": "b", "second": "b"})}).to_frame()
    assert frame["estimator"].tolist() == ["weighted", "augmented", "q-learning"]


def test_nobody_recorded_how_probable_an_override_was() -> None:
    session = leavers_session(dtr.UniformRandom(), 10, seed=1)
    given = session.enroll("late", {"x": 0.0}).arm
    session.override("late", "a" if given == "b" else "b", reason="allergy")
    session.respond("late", {"r": -1.0})
    session.complete("late", 1.0)
    cohort = Cohort.from_log(session.log)

    with pytest.raises(dtr.DesignError, match=r"given to 1 unit, such as 'late', .* use cohort.as_scheduled\(\)"):
        cohort.with_propensities(RECORDED)
    assert cohort.as_scheduled().with_propensities(RECORDED).propensities is not None


def test_probabilities_are_not_fitted_to_arms_that_a_policy_chose_by_what_it_had_learnt() -> None:
    cohort = Cohort.from_log(synthetic_session(dtr.DTRBandit(q=5, delta=0.5), 40, seed=1).log)

    for model in (dtr.PropensityModel(), PLANNED, RECORDED):
        with pytest.raises(
            dtr.DesignError, match=r"DTRBandit chose the arms .* the forced rounds alone, cohort.forced"
        ):
            cohort.with_propensities(model)
