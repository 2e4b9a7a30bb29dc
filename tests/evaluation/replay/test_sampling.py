"""Which rows a replay offers: draws by weight, passes without repetition, and where weights come from."""

from __future__ import annotations

from dataclasses import replace as with_other

import numpy as np
import pytest

import dtrbandit as dtr
from dtrbandit.evaluation.cohort.cohort import Cohort
from dtrbandit.evaluation.replay.sampling import drawn_rows, sampling_weights, shuffled_rows, unequal
from evaluation.replay_worlds import two_stage_cohort


def test_rows_are_drawn_in_proportion_to_their_weights() -> None:
    """100,000 draws: each row's share within 5 standard deviations; weight 0 never comes."""
    cohort = two_stage_cohort(20)
    weights = np.arange(20.0) * (np.arange(20) != 7)
    weighting = sampling_weights(cohort, weights)
    blocks = drawn_rows(weighting, np.random.default_rng(0))

    rows = np.concatenate([next(blocks) for _ in range(25)])

    share = weights / weights.sum()
    counts = np.bincount(rows, minlength=20)
    assert (np.abs(counts - len(rows) * share) <= 5 * np.sqrt(len(rows) * share)).all()
    assert counts[0] == counts[7] == 0


def test_a_pass_offers_each_row_once_and_keeps_it_in_proportion_to_its_weight() -> None:
    """4,000 passes: each row's share of passes within 5 standard deviations of its weight over the largest."""
    cohort = two_stage_cohort(20)
    weights = 1.0 + np.arange(20.0)
    weighting, rng = sampling_weights(cohort, weights), np.random.default_rng(1)
    passes = [next(shuffled_rows(weighting, rng)) for _ in range(4_000)]

    assert all(len(set(rows)) == len(rows) for rows in passes)
    share = np.minimum(weights / weights[weighting.usable].max(), 1.0)
    counts = np.bincount(np.concatenate(passes), minlength=20)
    assert (np.abs(counts - 4_000 * share) <= 5 * np.sqrt(4_000 * share * (1 - share)) + 1e-9).all()


def test_a_pass_with_equal_weights_offers_every_row() -> None:
    cohort = two_stage_cohort(20)

    (rows,) = shuffled_rows(sampling_weights(cohort, None), np.random.default_rng(0))

    assert sorted(rows) == list(range(20))


def test_without_weights_those_of_the_propensities_are_used_times_case_weights() -> None:
    cohort = two_stage_cohort(30)
    case = np.where(np.arange(30) < 10, 2.0, 1.0)

    assert (sampling_weights(cohort, None).weights == 1).all()
    heavier = with_other(cohort, weights=case)
    assert (sampling_weights(heavier, None).weights == case).all()
    assert "case weights" in sampling_weights(heavier, None).words
    weighted = heavier.with_propensities(dtr.PropensityModel(penalty=1.0))
    assert weighted.propensities is not None
    assert (sampling_weights(weighted, None).weights == case / weighted.propensities.probability).all()
    assert "1/p" in sampling_weights(weighted, None).words
    assert (sampling_weights(weighted, np.full(30, 3.0)).weights == 3).all()


def test_effective_sample_size_and_largest_weight_leave_out_drop_outs() -> None:
    cohort = two_stage_cohort(60)
    assert cohort.dropped_out.any()
    weights = np.where(cohort.dropped_out, 1e6, 1.0)

    weighting = sampling_weights(cohort, weights)

    usable = (~cohort.dropped_out).sum()
    assert weighting.effective_sample_size == pytest.approx(usable)
    assert weighting.largest_weight == pytest.approx(1 / usable)


def coins(n: int, shares: list[float], *, leavers: bool = False) -> Cohort:
    """Draw units with two stages whose plans have these shares; where some leave, a third does."""
    rng = np.random.default_rng(0)
    second = dtr.Stage("second", ("a", "b"), "1 + z", enter_if="z < 9")
    design = dtr.Design([dtr.Stage("first", ("a", "b"), "1 + x"), second])
    arms = np.array(design.arm_plans, dtype=np.int8)[rng.choice(4, p=shares, size=n)]
    z = np.where(leavers & (rng.random(n) < 1 / 3), 9.0, rng.normal(size=n))
    arms[z == 9, 1] = -1
    contexts = {"x": rng.normal(size=n)}, {"z": z}
    return Cohort(design, tuple(map(str, range(n))), contexts, arms, rng.normal(size=n), np.ones(n))


EVEN, UNEVEN = [0.25] * 4, [0.4, 0.2, 0.2, 0.2]


def test_equal_weights_are_cautioned_about_where_units_leave_or_plans_are_not_equally_frequent() -> None:
    assert unequal(coins(400, EVEN)) is None
    assert "left early" in str(unequal(coins(400, EVEN, leavers=True)))
    assert "plans were not equally frequent" in str(unequal(coins(400, UNEVEN)))


def test_weights_that_are_given_or_estimated_are_not_cautioned_about() -> None:
    cohort = coins(400, UNEVEN, leavers=True)

    assert sampling_weights(cohort, None).caution is not None
    assert sampling_weights(cohort, np.ones(400)).caution is None
    assert sampling_weights(cohort.with_propensities(dtr.PropensityModel()), None).caution is None


@pytest.mark.parametrize(("more", "cautioned"), [(38, False), (39, True)])
def test_plans_are_plainly_uneven_where_chi_squared_exceeds_its_quantile(more: int, cautioned: bool) -> None:
    """χ² is 2·more²/200, and 15.137 is exceeded with a probability of 0.0001 (one degree of freedom, tables)."""
    design, counts = dtr.Design([dtr.Stage("only", ("a", "b"), "1 + x")]), [200 + more, 200 - more]
    arms = np.repeat([0, 1], counts)[:, None]
    cohort = Cohort(design, tuple(map(str, range(400))), ({"x": np.zeros(400)},), arms, np.zeros(400), np.ones(400))

    assert (unequal(cohort) is not None) == cautioned


def test_fair_coins_are_rarely_taken_for_unfair() -> None:
    """In 0.01 % of the cases; here in none of 300."""
    design, rng = coins(8, EVEN).design, np.random.default_rng(5)
    plans = np.array(design.arm_plans, dtype=np.int8)

    for _ in range(300):
        arms = plans[rng.integers(4, size=100)]
        contexts = {"x": np.zeros(100)}, {"z": np.zeros(100)}
        assert unequal(Cohort(design, tuple(map(str, range(100))), contexts, arms, np.zeros(100), np.ones(100))) is None


@pytest.mark.filterwarnings("ignore::dtrbandit.evaluation.EqualWeights")
def test_the_caution_is_right_equal_weights_mistake_leavers_for_everybody() -> None:
    """A leaver has Y = 1, all others 0, and a third leave: equal weights say 2s / (1 + s) = ½."""
    cohort = coins(6_000, EVEN, leavers=True)
    cohort = with_other(cohort, outcome=(cohort.arms[:, 1] < 0).astype(np.float64))
    rule = dtr.FixedRegime(rule={"first": "a", "second": "b"})

    wrong = dtr.replay(rule, cohort, horizon=3_000, paths=2)
    right = dtr.replay(rule, cohort.with_propensities(dtr.PropensityModel()), horizon=3_000, paths=2)

    assert wrong.caution is not None
    assert wrong.value == pytest.approx(1 / 2, abs=0.03)
    assert right.value == pytest.approx(1 / 3, abs=0.03)
