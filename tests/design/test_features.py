"""Features from a function of the caller's."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np
import pytest
from numpy.typing import NDArray

import dtrbandit as dtr
from dtrbandit.design.features import computed_features
from dtrbandit.design.identity import describe


def three_ones(_: Mapping[str, NDArray[np.float64]]) -> NDArray[np.float64]:
    return np.ones(3)


def squares(columns: Mapping[str, NDArray[np.float64]]) -> NDArray[np.float64]:
    return np.column_stack([np.ones_like(columns["x"]), columns["x"] ** 2, columns["first"]])


def test_features_may_be_a_function_of_columns_and_earlier_arms() -> None:
    stages = [dtr.Stage("first", ("a", "b"), "1"), dtr.Stage("second", ("a", "b"), squares, columns=("x",))]
    design = dtr.Design(stages)
    features = design.parsed[1].features

    assert design.columns == ((), ("x",))
    assert features.row({"x": 3.0}, {"first": 1}) == (1.0, 9.0, 1.0)
    assert features.matrix({"x": np.array([3.0])}, {"first": np.array([1])}, 1).tolist() == [[1.0, 9.0, 1.0]]
    assert "squares" in str(design)


def test_a_function_that_gives_no_table_of_features_is_refused() -> None:
    with pytest.raises(dtr.DesignError, match=r"must map arrays of length n to an array \(n, d\); .* shape \(3,\)"):
        dtr.Design([dtr.Stage("s", ("a",), three_ones, columns=("x",))])


def test_a_function_that_gives_another_number_of_features_later_is_refused() -> None:
    def growing(columns: Mapping[str, NDArray[np.float64]]) -> NDArray[np.float64]:
        return np.ones((len(columns["x"]), 1 + int(columns["x"][0] > 1)))

    features = computed_features(growing, ("x",), known=("x",), where="here")

    assert features.names == (f"{describe(growing)}[0]",)
    assert features.row({"x": 1.0}, {}) == (1.0,)
    with pytest.raises(dtr.DesignError, match=r"must return an array of shape \(1, 1\), found \(1, 2\)"):
        features.row({"x": 2.0}, {})


def test_arms_come_as_numbers_beside_the_columns() -> None:
    features = computed_features(squares, ("x",), known=("x", "first"), where="here")

    matrix = features.matrix({"x": np.array([1.0, -2.0])}, {"first": np.array([0, 1])}, 2)

    assert matrix.tolist() == [[1.0, 1.0, 0.0], [1.0, 4.0, 1.0]]
    assert features.columns == ("x",)


def test_a_callable_without_a_name_is_described_by_its_class() -> None:
    assert describe(squares) == "squares"
    assert describe(partial(squares)) == "partial"
