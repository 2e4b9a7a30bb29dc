"""Linear combinations of coefficients in frames."""

from __future__ import annotations

import numpy as np
import pytest

import dtrbandit as dtr
from dtrbandit.evaluation.qlearning.contrasts import (
    coefficient_table,
    contrast_table,
    effect_table,
    interval_table,
    reference_arm,
)
from dtrbandit.evaluation.qlearning.induction import backward_induction
from dtrbandit.evaluation.qlearning.uncertainty import Bootstrap, Uncertainty
from evaluation.qlearning.samples import smart

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
