"""Propensities: closed forms, the paper's three factors by hand, a confounded trial, real data, and bad input."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dtrbandit as dtr
import open_data
from dtrbandit.errors import DesignError, NotEstimable
from dtrbandit.evaluation import Cohort, ExtremeWeights, logging_value
from dtrbandit.evaluation.propensities.model import PropensityModel, recorded_probabilities, shares
from dtrbandit.evaluation.propensities.risk_sets import risk_sets
from dtrbandit.kernels.arrays import Array, Mask
from evaluation.collected import leavers_session, synthetic_session
from evaluation.plain_logistic import fitted
from evaluation.simulated_cohorts import cohort_of, confounded_smart, fewer_and_fewer_arms

PAPER_STAYING = "qids_start1*C(first) + qids_slope1*C(first) + preference1*C(first) + qids_slope2"


def one_stage(x: Array, arms: Array, *, labels: tuple[str, ...] = ("a", "b"), weights: Array | None = None) -> Cohort:
    design = dtr.Design([dtr.Stage("only", arms=labels, features="1 + x")])
    return cohort_of(design, [{"x": x}], arms.astype(np.int64)[:, None], np.zeros(len(x)), weights)


# -- what is estimated ---------------------------------------------------------------------------------------


def test_a_saturated_model_gives_the_shares_of_each_cell() -> None:
    x = np.repeat([0.0, 1.0], [10, 20])
    arms = np.concatenate([np.repeat([0, 1], [3, 7]), np.repeat([0, 1], [15, 5])])

    fit = PropensityModel().fit(one_stage(x, arms))

    shares = np.where(x == 0, np.where(arms == 0, 0.3, 0.7), np.where(arms == 0, 0.75, 0.25))
    assert fit.probability == pytest.approx(shares, abs=1e-10)
    assert fit.weights == pytest.approx(1 / shares)


def test_case_weights_count_as_so_many_units() -> None:
    x, arms = np.array([0.0, 0, 1, 1, 1]), np.array([0, 1, 0, 1, 1])
    weights = np.array([3.0, 1.0, 2.0, 1.5, 0.5])

    fit = PropensityModel().fit(one_stage(x, arms, weights=weights))

    assert fit.probability == pytest.approx([3 / 4, 1 / 4, 1 / 2, 1 / 2, 1 / 2], abs=1e-10)


def by_hand(cohort: Cohort) -> tuple[Array, Array, Array]:
    """Return the paper's p1, p0 and p2 of what happened, from its formulas, by a plain Newton iteration."""
    x1 = np.column_stack([np.ones(len(cohort)), *cohort.contexts[0].values()])
    other1, other2 = cohort.arms.T == 1
    p = fitted(x1, other1.astype(np.float64))
    p1 = np.where(other1, p, 1 - p)
    stage2 = {name: column[:, None] for name, column in cohort.contexts[1].items()}
    at_risk, stayed = cohort.contexts[1]["qids_end1"] > 5, cohort.arms[:, 1] >= 0
    model = np.column_stack([x1, x1 * other1[:, None], stage2["qids_slope2"]])[at_risk]
    p = fitted(model, stayed[at_risk].astype(np.float64))
    p0, p2 = np.ones(len(cohort)), np.ones(len(cohort))
    p0[at_risk] = np.where(stayed[at_risk], p, 1 - p)
    free = stayed & ~other1
    p = fitted(np.column_stack([x1, *stage2.values()])[free], other2[free].astype(np.float64))
    p2[free] = np.where(other2[free], p, 1 - p)
    return p1, p0, p2


def test_the_product_of_three_factors_is_that_of_section_5_3(stard: Cohort) -> None:
    fit = PropensityModel(staying={"second": PAPER_STAYING}).fit(stard)

    p1, p0, p2 = by_hand(stard)
    assert fit.choice == pytest.approx(p1 * p2, abs=1e-8)
    assert fit.staying == pytest.approx(p0, abs=1e-8)
    assert fit.probability == pytest.approx(p1 * p0 * p2, abs=1e-8)
    left = stard.left_early
    assert np.array_equal(fit.probability[left], fit.model_of("first").happened[left])


