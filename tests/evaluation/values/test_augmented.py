"""The augmented estimator: against a plain loop, closed forms, and what is refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import dtrbandit as dtr
from dtrbandit.errors import NotEstimable
from dtrbandit.evaluation import Cohort
from dtrbandit.evaluation.values.adherence import decisions, regime_risk_sets
from dtrbandit.evaluation.values.augmented import Scores, augmented, augmented_scores, fitted_means
from evaluation.simulated_cohorts import cohort_of
from evaluation.values.known_truth import REGIMES, RIGHT, RIGHT_OUTCOMES, trial
from evaluation.values.tiny import ALWAYS_A, ALWAYS_B, TWELVE, coins


def both_scores_of(cohort: Cohort, regime: dtr.FixedRegime, model: dtr.OutcomeModel) -> Scores:
    return augmented_scores(cohort, regime_risk_sets(cohort, decisions(cohort, regime)), model)


def scores_of(cohort: Cohort, regime: dtr.FixedRegime, model: dtr.OutcomeModel) -> np.ndarray:
    return both_scores_of(cohort, regime, model).gamma


def plainly(cohort: Cohort, wants: tuple[int, int]) -> list[float]:
    """Return Γ of each unit under a regime without tailoring, one regression and one unit at a time."""
    assert cohort.propensities is not None
    p = {
        (model.risk_set.kind, model.risk_set.stage): dict(
            zip(model.risk_set.rows.tolist(), model.happened.tolist(), strict=True)
        )
        for model in cohort.propensities.models
    }
    (x,), (e, r, z, s) = (tuple(context.values()) for context in cohort.contexts)
    first, second = cohort.arms.T
    told, arrived, leaves = ~cohort.dropped_out, second >= 0, e >= 0.6
    b1, c1, b2 = first == 1, first == 2, second == 1

    def mean(columns: list[np.ndarray], rows: np.ndarray, target: np.ndarray) -> np.ndarray:
        design = np.stack([np.ones(len(x)), *columns], axis=1).astype(float)
        roots = np.sqrt(cohort.weights[rows])[:, None]
        fit = np.linalg.lstsq(design[rows] * roots, target[rows] * roots[:, 0], rcond=None)[0]
        return np.asarray(design @ fit)

    y = cohort.outcome
    last = mean([x, r, z, b1, c1, b2, s * ~b2, s * b2], arrived & told, y)
    leaver = mean([x, r, b1, c1], leaves & told, y)
    choice2 = mean([x, r, z, s, b1, c1], arrived & (second == wants[1]), last)
    staying = mean([x, r, b1, c1], arrived, choice2)
    choice1 = mean([x], first == wants[0], np.where(leaves, leaver, staying))
    scores = []
    for i in range(len(x)):
        if leaves[i]:
            at_p = p["staying", "outcome without second"][i]
            beyond = leaver[i] + ((y[i] - leaver[i]) / at_p if told[i] else 0.0)
        else:
            beyond = staying[i]
            if arrived[i]:
                later = last[i] + ((y[i] - last[i]) / p["staying", "outcome"][i] if told[i] else 0.0)
                at2 = choice2[i]
                if second[i] == wants[1]:
                    at2 += (later - choice2[i]) / p["choice", "second"][i]
                beyond += (at2 - staying[i]) / p["staying", "second"][i]
        at_1 = choice1[i]
        scores.append(at_1 + ((beyond - at_1) / p["choice", "first"][i] if first[i] == wants[0] else 0.0))
    return scores


@pytest.mark.parametrize(("name", "wants"), [("a, then b", (0, 1)), ("c, then a", (2, 0))])
@pytest.mark.parametrize("weighted", [False, True])
def test_scores_are_those_of_a_plain_loop(name: str, wants: tuple[int, int], weighted: bool) -> None:
    cohort = trial(500, np.random.default_rng(4))
    cohort = replace(cohort, weights=np.linspace(0.5, 2, 500)) if weighted else cohort
    cohort = cohort.with_propensities(RIGHT)

    found = scores_of(cohort, REGIMES[name], RIGHT_OUTCOMES)

    assert found == pytest.approx(plainly(cohort, wants), abs=1e-9)


def test_without_covariates_it_is_the_mean_of_the_arm() -> None:
    scores = both_scores_of(TWELVE, ALWAYS_A, dtr.OutcomeModel())
    value, influence = augmented(TWELVE, scores)

    # μ is 3.5; those with the arm have 3.5 + 2 (y − 3.5), the others 3.5.
    assert scores.gamma.tolist() == pytest.approx([-1.5, 0.5, 2.5, 4.5, 6.5, 8.5, *[3.5] * 6])
    assert value == pytest.approx(3.5)
    # each of the six has the leverage 1/6 in the mean of the arm, and 1/12 in the mean of all
    assert (influence**2).sum() == pytest.approx(4 * 17.5 / 144 / (5 / 6) ** 2 / (11 / 12) ** 2)


@pytest.mark.parametrize("name", ["a, then b", "c, then a", "b, then by s"])
def test_the_variance_takes_each_residual_from_a_regression_without_its_unit(name: str) -> None:
    """e / (1 − h) is the distance from what the other rows predict: a regression is fitted without each unit."""
    cohort, model = trial(150, np.random.default_rng(6)).with_propensities(RIGHT), RIGHT_OUTCOMES
    at_risk = regime_risk_sets(cohort, decisions(cohort, REGIMES[name]))
    targets, wider = cohort.outcome.copy(), cohort.outcome.copy()
    for at in reversed(at_risk):
        rows, features = at.risk_set.rows, model.features(cohort, at.risk_set)
        own = targets[rows]
        mu, leverage = fitted_means(at, features, own, np.ones(len(rows)))
        left_out = np.zeros(len(rows))
        for i in np.flatnonzero(at.taken).tolist():
            weights = np.ones(len(rows))
            weights[i] = 0.0
            left_out[i] = own[i] - fitted_means(at, features, own, weights).mu[i]
        assert ((own - mu) / (1 - leverage))[at.taken] == pytest.approx(left_out[at.taken], abs=1e-8)
        beyond = np.where(at.taken, left_out + wider[rows] - own, 0.0)
        wider[rows], targets[rows] = mu + beyond / at.probability, mu

    found = augmented_scores(cohort, at_risk, model)

    assert found.for_variance == pytest.approx(wider, abs=1e-7)
    assert np.ptp(found.for_variance) > np.ptp(found.gamma)


def test_case_weights_count() -> None:
    cohort = coins([1, 2, 3, 9, 9], [0, 0, 0, 1, 1], [1, 2, 1, 4, 4])

    value, influence = augmented(cohort, both_scores_of(cohort, ALWAYS_A, dtr.OutcomeModel()))

    assert value == pytest.approx(2.0)
    # shares in all weight 1/12, 2/12 and 1/12, leverage in the mean of the arm 1/4, 2/4 and 1/4
    assert influence.tolist() == pytest.approx([-2 / 12 / (3 / 4) / (11 / 12), 0.0, 2 / 12 / (3 / 4) / (11 / 12), 0, 0])


def test_each_arm_that_a_tailored_regime_wants_has_coefficients_of_its_own() -> None:
    design = dtr.Design([dtr.Stage("only", arms=("a", "b"), features="1 + x")])
    x, arms = np.array([1.0] * 6 + [-1.0] * 6), np.array([0, 0, 0, 1, 1, 1] * 2)
    cohort = cohort_of(design, [{"x": x}], arms[:, None], np.arange(12.0))
    cohort = cohort.with_propensities(dtr.PropensityModel(choice={"only": "uniform"}))
    a_above_0 = dtr.FixedRegime(rule={"only": {"a": [0, 1], "b": [0, 0]}})

    found = scores_of(cohort, a_above_0, dtr.OutcomeModel(choice={"only": "1"}))

    # μ is 1 where a is wanted (outcomes 0, 1 and 2), and 10 where b is (9, 10 and 11).
    assert found.tolist() == pytest.approx([-1, 1, 3, 1, 1, 1, 10, 10, 10, 8, 10, 12])


def test_too_few_who_were_wanted_are_joined_by_all_who_had_the_arm() -> None:
    design = dtr.Design([dtr.Stage("only", arms=("a", "b"), features="1 + x")])
    x, arms = np.array([1.0, 2, 3, -1, -2, 2]), np.array([0, 0, 0, 0, 1, 1])
    cohort = cohort_of(design, [{"x": x}], arms[:, None], 3 * x)
    cohort = cohort.with_propensities(dtr.PropensityModel(choice={"only": "uniform"}))
    a_above_0 = dtr.FixedRegime(rule={"only": {"a": [0, 1], "b": [0, 0]}})

    found = scores_of(cohort, a_above_0, dtr.OutcomeModel())

    assert found == pytest.approx(3 * x)  # one unit had b where it is wanted; with the other the line is known


def test_as_many_units_as_coefficients_teach_nothing_of_others() -> None:
    """Two units fit a line exactly, and this one is steep. All four who had b lie on a flat one, but for noise."""
    design = dtr.Design([dtr.Stage("only", arms=("a", "b"), features="1 + x")])
    x = np.array([1.0, 2, 3, 4, 5, 6, -1.0, -1.01, -2, -3, 1, 2])
    arms = np.array([0] * 6 + [1, 1, 0, 0, 1, 1])
    outcome = np.where(np.arange(12) == 6, 1.0, 0.0)
    cohort = cohort_of(design, [{"x": x}], arms[:, None], outcome)
    cohort = cohort.with_propensities(dtr.PropensityModel(choice={"only": "uniform"}))
    a_above_0 = dtr.FixedRegime(rule={"only": {"a": [0, 1], "b": [0, 0]}})

    found = scores_of(cohort, a_above_0, dtr.OutcomeModel())

    had = arms == 1
    line = np.polynomial.Polynomial.fit(x[had], outcome[had], 1)
    assert found[8:10] == pytest.approx(line(x[8:10]))  # −2 and −3: the steep line would have −99 and −199 there


def test_units_of_no_weight_are_scored_but_teach_nothing() -> None:
    wild = coins([1, 2, 3, 4, 5, 6, 0, 1e6, 0, 0], [0, 0, 0, 0, 0, 0, 1, 0, 1, 1], [1] * 7 + [0] * 3)

    scores = scores_of(wild, ALWAYS_A, dtr.OutcomeModel())

    assert scores[6] == scores[8] == pytest.approx(3.5)
    assert scores[7] == pytest.approx(3.5 + 2 * (1e6 - 3.5))


def test_an_arm_that_nobody_had_tells_nothing() -> None:
    with pytest.raises(NotEstimable, match=r"none of 3 units took 'b', which the regime wants there"):
        scores_of(coins([1, 2, 3], [0, 0, 0]), ALWAYS_B, dtr.OutcomeModel())


def test_formulas_are_checked() -> None:
    with pytest.raises(dtr.DesignError, match="OutcomeModel: choice must map stages to formulas"):
        dtr.OutcomeModel(choice="1 + x")  # type: ignore[arg-type]  # wrong on purpose
    with pytest.raises(dtr.DesignError, match="OutcomeModel: staying must map stages to formulas"):
        dtr.OutcomeModel(staying={"second": 1})  # type: ignore[dict-item]  # wrong on purpose
    with pytest.raises(dtr.DesignError, match="choice: there is no 'third'; allowed are 'first', 'second'"):
        dtr.OutcomeModel(choice={"third": "1"}).require_places(trial(50, np.random.default_rng(0)))
    cohort = trial(300, np.random.default_rng(0)).with_propensities(RIGHT)
    with pytest.raises(dtr.DesignError, match="unknown column 'w'"):
        scores_of(cohort, REGIMES["a, then b"], dtr.OutcomeModel(choice={"second": "1 + w"}))
