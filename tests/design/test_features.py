"""Features from a function of the caller's."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest
from numpy.typing import NDArray

import dtrbandit as dtr


def three_ones(_: Mapping[str, NDArray[np.float64]]) -> NDArray[np.float64]:
    return np.ones(3)


def squares(columns: Mapping[str, NDArray[np.float64]]) -> NDArray[np.float64]:
    return np.column_stack([np.ones_like(columns["x"]), columns["x"] ** 2, columns["first"]])


def test_features_may_be_a_function_of_columns_and_earlier_arms() -> None:
    stages = [dtr.Stage("first", ("a", "b"), "1"), dtr.Stage("second", ("a", "b"), squares, columns=("x",))]
    design = dtr.Design(stages)
    features = design.arrivals[1].features

    assert design.columns == ((), ("x",))
    assert features.row({"x": 3.0}, {"first": 1}) == (1.0, 9.0, 1.0)
    assert features.matrix({"x": np.array([3.0])}, {"first": np.array([1])}, 1).tolist() == [[1.0, 9.0, 1.0]]
    assert "squares" in str(design)


def test_a_function_that_gives_no_table_of_features_is_refused() -> None:
    with pytest.raises(dtr.DesignError, match=r"must map arrays of length n to an array \(n, d\); .* shape \(3,\)"):
        dtr.Design([dtr.Stage("s", ("a",), three_ones, columns=("x",))])