def test_by_default_staying_depends_on_every_column_that_drop_outs_have_too(stard: Cohort) -> None:
    given = PAPER_STAYING + " + qids_end1"

    assert PropensityModel().fit(stard).probability == pytest.approx(
        PropensityModel(staying={"second": given}).fit(stard).probability, abs=1e-10
    )


def test_units_with_different_feasible_arms_have_models_of_their_own() -> None:
    cohort = fewer_and_fewer_arms()
    (first, second), x = cohort.arms.T, cohort.contexts[1]["x"]

    fit = PropensityModel(choice={"one": "uniform"}).fit(cohort)

    options = [model.risk_set.options for model in fit.models]
    assert options == [("a", "b", "c"), ("a", "b", "c"), ("b", "c")]
    middle, ones = first == 1, np.ones(200)
    p = fitted(np.column_stack([ones, x[middle]]), (second[middle] == 2).astype(np.float64))
    assert fit.choice[middle] == pytest.approx(np.where(second[middle] == 2, p, 1 - p) / 3, abs=1e-9)
    assert fit.choice[first == 2] == pytest.approx(1 / 3)


def test_a_drop_out_after_the_last_arm_is_a_factor_too() -> None:
    cohort, _ = confounded_smart(4000, seed=2)

    fit = PropensityModel().fit(cohort)

    reached = cohort.arms[:, 1] >= 0
    x, z = cohort.contexts[0]["x"][reached], cohort.contexts[1]["z"][reached]
    first, second = cohort.arms[reached].T
    main = [x, z, first == 1, second == 1, second == 2]
    products = [x * (first == 1), *(c * (second == k) for k in (1, 2) for c in (x, z))]
    stayed = ~cohort.dropped_out[reached]
    p = fitted(np.column_stack([np.ones(len(x)), *main, *products]).astype(np.float64), stayed.astype(np.float64))
    assert fit.model_of("outcome", "staying").happened == pytest.approx(np.where(stayed, p, 1 - p), abs=1e-9)


def share_by(cells: Array, happened: Mask, among: Mask) -> Array:
    """Return for each unit the share of those ``among`` its cell to whom it happened."""
    shares = np.zeros(len(cells))
    for cell in np.unique(cells):
        shares[cells == cell] = happened[among & (cells == cell)].mean()
    return shares


def test_who_is_lost_before_it_is_known_whether_to_enter_or_after_leaving_is_a_factor_too() -> None:
    rng = np.random.default_rng(5)
    n = 6_000
    x, responds = rng.integers(2, size=n).astype(np.float64), rng.random(n) < 0.4
    seen = rng.random(n) < np.where(x == 1, 0.6, 0.9)  # whether one responds, that is
    followed = rng.random(n) < np.where(x == 1, 0.5, 0.8)  # of those who respond
    treated = rng.random(n) < 0.7  # of those who do not
    design = dtr.Design([dtr.Stage("one", ("a", "b"), "1 + x"), dtr.Stage("two", ("a", "b"), "1", enter_if="r == 0")])
    outcome = np.where(seen & np.where(responds, followed, treated), x + 3 * responds, np.nan)
    enters = seen & ~responds & treated
    arms = np.stack([rng.integers(2, size=n), np.where(enters, rng.integers(2, size=n), -1)], axis=1)
    cohort = cohort_of(design, [{"x": x}, {"r": np.where(seen, responds * 1.0, np.nan)}], arms, outcome)

    terms = dict.fromkeys(("entry to two", "outcome without two", "two"), "1 + x")
    fit = PropensityModel(choice={"one": "uniform", "two": "uniform"}, staying=terms).fit(cohort)

    assert [model.risk_set.stage for model in fit.models if model.risk_set.kind == "staying"] == list(terms)
    until_known = share_by(x, seen, np.ones(n, dtype=bool))
    after_leaving = share_by(x, followed, seen & responds)
    until_treated = share_by(x, treated, seen & ~responds)
    whole = ~np.isnan(outcome)
    expected = until_known * np.where(responds, after_leaving, until_treated)
    assert fit.staying[whole] == pytest.approx(expected[whole])
    truth, found = (x + 3 * responds).mean(), logging_value(cohort.with_propensities(fit.model)).value
    assert found == pytest.approx(truth, abs=0.08)  # three standard errors
    assert abs(outcome[whole].mean() - truth) > 0.12


