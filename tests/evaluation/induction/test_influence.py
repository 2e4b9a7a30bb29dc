"""Influence: the derivative of the coefficients by a unit's weight, and standard errors that hold their level."""

from __future__ import annotations

import numpy as np
import pytest

from dtrbandit.evaluation.induction.induction import Sample, StageFit, backward_induction
from dtrbandit.evaluation.induction.influence import influences, root_of
from dtrbandit.evaluation.induction.regression import regress
from evaluation.qlearning.samples import everything, smart


def without_leverage(stages: tuple[StageFit, ...]) -> list[StageFit]:
    """Return fits whose influence is that of plain residuals."""
    return [
        stage._replace(
            regressions=tuple(fit._replace(leverage=np.zeros_like(fit.leverage)) for fit in stage.regressions)
        )
        for stage in stages
    ]


def by_differences(sample: Sample, unit: int, m: int, step: float = 1e-6) -> np.ndarray:
    """Return w · dβ̂/dw of a unit at a stage, by central differences."""
    moved = []
    for factor in (1 + step, 1 - step):
        weights = sample.weights.copy()
        weights[unit] *= factor
        moved.append(backward_induction(sample._replace(weights=weights))[m].coefficients)
    return np.asarray((moved[0] - moved[1]) / (2 * step))


@pytest.mark.parametrize("seed", range(3))
def test_influence_is_the_weight_times_the_derivative_by_it(seed: int) -> None:
    sample = everything(400, np.random.default_rng(seed))
    stages = backward_induction(sample)

    found = influences(without_leverage(stages))

    for unit in range(0, 400, 37):
        for m in range(3):
            assert found[m][unit] == pytest.approx(by_differences(sample, unit, m), abs=2e-9)


def test_influences_sum_to_zero() -> None:
    sample = everything(300, np.random.default_rng(7))

    for phi in influences(without_leverage(backward_induction(sample))):
        assert np.abs(phi.sum(axis=0)).max() < 1e-10


def test_at_the_last_stage_the_error_is_hc3_by_loops() -> None:
    rng = np.random.default_rng(3)
    rows, weights = rng.normal(size=(30, 3)), rng.uniform(0.2, 5.0, size=30)
    fit = regress(rows, rng.normal(size=30), weights)
    stage = StageFit((fit,), (np.arange(30),), rows, np.zeros(30, dtype=np.int64))

    errors = np.sqrt((influences([stage])[0][:, 0] ** 2).sum(axis=0))

    inverse = np.linalg.inv(sum(w * np.outer(x, x) for x, w in zip(rows, weights, strict=True)))
    meat = np.zeros((3, 3))
    for x, w, residual in zip(rows, weights, fit.residuals, strict=True):
        meat += (w * residual / (1 - w * x @ inverse @ x)) ** 2 * np.outer(x, x)
    assert errors == pytest.approx(np.sqrt(np.diag(inverse @ meat @ inverse)), rel=1e-9)


@pytest.mark.parametrize("psi", [0.0, 1.0])
def test_a_true_zero_contrast_of_the_first_stage_is_rejected_as_often_as_said(psi: float) -> None:
    """Of 600 trials of 200 units 2 to 6 % were expected; ± 3 Monte-Carlo errors of 0.9 % around these."""
    rng = np.random.default_rng(11)
    rejected = 0
    for _ in range(600):
        stages = backward_induction(smart(200, psi, rng))
        phi = influences(stages)[0]
        contrast = stages[0].coefficients[1, 0] - stages[0].coefficients[0, 0]
        rejected += abs(contrast) > 1.96 * np.sqrt(((phi[:, 1, 0] - phi[:, 0, 0]) ** 2).sum())

    assert 0.005 <= rejected / 600 <= 0.085


def test_what_rests_on_an_undetermined_arm_has_no_error() -> None:
    sample = everything(300, np.random.default_rng(5))
    features = sample.features[2].copy()
    features[sample.rows[2][:, 0], 1] = 2.0  # arm 0 of the last stage cannot tell this column from the intercept

    stages = backward_induction(sample._replace(features=(*sample.features[:2], features)))
    found = influences(stages)

    assert np.isnan(found[2][:, 0]).all()
    assert np.isfinite(found[2][:, 1:]).all()
    for arm, rows in enumerate(stages[1].rows):
        assert np.isnan(found[1][:, arm]).all() == (stages[2].best[rows] == 0).any()
    assert np.isnan(found[1]).any()
    assert np.isfinite(found[1]).any()


def test_the_root_gives_the_variance_of_combinations_also_where_terms_cancel() -> None:
    """Years and their squares: terms of the variance are 1e12 times its value, as the plain sum of squares has it."""
    year = np.random.default_rng(1).normal(2_020, 3, 200)
    rows = np.column_stack([np.ones(200), year, year**2])
    fit = regress(rows, np.random.default_rng(2).normal(size=200), np.ones(200))
    phi = np.stack([fit.influence.T, np.full((200, 3), np.nan)], axis=1)

    root = root_of(phi)

    assert np.isnan(root[:, 1]).all()
    assert ((rows @ root[:, 0].T) ** 2).sum(axis=1) == pytest.approx(((rows @ phi[:, 0].T) ** 2).sum(axis=1), rel=1e-4)
