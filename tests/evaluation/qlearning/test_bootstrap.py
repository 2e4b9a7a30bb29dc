"""The m-out-of-n bootstrap: for whom it is needed, its resamples, its limits, and ξ by the double bootstrap."""

from __future__ import annotations

from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dtrbandit.errors import NotEstimable
from dtrbandit.evaluation.induction.induction import Sample, backward_induction
from dtrbandit.evaluation.induction.influence import influences
from dtrbandit.evaluation.qlearning import bootstrap
from dtrbandit.evaluation.qlearning.bootstrap import (
    LEVEL,
    NEAR,
    XIS,
    Chosen,
    Double,
    choose_xi,
    chosen_for,
    near_boundary,
    parts_of,
    refitted,
    reflected,
    regularity,
    resample_size,
    resampled,
)
from dtrbandit.evaluation.qlearning.uncertainty import Bootstrap, Uncertainty
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


def test_the_threshold_is_the_quantile_of_chi_squared() -> None:
    assert pytest.approx(10.8276, abs=1e-4) == NEAR


@pytest.mark.parametrize("m", [1, 2])
def test_a_unit_is_near_if_an_arm_cannot_be_told_from_its_best(m: int) -> None:
    sample = everything(300, np.random.default_rng(1))
    stage = backward_induction(sample)[m]
    phi = influences(backward_induction(sample))[m]

    found = near_boundary(stage, sample.feasible[m], phi)

    for unit in range(300):
        near = False
        if stage.best[unit] >= 0:
            psi, best = stage.features[unit], stage.best[unit]
            for arm in np.flatnonzero(sample.feasible[m][unit]):
                gap = psi @ (stage.coefficients[best] - stage.coefficients[arm])
                variance = sum((psi @ (phi[i, best] - phi[i, arm])) ** 2 for i in range(300))
                near |= bool(arm != best and gap**2 <= NEAR * variance)
        assert found[unit] == near
    assert 0 < found.sum() < 300


def test_without_an_effect_everybody_is_near_and_with_a_large_one_nobody() -> None:
    none, large = (smart(300, psi, np.random.default_rng(2)) for psi in (0.0, 5.0))

    assert regularity(none, backward_induction(none), 0).share > 0.95
    assert regularity(large, backward_induction(large), 0) == (300, 0, 0.0)


def test_the_last_stage_is_always_regular() -> None:
    sample = smart(300, 0.0, np.random.default_rng(2))

    assert regularity(sample, backward_induction(sample), 1) == (300, 0, 0.0)


def test_the_share_is_by_weight() -> None:
    sample = everything(300, np.random.default_rng(1))

    found = regularity(sample, backward_induction(sample), 1)

    counted = sample.rows[1].any(axis=1)
    assert found.units == counted.sum()
    assert found.near / found.units != pytest.approx(found.share, abs=1e-3)
    assert 0 < found.share < 1


DIFFERENCE = np.array([[[-1.0, 0.0], [1.0, 0.0]]])


def double(psi: float) -> Double:
    sample = smart(120, psi, np.random.default_rng(3))
    estimates = np.einsum("lad,ad->l", DIFFERENCE, backward_induction(sample)[0].coefficients)
    return Double(sample, 0, DIFFERENCE, estimates, inner=60, seed=1)


def plain_share(asked: Double, xi: float, outer: int) -> float:
    """Return c(ξ), written as it is defined."""
    held, n = 0, len(asked.sample.outcome)
    for number in range(outer):
        own = asked.sample.of(np.random.default_rng([asked.seed, number]).integers(n, size=n))
        stages = backward_induction(own)
        size = resample_size(n, regularity(own, stages, 0).share, xi)
        drawn, _ = resampled(own, 0, size=size, resamples=asked.inner, seed=(asked.seed, number, XIS.index(xi)))
        theta = stages[0].coefficients[1, 0] - stages[0].coefficients[0, 0]
        low, high = reflected(np.array([theta]), drawn[:, 1, :1] - drawn[:, 0, :1])
        held += bool(low[0] <= asked.estimates[0] <= high[0])
    return held / outer


def test_the_first_xi_that_covers_is_chosen() -> None:
    asked = double(0.0)

    found = choose_xi(asked, outer=40)

    xi = float(found.xi[0])
    assert found.share[0] == pytest.approx(plain_share(asked, xi, 40))
    earlier = [plain_share(asked, tried, 40) for tried in XIS if tried < xi]
    assert all(share < LEVEL for share in earlier)
    assert found.share[0] >= LEVEL or xi == XIS[-1]


def test_the_choice_does_not_depend_on_the_number_of_processes() -> None:
    one, two = (choose_xi(double(0.0), outer=10, n_jobs=jobs) for jobs in (1, 2))

    assert one.xi == two.xi
    assert one.share == two.share


def test_the_parts_of_a_stage_are_its_coefficients_and_their_differences_between_arms() -> None:
    parts = parts_of(3, 2)

    assert parts.shape == (3 * 2 + 3 * 2, 3, 2)
    assert {tuple(part.ravel()) for part in parts[:6]} == {tuple(row) for row in np.eye(6)}
    assert parts[6].tolist() == [[-1, 0], [1, 0], [0, 0]]  # b less a, first term
    assert parts[-1].tolist() == [[0, 0], [0, -1], [0, 1]]  # c less b, second term


def test_a_combination_takes_the_largest_xi_of_its_parts() -> None:
    chosen = Chosen(np.arange(1, 13) / 100, 1 - np.arange(1, 13) / 1000)  # six coefficients, b-a, c-a, c-b
    x = np.array([2.0, -3.0])
    asked = np.zeros((5, 3, 2))
    asked[0, 1, 0] = 5.0  # one coefficient: the third
    asked[1, 2], asked[1, 0] = x, -x  # an effect of c against a: parts nine and ten
    asked[2, 0], asked[2, 2] = x, -x  # the same, the other way
    asked[3] = 1.0  # no difference of two arms: all coefficients
    asked[4, 1, 1], asked[4, 2, 1] = -1.0, 1.0  # one difference: the last

    found = chosen_for(chosen, asked)

    assert found.xi == pytest.approx([0.03, 0.10, 0.10, 0.06, 0.12])
    assert found.share == pytest.approx([0.997, 0.990, 0.990, 0.994, 0.988])


def test_xi_is_chosen_once_for_a_stage_whatever_is_asked() -> None:
    asked = double(0.0)
    how = Bootstrap(xi="double", double=20, resamples=100)
    known = Uncertainty(asked.sample, backward_induction(asked.sample), how)
    rng = np.random.default_rng(0)

    with patch("dtrbandit.evaluation.qlearning.uncertainty.choose_xi", wraps=choose_xi) as choosing:
        first = known.intervals(0, DIFFERENCE)
        for count in (1, 700, 3):
            known.intervals(0, rng.normal(size=(count, 2, 2)))

    assert choosing.call_count == 1
    alone = choose_xi(
        Double(asked.sample, 0, DIFFERENCE, first.interval.estimate, how.double, how.seed), outer=how.double
    )
    assert first.xi == alone.xi  # a difference of coefficients has the ξ that is its own
    assert first.held == alone.share


def test_a_fit_can_ask_for_it() -> None:
    asked = double(0.0)
    how = Bootstrap(xi="double", double=20, resamples=100)

    found = Uncertainty(asked.sample, backward_induction(asked.sample), how).intervals(0, DIFFERENCE)

    assert found.method == "m-out-of-n"
    assert found.xi[0] in XIS
    assert found.interval.low[0] < found.interval.estimate[0] < found.interval.high[0]