def test_known_probabilities_are_taken_as_they_are(stard: Cohort) -> None:
    half = PropensityModel(choice={"first": 0.5, "second": "uniform"}).fit(stard)
    uneven = PropensityModel(choice={"first": {"ssri": 0.75, "other": 0.25}, "second": "uniform"}).fit(stard)

    free = (stard.arms[:, 0] == 0) & (stard.arms[:, 1] >= 0)
    assert half.choice == pytest.approx(np.where(free, 0.25, 0.5))
    assert uneven.choice == pytest.approx(np.where(stard.arms[:, 0] == 0, 0.75, 0.25) * np.where(free, 0.5, 1.0))


def test_known_probabilities_of_arms_that_may_not_be_given_are_shared_out() -> None:
    arms = {"a": 0.5, "b": 0.3, "c": 0.2}
    design = dtr.Design(
        [dtr.Stage("one", arms=("x", "y"), features="1"), dtr.Stage("two", arms=tuple(arms), features="1")],
        plans=[("x", "a"), ("x", "b"), ("x", "c"), ("y", "b"), ("y", "c")],
    )
    cohort = cohort_of(design, [{}, {}], np.array([[0, 1], [1, 1], [1, 2]]), np.zeros(3))

    fit = PropensityModel(choice={"one": "uniform", "two": arms}).fit(cohort)

    assert fit.probability == pytest.approx([0.5 * 0.3, 0.5 * 0.6, 0.5 * 0.4])


def test_one_number_for_three_arms_must_be_a_third() -> None:
    cohort = fewer_and_fewer_arms()

    with pytest.raises(DesignError) as refusal:
        PropensityModel(choice={"one": "uniform", "two": 0.5}).fit(cohort)
    third = PropensityModel(choice={"one": 1 / 3, "two": "uniform"}).fit(cohort)

    assert str(refusal.value) == (
        "choice of a or b or c at stage 'two': 0.5 cannot be the probability of the arm given, whichever of 3 it was: "
        "these would sum to 1.5. Give choice={'two': 'uniform'} (--choice 'two=uniform'), or the probability of each "
        "arm, {'a': ..., 'b': ..., 'c': ...}"
    )
    uniform = PropensityModel(choice={"one": "uniform", "two": "uniform"}).fit(cohort)
    assert third.probability == pytest.approx(uniform.probability)


@pytest.mark.parametrize(
    "model",
    [
        PropensityModel(),
        PropensityModel(penalty=3.0),
        PropensityModel(clip=(0.2, 0.8)),
        PropensityModel(clip=(0.05, 0.6)),
        PropensityModel(choice={"first": 0.3, "second": 1 / 3}),
        PropensityModel(choice={"first": "uniform", "second": {"a": 0.5, "b": 0.3, "c": 0.2}}),
    ],
)
def test_probabilities_of_all_options_always_sum_to_one(model: PropensityModel) -> None:
    cohort, _ = confounded_smart(1_000, seed=4)

    fit = model.fit(cohort)

    assert [len(each.risk_set.options) for each in fit.models] == [2, 2, 3, 2]
    for each in fit.models:
        assert each.probabilities.sum(axis=1) == pytest.approx(1, abs=1e-12)
        if model.clip is not None:
            assert model.clip[0] - 1e-12 <= each.probabilities.min()
            assert each.probabilities.max() <= model.clip[1] + 1e-12


def test_probabilities_of_three_arms_are_held_above_a_bound_by_mixing() -> None:
    cohort, _ = confounded_smart(1_000, seed=4)

    plain, held = (PropensityModel(clip=clip).fit(cohort) for clip in (None, (0.1, 0.9)))

    second = plain.model_of("second").probabilities
    assert second.min() < 0.1
    assert held.model_of("second").probabilities == pytest.approx(0.1 + 0.7 * second)
    assert "To keep their sum at 1, each p became 0.1 + 0.7·p." in held.summary()
    assert "each p became" not in plain.summary()


