"""Values of regimes as weighted means, against sums by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import dtrbandit as dtr
from dtrbandit.errors import NotEstimable
from dtrbandit.evaluation import Cohort
from dtrbandit.evaluation.propensities.model import PropensityModel
from dtrbandit.evaluation.values.adherence import (
    agrees,
    decisions,
    inverse_weights,
    known_propensities,
    regime_risk_sets,
)
from dtrbandit.evaluation.values.weighting import hajek, logging_value, projected, regime_value, weighted_mean
from dtrbandit.policies.fixed_regime import Rule
from evaluation.simulated_cohorts import cohort_of, expit, stard_like
from evaluation.values.tiny import ALWAYS_A, TWELVE, coins

RULE: Rule = {
    "first": {"ssri": [-0.73, 0.01, 0.01, -0.67], "other": [0, 0, 0, 0]},
    "second": {"ssri": [-0.18, -0.01, -0.25, 0], "other": [0, 0, 0, 0]},
}


@pytest.fixture(scope="module")
def cohort() -> Cohort:
    return stard_like(1260, seed=4).with_propensities(PropensityModel())


def test_logging_is_the_mean_of_outcomes_divided_by_the_probability_of_staying(cohort: Cohort) -> None:
    assert cohort.propensities is not None
    y, stayed = cohort.outcome[~cohort.dropped_out], cohort.propensities.staying[~cohort.dropped_out]

    found = logging_value(cohort)

    assert found.value == pytest.approx((y / stayed).sum() / (1 / stayed).sum())
    assert found.units == len(y)
    assert found.effective_sample_size == pytest.approx((1 / stayed).sum() ** 2 / (1 / stayed**2).sum())


def test_logging_needs_no_propensities_where_nobody_dropped_out(cohort: Cohort) -> None:
    weights = np.arange(1.0, len(cohort) + 1)
    whole = replace(cohort, outcome=np.arange(0.0, len(cohort)), weights=weights, propensities=None)

    assert logging_value(whole).value == pytest.approx(np.average(whole.outcome, weights=weights))


def plainly_agree(cohort: Cohort) -> list[bool]:
    start1, slope1, preference1 = cohort.contexts[0].values()
    second = cohort.contexts[1]
    agree = []
    for i, (first, then) in enumerate(cohort.arms.tolist()):
        want = 0 if -0.73 + 0.01 * start1[i] + 0.01 * slope1[i] - 0.67 * preference1[i] > 0 else 1
        later = 0 if -0.18 - 0.01 * second["qids_start2"][i] - 0.25 * second["qids_slope2"][i] > 0 else 1
        agree.append(first == want and then in (-1, 1 if first == 1 else later))
    return agree


def test_the_value_of_a_regime_is_the_weighted_mean_of_those_who_agree_with_it(cohort: Cohort) -> None:
    assert cohort.propensities is not None
    regime = dtr.FixedRegime(rule=RULE)
    same = np.array(plainly_agree(cohort))

    found = regime_value(cohort, regime)

    assert np.array_equal(agrees(cohort, regime), same)
    counted = same & ~cohort.dropped_out
    weights = 1 / cohort.propensities.probability[counted]
    assert found.value == pytest.approx((weights * cohort.outcome[counted]).sum() / weights.sum())
    assert found.units == counted.sum()
    assert found.largest_weight == pytest.approx(weights.max() / weights.sum())
    assert str(found).startswith(f"{found.value:.4g} from {counted.sum()} units (effective sample size")


def test_a_rule_that_is_a_function_agrees_with_the_same_units(cohort: Cohort) -> None:
    def always_other(_: object) -> str:
        return "other"

    assert np.array_equal(agrees(cohort, dtr.FixedRegime(rule=always_other)), (cohort.arms != 0).all(axis=1))


def test_case_weights_count_as_so_many_units(cohort: Cohort) -> None:
    twice = replace(cohort, weights=np.where(np.arange(len(cohort)) % 2, 2.0, 1.0))

    value = weighted_mean(twice, twice.weights, ~twice.dropped_out).value

    seen = ~twice.dropped_out
    rows = np.concatenate([twice.outcome[seen], twice.outcome[seen & (twice.weights == 2)]])
    assert value == pytest.approx(rows.mean())


def test_logging_and_regimes_are_weighted_by_case_weights_too(cohort: Cohort) -> None:
    twice = replace(cohort, weights=np.where(np.arange(len(cohort)) % 2, 2.0, 1.0))
    assert twice.propensities is not None
    seen, agree = ~twice.dropped_out, ~twice.dropped_out & np.array(plainly_agree(cohort))

    for found, chosen, p in (
        (logging_value(twice), seen, twice.propensities.staying),
        (regime_value(twice, dtr.FixedRegime(rule=RULE)), agree, twice.propensities.probability),
    ):
        own = twice.weights[chosen] / p[chosen]
        assert found.value == pytest.approx((own * twice.outcome[chosen]).sum() / own.sum())


def test_a_mean_over_nobody_is_refused(cohort: Cohort) -> None:
    with pytest.raises(NotEstimable, match="none of the 1260 units is among those to be averaged and has an outcome"):
        weighted_mean(cohort, cohort.weights, cohort.dropped_out)


def test_a_cohort_without_propensities_is_told_how_to_get_them(cohort: Cohort) -> None:
    bare = replace(cohort, propensities=None)

    with pytest.raises(dtr.DesignError, match=r"use cohort.with_propensities\(PropensityModel\(\)\)"):
        logging_value(bare)
    with pytest.raises(dtr.DesignError, match="the cohort has no propensities"):
        regime_value(bare, dtr.FixedRegime(rule=RULE))


# -- Weighted means and their standard errors, against sums by hand


X = dtr.Design([dtr.Stage("only", arms=("a", "b"), features="1 + x")])


def found(cohort: Cohort) -> tuple[float, np.ndarray]:
    return hajek(cohort, inverse_weights(cohort, regime_risk_sets(cohort, decisions(cohort, ALWAYS_A))))


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
