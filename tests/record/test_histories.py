"""The history that a fact leads to, and the features of a unit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import dtrbandit as dtr
from dtrbandit.record.events import ArmClosed, Fact, Held, Unblinded
from dtrbandit.record.histories import (
    ADVANCES,
    NO_UNIT,
    advance,
    all_features,
    barred_by,
    columns_of,
    features_at,
    goes_on,
    in_order,
)
from dtrbandit.record.values import Values
from small_session import DESIGN


def test_a_context_goes_on_record_in_the_order_of_its_columns() -> None:
    assert in_order(DESIGN, 1, {"end1": 1.0, "start2": 2.0}).labels == ("start2", "end1")
    assert in_order(DESIGN, 1, {"end1": 1.0}).labels == ("end1",)


def test_a_fact_of_the_trial_leads_to_no_unit() -> None:
    assert advance(DESIGN, None, Held("supply")) is NO_UNIT
    assert advance(DESIGN, None, ArmClosed("first", "ssri", "harm")) is NO_UNIT


def test_a_look_leads_to_the_history_that_there_was() -> None:
    session = dtr.Session(DESIGN, dtr.Greedy())
    session.enroll("u", {"start1": 0.5})
    record = session.histories.get("u")
    assert record is not None

    assert advance(DESIGN, record, Unblinded("u", "a reaction")) is record.history


def test_arms_that_are_closed_are_not_feasible_on_arrival() -> None:
    session = dtr.Session(DESIGN, dtr.Greedy())
    session.enroll("u", {"start1": 0.5})
    enrolled = session.log[1]
    assert not isinstance(enrolled, str)

    assert advance(DESIGN, None, enrolled, barred_by(DESIGN, {"first": ("ssri",)})).feasible == (False, True)  # type: ignore[arg-type]


def test_only_kinds_of_facts_advance() -> None:
    assert set(ADVANCES) <= set(get_args(Fact))


def test_a_unit_goes_on_where_it_enters() -> None:
    first = Values(("start1",), (0.5,))

    assert goes_on(DESIGN, (first, Values(("start2", "end1"), (1.0, 9.0))), 1)
    assert not goes_on(DESIGN, (first, Values(("end1",), (2.0,))), 1)
    assert not goes_on(DESIGN, (first,), 1)


# -- features ----------------------------------------------------------------------------------------------------

ARMS = ("a", "b")
FORMULAS = dtr.Design(
    [
        dtr.Stage("first", ARMS, "1 + w + x"),
        dtr.Stage("second", ARMS, "z + x + 0"),
        dtr.Stage("third", ARMS, "1 + x:z + C(second)"),
    ]
)
numbers = st.floats(-1e40, 1e40)


def contexts_of(w: float, x: float, z: float) -> tuple[Values[float], ...]:
    return Values(("w", "x"), (w, x)), Values(("z",), (z,)), Values((), b"")


@given(numbers, numbers, numbers, st.integers(0, 1), st.integers(0, 1))
def test_features_are_what_the_formula_says_of_the_columns(x: float, w: float, z: float, a1: int, a2: int) -> None:
    contexts = contexts_of(w, x, z)

    first, second, third = all_features(FORMULAS, "u", contexts, (a1, a2))

    assert first.tolist() == [1.0, w, x]
    assert second.tolist() == [z, x]
    assert third.tolist() == [1.0, x * z, float(a2 == 1)]
    assert third.tolist() == features_at(FORMULAS, "u", 2, contexts, (a1, a2)).tolist()


def test_features_cannot_be_changed() -> None:
    contexts = contexts_of(1.0, 2.0, 3.0)

    for features in all_features(FORMULAS, "u", contexts, (0, 0)):
        with pytest.raises(ValueError, match="read-only"):
            features[0] = 9.0


def test_a_stage_whose_columns_are_not_all_known_has_no_features() -> None:
    design = dtr.Design([dtr.Stage("first", ARMS, "x"), dtr.Stage("second", ARMS, "z", enter_if="r > 0")])

    found = all_features(design, "u", (Values(("x",), (1.0,)), Values(("r",), (-1.0,))), (0,))

    assert [each.tolist() for each in found] == [[1.0, 1.0]]


def test_a_product_out_of_range_is_refused_with_unit_stage_and_names() -> None:
    contexts = contexts_of(1.0, 1e80, 1e100)

    with pytest.raises(dtr.ObservationError) as raised:
        features_at(FORMULAS, "u", 2, contexts, (0, 0))

    assert str(raised.value) == (
        "unit 'u', stage 'third': features must be finite and at most 1e+100 in size, "
        "found {'1': 1.0, 'x:z': 1e+180, 'C(second)[b]': 0.0}"
    )


def test_a_function_that_gives_nan_is_refused() -> None:
    def roots(columns: Mapping[str, NDArray[np.float64]]) -> NDArray[np.float64]:
        with np.errstate(invalid="ignore"):
            return np.sqrt(columns["x"])[:, None]

    design = dtr.Design([dtr.Stage("first", ARMS, roots, columns=("x",))])

    assert features_at(design, "u", 0, (Values(("x",), (4.0,)),), ()).tolist() == [2.0]
    with pytest.raises(dtr.ObservationError, match="must be finite"):
        features_at(design, "u", 0, (Values(("x",), (-4.0,)),), ())


def test_all_columns_of_some_contexts_are_one_mapping() -> None:
    assert columns_of([Values(("x", "w"), (1.0, 2.0)), Values((), ()), Values(("z",), (3.0,))]) == {
        "x": 1.0,
        "w": 2.0,
        "z": 3.0,
    }