def test_bounds_that_three_arms_cannot_keep_are_refused_with_the_stage() -> None:
    cohort, _ = confounded_smart(1_000, seed=4)

    with pytest.raises(DesignError, match=r"^choice of a or b or c at stage 'second': .* low must be below 1/3"):
        PropensityModel(clip=(0.4, 0.9)).fit(cohort)


def test_a_penalty_draws_probabilities_together_and_clipping_bounds_them(stard: Cohort) -> None:
    plain, penalised = (PropensityModel(penalty=penalty).fit(stard) for penalty in (0.0, 20.0))
    clipped = PropensityModel(clip=(0.2, 0.8)).fit(stard)

    assert penalised.model_of("first").probabilities.std() < plain.model_of("first").probabilities.std()
    assert clipped.model_of("first").happened == pytest.approx(plain.model_of("first").happened.clip(0.2, 0.8))
    assert "clipped to 0.2 – 0.8" in clipped.summary()
    assert "L2 penalty 20" in penalised.summary()


def test_weights_recover_a_population_mean_that_confounding_and_drop_out_hide() -> None:
    # ±0.2 is three standard errors of the weighted mean; unweighted, the same units are off by 0.45 to 0.6
    cohort, under_b_then_c = confounded_smart(40_000, seed=1)
    fit = PropensityModel().fit(cohort)
    agree = (cohort.arms[:, 0] == 1) & (cohort.arms[:, 1] == 2) & ~cohort.dropped_out

    weighted = np.average(cohort.outcome[agree], weights=fit.weights[agree])

    assert weighted == pytest.approx(under_b_then_c.mean(), abs=0.2)
    assert cohort.outcome[agree].mean() > under_b_then_c.mean() + 0.4


def ctn0030() -> Cohort:
    frame = pd.read_csv(open_data.path("ctn0030"))
    design = dtr.Design(
        [
            dtr.Stage("first", arms=("emm", "smm"), features="1 + age + male + heroin30 + base_use_days"),
            dtr.Stage("second", arms=("emm", "smm"), features="1 + sev1", enter_if="success == 0"),
        ]
    )
    arms = frame[["A1", "A2"]].replace({1: 0, -1: 1}).fillna(-1).to_numpy(np.int64)
    known = frame.assign(success=(frame["status"] == "success").astype(float))
    contexts = [{name: known[name].to_numpy(np.float64) for name in own} for own in design.columns]
    return cohort_of(design, contexts, arms, frame["Y"].to_numpy(np.float64))


def test_in_a_real_randomised_trial_columns_do_not_tell_the_arm() -> None:
    # 653 people, 1:1: a share of 0.5 ± 0.06 is three standard errors; twice the gain in log-likelihood of four columns
    # is χ² with 4 degrees of freedom, above 18.5 once in a thousand trials
    fit = PropensityModel().fit(ctn0030())

    first = fit.model_of("first")
    share = first.probabilities.mean(axis=0)
    gain = 2 * (np.log(first.happened) - np.log(share[first.risk_set.happened])).sum()
    assert (fit.cohort.dropped_out.sum(), fit.cohort.left_early.sum()) == (252, 41)
    assert share[1] == pytest.approx(0.5, abs=0.06)
    assert 0 < gain < 18.5


# -- bad input -----------------------------------------------------------------------------------------------


def test_a_column_that_separates_is_named_with_the_counts_and_the_remedies() -> None:
    x = np.repeat([0.0, 1.0], [6, 4])
    cohort = one_stage(x, np.array([0, 1, 0, 1, 0, 1, 1, 1, 1, 1]))

    with pytest.raises(NotEstimable) as raised:
        PropensityModel().fit(cohort)

    text = str(raised.value)
    assert text.startswith("choice of a or b at stage 'only' (3 a, 7 b): 'x' separates what happened")
    assert "penalty=1.0" in text
    assert "clip=(0.01, 0.99)" in text


