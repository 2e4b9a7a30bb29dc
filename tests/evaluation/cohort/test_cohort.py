"""Cohorts: contexts, arms and outcomes, who entered, who left, who dropped out, and how they print."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dtrbandit as dtr
import open_data
from dtrbandit.errors import DesignError, ObservationError
from dtrbandit.evaluation import Cohort, PropensityModel
from evaluation import cohorts
from evaluation.simulated_cohorts import stard_like
from evaluation.small_frame import FRAME, changed, read


def test_a_frame_becomes_contexts_arms_and_outcomes() -> None:
    cohort = read(FRAME, weights="w")

    assert cohort.units == ("u1", "u2", "u3", "u4", "u5")
    assert cohort.contexts[0]["start1"].tolist() == [12, 13, 14, 15, 16]
    assert cohort.arms.tolist() == [[0, 1], [0, -1], [1, 1], [0, -1], [1, -1]]
    np.testing.assert_array_equal(cohort.outcome, [-9.0, -3.0, -10.0, np.nan, np.nan])
    assert cohort.left_early.tolist() == [False, True, False, False, False]
    assert cohort.dropped_out.tolist() == [False, False, False, True, True]
    assert cohort.weights.tolist() == [1.0, 2.0, 1.0, 1.0, 0.5]


def test_what_is_known_of_a_stage_that_was_not_reached_is_kept() -> None:
    cohort = read(FRAME)

    assert cohort.contexts[1]["start2"][1] == 3.5  # of a unit that left early
    assert cohort.contexts[1]["end1"][3] == 7.0  # of a drop-out
    assert cohort.features[1][1].tolist() == [1.0, 3.5]
    assert np.isnan(cohort.features[1][3]).all()


def test_units_enter_by_condition_with_a_whole_context_only() -> None:
    cohort = read(changed(5, end1=9, start2=9))  # dropped out, with all that the second stage needs

    assert cohort.entered[:, 0].all()
    assert cohort.entered[:, 1].tolist() == [True, False, True, False, True]
    assert cohort.feasible[1].tolist() == [[True, True], [True, True], [False, True], [True, True], [False, True]]


def test_features_after_an_arm_that_was_not_given_are_not_known() -> None:
    stages = [
        dtr.Stage("one", ("a", "b"), "1 + x"),
        dtr.Stage("two", ("a", "b"), "1", enter_if="x > 0"),
        dtr.Stage("three", ("a", "b"), "1 + z + C(two)"),
    ]
    frame = pd.DataFrame(
        {"x": [1, -1], "z": [5, 6], "A1": ["a", "a"], "A2": ["b", None], "A3": ["a", None], "Y": [1, 2]}
    )

    cohort = Cohort.from_frame(frame, dtr.Design(stages), arms=["A1", "A2", "A3"], outcome="Y")

    np.testing.assert_array_equal(cohort.features[2], [[1, 5, 1], [np.nan] * 3])


def test_after_a_stage_without_an_arm_nothing_is_feasible() -> None:
    cohort = cohorts.branching(100, seed=1)

    none = cohort.arms[:, 1] < 0
    assert none.any()
    assert not cohort.feasible[2][none].any()


def test_a_design_is_needed() -> None:
    with pytest.raises(DesignError, match=r"a cohort needs a Design, found .design\.toml."):
        Cohort.from_frame(FRAME, "design.toml", arms=["A1"], outcome="Y")  # type: ignore[arg-type]  # wrong on purpose


def test_features_that_overflow_are_refused() -> None:
    design = dtr.Design([dtr.Stage("only", ("a",), "1 + x:y")])
    frame = pd.DataFrame({"x": [1.0, 1e60], "y": [1.0, 1e60], "A": ["a", "a"], "Y": [1.0, 2.0]})

    with pytest.raises(ObservationError, match=r"stage .only.: features must be finite .*: row 2 "):
        Cohort.from_frame(frame, design, arms=["A"], outcome="Y")


def test_a_trial_in_the_shape_of_stard_has_the_counts_of_its_note() -> None:
    cohort = cohorts.ctn0030()

    assert len(cohort) == 653
    assert cohort.left_early.sum() == 41
    assert cohort.dropped_out.sum() == 252
    assert (cohort.arms[:, 1] >= 0).sum() == 360


@pytest.mark.parametrize("load", cohorts.OPEN)
def test_every_open_trial_is_read_whole(load: Callable[[], Cohort]) -> None:
    cohort = load()

    rows = {cohorts.ctn0030: 653, cohorts.adhd: 150, cohorts.autism: 200, cohorts.bmi: 210}
    assert len(cohort) == rows.get(load, len(cohort))
    assert np.isfinite(cohort.features[0]).all()
    assert np.isfinite(cohort.features[1][cohort.arms[:, 1] >= 0]).all()


def test_a_cohort_prints_its_counts() -> None:
    printed = str(read(FRAME, weights="w"))

    assert printed.splitlines() == [
        "A cohort of 5 units:",
        "       2  completed all stages",
        "       1  left early, with their outcome",
        "       2  dropped out",
        "         2  of them before an arm at stage second",
        "Origin not stated: intervals assume that no policy learnt from earlier units. Say who chose the arms",
        "  by origin= (--origin), or read the log by Cohort.from_log.",
        "They stand for 5.5 units.",
        "Plans of those with an outcome:",
        "       0  ssri, then ssri",
        "       1  ssri, then other",
        "       1  other, then other",
        "       1  ssri, then left early",
    ]
    assert repr(read(FRAME)) == "<Cohort of 5 units>"


def test_it_is_asked_whether_units_without_an_outcome_left_or_were_lost() -> None:
    cohort = read(changed(4, end1=4))  # dropped out after the first arm, and would not have entered

    assert cohort.left_or_lost.tolist() == [False, False, False, True, False]
    assert cohort.dropped_out.tolist() == [False, False, False, True, True]
    assert str(cohort).splitlines()[-3:] == [
        "Kept out of stage second by enter_if 'end1 > 5', without an outcome: 1.",
        "  They count as drop-outs. Did they leave, or were they lost? If they left, give them their outcome.",
        "  If they were lost before 'end1' was observed, blank it.",
    ]


@pytest.mark.parametrize("frame", [FRAME, changed(4, end1=None), changed(4, end1=4, Y=-4.0)])
def test_nothing_is_asked_where_the_data_tell(frame: pd.DataFrame) -> None:
    cohort = read(frame)

    assert not cohort.left_or_lost.any()
    assert "were they lost?" not in str(cohort)


def test_who_lost_an_arm_before_is_not_asked_about_a_later_stage() -> None:
    stages = [dtr.Stage("one", ("a", "b"), "1 + x"), *(dtr.Stage(n, ("a", "b"), "1", enter_if="x > 0") for n in "23")]
    frame = pd.DataFrame({"x": [-1, 1], "A1": ["a", "a"], "A2": [None, "a"], "A3": [None, "b"], "Y": [None, 1]})

    printed = str(Cohort.from_frame(frame, dtr.Design(stages), arms=["A1", "A2", "A3"], outcome="Y"))

    assert printed.count("were they lost?") == 1
    assert printed.endswith("give them their outcome.")  # x was seen before: it is not to be blanked
    assert "Kept out of stage 2 by enter_if 'x > 0', without an outcome: 1." in printed


def test_a_trial_that_codes_its_drop_outs_as_not_entering_is_asked_about_all_of_them() -> None:
    frame = pd.read_csv(open_data.path("ctn0030"))
    stages = [dtr.Stage("first", ("1", "-1"), "1"), dtr.Stage("second", ("1", "-1"), "1", enter_if="stage2 == 1")]

    cohort = Cohort.from_frame(frame, dtr.Design(stages), arms=["A1", "A2"], outcome="Y")

    assert cohort.left_or_lost.sum() == 252
    assert np.array_equal(cohort.left_or_lost, (frame["status"] == "dropout").to_numpy())
    assert "Kept out of stage second by enter_if 'stage2 == 1', without an outcome: 252." in str(cohort)


def test_units_left_out_are_printed_and_kept_when_a_cohort_is_changed() -> None:
    cohort = read(changed(1, start1=None), missing="drop")

    lines = str(cohort).splitlines()
    place = lines.index("Left out, because a covariate is blank that a stage of theirs needs:")
    assert lines[0] == "A cohort of 4 units:"
    assert lines[place + 1 : place + 3] == ["       1  unit", "         1  without 'start1'"]
    assert replace(cohort, weights=2 * cohort.weights).left_out is cohort.left_out
    assert "Left out" not in str(read(FRAME, missing="drop"))


def test_one_blank_covariate_does_not_refuse_a_real_trial() -> None:
    frame = pd.read_csv(open_data.path("bmi"))
    frame.loc[3, "parentBMI"] = None
    frame.loc[[5, 8], "month4BMI"] = np.nan
    roles: dict[str, Any] = {"arms": ["A1", "A2"], "outcome": "month12BMI"}

    cohort = Cohort.from_frame(frame, cohorts.bmi().design, **roles, missing="drop")

    rest = Cohort.from_frame(frame.drop(index=[3, 5, 8]), cohorts.bmi().design, **roles)
    assert len(cohort) == 207
    assert cohort.left_out.units == ("4", "6", "9")
    assert cohort.left_out.columns == {"parentBMI": 1, "month4BMI": 2}
    pd.testing.assert_frame_equal(
        dtr.QLearning(cohort.design).fit(cohort).coef_, dtr.QLearning(rest.design).fit(rest).coef_
    )


def test_an_unknown_way_to_go_about_missing_values_is_refused() -> None:
    with pytest.raises(DesignError, match=r"missing must be 'refuse', .* found 'impute'"):
        read(FRAME, missing="impute")


def test_a_cohort_carries_its_propensities() -> None:
    stard = stard_like(1260, seed=0)
    model = PropensityModel(penalty=1.0)

    carrying = stard.with_propensities(model)

    assert carrying.propensities is not None
    assert stard.propensities is None
    assert np.array_equal(carrying.propensities.weights, model.fit(stard).weights)


def test_propensities_of_other_units_are_refused() -> None:
    stard = stard_like(1260, seed=0)
    weighted = stard.with_propensities(PropensityModel(penalty=1.0))

    for other in ({"arms": stard.arms[::-1]}, {"outcome": stard.outcome[1:]}):
        with pytest.raises(DesignError, match=r"estimated from units with other arms or outcomes .* propensities=None"):
            replace(weighted, **other)
    assert replace(weighted, arms=stard.arms.copy()).propensities is weighted.propensities
    assert replace(weighted, outcome=stard.outcome[1:], propensities=None).propensities is None
