"""Weighted means and their standard errors, against sums by hand."""

from __future__ import annotations

import numpy as np
import pytest

import dtrbandit as dtr
from dtrbandit.evaluation import Cohort
from dtrbandit.evaluation.values.decisions import decisions
from dtrbandit.evaluation.values.forks import forks, inverse_weights, known_propensities
from dtrbandit.evaluation.values.hajek import hajek, projected
from evaluation.simulated_cohorts import cohort_of, expit
from evaluation.values.tiny import ALWAYS_A, TWELVE, coins

X = dtr.Design([dtr.Stage("only", arms=("a", "b"), features="1 + x")])


def found(cohort: Cohort) -> tuple[float, np.ndarray]:
    return hajek(cohort, inverse_weights(cohort, forks(cohort, decisions(cohort, ALWAYS_A))))


def test_fair_coins_give_the_mean_and_variance_of_those_who_had_the_arm() -> None:
    value, influence = found(TWELVE)

    assert value == pytest.approx(3.5)
    assert influence[6:].tolist() == [0.0] * 6
    assert (influence**2).sum() == pytest.approx(17.5 / 36)  # Σ(y − ȳ)² / 6²


def test_case_weights_count() -> None:
    value, influence = found(coins([1, 2, 3, 9], [0, 0, 0, 1], [1, 2, 1, 3]))

    assert value == pytest.approx(2.0)
    assert influence.tolist() == pytest.approx([-0.25, 0.0, 0.25, 0.0])


def confounded(n: int, model: dtr.PropensityModel, weights: np.ndarray | None = None) -> Cohort:
    rng = np.random.default_rng(8)
    x = rng.normal(size=n)
    arms = (rng.random(n) < expit(0.7 * x)).astype(np.int64)
    outcome = 2 * x + rng.normal(size=n)
    return cohort_of(X, [{"x": x}], arms[:, None], outcome, weights).with_propensities(model)


@pytest.mark.parametrize("weighted", [False, True])
def test_with_fitted_probabilities_influence_is_the_derivative_by_a_units_weight(weighted: bool) -> None:
    """The probabilities are fitted anew when a weight changes. The projection equals that for many units: 3 %."""
    n = 1500
    weights = np.random.default_rng(9).uniform(0.5, 2.0, n) if weighted else np.ones(n)
    cohort = confounded(n, dtr.PropensityModel(), weights)
    value, influence = found(cohort)
    own = projected(influence, known_propensities(cohort), weights)
    exact = []
    for unit in range(40):
        moved = weights.copy()
        moved[unit] *= 1 + 1e-4
        exact.append((found(confounded(n, dtr.PropensityModel(), moved))[0] - value) / 1e-4)

    assert np.linalg.norm(own[:40] - exact) < 0.05 * np.linalg.norm(exact)
    assert np.linalg.norm(influence[:40] - exact) > 0.3 * np.linalg.norm(exact)


def test_what_scores_explain_is_taken_away_by_least_squares() -> None:
    cohort = confounded(300, dtr.PropensityModel())
    _, influence = found(cohort)
    propensities = known_propensities(cohort)
    x, p = cohort.contexts[0]["x"], propensities.models[0].probabilities[:, 1]
    scores = ((cohort.arms[:, 0] - p)[:, None]) * np.stack([np.ones(300), x], axis=1)

    own = projected(influence, propensities, cohort.weights)

    rest = influence - scores @ np.linalg.lstsq(scores, influence, rcond=None)[0]
    assert own == pytest.approx(rest * np.sqrt(300 / 298))


@pytest.mark.parametrize(
    "model",
    [
        dtr.PropensityModel(choice={"only": "uniform"}),
        dtr.PropensityModel(penalty=1.0),
        dtr.PropensityModel(clip=(0.01, 0.99)),
    ],
)
def test_known_penalised_and_bounded_probabilities_keep_the_plain_influence(model: dtr.PropensityModel) -> None:
    cohort = confounded(200, model)
    _, influence = found(cohort)

    assert np.array_equal(projected(influence, known_propensities(cohort), cohort.weights), influence)