@pytest.mark.parametrize("remedy", [{"penalty": 1.0}, {"clip": (0.01, 0.99)}, {"choice": {"only": "1"}}])
def test_each_remedy_against_separation_works(remedy: dict[str, Any]) -> None:
    x = np.repeat([0.0, 1.0], [6, 4])
    cohort = one_stage(x, np.array([0, 1, 0, 1, 0, 1, 1, 1, 1, 1]))

    fit = PropensityModel(**remedy).fit(cohort)

    assert ((fit.probability > 0) & (fit.probability < 1)).all()
    if "clip" in remedy:
        assert fit.probability == pytest.approx(np.where(x == 0, 0.5, 0.99), abs=1e-8)
        assert "probabilities of 0 and 1 were clipped" in fit.summary()


def test_terms_that_separate_only_together_are_all_named() -> None:
    x, z = np.random.default_rng(5).normal(size=(2, 60))
    design = dtr.Design([dtr.Stage("only", arms=("a", "b"), features="1 + x + z")])
    cohort = cohort_of(design, [{"x": x, "z": z}], (x + z > 0).astype(np.int64)[:, None], np.zeros(60))

    with pytest.raises(NotEstimable, match=r"the terms 1 \+ x \+ z together separate what happened"):
        PropensityModel().fit(cohort)


def test_an_arm_that_nobody_received_is_named() -> None:
    cohort = one_stage(np.arange(9.0), np.tile([0, 2, 0], 3), labels=("a", "b", "c"))

    with pytest.raises(NotEstimable, match=r"none of 9 units received 'b'; take it out of the design's plans"):
        PropensityModel().fit(cohort)
    assert PropensityModel(choice={"only": "uniform"}).fit(cohort).probability == pytest.approx(1 / 3)


def test_if_all_dropped_out_nobody_is_left_to_learn_from(stard: Cohort) -> None:
    at_risk = ~stard.left_early
    arms = np.where(at_risk[:, None] & (np.arange(2) == 1), -1, stard.arms).astype(np.int8)
    lost = replace(stard, arms=arms, outcome=np.where(at_risk, np.nan, stard.outcome))

    with pytest.raises(NotEstimable, match=rf"staying until stage 'second': all {at_risk.sum()} units at risk"):
        PropensityModel().fit(lost)


def test_a_cohort_without_any_outcome_is_refused() -> None:
    cohort = replace(one_stage(np.arange(6.0), np.tile([0, 1], 3)), outcome=np.full(6, np.nan))

    with pytest.raises(NotEstimable, match="none of the 6 units has an outcome"):
        PropensityModel().fit(cohort)


def test_what_is_no_cohort_is_refused() -> None:
    with pytest.raises(DesignError, match=r"propensities are those of a Cohort, .* found \[1\]"):
        PropensityModel().fit([1])  # type: ignore[arg-type]  # wrong on purpose


def test_a_drop_out_with_most_of_the_weight_is_warned_of() -> None:
    x = np.concatenate([np.repeat([-1.0, 0.0], 100), [6.0]])  # half of the first are lost, few of the next, one far off
    lost = np.concatenate([np.arange(200) < 50, [True]]) | (np.arange(201) >= 195)
    cohort = replace(one_stage(x, np.arange(201.0) % 2), outcome=np.where(lost, np.nan, 0.0))

    with pytest.warns(
        ExtremeWeights, match=r"unit 'u200' carries 100 % of the weight of all 201 units and dropped out"
    ):
        PropensityModel(choice={"only": 0.5}, staying={"outcome": "1 + x"}).fit(cohort)


def test_one_unit_with_much_of_the_weight_is_warned_of() -> None:
    x = np.repeat([0.0, 1.0], 200)
    arms = np.concatenate([np.repeat([0, 1], [199, 1]), np.repeat([0, 1], 100)])

    with pytest.warns(ExtremeWeights, match=r"unit 'u199' carries 25 % of the weight of 400 units, .* 0\.005;.*clip="):
        fit = PropensityModel().fit(one_stage(x, arms))

    assert fit.largest_weight == pytest.approx(200 / 800)


