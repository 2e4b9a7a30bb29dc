"""What every stage regression keeps to, and one that follows the recipe in CONTRIBUTING ("Add a stage regression")."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

import dtrbandit as dtr
from dtrbandit.errors import DesignError
from dtrbandit.evaluation.qlearning import LeastSquares, Regression, StageRegression
from dtrbandit.kernels.arrays import Matrix, Vector
from evaluation.qlearning.crossing import CROSSING, crossing


@dataclass(frozen=True)
class Ridge(StageRegression):
    """Least squares with the penalty λ‖β‖², thrown away after this test."""

    penalty: float = 2.0

    name = "ridge regression"

    def fit(self, features: Matrix, targets: Vector, weights: Vector) -> Regression:
        weighted, d = features.T * weights, features.shape[1]
        operator: Matrix = np.asarray(np.linalg.solve(weighted @ features + self.penalty * np.eye(d), weighted), float)
        coefficients = operator @ targets
        return Regression(
            coefficients, operator, targets - features @ coefficients, np.einsum("nd,dn->n", features, operator),
            rank=d, determined=(True,) * d, alone=np.zeros(len(targets), dtype=np.bool_), r_squared=np.nan,
        )  # fmt: skip


REGRESSIONS = pytest.mark.parametrize("regression", [LeastSquares(), Ridge()], ids=["least squares", "ridge"])


def some_rows() -> tuple[Matrix, Vector, Vector]:
    rng = np.random.default_rng(0)
    return np.column_stack([np.ones(40), rng.normal(size=(40, 2))]), rng.normal(size=40), rng.uniform(0.5, 2.0, 40)


@REGRESSIONS
def test_the_operator_leads_from_targets_to_coefficients_and_its_diagonal_is_the_leverage(
    regression: StageRegression,
) -> None:
    features, targets, weights = some_rows()

    found = regression.fit(features, targets, weights)

    assert found.operator @ targets == pytest.approx(found.coefficients)
    assert targets - features @ found.coefficients == pytest.approx(found.residuals)
    assert np.diag(features @ found.operator) == pytest.approx(found.leverage)


@REGRESSIONS
def test_resamples_fitted_together_are_those_fitted_one_by_one(regression: StageRegression) -> None:
    features, targets, weights = some_rows()
    resampled = weights * np.random.default_rng(1).integers(0, 3, (5, 40))
    resampled[4] = 0.0  # has no row of the arm

    found = regression.refit(features, targets[None], weights, resampled)

    assert found.determined.tolist() == [True, True, True, True, False]
    for coefficients, own in zip(found.coefficients[:4], resampled[:4], strict=True):
        rows = own > 0
        assert coefficients == pytest.approx(regression.fit(features[rows], targets[rows], own[rows]).coefficients)


@REGRESSIONS
def test_q_learning_takes_it_for_every_estimate_interval_and_value(regression: StageRegression) -> None:
    cohort = crossing(300, seed=1).with_propensities(dtr.PropensityModel())
    learner = dtr.QLearning(cohort.design, regression=regression, bootstrap=dtr.Bootstrap(resamples=100))

    fit = learner.fit(cohort)

    last = len(cohort.design.stages) - 1
    for arm, coefficients in enumerate(fit.coefficients_[last]):
        own = (cohort.arms[:, last] == arm) & ~cohort.dropped_out
        plain = regression.fit(cohort.features[last][own], cohort.outcome[own], cohort.weights[own]).coefficients
        assert coefficients == pytest.approx(plain)
    assert np.isfinite(fit.coef_[["low", "high"]]).all(axis=None)
    assert str(fit.summary()).startswith(f"Q-learning by {regression.name}, from")
    *_, learned, sequence = dtr.evaluate(cohort, {"learned": fit}).estimates
    assert learned.value == pytest.approx(fit.summary().cross_fitted.value)
    assert sequence.value == pytest.approx(fit.summary().in_sequence.value)


def test_what_is_no_regression_is_refused() -> None:
    with pytest.raises(DesignError, match="regression must be a StageRegression, such as LeastSquares"):
        dtr.QLearning(CROSSING, regression="ridge")  # type: ignore[arg-type]
