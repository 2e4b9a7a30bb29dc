"""Q-learning's own value of a fixed regime, against derivatives by weights and a plain mean."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import dtrbandit as dtr
from dtrbandit.errors import NotEstimable
from dtrbandit.evaluation import Cohort
from dtrbandit.evaluation.values.adherence import decisions, decisions_by
from dtrbandit.evaluation.values.regression import regression_value, teachable
from evaluation.values.known_truth import REGIMES, trial
from evaluation.values.tiny import ALWAYS_A, TWELVE, coins


def value_of(cohort: Cohort) -> tuple[float, np.ndarray]:
    return regression_value(cohort, decisions(cohort, REGIMES["b, then by s"]))


def test_without_covariates_it_is_the_mean_of_the_arm() -> None:
    value, influence = regression_value(TWELVE, decisions(TWELVE, ALWAYS_A))

    assert value == pytest.approx(3.5)
    assert (influence**2).sum() == pytest.approx(17.5 / 25)  # HC3: residuals times 6/5, over 6


def test_the_best_arms_of_q_learning_have_its_value() -> None:
    cohort = trial(300, np.random.default_rng(1))
    fit = dtr.QLearning(cohort.design).fit(cohort)

    value, _ = regression_value(cohort, decisions_by(cohort, fit.coefficients_))

    assert value == pytest.approx(fit.value_)


def test_influence_is_nearly_the_derivative_by_a_units_weight() -> None:
    """HC3 divides residuals by 1 − h, which is what the allowed 15 % are for."""
    cohort = trial(600, np.random.default_rng(2))
    value, influence = value_of(cohort)
    exact = []
    for unit in range(60):
        weights = np.ones(600)
        weights[unit] += 1e-6
        exact.append((value_of(replace(cohort, weights=weights))[0] - value) / 1e-6)

    assert np.linalg.norm(influence[:60] - exact) < 0.15 * np.linalg.norm(exact)


def test_an_arm_without_rows_is_named() -> None:
    with pytest.raises(NotEstimable, match="nobody teaches what follows 'b' at stage 'only'"):
        teachable(coins([1, 2, 3], [0, 0, 0]), "imputed")
