"""Which interval a stage has, and that it covers."""

from __future__ import annotations

import numpy as np
import pytest

from dtrbandit.errors import DesignError
from dtrbandit.evaluation.qlearning.induction import Sample, backward_induction
from dtrbandit.evaluation.qlearning.uncertainty import Bootstrap, Uncertainty
from evaluation.qlearning.samples import smart

DIFFERENCE = np.array([[[-1.0, 0.0], [1.0, 0.0]]])


def of(sample: Sample, **how: object) -> Uncertainty:
    return Uncertainty(sample, backward_induction(sample), Bootstrap(**how))  # type: ignore[arg-type]  # parameters


def test_a_regular_stage_has_the_sandwich_and_another_the_bootstrap() -> None:
    regular, not_regular = (of(smart(200, psi, np.random.default_rng(1))) for psi in (5.0, 0.0))

    assert regular.intervals(0, DIFFERENCE).method == "sandwich"
    assert not_regular.intervals(0, DIFFERENCE).method == "m-out-of-n"
    last = np.zeros((1, 2, 4))
    last[0, :, 0] = -1.0, 1.0
    assert not_regular.intervals(1, last).method == "sandwich"


def test_the_sandwich_is_the_estimate_and_two_errors() -> None:
    found = of(smart(200, 5.0, np.random.default_rng(1))).intervals(0, DIFFERENCE)

    assert found.high - found.low == pytest.approx(2 * 1.959964 * found.std_errors)
    assert (found.high + found.low) / 2 == pytest.approx(found.estimates)


def test_estimates_that_are_not_regular_have_an_interval_and_no_standard_error() -> None:
    known = of(smart(200, 0.0, np.random.default_rng(1)))

    found = known.intervals(0, DIFFERENCE)

    assert np.isnan(found.std_errors).all()
    assert np.isfinite([found.low, found.high]).all()
    assert known.std_errors(0, DIFFERENCE) > 0  # the sandwich's own, for comparison


def test_the_bootstrap_depends_on_its_seed_alone() -> None:
    sample = smart(200, 0.0, np.random.default_rng(1))

    first, again, other = (of(sample, seed=seed).intervals(0, DIFFERENCE) for seed in (1, 1, 2))

    assert (first.low, first.high) == (again.low, again.high)
    assert first.low != other.low


def test_resamples_serve_all_combinations() -> None:
    uncertainty = of(smart(200, 0.0, np.random.default_rng(1)))

    arms = uncertainty.intervals(0, np.concatenate([DIFFERENCE, -DIFFERENCE]))

    assert arms.low[0] == pytest.approx(-arms.high[1])


def test_too_few_units_have_no_interval() -> None:
    found = of(smart(16, 0.0, np.random.default_rng(1))).intervals(0, DIFFERENCE)

    assert found.method == "none"
    assert np.isnan([found.low, found.high]).all()


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"xi": -1}, "xi must be a finite number"),
        ({"resamples": 10}, "resamples"),
        ({"double": 1}, "double"),
        ({"seed": -1}, "seed must be a whole number"),
        ({"n_jobs": 0}, "n_jobs must be None or a whole number other than 0"),
    ],
)
def test_strange_parameters_are_refused(how: dict[str, object], message: str) -> None:
    with pytest.raises(DesignError, match=message):
        Bootstrap(**how)  # type: ignore[arg-type]  # wrong on purpose


def test_an_arm_without_standard_errors_leaves_the_others_theirs() -> None:
    sample = smart(200, 5.0, np.random.default_rng(1))
    sample.rows[1][np.flatnonzero(sample.rows[1][:, 1])[1:], 1] = False  # one row for four features
    each = np.eye(8).reshape(8, 2, 4)

    found = of(sample).intervals(1, each)

    assert np.isfinite(found.std_errors[:4]).all()
    assert np.isnan(found.std_errors[4:]).all()
    assert np.isnan(of(sample).intervals(1, each[:1] - each[4:5]).std_errors).all()


def test_standard_errors_are_the_sum_of_squared_influences() -> None:
    known = of(smart(200, 5.0, np.random.default_rng(1)))

    errors = known.intervals(0, DIFFERENCE).std_errors

    own = np.einsum("lad,iad->il", DIFFERENCE, known.influences[0])
    assert errors == pytest.approx(np.sqrt((own**2).sum(axis=0)))
