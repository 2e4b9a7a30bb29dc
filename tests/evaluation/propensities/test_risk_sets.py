"""Risk sets: whom each choice and each loss concerns, and which columns can be used for them."""

from __future__ import annotations

import numpy as np
import pytest

import dtrbandit as dtr
from dtrbandit.design.formula import Formula
from dtrbandit.evaluation import Cohort
from dtrbandit.evaluation.propensities.risk_sets import (
    RiskSet,
    feature_matrix,
    formula_at,
    full_formula,
    known_columns,
    main_effects,
    require_places,
    risk_sets,
    unobserved_columns,
)
from evaluation.simulated_cohorts import cohort_of, fewer_and_fewer_arms
from evaluation.small_frame import FRAME, changed, read

ONE, TWO = dtr.Stage("one", ("a", "b"), "1 + x"), dtr.Stage("two", ("a", "b"), "1 + z", enter_if="r == 0")


def named(cohort: Cohort) -> dict[str, RiskSet]:
    return {f"{each.kind} {each.stage}": each for each in risk_sets(cohort)}


def test_where_everybody_stays_and_every_arm_is_feasible_there_is_a_choice_per_stage() -> None:
    arms = np.array([[0, 1], [1, 0], [1, 1]])
    design = dtr.Design([ONE, dtr.Stage("two", ("a", "b"), "1 + z")])

    found = list(risk_sets(cohort_of(design, [{"x": np.ones(3)}, {"z": np.ones(3)}], arms, np.ones(3))))

    assert [(each.kind, each.stage, each.options) for each in found] == [
        ("choice", "one", ("a", "b")),
        ("choice", "two", ("a", "b")),
    ]
    assert [each.rows.tolist() for each in found] == [[0, 1, 2], [0, 1, 2]]
    assert [each.happened.tolist() for each in found] == [[0, 1, 1], [1, 0, 1]]


def test_units_with_the_same_feasible_arms_share_a_risk_set_and_those_without_a_choice_have_none() -> None:
    cohort = fewer_and_fewer_arms()

    second = [each for each in risk_sets(cohort) if each.stage == "two"]

    assert [each.options for each in second] == [("a", "b", "c"), ("b", "c")]
    for each, first in zip(second, (0, 1), strict=True):
        assert each.rows.tolist() == np.flatnonzero(cohort.arms[:, 0] == first).tolist()
        given = [each.options[k] for k in each.happened]
        assert given == ["abc"[arm] for arm in cohort.arms[each.rows, 1]]


def test_a_unit_is_at_risk_of_dropping_out_at_the_point_where_it_was_lost() -> None:
    # u1, u2: whole; u3: lost before it is known whether it responds; u4: responds, lost before its outcome;
    # u5: does not respond, lost before its second arm; u6: responds, with its outcome
    nan = np.nan
    cohort = cohort_of(
        dtr.Design([ONE, TWO]),
        [{"x": np.arange(6.0)}, {"z": np.array([1.0, 2, nan, nan, 3, nan]), "r": np.array([0.0, 0, nan, 1, 0, 1])}],
        np.array([[0, 0], [1, 1], [0, -1], [1, -1], [0, -1], [1, -1]]),
        np.array([1.0, 2, nan, nan, nan, 3]),
    )

    found = named(cohort)

    expected = {
        "choice one": ([0, 1, 2, 3, 4, 5], [0, 1, 0, 1, 0, 1]),
        "staying entry to two": ([0, 1, 2, 3, 4, 5], [1, 1, 0, 1, 1, 1]),
        "staying outcome without two": ([3, 5], [0, 1]),
        "staying two": ([0, 1, 4], [1, 1, 0]),
        "choice two": ([0, 1], [0, 1]),
    }
    assert {name: (each.rows.tolist(), each.happened.tolist()) for name, each in found.items()} == expected
    assert list(found) == list(expected)  # in order of time


@pytest.mark.parametrize(
    ("kind", "stage", "words"),
    [
        ("choice", "two", "choice of no or yes at stage 'two'"),
        ("staying", "two", "staying until stage 'two'"),
        ("staying", "outcome", "staying until the outcome"),
        ("staying", "entry to two", "staying until entry to two"),
        ("staying", "outcome without two", "staying until outcome without two"),
    ],
)
def test_a_risk_set_says_what_was_open(kind: str, stage: str, words: str) -> None:
    nobody = np.zeros(0, dtype=np.int64)

    assert str(RiskSet(kind, 1, stage, ("no", "yes"), nobody, nobody)) == words  # type: ignore[arg-type]  # a str


def test_only_units_of_positive_weight_are_counted() -> None:
    rows, happened = np.array([0, 2, 3]), np.array([0, 1, 1])

    counts = RiskSet("choice", 0, "one", ("a", "b", "c"), rows, happened).counts(np.array([1.0, 9.0, 0.0, 0.5]))

    assert counts.tolist() == [1, 1, 0]


def test_columns_that_somebody_at_risk_lacks_are_left_out_of_the_model() -> None:
    cohort = read(changed(3, start2=None, Y=None, A2=None))  # u3 drops out with end1 known, and start2 not
    staying = named(cohort)["staying second"]

    assert list(known_columns(cohort, staying)) == ["start1", "start2", "end1"]
    missing = unobserved_columns(cohort, staying)
    assert {name: [cohort.units[row] for row in staying.rows[who]] for name, who in missing.items()} == {
        "start2": ["u3", "u4"]
    }
    assert Formula(tuple(main_effects(cohort, staying))).names == ("start1", "end1", "C(first)[other]")


def test_the_full_formula_has_the_products_of_earlier_arms_with_the_columns_before_them() -> None:
    cohort = read(FRAME)
    staying = named(cohort)["staying second"]

    formula = full_formula(cohort, staying)

    assert formula.names == ("1", "start1", "end1", "C(first)[other]", "start1:C(first)[other]")  # end1 came after it
    matrix = feature_matrix(cohort, staying, formula)
    other = (cohort.arms[staying.rows, 0] == 1).astype(float)
    start1 = cohort.contexts[0]["start1"][staying.rows]
    assert matrix[:, 0].tolist() == [1.0] * len(staying.rows)
    assert matrix[:, -1].tolist() == (other * start1).tolist()


def test_a_formula_may_use_what_is_known_by_then() -> None:
    cohort = fewer_and_fewer_arms()
    first, *_, later = risk_sets(cohort)

    assert formula_at("1 + x + C(one)", cohort, later).names == ("1", "x", "C(one)[b]", "C(one)[c]")
    with pytest.raises(dtr.DesignError, match="unknown column 'x'; known by then are none"):
        formula_at("1 + x", cohort, first)


def test_places_are_stages_and_where_units_could_be_lost() -> None:
    design = dtr.Design([ONE, TWO])

    require_places("choice", {"two": "1"}, design)
    require_places("staying", {"entry to two": "1", "outcome without two": "1", "outcome": "1"}, design)
    with pytest.raises(dtr.DesignError, match="choice: there is no 'outcome'; allowed are 'one', 'two'"):
        require_places("choice", {"outcome": "1"}, design)
    with pytest.raises(dtr.DesignError, match="staying until 'two': needed is a formula, found 1"):
        require_places("staying", {"two": 1}, design)
