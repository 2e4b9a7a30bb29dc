"""What is recommended to whom, and how sure that is."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np
import pytest

import dtrbandit as dtr
from dtrbandit.evaluation import Cohort, QLearning
from evaluation import cohorts
from evaluation.tiny_trials import MEANS, read

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
