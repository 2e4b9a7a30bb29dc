"""Verdicts follow from an interval and what is allowed."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from dtrbandit.reproduce.claims import (
    ENOUGH,
    FEWEST,
    Claim,
    Measured,
    Verdict,
    Whose,
    bonferroni_level,
    exactly,
    highest,
    judged,
    median,
    ratio_of_means,
    share,
    together,
)

NUMBERS = st.floats(-10, 10)


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [
        (0.2, 0.4, Verdict.HOLDS),
        (0.6, 0.7, Verdict.REFUTED),
        (0.4, 0.6, Verdict.OPEN),
        (0.5, 0.5, Verdict.OPEN),
        (-math.inf, 0.4, Verdict.HOLDS),
        (-math.inf, math.inf, Verdict.OPEN),
        (math.nan, math.nan, Verdict.OPEN),
    ],
)
def test_one_side_is_allowed(low: float, high: float, verdict: Verdict) -> None:
    assert judged(Measured(0.5, low, high), below=0.5) == verdict
    assert judged(Measured(-0.5, -high, -low), above=-0.5) == verdict


@given(NUMBERS, NUMBERS, NUMBERS, NUMBERS)
def test_within_holds_outside_is_refuted_and_all_else_cannot_be_told(a: float, b: float, c: float, d: float) -> None:
    (low, high), (least, most) = sorted((a, b)), sorted((c, d))

    verdict = judged(Measured((low + high) / 2, low, high), above=least, below=most)

    assert (verdict is Verdict.HOLDS) == (least < low and high < most)
    assert (verdict is Verdict.REFUTED) == (high < least or most < low)


def test_parts_hold_together_and_one_that_is_refuted_refutes() -> None:
    holds, refuted, open_ = Verdict.HOLDS, Verdict.REFUTED, Verdict.OPEN

    assert together([holds, holds]) is holds
    assert together([holds, open_]) is open_
    assert together([open_, refuted, holds]) is refuted
    assert (exactly(True), exactly(False)) == (holds, refuted)


def test_only_what_holds_is_a_tick_and_a_record_keeps_the_contract() -> None:
    claims = [Claim("It learns", "1", "2", verdict, Whose.OURS) for verdict in Verdict]

    assert [claim.verdict.mark for claim in claims] == ["✓", "✗", "?"]
    assert [(claim.holds, claim.refuted) for claim in claims] == [(True, False), (False, True), (False, False)]
    assert list(claims[0].record()) == ["claim", "measured", "allowed", "holds", "verdict", "whose"]
    assert [claim.record()["verdict"] for claim in claims] == ["holds", "refuted", "cannot be told"]
    assert claims[0].record()["whose"] == "ours"
    assert Claim("", "", "", Verdict.HOLDS).record()["whose"] == "the paper's"


def test_a_number_is_shown_with_its_interval_or_with_the_reason_why_there_is_none() -> None:
    assert f"{Measured(1.25, 1.0, 1.5, 'about 90 %'):.2f}" == "1.25 (1.00 to 1.50, about 90 %)"
    assert f"{Measured(1.25, math.nan, math.nan, 'too few'):.1f}" == "1.2 (too few)"


def test_the_highest_has_the_highest_limit_or_value() -> None:
    assert highest({"a": Measured(1, 0, 3), "b": Measured(2, 1, 2.5)})[1] == " (highest limit: a)"
    assert (
        highest({"a": Measured(1, math.nan, math.nan), "b": Measured(2, math.nan, math.nan)})[1]
        == " (highest limit: b)"
    )
    assert highest({"a": Measured(1, 0, 3)}) == ((1, 0, 3, ""), "")


@given(st.integers(1, 80), st.floats(0, 1), st.sampled_from([0.9, 0.95, 0.99]))
def test_shares_have_the_exact_binomial_interval(paths: int, part: float, level: float) -> None:
    count = round(part * paths)

    found = share(np.arange(paths) < count, level=level)

    exact = stats.binomtest(count, paths).proportion_ci(level, method="exact")
    assert found.value == count / paths
    assert (found.low, found.high) == pytest.approx((exact.low, exact.high), abs=1e-9)


@given(st.integers(6, 5_000), st.sampled_from([0.9, 0.95, 0.99]))
def test_the_median_lies_between_its_order_statistics_with_the_binomial_probability(paths: int, level: float) -> None:
    found = median(np.arange(1.0, paths + 1), level=level)

    below, above = int(found.low), int(paths + 1 - found.high)  # the k-th and the k-th last
    assert below == above
    assert 2 * stats.binom.cdf(below - 1, paths, 0.5) <= 1 - level < 2 * stats.binom.cdf(below, paths, 0.5)


def test_medians_may_be_infinite_and_need_six_paths() -> None:
    found = median(np.array([-np.inf] * 20 + [1.0] * 5 + [np.inf] * 15))

    assert (found.low, found.high) == (-np.inf, np.inf)
    assert math.isnan(median(np.arange(5.0)).low)
    assert "too few for an interval: 5 paths" in median(np.arange(5.0)).remark


def test_fewer_than_a_thousand_paths_have_no_interval_for_a_mean_and_say_so() -> None:
    few, some, many = (
        ratio_of_means(*np.random.default_rng(0).gamma(4, size=(2, n))) for n in (FEWEST - 1, FEWEST, ENOUGH)
    )

    assert math.isnan(few.low)
    assert few.remark == "no interval: 999 paths, means need 1,000"
    assert some.remark == "about 90 %"
    assert many.remark == ""
    assert some.low < 1 < some.high
    assert ratio_of_means(2 * np.ones(FEWEST), np.ones(FEWEST))[:3] == (2.0, 2.0, 2.0)
    assert ratio_of_means(np.zeros(FEWEST), np.ones(FEWEST)).remark == "no interval: a mean of 0"


def test_the_interval_of_a_ratio_is_that_of_a_naive_bootstrap_t() -> None:
    """Resample by resample; other resamples, so limits agree to a tenth of the width."""
    rng = np.random.default_rng(1)
    over, under = rng.lognormal(0, 1, (2, FEWEST)) * [[2.0], [1.0]]

    found = ratio_of_means(over, under)

    def log_ratio(rows: NDArray[np.int64]) -> tuple[float, float]:
        a, b = over[rows], under[rows]
        influence = a / a.mean() - b / b.mean()
        return float(np.log(a.mean() / b.mean())), float(np.sqrt((influence**2).sum()) / len(rows))

    value, error = log_ratio(np.arange(FEWEST))
    draws = [log_ratio(rng.integers(FEWEST, size=FEWEST)) for _ in range(2_000)]
    upper, lower = np.quantile([(each - value) / own for each, own in draws], [0.975, 0.025])
    naive = np.exp([value - upper * error, value - lower * error])
    assert found.value == pytest.approx(np.exp(value))
    assert (found.low, found.high) == pytest.approx(naive, abs=0.1 * (naive[1] - naive[0]))


def test_ratios_of_skewed_means_are_covered() -> None:
    """One path in fifty loses eleven times as much; 200 samples of 1,000 paths, band: at least .90 − 2 errors = .86."""
    rng, inside = np.random.default_rng(2), 0
    for _ in range(200):
        over, under = rng.gamma(4, 0.25, (2, FEWEST)) + 10 * (rng.random((2, FEWEST)) < 0.02)
        found = ratio_of_means(over, under)
        inside += found.low < 1 < found.high

    assert inside >= 0.86 * 200


def test_levels_of_several_intervals_are_bonferroni() -> None:
    assert bonferroni_level(1) == pytest.approx(0.95)
    assert bonferroni_level(5) == pytest.approx(0.99)
