"""A Q-learning fit in tables, with its notes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from unittest.mock import patch

import numpy as np
import pytest

from dtrbandit import Bootstrap, Design, Stage
from dtrbandit.evaluation import QLearning
from dtrbandit.evaluation.cohort.origin import Origin
from dtrbandit.evaluation.qlearning import LeastSquares, summary
from dtrbandit.evaluation.qlearning.bootstrap import Chosen
from dtrbandit.evaluation.qlearning.summary import describe_rule
from dtrbandit.evaluation.values.learned import BesideValue, LearnedValue
from evaluation import cohorts
from evaluation.tiny_trials import ONE_STAGE, read


def test_the_summary_has_a_table_for_each_arm_and_says_what_to_keep_in_mind() -> None:
    cohort = cohorts.ctn0030()
    fit = QLearning(cohort.design).fit(cohort)

    printed = str(fit.summary())

    rows = fit.coef_[(fit.coef_["stage"] == "second") & (fit.coef_["term"] == "sev1")]
    for row in rows.itertuples():
        assert f"{row.estimate:.4f}" in printed
        assert (
            f"{row.estimate - 1.959964 * row.std_error:.4f} to {row.estimate + 1.959964 * row.std_error:.4f}" in printed
        )
    assert "Stage second, plus: 180 units, R² 0." in printed
    assert "Stage first, plus: 329 units\n" in printed  # the targets are fitted, so that R² there tells nothing
    assert printed.count("R²") == 2
    assert "Stage first is not regular: for 612 of 653 units" in " ".join(printed.split())
    assert "Drop-outs, imputed: 252 of their 252 rows at stage first count" in printed
    assert "Note" not in printed


def test_the_summary_of_one_stage_has_no_caveat_of_later_ones() -> None:
    fit = QLearning(ONE_STAGE).fit(
        read({"x": [0, 1, 2, 0, 1, 2], "A1": list("aaabbb"), "Y": [1.0, 3, 4, 1, 3, 2]}, ONE_STAGE)
    )

    assert "HC3" in str(fit.summary())
    assert "Before the last stage" not in str(fit.summary())


def test_notes_say_what_the_units_do_not_tell() -> None:
    frame: dict[str, Sequence[object]] = {
        "x": [2.0, 2.0, 2.0, 0.0, 0.0, 1.0],
        "A1": list("aaabbb"),
        "Y": [1.0, 3.0, 4.0, 1.0, 3.0, 2.0],
        "id": ["u1", "u2", "u3", "u4", "u5", "u6"],
    }

    fit = QLearning(ONE_STAGE).fit(read(frame, ONE_STAGE, unit="id"))

    assert len(fit.notes_) == 2
    assert "a at stage only: 3 units cannot determine the intercept, x;" in fit.notes_[0]
    assert "at least 1 more" in fit.notes_[0]
    assert "b at stage only: no standard errors" in fit.notes_[1]
    assert "leverage 1: u6)" in fit.notes_[1]
    assert all(note in " ".join(str(fit.summary()).split()) for note in fit.notes_)
    assert fit.coef_["std_error"].isna().all()


def test_where_estimates_are_not_regular_no_error_z_or_p_is_printed() -> None:
    cohort = cohorts.ctn0030()
    printed = str(QLearning(cohort.design).fit(cohort).summary()).splitlines()

    start = printed.index(next(line for line in printed if line.startswith("Stage first, plus")))
    cells = printed[start + 2].split()

    assert cells[:1] + cells[2:5] == ["1", "–", "–", "–"]
    assert "to" in cells


def test_what_became_of_drop_outs_is_said_with_counts() -> None:
    cohort = cohorts.ctn0030()

    printed = str(QLearning(cohort.design, dropouts="complete").fit(cohort).summary())

    assert "Drop-outs, complete: none of their 252 rows at stage first counts" in " ".join(printed.split())


def test_of_data_that_a_policy_collected_no_error_interval_or_p_is_printed() -> None:
    cohort = replace(cohorts.branching(200, seed=1), origin=Origin("adaptive", "DTRBandit"))
    fit = QLearning(cohort.design).fit(cohort)

    assert set(fit.coef_["method"]) == {"none: adaptive"}
    assert fit.coef_[["std_error", "low", "high"]].isna().all(axis=None)
    assert "a policy chose the arms by what earlier units had taught it" in " ".join(str(fit.summary()).split())
    assert "DTRBandit gave the arms by what earlier units had taught" in str(fit.summary())
    assert "HC3" not in str(fit.summary())


def test_who_chose_the_arms_is_said_or_that_nobody_has_stated_it() -> None:
    cohort = cohorts.branching(200, seed=1)

    unstated, randomised = (
        " ".join(str(QLearning(each.design).fit(each).summary()).split())
        for each in (replace(cohort, origin=None), replace(cohort, origin=Origin("randomised")))
    )

    assert "Origin not stated: intervals assume that no policy learnt from earlier units." in unstated
    assert "Arms were given at random." in randomised
    assert "not stated" not in randomised


def not_regular(held: float, xi: float) -> str:
    """Return the summary of two means in which nothing works, as if the double bootstrap had found this."""
    rng = np.random.default_rng(1)
    design = Design([Stage("first", ("a", "b"), "1"), Stage("second", ("a", "b"), "1")])
    frame = {"A1": rng.choice(["a", "b"], 60), "A2": rng.choice(["a", "b"], 60), "Y": rng.normal(size=60)}
    fit = QLearning(design, bootstrap=Bootstrap(xi="double", resamples=100)).fit(read(frame, design))  # type: ignore[arg-type]  # arrays are sequences
    chosen = Chosen(np.array([xi, 0.025, 0.025]), np.array([held, 0.96, 0.96]))  # two means and their difference
    with patch("dtrbandit.evaluation.qlearning.uncertainty.choose_xi", lambda *_, **__: chosen):
        return " ".join(str(fit.summary()).split())


def test_the_summary_says_which_xi_was_taken_and_where_none_is_enough() -> None:
    assert "units, ξ = 0.025 to 0.05)." in not_regular(0.95, 0.05)
    assert "may be too short" not in not_regular(0.95, 0.05)
    short = not_regular(0.91, 0.5)
    assert "ξ = 0.025 to 0.5)" in short
    assert "For 1 of 2 coefficients no ξ up to 0.5 made the double bootstrap cover 95 % (the least: 91.0%)" in short


def test_the_summary_says_why_an_earlier_arm_has_no_standard_error() -> None:
    """Only one arm is feasible after b, so that nobody is near a boundary; one unit was given it."""
    design = Design(
        [Stage("first", ("a", "b"), "1"), Stage("second", ("a", "b"), "1", enter_if="r > 0")],
        plans=[("a", "a"), ("b", "b")],
    )
    r = [1, 1, 1, 0, 0, 1, 0, 0]
    second = ["a", "a", "a", None, None, "b", None, None]
    outcome = [1.0, 2, 4, 3, 5, 7, 6, 9]
    fit = QLearning(design).fit(read({"r": r, "A1": list("aaaabbbb"), "A2": second, "Y": outcome}, design))

    words = " ".join(str(fit.summary()).split())

    assert "Stage first has no standard errors for b: the targets rest on an arm of a later stage" in words
    assert fit.coef_["std_error"].isna().tolist() == [False, True, False, True]


@pytest.mark.parametrize(
    ("coefficients", "words"),
    [
        ([[2.0, 0.5, -1.0], [1.0, 0.0, 0.0]], "a if 0.5000·x - 1.000·z >= -1.000; otherwise b"),
        ([[2.0, 0.0, 0.0], [1.0, 0.0, 0.0]], "a always"),
        ([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]], "b always"),
        ([[0.0, 0.0, 0.0], [0.0, 0.0, 0.0]], "a always"),  # the first of equals
    ],
)
def test_two_arms_are_one_comparison(coefficients: list[list[float]], words: str) -> None:
    assert describe_rule(("a", "b"), ("1", "x", "z"), np.array(coefficients)) == words


def test_the_comparison_says_what_the_largest_q_says() -> None:
    rng = np.random.default_rng(1)
    coefficients = rng.integers(-5, 6, size=(2, 2)).astype(float)
    words = describe_rule(("a", "b"), ("1", "x"), coefficients)
    comparison = words.removeprefix("a if ").removesuffix("; otherwise b").replace("·x", " * x")

    for x in rng.normal(size=50):
        assert eval(comparison, {"x": x}) == (coefficients[0] @ [1, x] >= coefficients[1] @ [1, x])


def test_one_arm_is_given_always() -> None:
    assert describe_rule(("a",), ("1",), np.array([[3.0]])) == "a always"


def test_small_coefficients_of_large_columns_are_not_zero() -> None:
    words = describe_rule(("a", "b"), ("1", "cells"), np.array([[0.0, 3e-10], [4.0, 0.0]]))

    assert words == "a if 3.000e-10·cells >= 4.000; otherwise b"


def test_rounding_is_no_rule() -> None:
    words = describe_rule(("a", "b"), ("1", "x"), np.array([[1.0, 0.1 + 0.2], [0.0, 0.3]]))

    assert words == "a always"


# -- what stands before the numbers ----------------------------------------------------------------------------


def test_units_estimand_and_assumptions_stand_before_the_numbers() -> None:
    cohort = replace(cohorts.ctn0030(), origin=Origin("randomised"))

    printed = str(QLearning(cohort.design, dropouts="complete").fit(cohort).summary())

    headings = ("Units with a row", "Estimand:", "Assumptions:", "Estimated value", "Stage first, ")
    places = [printed.index(each) for each in headings]
    assert places == sorted(places)
    words = " ".join(printed.split())
    assert "second plus 180 of 180, minus 180 of 180" in words
    assert "- Arms were given at random. - Q is linear in the features." in words
    assert "- Drop-outs, complete:" in words
    assert "confounding" not in words


def test_units_whose_row_does_not_count_are_told_from_those_who_had_the_arm() -> None:
    cohort = read({"x": [0, 1, 2, 0, 1, 2], "A1": list("aaabbb"), "Y": [1.0, 3, 4, 1, 3, None]}, ONE_STAGE)

    printed = str(QLearning(ONE_STAGE, dropouts="complete").fit(cohort).summary())

    assert "  only  a 3 of 3, b 2 of 3" in printed
    assert "No unmeasured confounding" in printed  # nobody has said that arms were given at random


# -- the values beside value_ ----------------------------------------------------------------------------------


NOTHING = LearnedValue(np.nan, np.nan, np.nan, "There is no value.")


def test_the_summary_asks_once_and_each_interval_stands_with_its_value(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    cohort = read({"x": [0, 1, 2, 0, 1, 2], "A1": list("aaabbb"), "Y": [1.0, 3, 4, 1, 3, 2]}, ONE_STAGE)

    def found(*how: object) -> BesideValue:
        asked.append(how)
        return BesideValue(LearnedValue(2.25, np.nan, np.nan, "It is A's."), LearnedValue(2.5, 1.0, 4.0, "It is B's."))

    monkeypatch.setattr(summary, "beside_value", found)
    printed = QLearning(ONE_STAGE, dropouts="complete").fit(cohort).summary()

    lines = [str(printed), str(printed)][1].splitlines()
    assert lines.index("Cross-fitted value: 2.250. It is A's.") + 1 == lines.index(
        "Value in sequence: 2.500, 95 % interval 1.000 to 4.000. It is B's."
    )
    assert asked == [(cohort, "complete", LeastSquares())]


def test_what_cannot_be_had_is_said_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(summary, "beside_value", lambda *_: BesideValue(NOTHING, NOTHING))
    cohort = read({"x": [0, 1, 2, 0, 1, 2], "A1": list("aaabbb"), "Y": [1.0, 3, 4, 1, 3, 2]}, ONE_STAGE)

    assert str(QLearning(ONE_STAGE).fit(cohort).summary()).splitlines().count("There is no value.") == 1
