"""Contrasts, effects and recommendations in frames."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np
import pytest

import dtrbandit as dtr
from dtrbandit.evaluation import Cohort, QLearning
from dtrbandit.evaluation.induction.induction import backward_induction
from dtrbandit.evaluation.qlearning.tables import (
    coefficient_table,
    contrast_table,
    effect_table,
    interval_table,
    reference_arm,
)
from dtrbandit.evaluation.qlearning.uncertainty import Bootstrap, Uncertainty
from evaluation import cohorts
from evaluation.qlearning.samples import smart
from evaluation.tiny_trials import MEANS, read

DESIGN = dtr.Design([dtr.Stage("first", ("a", "b"), "1 + o1"), dtr.Stage("second", ("a", "b"), "1 + o1 + o2 + s1")])


@pytest.fixture(scope="module")
def known() -> Uncertainty:
    sample = smart(200, 5.0, np.random.default_rng(1))
    return Uncertainty(sample, backward_induction(sample), Bootstrap())


def test_the_table_of_coefficients_has_them_in_order(known: Uncertainty) -> None:
    found = coefficient_table(DESIGN, known)

    assert found["estimate"].tolist() == pytest.approx(
        [*known.stages[0].coefficients.ravel(), *known.stages[1].coefficients.ravel()]
    )
    assert found["term"].tolist() == ["1", "o1"] * 2 + ["1", "o1", "o2", "s1"] * 2


def test_a_contrast_before_the_last_stage_knows_that_arms_share_the_later_fit(known: Uncertainty) -> None:
    errors = coefficient_table(DESIGN, known).set_index(["stage", "arm", "term"])["std_error"]

    found = contrast_table(DESIGN, known, {}).set_index(["stage", "term"])["std_error"]

    apart = np.hypot(errors["first", "a", "1"], errors["first", "b", "1"])
    assert found["first", "1"] != pytest.approx(apart, rel=1e-3)
    assert found["second", "1"] == pytest.approx(np.hypot(errors["second", "a", "1"], errors["second", "b", "1"]))


def test_an_effect_is_the_contrast_at_the_features(known: Uncertainty) -> None:
    features = np.array([1.0, -1.0])

    found = effect_table(DESIGN, known, 0, features, ["a", "b"], None)

    difference = known.stages[0].coefficients[1] - known.stages[0].coefficients[0]
    assert found["estimate"].tolist() == pytest.approx([difference @ features])
    assert found["reference"].tolist() == ["a"]


def test_names_stand_before_the_numbers(known: Uncertainty) -> None:
    found = interval_table(known, 0, np.zeros((2, 2, 2)), {"what": ["x", "y"]})

    assert list(found.columns) == ["what", "estimate", "std_error", "low", "high", "method"]
    assert found["estimate"].tolist() == [0.0, 0.0]


def test_the_reference_is_the_first_arm_unless_named() -> None:
    assert reference_arm(DESIGN, 0, None) == 0
    assert reference_arm(DESIGN, 0, "b") == 1
    with pytest.raises(dtr.DesignError, match=r"stage 'first' has the arms \['a', 'b'\], found 'c'"):
        reference_arm(DESIGN, 0, "c")


def test_an_arm_that_is_not_feasible_is_no_reference(known: Uncertainty) -> None:
    assert effect_table(DESIGN, known, 0, np.ones(2), ["b"], None).empty
    with pytest.raises(dtr.ObservationError, match=r"'a' is not feasible for this history; \['b'\] are"):
        effect_table(DESIGN, known, 0, np.ones(2), ["b"], "a")


def test_a_design_of_single_arms_has_no_contrasts_in_the_usual_columns() -> None:
    design = dtr.Design([dtr.Stage("first", ("a",), "1")])
    sample = smart(40, 1.0, np.random.default_rng(1))

    found = contrast_table(design, Uncertainty(sample, backward_induction(sample), Bootstrap()), {})

    assert list(found.columns[:4]) == ["stage", "arm", "reference", "term"]
    assert found.empty


TWO = dtr.Design([dtr.Stage("only", ("a", "b"), "1 + x")])
THREE = dtr.Design([dtr.Stage("only", ("a", "b", "c"), "1 + x")])


def trial(design: dtr.Design, n: int = 150, seed: int = 0) -> Cohort:
    rng = np.random.default_rng(seed)
    arms, x = rng.choice(design.stages[0].arms, n), rng.normal(size=n)
    return read({"x": x, "A1": arms, "Y": (arms == "b") * x + rng.normal(size=n)}, design)  # type: ignore[dict-item]  # arrays


def test_there_is_a_row_for_each_unit_and_stage_that_it_entered() -> None:
    cohort = cohorts.ctn0030()
    fit = QLearning(cohort.design).fit(cohort)

    found = fit.recommendations(cohort)

    assert len(found) == cohort.entered.sum()
    arms = fit.recommend_all(cohort)
    for row in found.itertuples():
        assert row.arm == arms.loc[row.unit, row.stage]


def test_the_lead_is_the_difference_of_the_two_largest_q() -> None:
    cohort = trial(THREE)
    fit = QLearning(THREE).fit(cohort)

    for row in fit.recommendations(cohort).head(20).itertuples():
        q = fit.q("only", {"x": float(cohort.contexts[0]["x"][cohort.units.index(row.unit)])})
        ordered = sorted(q, key=q.__getitem__)
        assert (row.arm, row.next) == (ordered[-1], ordered[-2])
        assert row.lead == pytest.approx(q[ordered[-1]] - q[ordered[-2]])
        assert row.low < row.lead < row.high


def test_with_two_arms_the_confidence_is_that_of_a_normal_lead() -> None:
    cohort = trial(TWO)

    found = QLearning(TWO).fit(cohort).recommendations(cohort)

    expected = [NormalDist().cdf(row.lead / row.std_error) for row in found.itertuples()]
    assert found["confidence"].to_numpy() == pytest.approx(expected)
    assert found["confidence"].between(0.45, 1.0).all()


def test_where_estimates_are_not_regular_there_is_a_lead_with_an_interval_and_no_confidence() -> None:
    cohort = cohorts.ctn0030()

    found = QLearning(cohort.design).fit(cohort).recommendations(cohort)

    first, second = (found[found["stage"] == stage] for stage in ("first", "second"))
    assert set(first["method"]) == {"m-out-of-n"}
    assert first["confidence"].isna().all()
    assert first["low"].notna().all()
    assert second["confidence"].between(0.4, 1.0).all()


def test_who_had_no_choice_has_no_lead() -> None:
    cohort = read({"r": [1] * 6, "A1": list("aaaabb"), "A2": list("aabbbb"), "Y": [1.0, 2, 3, 4, 5, 7]}, MEANS)

    found = QLearning(MEANS).fit(cohort).recommendations(cohort)

    forced = found[(found["stage"] == "second") & found["unit"].isin(cohort.units[4:])]
    assert forced["arm"].tolist() == ["b", "b"]
    assert forced[["next", "lead", "std_error"]].isna().all(axis=None)
    assert forced["confidence"].isna().all()


def test_draws_and_the_normal_lead_agree() -> None:
    """A third arm far below the others changes nothing but the 4 Monte-Carlo errors of 2,000 draws."""
    rng = np.random.default_rng(3)
    arms, x = rng.choice(THREE.stages[0].arms, 300), rng.normal(size=300)
    frame = {"x": x, "A1": arms, "Y": (arms == "b") * x - 90 * (arms == "c") + rng.normal(size=300)}
    cohort = read(frame, THREE)

    found = QLearning(THREE).fit(cohort).recommendations(cohort)

    expected = [NormalDist().cdf(row.lead / row.std_error) for row in found.itertuples()]
    assert found["confidence"].to_numpy() == pytest.approx(expected, abs=4 * np.sqrt(0.25 / 2_000))


def test_an_arm_that_nobody_knows_the_error_of_gives_no_confidence() -> None:
    arms = ["a"] * 30 + ["b"] * 29 + ["c"]
    rng = np.random.default_rng(0)
    frame = {"x": rng.normal(size=60), "A1": arms, "Y": rng.normal(size=60)}
    cohort = read(frame, THREE)  # type: ignore[arg-type]  # arrays are sequences

    found = QLearning(THREE).fit(cohort).recommendations(cohort)

    assert found["confidence"].isna().all()


@pytest.mark.parametrize("design", [TWO, THREE])
def test_a_perfect_fit_gives_no_confidence(design: dtr.Design) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(11, 37, 90)
    arms = [*design.stages[0].arms] * (90 // len(design.stages[0].arms))
    cohort = read({"x": x.tolist(), "A1": arms, "Y": (0.3 * x).tolist()}, design)

    fit = QLearning(design).fit(cohort)

    assert fit.recommendations(cohort)["confidence"].isna().all()
    assert "<0.001" not in str(fit.summary())
