"""Backward induction, and models of staying in resamples."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import dtrbandit as dtr
from dtrbandit.evaluation import Cohort, PropensityModel
from dtrbandit.evaluation.induction.induction import backward_induction, sample_of, staying_of
from dtrbandit.evaluation.induction.regression import regress
from dtrbandit.evaluation.qlearning.bootstrap import Double, choose_xi, refitted, resampled
from effort import scaled
from evaluation.qlearning.samples import everything
from evaluation.simulated_cohorts import cohort_of
from evaluation.values.known_truth import RIGHT, trial

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


N = 250
SMALL = dtr.Design([dtr.Stage("only", ("a", "b"), "1 + x")])

BY_X = PropensityModel(choice={"only": "uniform"}, staying={"outcome": "1 + x"})


def of(cohort: Cohort, units: NDArray[np.int64]) -> Cohort:
    """Return a cohort of some units, which may repeat, without propensities."""
    return replace(
        cohort,
        units=tuple(map(str, range(len(units)))),
        contexts=tuple({name: values[units] for name, values in context.items()} for context in cohort.contexts),
        arms=cohort.arms[units],
        outcome=cohort.outcome[units],
        weights=cohort.weights[units],
        propensities=None,
    )


def counted(units: NDArray[np.int64], n: int) -> NDArray[np.float64]:
    return np.bincount(units, minlength=n).astype(np.float64)


@pytest.mark.filterwarnings("ignore::dtrbandit.evaluation.weights.ExtremeWeights")
@settings(max_examples=scaled(12), deadline=None)
@given(
    seed=st.integers(0, 10_000),
    penalty=st.sampled_from([0.0, 2.0]),
    clip=st.sampled_from([None, (0.8, 0.95)]),
    first=st.integers(0, 1),
)
def test_a_refit_from_counts_fits_staying_as_a_cohort_of_the_resampled_units_does(
    seed: int, penalty: float, clip: tuple[float, float] | None, first: int
) -> None:
    rng = np.random.default_rng(seed)
    weights = rng.uniform(0.5, 2.0, N)
    cohort = replace(trial(N, rng), weights=weights)
    model = replace(RIGHT, penalty=penalty, clip=(1 - clip[1], clip[1]) if clip else None)
    drawn = [rng.integers(N, size=N) for _ in range(3)]
    counts = np.array([counted(units, N) for units in drawn])
    sample = sample_of(cohort.with_propensities(model), "weighted")

    found, whole = refitted(sample, counts, first)

    for coefficients, determined, units in zip(found, whole, drawn, strict=True):
        if not determined:
            continue
        plain = sample_of(of(cohort, units).with_propensities(model), "weighted")
        assert coefficients == pytest.approx(backward_induction(plain)[first].coefficients, rel=1e-5, abs=1e-7)
    assert whole.sum() >= 2


def test_known_weights_would_give_other_refits() -> None:
    rng = np.random.default_rng(5)
    cohort = trial(N, rng).with_propensities(RIGHT)
    sample, counts = sample_of(cohort, "weighted"), counted(rng.integers(N, size=N), N)[None]

    anew, known = (refitted(each, counts, 0)[0] for each in (sample, sample._replace(staying=None)))

    assert np.abs(anew - known).max() > 1e-3


def test_other_ways_with_drop_outs_have_no_model_of_staying() -> None:
    cohort = trial(N, np.random.default_rng(5)).with_propensities(RIGHT)

    assert sample_of(cohort, "weighted").staying is not None
    assert sample_of(cohort, "imputed").staying is None
    assert sample_of(cohort, "complete").staying is None


def lossy(lost: list[int], x: list[float]) -> Cohort:
    outcome = np.arange(len(x), dtype=np.float64)
    outcome[lost] = np.nan
    arms = np.tile([0, 1], len(x) // 2)[:, None]
    return cohort_of(SMALL, [{"x": np.array(x)}], arms, outcome)


def test_a_resample_that_lost_nobody_is_certain_of_staying() -> None:
    cohort = lossy([1, 4], [0, 1, 2, 3, 4, 5, 6, 7]).with_propensities(BY_X)
    staying = staying_of(cohort.propensities, cohort.weights)  # type: ignore[arg-type]  # there are some

    weights, whole = staying.weights(np.array([[1.0, 0, 1, 1, 0, 1, 1, 1]]))

    assert weights[0].tolist() == [1.0] * 8
    assert whole.all()


def test_a_resample_whose_drop_outs_are_separated_is_told() -> None:
    cohort = lossy([1, 4, 5], [0, 1, 2, 3, 4, 5, 6, 7]).with_propensities(BY_X)
    staying = staying_of(cohort.propensities, cohort.weights)  # type: ignore[arg-type]  # there are some
    separated, nobody, mixed = [1.0, 3, 0, 1, 0, 0, 1, 1], [0.0, 1, 0, 0, 1, 2, 0, 0], [1.0] * 8
    separated[0] = 0.0  # x = 1 is lost, and all above are kept

    _, whole = staying.weights(np.array([separated, nobody, mixed]))

    assert whole.tolist() == [False, False, True]


def test_the_bootstraps_fit_staying_anew() -> None:
    rng = np.random.default_rng(1)
    sample = sample_of(trial(300, rng).with_propensities(RIGHT), "weighted")

    drawn, _ = resampled(sample, 0, size=300, resamples=50, seed=(2,))
    known, _ = resampled(sample._replace(staying=None), 0, size=300, resamples=50, seed=(2,))

    assert drawn.shape == known.shape == (50, 3, 2)
    assert not np.allclose(drawn, known)
    coefficients = backward_induction(sample)[0].coefficients
    part = np.zeros((1, 3, 2))
    part[0, 0, 0] = 1.0
    double = Double(sample, 0, part, coefficients[:1, 0], inner=30, seed=0)
    assert 0.5 < choose_xi(double, outer=20).share[0] <= 1.0
