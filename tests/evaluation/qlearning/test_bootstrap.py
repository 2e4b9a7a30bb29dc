"""The m-out-of-n bootstrap: its refits are refits, and its limits are the reflected quantiles."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dtrbandit.errors import NotEstimable
from dtrbandit.evaluation.qlearning import bootstrap
from dtrbandit.evaluation.qlearning.bootstrap import refitted, reflected, resample_size, resampled
from dtrbandit.evaluation.qlearning.induction import Sample, backward_induction
from effort import scaled
from evaluation.qlearning.samples import everything, smart


@settings(max_examples=scaled(25), deadline=None)
@given(seed=st.integers(0, 10_000), size=st.integers(150, 300), first=st.integers(0, 2))
def test_a_refit_from_counts_is_backward_induction_on_the_resampled_units(seed: int, size: int, first: int) -> None:
    rng = np.random.default_rng(seed)
    sample = everything(300, rng)
    drawn = [rng.integers(300, size=size) for _ in range(3)]
    counts = np.array([np.bincount(units, minlength=300) for units in drawn], dtype=np.float64)

    found, whole = refitted(sample, counts, first)

    assert whole.all()
    for coefficients, units in zip(found, drawn, strict=True):
        plain = backward_induction(sample.of(units))[first].coefficients
        assert coefficients == pytest.approx(plain, rel=1e-6, abs=1e-8)


def test_resamples_that_lose_a_feature_are_redrawn() -> None:
    sample = smart(60, 1.0, np.random.default_rng(1))
    features = sample.features[1].copy()
    features[:, 2] = 0.0
    for arm in (
        0,
        1,
    ):  # five units of each differ; none of them is in (1 − 5/60)^60 = 0.5 % of resamples
        features[np.flatnonzero(sample.rows[1][:, arm])[:5], 2] = 1.0
    sample = sample._replace(features=(sample.features[0], features))

    found, redrawn = resampled(sample, 0, size=60, resamples=2_000, seed=(2,))

    assert found.shape == (2_000, 2, 2)
    assert np.isfinite(found).all()
    assert 1 <= redrawn < 60


def test_too_many_redraws_are_refused() -> None:
    sample = smart(12, 1.0, np.random.default_rng(1))

    with pytest.raises(NotEstimable, match="some arm cannot be fitted; the bootstrap needs more units"):
        resampled(sample, 0, size=12, resamples=500, seed=(2,))


def test_limits_are_the_estimate_less_the_quantiles_of_the_deviations() -> None:
    estimates = np.array([10.0, 0.0])
    drawn = estimates + np.arange(1001)[:, None] * [1.0, -1.0]  # deviations 0 to 1000, and their negatives

    low, high = reflected(estimates, drawn)

    assert low == pytest.approx([10 - 975.0, 25.0])
    assert high == pytest.approx([10 - 25.0, 975.0])


def test_a_regular_sample_is_resampled_whole_and_others_in_part() -> None:
    assert resample_size(300, 0.0, 0.1) == 300
    assert resample_size(300, 1.0, 0.1) == int(300 ** (1 / 1.1))


def test_the_same_seed_gives_the_same_resamples() -> None:
    sample: Sample = smart(100, 0.0, np.random.default_rng(1))

    found = [resampled(sample, 0, size=80, resamples=50, seed=(4,))[0] for _ in range(2)]

    assert np.array_equal(found[0], found[1])


@pytest.mark.parametrize("jobs", [1, 2])
def test_batches_give_the_same_resamples_in_any_number_of_processes(jobs: int) -> None:
    """Each of three batches is fitted as it would be alone, from its own stream, and they keep their order."""
    sample = smart(100, 0.0, np.random.default_rng(1))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bootstrap, "AT_A_TIME", 2_000)
        found, redrawn = resampled(sample, 0, size=80, resamples=50, seed=(4,), n_jobs=jobs)

    plain = []
    for number, count in enumerate((20, 20, 10)):
        rng = np.random.default_rng([4, number])
        plain += [backward_induction(sample.of(units))[0].coefficients for units in rng.integers(100, size=(count, 80))]
    assert found == pytest.approx(np.array(plain))
    assert redrawn == 0


def test_redraws_of_all_batches_count_together() -> None:
    """A batch of one resample may be drawn again as often as the whole; all of them together may not."""
    sample = smart(14, 1.0, np.random.default_rng(1))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bootstrap, "AT_A_TIME", 14)
        with pytest.raises(NotEstimable, match="of 14 units some arm cannot be fitted"):
            resampled(sample, 0, size=14, resamples=200, seed=(2,))


def test_progress_is_told_by_batches(capsys: pytest.CaptureFixture[str]) -> None:
    sample = smart(100, 0.0, np.random.default_rng(1))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bootstrap, "AT_A_TIME", 2_000)
        resampled(sample, 0, size=80, resamples=50, seed=(4,), progress=True)

    assert "batches of 20 resamples: 3 of 3" in capsys.readouterr().err


def test_columns_far_from_zero_are_fitted() -> None:
    """Eight heights: the determinant of their unit columns is 1e-20, though 100 units an arm determine them well."""
    rng = np.random.default_rng(1)
    sample = smart(200, 0.0, rng)
    heights = np.column_stack([np.ones(200), rng.normal(170, 8, (200, 8))])
    sample = sample._replace(features=(sample.features[0], heights))
    units = rng.integers(200, size=200)

    (found,), whole = refitted(sample, np.bincount(units, minlength=200)[None].astype(np.float64), 0)

    assert whole.all()
    assert found == pytest.approx(backward_induction(sample.of(units))[0].coefficients)
    resampled(sample, 0, size=150, resamples=100, seed=(1,))


def test_an_arm_of_which_the_whole_sample_does_not_determine_a_feature_cannot_be_resampled() -> None:
    sample = smart(200, 0.0, np.random.default_rng(1))
    twice = sample.features[1][:, [0, 1, 2, 2]]

    with pytest.raises(NotEstimable, match="some arm cannot be fitted"):
        resampled(
            sample._replace(features=(sample.features[0], twice)),
            0,
            size=200,
            resamples=100,
            seed=(2,),
        )
