"""Backward induction, and which rows count."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import dtrbandit as dtr
from dtrbandit.evaluation import Cohort, PropensityModel
from dtrbandit.evaluation.qlearning.induction import backward_induction, sample_of
from dtrbandit.evaluation.qlearning.regression import regress
from evaluation.qlearning.samples import everything

DESIGN = dtr.Design([dtr.Stage("first", ("a", "b"), "1"), dtr.Stage("second", ("a", "b"), "1 + x")])
MODEL = PropensityModel(choice={"first": "uniform", "second": "uniform"}, staying={"outcome": "1"})
FRAME = pd.DataFrame(
    {"x": [1, 2, 3, 4, 5.0], "A1": list("aabba"), "A2": list("ababa"), "Y": [1.0, 2.0, 3.0, None, None]}
)


def cohort() -> Cohort:
    return Cohort.from_frame(FRAME, DESIGN, arms=["A1", "A2"], outcome="Y")


def test_coefficients_are_those_of_plain_least_squares_with_the_largest_q_as_target() -> None:
    sample = everything(200, np.random.default_rng(2))

    stages = backward_induction(sample)

    target = sample.outcome.copy()
    for m in (2, 1, 0):
        for a in range(3):
            rows = np.flatnonzero(sample.rows[m][:, a])
            root = np.sqrt(sample.weights[rows])
            expected = np.linalg.lstsq(sample.features[m][rows] * root[:, None], target[rows] * root, rcond=None)[0]
            assert stages[m].coefficients[a] == pytest.approx(expected, rel=1e-9)
        for unit in np.flatnonzero(sample.entered[:, m]):
            feasible = np.flatnonzero(sample.feasible[m][unit])
            q = {int(a): float(stages[m].coefficients[a] @ sample.features[m][unit]) for a in feasible}
            target[unit] = max(q.values())
            assert stages[m].best[unit] == max(q, key=q.__getitem__)
        assert (stages[m].best[~sample.entered[:, m]] == -1).all()


@pytest.mark.parametrize(("dropouts", "counted"), [("imputed", [5, 3]), ("complete", [3, 3]), ("weighted", [3, 3])])
def test_what_drop_outs_contribute_is_as_asked(dropouts: str, counted: list[int]) -> None:
    known = cohort().with_propensities(MODEL)

    sample = sample_of(known, dropouts)  # type: ignore[arg-type]  # a parameter

    assert [int(rows.sum()) for rows in sample.rows] == counted


def test_weights_are_divided_by_the_probability_of_staying() -> None:
    known = cohort().with_propensities(MODEL)
    assert known.propensities is not None

    sample = sample_of(known, "weighted")

    assert sample.weights == pytest.approx(1 / known.propensities.staying)


def test_without_probabilities_of_staying_weighting_is_refused() -> None:
    with pytest.raises(dtr.DesignError, match="needs the probabilities of staying"):
        sample_of(cohort(), "weighted")


def test_a_fixed_regime_has_its_own_arms_as_targets() -> None:
    sample = everything(200, np.random.default_rng(4))
    best = np.stack([stage.best for stage in backward_induction(sample)], axis=1)
    first = np.stack([np.where(sample.entered[:, m], sample.feasible[m].argmax(axis=1), -1) for m in range(3)], axis=1)

    same, other = backward_induction(sample, best), backward_induction(sample, first)

    for stage, usual in zip(same, backward_induction(sample), strict=True):
        assert stage.coefficients == pytest.approx(usual.coefficients)
    q = (sample.features[2] * other[2].coefficients[first[:, 2]]).sum(axis=1)
    target = np.where(sample.entered[:, 2], q, sample.outcome)
    rows = other[1].rows[0]
    expected = regress(sample.features[1][rows], target[rows], sample.weights[rows]).coefficients
    assert other[1].coefficients[0] == pytest.approx(expected)
    assert np.array_equal(other[1].best, first[:, 1])
