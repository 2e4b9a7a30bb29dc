"""Formulas against features written out by hand, and against each other."""

from __future__ import annotations

import contextlib
import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

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
        ("0 + C(second) + C(first)", ("C(second)[p]", "C(second)[q]", "C(first)[b]", "C(first)[c]")),
        ("0 + x + C(second)", ("x", "C(second)[p]", "C(second)[q]")),
        ("0 + x + x:C(second)", ("x", "x:C(second)[q]")),
        ("x:z + x:C(second)", ("1", "x:z", "x:C(second)[p]", "x:C(second)[q]")),
    ],
)
def test_a_formula_stands_for_these_features(formula: str, names: tuple[str, ...]) -> None:
    assert parse_formula(formula, earlier=EARLIER, where="here").names == names


def test_features_are_products_of_columns_and_indicators() -> None:
    formula = parse_formula("x*z + x:C(first)", earlier=EARLIER, where="here")

    row = formula.row({"x": 3.0, "z": -2.0}, {"first": 2})

    assert row == (1.0, 3.0, -2.0, -6.0, 0.0, 3.0)


SIZES = {"s0": 2, "s1": 2, "s2": 3}
STAGES = {stage: tuple("abc"[:arms]) for stage, arms in SIZES.items()}
CELLS = [dict(zip(SIZES, arms, strict=True)) for arms in product(*map(range, SIZES.values()))]
UNITS = [(cell, {"x": x, "z": z}) for cell in CELLS for x, z in [(2.0, 3.0), (3.0, -1.0), (-5.0, 0.5), (7.0, 11.0)]]


def feature_matrix(text: str) -> NDArray[np.float64]:
    formula = parse_formula(text, earlier=STAGES, where="here")
    return np.array([formula.row(columns, cell) for cell, columns in UNITS])


def cell_means(text: str) -> NDArray[np.float64]:
    """Return the features of sums of ``:`` products with an indicator for every cell of every product."""
    columns = [] if text.startswith("0 + ") else [[1.0] * len(UNITS)]
    for term in text.removeprefix("0 + ").split(" + "):
        factors = [] if term == "1" else term.split(":")
        stages = [factor[2:-1] for factor in factors if factor.startswith("C(")]
        numbers = [factor for factor in factors if not factor.startswith("C(")]
        for arms in product(*(range(SIZES[stage]) for stage in stages)):
            wanted = dict(zip(stages, arms, strict=True))
            columns.append(
                [
                    float(wanted.items() <= cell.items()) * math.prod([values[name] for name in numbers])
                    for cell, values in UNITS
                ]
            )
    return np.array(columns).T


@pytest.mark.parametrize(
    ("text", "features"),
    [
        ("C(s0)", 2),
        ("0 + C(s0)", 2),
        ("C(s0) + C(s1)", 3),
        ("0 + C(s0) + C(s1)", 3),
        ("0 + C(s2) + C(s0) + C(s1)", 5),
        ("C(s0) + C(s2) + C(s0):C(s2)", 6),
        ("0 + C(s0) + C(s2) + C(s0):C(s2)", 6),
        ("0 + C(s0):C(s2)", 6),
        ("0 + C(s0):C(s2) + C(s0):C(s1)", 8),
        ("C(s0) + C(s0):C(s2)", 6),
        ("0 + C(s2) + C(s0):C(s2)", 6),
        ("0 + C(s0):C(s2) + C(s2)", 6),
        ("0 + C(s0) + C(s1) + C(s2) + C(s0):C(s1) + C(s0):C(s2) + C(s1):C(s2) + C(s0):C(s1):C(s2)", 12),
        ("0 + x + C(s2)", 4),
        ("0 + x + x:C(s2)", 3),
        ("0 + x:C(s0) + x:C(s2)", 4),
        ("x:C(s0) + x:C(s2)", 5),
        ("0 + x:C(s0) + C(s1)", 4),
        ("x + C(s0) + x:C(s0) + C(s2) + x:C(s2)", 8),
        ("x:z + x:C(s0)", 4),
    ],
)
def test_arms_as_indicators_span_what_a_table_of_cells_spans(text: str, features: int) -> None:
    coded, cells = feature_matrix(text), cell_means(text)
    rank = np.linalg.matrix_rank(cells)

    assert coded.shape[1] == features == rank
    assert np.linalg.matrix_rank(coded) == rank
    assert np.linalg.matrix_rank(np.hstack([coded, cells])) == rank


def count_as_r_does(terms: list[frozenset[str]], *, intercept: bool) -> int:
    """Count features by R's rules for factors (TermCode and modelmatrix in its model.c)."""
    terms = sorted(dict.fromkeys(terms), key=len)
    count = int(intercept)
    for i, term in enumerate(terms):
        widths = []
        for stage in term:
            rest = term - {stage}
            contrasts = not rest or any(rest <= before for before in terms[:i])
            if not intercept and i == 0 and stage == min(term):
                contrasts = False
            widths.append(SIZES[stage] - contrasts)
        count += math.prod(widths)
    return count


@given(
    st.booleans(),
    st.lists(st.frozensets(st.sampled_from(sorted(SIZES)), min_size=1), min_size=1, max_size=6),
)
def test_arms_are_coded_as_r_does(intercept: bool, terms: list[frozenset[str]]) -> None:
    written = [":".join(f"C({stage})" for stage in sorted(term)) for term in terms]

    features = feature_matrix(" + ".join([str(int(intercept)), *written])).shape[1]

    assert features == count_as_r_does(terms, intercept=intercept)


def test_a_product_of_arms_without_its_parts_is_redundant_as_in_r() -> None:
    coded = feature_matrix("C(s0):C(s2)")

    assert coded.shape[1] == 1 + 6
    assert np.linalg.matrix_rank(coded) == 6


factors = st.lists(st.sampled_from(["x", "z", "C(s0)", "C(s1)", "C(s2)"]), min_size=1, max_size=3, unique=True)


@given(st.sampled_from(["0", "1"]), st.lists(factors.map(":".join), min_size=1, max_size=5))
def test_no_formula_loses_a_cell(constant: str, terms: list[str]) -> None:
    text = " + ".join([constant, *terms])
    coded, cells = feature_matrix(text), cell_means(text)

    rank = np.linalg.matrix_rank(cells)

    assert np.linalg.matrix_rank(coded) == rank == np.linalg.matrix_rank(np.hstack([coded, cells]))


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


def test_a_short_formula_of_many_features_is_refused_before_they_are_made() -> None:
    earlier = {f"s{m}": tuple(map(str, range(64))) for m in range(6)}

    with pytest.raises(DesignError, match="here: a formula may have 256 features, found 68719476736 with"):
        parse_formula("*".join(f"C({stage})" for stage in earlier), earlier=earlier, where="here")


def test_256_features_are_allowed() -> None:
    earlier = {"s": tuple(map(str, range(64)))}

    assert len(parse_formula("0 + x:C(s) + z:C(s) + u:C(s) + v:C(s)", earlier=earlier, where="here").names) == 256
    with pytest.raises(DesignError, match="found 257"):
        parse_formula("x:C(s) + z:C(s) + u:C(s) + v:C(s)", earlier=earlier, where="here")
