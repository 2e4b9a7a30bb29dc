"""Conditions against Python's own reading of the same text."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dtrbandit.design.condition import parse_condition
from dtrbandit.errors import DesignError

values = st.sampled_from(["x", "z", "0", "1.5", "-2", "1e1"])
comparisons = st.builds(
    lambda left, sign, right: f"{left} {sign} {right}",
    values,
    st.sampled_from(["<", "<=", ">", ">=", "==", "!="]),
    values,
)
conditions = st.recursive(
    comparisons,
    lambda inner: st.one_of(
        st.builds("{} and {}".format, inner, inner),
        st.builds("{} or {}".format, inner, inner),
        st.builds("not {}".format, inner),
        st.builds("({})".format, inner),
    ),
    max_leaves=6,
).map(lambda text: f"x < 100 and ({text})")


@given(conditions, st.lists(st.tuples(st.integers(-3, 11), st.integers(-3, 11)), min_size=1, max_size=4))
def test_a_condition_means_what_python_means(text: str, units: list[tuple[int, int]]) -> None:
    condition = parse_condition(text, where="here")
    x, z = (np.array(column, dtype=np.float64) for column in zip(*units, strict=True))

    one_by_one = [condition.holds({"x": float(u[0]), "z": float(u[1])}) for u in units]
    at_once = condition.mask({"x": x, "z": z})

    code = compile(text, "condition", "eval")  # generated above from a fixed alphabet
    expected = [bool(eval(code, {"__builtins__": {}}, {"x": u[0], "z": u[1]})) for u in units]
    assert one_by_one == expected
    assert np.broadcast_to(at_once, len(units)).tolist() == expected


def test_a_chain_of_comparisons_holds_when_each_link_does() -> None:
    condition = parse_condition("0 < x <= 5", where="here")

    assert [condition.holds({"x": x}) for x in (0.0, 0.1, 5.0, 5.1)] == [False, True, True, False]


def test_a_stage_is_not_a_column() -> None:
    with pytest.raises(
        DesignError, match="a condition compares columns; 'first' is a stage, found 'first' at position 10"
    ):
        parse_condition("x > 1 or first == first", where="here", stages=["first", "second"])


@pytest.mark.parametrize(
    "text", ["x > __import__('os')", "x.y() > 1", "x if x else 1", "x > 1; z", "x > 'a'", "and", "x >"]
)
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(DesignError, match="position"):
        parse_condition(text, where="here")
