"""Formulas against features written out by hand, and against each other."""

from __future__ import annotations

import contextlib
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dtrbandit.design.formula import parse_formula
from dtrbandit.errors import DesignError

EARLIER = {"first": ("a", "b", "c"), "second": ("p", "q")}


@pytest.mark.parametrize(
    ("formula", "names"),
    [
        ("1", ("1",)),
        ("x", ("1", "x")),
        ("0 + x", ("x",)),
        ("x + 0", ("x",)),
        ("1 + x + z + x:z", ("1", "x", "z", "x:z")),
        ("x*z", ("1", "x", "z", "x:z")),
        ("x + x*z + z:x", ("1", "x", "z", "x:z")),
        ("x*z*w", ("1", "x", "z", "w", "x:z", "x:w", "z:w", "x:z:w")),
        ("QIDS.start + größe", ("1", "QIDS.start", "größe")),
        ("C(first)", ("1", "C(first)[b]", "C(first)[c]")),
        ("0 + C(second)", ("C(second)[p]", "C(second)[q]")),
        ("x:C(second)", ("1", "x:C(second)[p]", "x:C(second)[q]")),
        ("x*C(second)", ("1", "x", "C(second)[q]", "x:C(second)[q]")),
        ("C + x", ("1", "C", "x")),
    ],
)
def test_a_formula_stands_for_these_features(formula: str, names: tuple[str, ...]) -> None:
    assert parse_formula(formula, earlier=EARLIER, where="here").names == names


def test_features_are_products_of_columns_and_indicators() -> None:
    formula = parse_formula("x*z + x:C(first)", earlier=EARLIER, where="here")

    row = formula.row({"x": 3.0, "z": -2.0}, {"first": 2})

    assert row == (1.0, 3.0, -2.0, -6.0, 0.0, 3.0)


def test_arms_as_indicators_span_what_a_table_of_cells_spans() -> None:
    formula = parse_formula("C(first)*C(second)", earlier=EARLIER, where="here")

    cells = np.array([formula.row({}, {"first": f, "second": s}) for f, s in product(range(3), range(2))])

    assert cells.shape == (6, 6)
    assert np.linalg.matrix_rank(cells) == 6


@given(
    st.lists(st.sampled_from(["x", "z", "x:z", "C(first)", "x:C(first)", "C(first):C(second)", "x*z"]), min_size=1),
    st.lists(st.tuples(*[st.floats(-1e3, 1e3)] * 2, st.integers(0, 2), st.integers(0, 1)), min_size=1, max_size=5),
)
def test_many_units_at_once_get_the_same_bits_as_one_by_one(
    terms: list[str], units: list[tuple[float, float, int, int]]
) -> None:
    formula = parse_formula(" + ".join(terms), earlier=EARLIER, where="here")
    x, z, first, second = (np.array(column) for column in zip(*units, strict=True))

    matrix = formula.matrix({"x": x, "z": z}, {"first": first, "second": second}, len(units))

    rows = [formula.row({"x": u[0], "z": u[1]}, {"first": u[2], "second": u[3]}) for u in units]
    assert np.array_equal(matrix, np.array(rows))


@given(st.text(alphabet="x1 0+:*C()firs-^.'\"\\\n", max_size=20))
def test_any_text_is_a_formula_or_a_design_error(text: str) -> None:
    with contextlib.suppress(DesignError):
        assert parse_formula(text, earlier=EARLIER, where="here").names