def test_a_weight_beyond_the_floats_is_refused() -> None:
    cohort = one_stage(np.arange(4.0), np.array([0, 1, 0, 1]))

    with pytest.raises(NotEstimable, match=r"unit 'u0' \(of 4 such\) has propensity 1e-310, hence an infinite weight"):
        PropensityModel(choice={"only": 1e-310}).fit(cohort)


def test_a_column_without_variation_is_left_out() -> None:
    fit = PropensityModel().fit(one_stage(np.full(8, 3.0), np.tile([0, 1, 1, 1], 2)))

    assert fit.model_of("only").probabilities == pytest.approx(np.tile([0.25, 0.75], (8, 1)))
    assert "determined by the others here: x" in fit.summary()


def test_a_column_that_some_at_risk_have_not_is_refused_with_a_unit(stard: Cohort) -> None:
    unseen = stard.units[int(np.argmax(stard.dropped_out))]

    with pytest.raises(dtr.DesignError, match=rf"'preference2' is not observed for \d+ of \d+ units, unit '{unseen}'"):
        PropensityModel(staying={"second": "1 + preference2"}).fit(stard)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"choice": {"third": "1"}}, "choice: there is no 'third'; allowed are 'first', 'second'"),
        ({"staying": {"end": "1"}}, "staying: there is no 'end'; allowed are 'first', 'second', 'outcome'"),
        ({"staying": {"second": 0.5}}, "staying until 'second': needed is a formula, found 0.5"),
        ({"choice": {"first": "1 + qids_end1"}}, "unknown column 'qids_end1'; known by then are 'qids_start1'"),
        ({"choice": {"second": "1 + C(second)"}}, r"C(...) takes an earlier stage (here: 'first')"),
        ({"choice": {"first": {"ssri": 0.5}}}, "found {'ssri': 0.5}"),
        ({"choice": {"first": {"ssri": 0.5, "other": 0.6}}}, "that sum to 1"),
        ({"choice": {"first": 0}}, "the probability of the arm given"),
        ({"choice": {"first": 1.5}}, "found 1.5"),
        ({"choice": {"first": np.array([0.5, 0.5])}}, "found array([0.5, 0.5])"),
        ({"choice": "uniform"}, "choice must map stages to formulas, found 'uniform'"),
        ({"penalty": -1.0}, "penalty must be a finite number of at least 0"),
        ({"clip": (0.0, 0.9)}, "clip must be two numbers, 0 < low < high < 1, or None; found (0.0, 0.9)"),
        ({"clip": 0.1}, "found 0.1"),
    ],
)
def test_a_model_that_does_not_fit_is_refused(stard: Cohort, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(dtr.DesignError, match=re.escape(message)):
        PropensityModel(**arguments).fit(stard)


# -- the page ------------------------------------------------------------------------------------------------


def test_the_pages_lines_run_and_its_model_is_the_papers(stard: Cohort, capsys: pytest.CaptureFixture[str]) -> None:
    page = (Path(__file__).parents[3] / "docs/propensities.md").read_text()
    names: dict[str, Any] = {"cohort": stard}

    exec(compile("\n".join(re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL)), "page", "exec"), names)

    assert names["paper"].staying == {"second": PAPER_STAYING}
    assert capsys.readouterr().out.startswith(f"Propensities of {len(stard):,} units")


PLANNED = dtr.PropensityModel(choice={"first": "shares", "second": "shares"})
RECORDED = dtr.PropensityModel(choice={"first": "recorded", "second": "recorded"})


@pytest.mark.parametrize("schedule", ["paper", "permuted"])
def test_in_whole_forced_blocks_shares_are_those_of_the_plans(schedule: str) -> None:
    policy = dtr.DTRBandit(q=2, delta=0.5, schedule=schedule)  # type: ignore[arg-type]  # both are schedules
    forced = Cohort.from_log(synthetic_session(policy, 32, seed=1).log).forced()

    fitted = forced.with_propensities(PLANNED).propensities

    assert fitted is not None
    assert len(forced) == 24
    np.testing.assert_allclose(fitted.model_of("first").happened, 2 / 4)  # plans with the arm, of four
    np.testing.assert_allclose(fitted.model_of("second").happened, 1 / 2)  # of the plans that agree so far


