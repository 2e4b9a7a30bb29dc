"""Values of regimes: what is refused, and bias and coverage with known truth."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import dtrbandit as dtr
from dtrbandit.evaluation.cohort.origin import Origin
from dtrbandit.evaluation.values.weighting import regime_value
from effort import scaled
from evaluation.cohorts import ctn0030
from evaluation.simulated_cohorts import stard_like
from evaluation.values.known_truth import (
    DESIGN,
    REGIMES,
    RIGHT,
    RIGHT_OUTCOMES,
    WRONG,
    WRONG_OUTCOMES,
    trial,
    truth,
)
from evaluation.values.tiny import ALWAYS_A, ALWAYS_B, TWELVE, coins

TRIALS, UNITS = scaled(200), 400
NAMES = ("c, then a", "b, then by s")


def test_a_fixed_regime_has_three_estimates_and_its_support() -> None:
    cohort = stard_like(800, seed=1).with_propensities(dtr.PropensityModel())
    regime = dtr.FixedRegime(rule={"first": "ssri", "second": "other"})

    frame = dtr.evaluate(cohort, {"switch": regime}).to_frame()

    weighted = regime_value(cohort, regime)
    assert frame["estimator"].tolist() == ["weighted", "augmented", "q-learning"]
    assert frame["value"][0] == pytest.approx(weighted.value)
    assert frame["units"].tolist() == [weighted.units] * 3
    assert frame["effective_sample_size"][:2].tolist() == pytest.approx([weighted.effective_sample_size] * 2)
    assert frame["largest_weight"][:2].tolist() == pytest.approx([weighted.largest_weight] * 2)
    assert frame["std_error"].gt(0).all()


def test_a_learned_regime_has_no_naive_interval() -> None:
    fit = dtr.QLearning(TWELVE.design).fit(TWELVE)

    frame = dtr.evaluate(TWELVE, {"learned": fit}).to_frame()

    assert frame["estimator"].tolist() == ["q-learning", "cross-fitted", "in sequence"]
    assert frame["value"][0] == fit.value_
    assert frame.loc[0, ["std_error", "low", "high"]].isna().all()
    assert frame["note"][0].startswith("It flatters")
    assert len(dtr.evaluate(TWELVE, {"learned": fit}).differences()) == 0


@pytest.mark.slow
def test_the_same_seed_gives_the_same_numbers() -> None:
    cohort = trial(400, np.random.default_rng(1)).with_propensities(RIGHT)
    learned = dtr.QLearning(cohort.design).fit(cohort)
    regimes: dict[str, dtr.FixedRegime | dtr.QLearning] = {**REGIMES, "learned": learned}

    one, other = (dtr.evaluate(cohort, regimes, seed=3).to_frame() for _ in range(2))

    pd.testing.assert_frame_equal(one, other)


def test_q_learning_may_have_nothing_to_say() -> None:
    design = dtr.Design([dtr.Stage("only", arms=("a", "b", "c"), features="1")])
    cohort = replace(TWELVE, design=design, propensities=None)
    cohort = cohort.with_propensities(dtr.PropensityModel(choice={"only": "uniform"}))

    frame = dtr.evaluate(cohort, {"always a": ALWAYS_A}).to_frame()

    assert frame["note"][2] == "There is none: nobody teaches what follows 'c' at stage 'only'."
    assert np.isnan(frame["value"][2])


def test_ctn0030_has_the_values_of_its_weighted_means() -> None:
    cohort = ctn0030().with_propensities(dtr.PropensityModel(penalty=1.0))
    names = [stage.name for stage in cohort.design.stages]
    regimes = {
        ", then ".join(plan): dtr.FixedRegime(rule=dict(zip(names, plan, strict=True)))
        for plan in cohort.design.plans or ()
    }

    frame = dtr.evaluate(cohort, regimes).to_frame().set_index(["regime", "estimator"])

    for name, regime in regimes.items():
        assert frame.loc[(name, "weighted"), "value"] == pytest.approx(regime_value(cohort, regime).value)
        assert 0 < frame.loc[(name, "augmented"), "std_error"] < 20


@pytest.mark.parametrize(
    ("regimes", "said"),
    [
        ({}, "regimes must map names to regimes"),
        (ALWAYS_A, "regimes must map names to regimes"),
        ({"x": "a"}, "regime 'x': needed is a FixedRegime or a fitted QLearning, found 'a'"),
        ({"x": dtr.QLearning(DESIGN)}, "regime 'x' was learned with another"),
        ({"x": dtr.FixedRegime(rule={"other": "a"})}, r"an entry for each of \['only'\]"),
    ],
)  # fmt: skip
def test_what_is_no_regime_for_the_cohort_is_refused(regimes: Mapping[str, dtr.FixedRegime], said: str) -> None:
    with pytest.raises(dtr.DesignError, match=said):
        dtr.evaluate(TWELVE, regimes)


def test_what_is_no_cohort_or_model_is_refused() -> None:
    with pytest.raises(dtr.DesignError, match="evaluate needs a Cohort"):
        dtr.evaluate("trial.csv", {"a": ALWAYS_A})  # type: ignore[arg-type]  # wrong on purpose
    with pytest.raises(dtr.DesignError, match="outcome_model must be an OutcomeModel"):
        dtr.evaluate(TWELVE, {"a": ALWAYS_A}, outcome_model="1 + x")  # type: ignore[arg-type]  # wrong on purpose
    with pytest.raises(dtr.DesignError, match=r"use cohort.with_propensities\(PropensityModel\(\)\)"):
        dtr.evaluate(replace(TWELVE, propensities=None), {"a": ALWAYS_A})
    with pytest.raises(dtr.ProtocolError, match="call fit"):
        dtr.evaluate(TWELVE, {"learned": dtr.QLearning(TWELVE.design)})


def test_a_regime_that_hardly_anybody_followed_has_no_value_and_stops_no_other() -> None:
    found = dtr.evaluate(coins(list(range(24)), [0] * 20 + [1] * 4), {"b": ALWAYS_B, "a": ALWAYS_A})

    frame = found.to_frame().set_index("regime")
    assert frame.loc["b", "value"].isna().all()
    assert frame.loc["b", "note"].str.contains("4 units followed the regime to an outcome, and at least 5").all()
    assert frame.loc["a", "low"].notna().all()
    assert found.differences().loc[0, ["difference", "std_error", "low", "joint_low"]].isna().all()
    assert found.best()["may_be_best"].tolist() == [None, True]


def test_whether_there_is_an_interval_does_not_depend_on_outcomes() -> None:
    """Six of twelve followed: a value, but no interval, whatever the outcomes."""
    for outcomes in (range(12), [0] * 12, [1e6, *[0] * 11]):
        frame = dtr.evaluate(coins(list(outcomes), [0, 1] * 6), {"a": ALWAYS_A}).to_frame()

        assert frame["value"].notna().all()
        assert frame["low"].isna().all()
        assert frame["note"].str.contains("There is no interval").all()


def test_a_unit_that_could_have_carried_most_of_the_weight_leaves_weighted_without_an_interval() -> None:
    """The last unit stands for ten. It did not follow; had it, it would have carried 20 of 49."""
    cohort = coins([i % 7 for i in range(40)], [0] * 30 + [1] * 10, [1] * 39 + [10])

    frame = dtr.evaluate(cohort, {"a": ALWAYS_A}).to_frame().set_index("estimator")

    assert np.isnan(frame.loc["weighted", "low"])
    assert "a unit like these could carry 41 % of the weight" in frame.loc["weighted", "note"]
    assert frame.loc["augmented", "low"] < frame.loc["augmented", "high"]


def test_units_whose_arms_a_learning_policy_chose_need_a_log() -> None:
    unknown = replace(TWELVE, propensities=None, origin=Origin("adaptive", "DTRBandit"))

    with pytest.raises(dtr.DesignError, match=r"no decisions are on record .*Cohort.from_log"):
        dtr.evaluate(unknown, {"a": ALWAYS_A})
    with pytest.raises(dtr.DesignError, match=r"DTRBandit chose the arms .* No model fitted afterwards knows that"):
        regime_value(unknown, ALWAYS_A)


# -- known truth ---------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def valued() -> pd.DataFrame:
    """Value two regimes on trials with three arms, leavers and drop-outs, with right and wrong models."""
    frames = []
    own = {name: REGIMES[name] for name in NAMES}
    for repetition in range(TRIALS):
        cohort = trial(UNITS, np.random.default_rng([21, repetition]))
        right, wrong = (cohort.with_propensities(model) for model in (RIGHT, WRONG))
        for name, of, outcomes in (
            ("right", right, RIGHT_OUTCOMES),
            ("propensities wrong", wrong, RIGHT_OUTCOMES),
            ("outcomes wrong", right, WRONG_OUTCOMES),
        ):
            estimates = dtr.evaluate(of, own, outcome_model=outcomes).estimates
            frames += [(name, each.regime, each.estimator, each.value, each.low, each.high) for each in estimates]
    frame = pd.DataFrame(frames, columns=["models", "regime", "estimator", "value", "low", "high"])
    frame["truth"] = frame["regime"].map({name: truth(name) for name in NAMES})
    return frame.set_index(["models", "regime", "estimator"]).sort_index()


@pytest.mark.slow
@pytest.mark.enlarged
@pytest.mark.parametrize("models", ["right", "propensities wrong", "outcomes wrong"])
@pytest.mark.parametrize("name", NAMES)
def test_with_either_model_wrong_augmented_values_have_no_bias(valued: pd.DataFrame, models: str, name: str) -> None:
    """The mean error over the trials is within three Monte-Carlo errors of 0."""
    own = valued.loc[(models, name, "augmented")]
    off = own["value"] - own["truth"]

    assert abs(off.mean()) < 3 * off.std() / np.sqrt(TRIALS)


@pytest.mark.enlarged
def test_with_wrong_propensities_weighted_values_are_biased(valued: pd.DataFrame) -> None:
    own = valued.loc[("propensities wrong", "c, then a", "weighted")]
    off = own["value"] - own["truth"]

    assert abs(off.mean()) > 1.4 * off.std()


@pytest.mark.enlarged
@pytest.mark.parametrize("estimator", ["weighted", "augmented"])
@pytest.mark.parametrize("name", NAMES)
def test_intervals_hold_the_truth_with_right_models(valued: pd.DataFrame, estimator: str, name: str) -> None:
    """To reach are 93 %, within two Monte-Carlo errors of the trials."""
    own = valued.loc[("right", name, estimator)]

    own = own[own["low"].notna()]  # in some trials a single unit could carry more than a tenth of the weight

    share = own["truth"].between(own["low"], own["high"]).mean()

    assert len(own) >= TRIALS / 4
    assert share + 2 * np.sqrt(share * (1 - share) / len(own)) >= 0.93
