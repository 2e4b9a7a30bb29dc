"""A cohort as an earlier trial: a fact for each unit, as far as it came."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dtrbandit as dtr
from dtrbandit.environments import Synthetic
from dtrbandit.record import Taught
from small_session import DESIGN, some_session

FRAME = pd.DataFrame(
    {
        "start1": [1.0, 2.0, 3.0, 4.0, 5.0],
        "start2": [0.1, None, 0.3, 0.4, None],
        "end1": [9.0, 2.0, 9.0, 2.0, None],
        "A1": ["ssri", "other", "ssri", "other", "ssri"],
        "A2": ["other", None, None, None, None],
        "Y": [1.5, -0.5, None, None, None],
    }
)


def cohort_of(frame: pd.DataFrame, design: dtr.Design = DESIGN, **more: Any) -> dtr.Cohort:
    return dtr.Cohort.from_frame(frame, design, arms=["A1", "A2"], outcome="Y", **more)


def test_each_unit_teaches_as_far_as_it_came() -> None:
    facts = cohort_of(FRAME).teaching(DESIGN)

    assert facts == [
        Taught("1", ({"start1": 1.0}, {"start2": 0.1, "end1": 9.0}), ("ssri", "other"), 1.5),
        Taught("2", ({"start1": 2.0}, {"end1": 2.0}), ("other",), -0.5),  # it left early
        Taught("3", ({"start1": 3.0}, {"start2": 0.3, "end1": 9.0}), ("ssri",), None),  # it entered, then dropped out
        Taught("4", ({"start1": 4.0},), ("other",), None),  # whether it left or was lost, nobody knows
        Taught("5", ({"start1": 5.0},), ("ssri",), None),
    ]


def test_a_session_that_was_taught_fits_as_q_learning_does() -> None:
    """Q-learning by ordinary least squares, on units who all have an outcome, is what Q̂ is then."""
    rng, n = np.random.default_rng(3), 60
    drawn, arms = Synthetic().draw(n, rng), rng.integers(0, 2, size=(n, 2))
    unit = np.arange(n)
    frame = pd.DataFrame(
        {
            "x1": drawn.contexts[0]["x1"],
            "x2": drawn.contexts[1]["x2"][unit, arms[:, 0]],
            "A1": arms[:, 0] + 1,
            "A2": arms[:, 1] + 1,
            "Y": drawn.outcome[unit, arms[:, 0], arms[:, 1]],
        }
    )
    cohort = cohort_of(frame, Synthetic().design)

    session = dtr.Session(Synthetic().design, dtr.DTRBandit(q=5, delta=0.5), prior=cohort)

    expected = dtr.QLearning(Synthetic().design).fit(cohort).coef_["estimate"].tolist()
    assert [c.hat for c in session.coefficients()] == pytest.approx(expected, rel=1e-9)


def test_units_of_a_log_may_teach_however_their_arms_came_about() -> None:
    earlier = some_session()
    for unit in ("u0", "u4"):  # they left early
        earlier.complete(unit, 1.0)
    earlier.withdraw("in flight", reason="the trial ended")
    cohort = dtr.Cohort.from_log(earlier.log)

    session = dtr.Session(DESIGN, dtr.Greedy(), prior=cohort)

    found = [c.hat for c in session.coefficients()]
    assert found == [None if c.hat is None else pytest.approx(c.hat, rel=1e-9) for c in earlier.coefficients()]
    session.enroll("u1", {"start1": 0.5})
    session.withdraw("u1", reason="moved away")
    assert dtr.Cohort.from_log(session.log).units == ("u1",)  # its own unit, and no other


@pytest.mark.parametrize(
    ("stages", "words"),
    [
        ([dtr.Stage("one", ("ssri", "other"), "1 + start1"), DESIGN.stages[1]], "other stages"),
        ([DESIGN.stages[0], replace(DESIGN.stages[1], arms=("ssri", "none"))], "other arms"),
        ([DESIGN.stages[0], replace(DESIGN.stages[1], features="1 + start1")], "other columns"),
        ([DESIGN.stages[0], replace(DESIGN.stages[1], enter_if="end1 > 6")], "other enter_if"),
        (DESIGN.stages[:1], "other stages"),
    ],
)
def test_a_cohort_of_another_design_is_refused_with_what_differs(stages: list[dtr.Stage], words: str) -> None:
    with pytest.raises(dtr.DesignError, match=f"prior: the earlier trial has {words}"):
        dtr.Session(dtr.Design(stages), dtr.Greedy(), prior=cohort_of(FRAME))


def test_formulas_and_plans_may_differ() -> None:
    stages = [DESIGN.stages[0], replace(DESIGN.stages[1], features="1 + start2 + start1:start2")]

    session = dtr.Session(dtr.Design(stages), dtr.Greedy(), prior=cohort_of(FRAME))

    assert session.summary().taught == 5


def test_arms_that_no_plan_has_now_are_refused_by_row() -> None:
    fewer = dtr.Design(DESIGN.stages, plans=[("ssri", "ssri"), ("other", "other")])

    with pytest.raises(dtr.DesignError, match=r"prior: row 1 had arms that no plan of this design has; leave them out"):
        dtr.Session(fewer, dtr.Greedy(), prior=cohort_of(FRAME))
    cohort = cohort_of(FRAME)
    assert dtr.Session(fewer, dtr.Greedy(), prior=cohort.of(np.arange(1, 5))).summary().taught == 4


def test_weights_are_refused() -> None:
    cohort = cohort_of(FRAME.assign(w=[1, 2, 1, 1, 1]), weights="w")

    with pytest.raises(dtr.DesignError, match="a policy learns from every unit alike"):
        dtr.Session(DESIGN, dtr.Greedy(), prior=cohort)