def test_shares_are_counted_among_units_with_the_same_arms_before_whatever_their_weights() -> None:
    design = dtr.Design([dtr.Stage("first", ("a", "b"), "1"), dtr.Stage("second", ("a", "b"), "1")])
    arms = np.array([[0, 0], [0, 1], [0, 1], [1, 0], [1, 1], [1, 1], [1, 1], [0, 1]])
    cohort = cohort_of(design, [{}, {}], arms, np.ones(8), np.arange(8.0))

    first, second = (shares(cohort, each) for each in risk_sets(cohort))

    np.testing.assert_array_equal(first, [[0.5, 0.5]] * 8)
    expected = np.where(arms[:, [0]] == 0, [[0.25, 0.75]], [[0.25, 0.75]])
    np.testing.assert_array_equal(second, expected)


def test_a_block_that_is_not_whole_has_the_shares_that_were_given() -> None:
    """DTRBandit(q=2) in 13 rounds: two blocks of eight, of which the second has two, two and one of its plans."""
    forced = Cohort.from_log(synthetic_session(dtr.DTRBandit(q=2, delta=0.5), 13, seed=1).log).forced()

    first, second = (shares(forced, each) for each in risk_sets(forced))

    assert len(forced) == 13
    np.testing.assert_allclose(first, [[8 / 13, 5 / 13]] * 13)
    np.testing.assert_allclose(second[forced.arms[:, 0] == 0], [[1 / 2, 1 / 2]] * 8)
    np.testing.assert_allclose(second[forced.arms[:, 0] == 1], [[3 / 5, 2 / 5]] * 5)


def test_recorded_probabilities_are_those_of_the_log() -> None:
    cohort = Cohort.from_log(leavers_session(dtr.EpsilonGreedy(epsilon=0.2), 60, seed=1).log)
    assert cohort.origin is not None
    assert cohort.origin.recorded is not None

    for each in risk_sets(cohort):
        found = recorded_probabilities(cohort, each)
        given = found[np.arange(len(each.rows)), each.happened]
        np.testing.assert_array_equal(given, cohort.origin.recorded.propensity[each.rows, each.m])
        np.testing.assert_allclose(found.sum(axis=1), 1.0)


def test_units_of_a_random_policy_have_known_propensities() -> None:
    cohort = Cohort.from_log(leavers_session(dtr.UniformRandom(), 40, seed=1).log)

    fitted = cohort.with_propensities(RECORDED).propensities

    assert fitted is not None
    expected = np.where(cohort.arms[:, 1] < 0, 0.5, 0.25)
    np.testing.assert_allclose(fitted.probability, expected)
    frame = dtr.evaluate(cohort, {"b, then b": dtr.FixedRegime(rule={"first": "b", "second": "b"})}).to_frame()
    assert frame["estimator"].tolist() == ["weighted", "augmented", "q-learning"]


def test_nobody_recorded_how_probable_an_override_was() -> None:
    session = leavers_session(dtr.UniformRandom(), 10, seed=1)
    given = session.enroll("late", {"x": 0.0}).arm
    session.override("late", "a" if given == "b" else "b", reason="allergy")
    session.respond("late", {"r": -1.0})
    session.complete("late", 1.0)
    cohort = Cohort.from_log(session.log)

    with pytest.raises(dtr.DesignError, match=r"given to 1 unit, such as 'late', .* use cohort.as_scheduled\(\)"):
        cohort.with_propensities(RECORDED)
    assert cohort.as_scheduled().with_propensities(RECORDED).propensities is not None


def test_probabilities_are_not_fitted_to_arms_that_a_policy_chose_by_what_it_had_learnt() -> None:
    cohort = Cohort.from_log(synthetic_session(dtr.DTRBandit(q=5, delta=0.5), 40, seed=1).log)

    for model in (dtr.PropensityModel(), PLANNED, RECORDED):
        with pytest.raises(
            dtr.DesignError, match=r"DTRBandit chose the arms .* the forced rounds alone, cohort.forced"
        ):
            cohort.with_propensities(model)
