"""A learned regime: cross-fitted, and in sequence."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import dtrbandit as dtr
from dtrbandit.evaluation import Cohort
from dtrbandit.evaluation.cohort.origin import Origin
from dtrbandit.evaluation.values.adherence import decisions_by, regime_risk_sets
from dtrbandit.evaluation.values.augmented import augmented_scores
from dtrbandit.evaluation.values.learned import (
    Learner,
    beside_value,
    cross_fitted,
    cross_fitted_value,
    in_sequence,
    value_in_sequence,
)
from dtrbandit.words import short_number
from evaluation.simulated_cohorts import cohort_of
from evaluation.values.known_truth import RIGHT, trial
from evaluation.values.tiny import coins

DESIGN = dtr.Design([dtr.Stage("only", arms=("a", "b"), features="1 + x")])
COINS = dtr.PropensityModel(choice={"only": "uniform"})
MODEL = dtr.OutcomeModel()


def randomised(n: int, rng: np.random.Generator, effect: float = 0.0) -> Cohort:
    x, noise = rng.normal(size=(2, n))
    arms = rng.integers(2, size=n)
    cohort = cohort_of(DESIGN, [{"x": x}], arms[:, None], effect * x * (arms - 0.5) + noise)
    return cohort.with_propensities(COINS)


def test_scores_rest_on_the_teachers_alone() -> None:
    cohort = trial(500, np.random.default_rng(3)).with_propensities(RIGHT)
    teachers = np.arange(500) < 350

    found = Learner(cohort, "imputed", MODEL).scored(teachers)

    moved = cohort.outcome + np.where(teachers, 0.0, 1e3)  # what the others had changes only their own scores
    other = replace(cohort, outcome=moved, propensities=None).with_propensities(RIGHT)
    again = Learner(other, "imputed", MODEL).scored(teachers)
    assert again.scores[:350] == pytest.approx(found.scores[:350])
    assert again.weights == pytest.approx(found.weights)
    apart = ~np.isclose(again.scores, found.scores)
    assert np.array_equal(np.flatnonzero(apart), np.flatnonzero((found.weights > 0) & ~teachers))


def test_all_teachers_score_as_the_fit_itself() -> None:
    cohort = randomised(80, np.random.default_rng(1), 1.0)
    fit = dtr.QLearning(DESIGN).fit(cohort)

    found = Learner(cohort, "imputed", MODEL).scored(np.ones(80, dtype=bool))

    risk_sets = regime_risk_sets(cohort, decisions_by(cohort, fit.coefficients_))
    assert found.scores == pytest.approx(augmented_scores(cohort, risk_sets, MODEL).gamma)


def test_each_fold_is_scored_by_the_others() -> None:
    cohort, order = randomised(60, np.random.default_rng(2)), np.arange(60)
    learner = Learner(cohort, "imputed", MODEL)

    found = cross_fitted(learner, order)

    for k in range(5):
        fold = (order >= 12 * k) & (order < 12 * (k + 1))
        assert found.scores[fold] == pytest.approx(learner.scored(~fold).scores[fold])


def test_in_sequence_each_block_is_scored_by_those_before() -> None:
    cohort, order = randomised(100, np.random.default_rng(3)), np.arange(100)
    learner = Learner(cohort, "imputed", MODEL)
    seen = cross_fitted(learner, order[:30]).scores
    total = divisor = 0.0
    for start in range(30, 100, 7):
        before = order < start
        scores = learner.scored(before).scores
        sd = seen[:start].std()
        seen[start : start + 7] = scores[start : start + 7]
        total += scores[start : start + 7].sum() / sd
        divisor += 7 / sd

    found = in_sequence(learner, order)

    assert found.value == pytest.approx(total / divisor)
    assert found.std_error == pytest.approx(np.sqrt(70) / divisor)


def test_an_interval_belongs_to_the_value_beside_it() -> None:
    """The cross-fitted value and the value in sequence are of different regimes; only the latter has an interval."""
    learner, order = (
        Learner(randomised(100, np.random.default_rng(4)), "imputed", MODEL),
        np.random.default_rng(1).permutation(100),
    )

    folds, blocks = (of("learned", learner, seed=1) for of in (cross_fitted_value, value_in_sequence))

    assert folds.value == pytest.approx(cross_fitted(learner, order).scores.mean())
    assert np.isnan([folds.std_error, folds.low, folds.high]).all()
    assert "five regimes, each learned as this one was from four fifths of the units. It has no interval" in folds.note
    assert blocks.value == pytest.approx(in_sequence(learner, order).value)
    assert (blocks.low + blocks.high) / 2 == pytest.approx(blocks.value)
    assert "learned as this one was from 30 % to 93 % of the units, and the interval is for that" in blocks.note
    assert "The regime learned from all units has no valid interval." in blocks.note
    assert folds.influence is None  # it is compared with no other
    assert blocks.influence is None
    assert blocks == value_in_sequence("learned", learner, seed=1)


def test_the_support_of_a_value_in_sequence_is_of_the_units_in_its_blocks() -> None:
    learner = Learner(randomised(100, np.random.default_rng(4)), "imputed", MODEL)

    found = value_in_sequence("learned", learner, seed=1)

    assert 20 <= found.support.units <= 50  # of 70 in the blocks, half had the arm of the regime
    assert 0 < found.support.effective_sample_size <= found.support.units


def test_too_few_units_have_a_reason_in_place_of_a_number() -> None:
    learner = Learner(coins([1, 2, 3, 4], [0, 0, 0, 1]), "imputed", MODEL)

    folds, blocks = (of("learned", learner, seed=0) for of in (cross_fitted_value, value_in_sequence))

    assert np.isnan([folds.value, blocks.value]).all()
    assert folds.note.startswith("There is no cross-fitted value: nobody teaches what follows")
    assert blocks.note.startswith("There is no value in sequence, which needs regimes learned from 30 % of the units")


@pytest.mark.full
def test_where_nothing_works_the_value_is_not_flattered_and_the_interval_holds() -> None:
    """100 trials of 100 units, every regime is worth 0. The coverage is judged within two Monte-Carlo errors."""
    own, plug_in, held = [], [], []
    for repetition in range(100):
        cohort = randomised(100, np.random.default_rng([7, repetition]))
        learner = Learner(cohort, "imputed", MODEL)
        own.append(cross_fitted_value("learned", learner, seed=repetition).value)
        plug_in.append(dtr.QLearning(DESIGN).fit(cohort).value_)
        found = value_in_sequence("learned", learner, seed=repetition)
        held.append(found.low <= 0 <= found.high)

    error = np.std(own) / np.sqrt(100)
    assert abs(np.mean(own)) < 3 * error
    assert np.mean(plug_in) > 0.05  # flattered, by many errors
    share = np.mean(held)
    assert share + 2 * np.sqrt(share * (1 - share) / 100) >= 0.93


# -- beside value_ -------------------------------------------------------------------------------------------


def test_the_summary_of_q_learning_has_the_value_that_evaluate_has() -> None:
    cohort = randomised(100, np.random.default_rng(4))
    fit = dtr.QLearning(DESIGN).fit(cohort)

    summary = fit.summary()

    estimates = {each.estimator: each for each in dtr.evaluate(cohort, {"learned": fit}).estimates}
    for found, name in ((summary.cross_fitted, "cross-fitted"), (summary.in_sequence, "in sequence")):
        assert found.value == estimates[name].value
        np.testing.assert_equal((found.low, found.high), (estimates[name].low, estimates[name].high))
        assert found.note == estimates[name].note
    assert f"Cross-fitted value: {short_number(summary.cross_fitted.value)}. It is the mean" in str(summary)
    assert f"Value in sequence: {short_number(summary.in_sequence.value)}, 95 % interval" in str(summary)


def test_without_propensities_or_independent_units_the_summary_says_why_there_is_none() -> None:
    bare = replace(randomised(100, np.random.default_rng(4)), propensities=None)
    adaptive = replace(randomised(100, np.random.default_rng(4)), origin=Origin("adaptive", "Greedy()"))

    without, learnt = (beside_value(cohort, "imputed") for cohort in (bare, adaptive))

    assert np.isnan([each.value for each in (*without, *learnt)]).all()
    assert "it needs the propensities of the units" in without.cross_fitted.note
    assert "Greedy() chose the arms by what earlier units had taught it" in learnt.cross_fitted.note
    printed = " ".join(str(dtr.QLearning(DESIGN).fit(bare).summary()).split())
    assert printed.count(without.cross_fitted.note) == 1  # the same reason for both is said once
