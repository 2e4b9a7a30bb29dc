"""Designs: ownership of columns, feasible plans, and the ways in and out."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import dtrbandit as dtr

EXAMPLES = Path(__file__).parents[2] / "examples"


def stard(**changes: object) -> dtr.Design:
    stages = [
        dtr.Stage("first", arms=("ssri", "other"), features="1 + start1 + preference", expected_days=84),
        dtr.Stage("second", arms=("ssri", "other"), features="1 + start2 + preference", enter_if="end1 > 5"),
    ]
    return dtr.Design(stages, plans=[("other", "other"), ("ssri", "ssri"), ("ssri", "other")], **changes)


def test_a_column_belongs_to_the_first_stage_that_names_it() -> None:
    assert stard().columns == (("start1", "preference"), ("start2", "end1"))


def test_plans_are_kept_in_lexicographic_order() -> None:
    assert stard().plans == (("ssri", "ssri"), ("ssri", "other"), ("other", "other"))
    assert stard().arm_plans == ((0, 0), (0, 1), (1, 1))


def test_every_combination_is_feasible_by_default() -> None:
    design = dtr.Design([dtr.Stage("s", ("a", "b"), "x"), dtr.Stage("t", ("a", "b", "c"), "x")])

    assert design.arm_plans == tuple(product(range(2), range(3)))


plans_of_three_stages = st.lists(
    st.tuples(st.integers(0, 1), st.integers(0, 2), st.integers(0, 1)), min_size=1, unique=True
)


@given(plans_of_three_stages)
def test_the_tree_leads_exactly_along_the_feasible_plans(plans: list[tuple[int, int, int]]) -> None:
    arms = [sorted({plan[m] for plan in plans}) for m in range(3)]
    stages = [dtr.Stage(f"s{m}", [str(a) for a in arms[m]], f"x{m}") for m in range(3)]  # type: ignore[arg-type]
    design = dtr.Design(stages, plans=[[str(a) for a in plan] for plan in plans])

    tree = design.tree
    leaves = {}
    for path in product(*(range(len(a)) for a in arms)):
        leaves[path] = tree.after(path)
        for m in range(3):
            node = tree.after(path[:m])
            if node >= 0:
                follows = any(
                    tuple(arms[k].index(plan[k]) for k in range(m + 1)) == (*path[:m], path[m]) for plan in plans
                )
                assert tree.feasible[node][path[m]] == follows

    feasible = [path for path, leaf in leaves.items() if leaf >= 0]
    assert feasible == list(design.arm_plans)
    assert [leaves[path] - len(tree.child) for path in feasible] == list(range(len(feasible)))


def test_a_design_survives_a_dict_and_a_toml_file(tmp_path: Path) -> None:
    path = tmp_path / "design.toml"
    path.write_text(stard().to_toml())

    assert dtr.Design.from_dict(stard().to_dict()) == stard()
    assert dtr.Design.from_toml(path) == stard()
    assert hash(dtr.Design.from_toml(path)) == hash(stard())


labels = st.text(min_size=1, max_size=8).filter(lambda s: s.isprintable() and s == s.strip())


@given(st.lists(labels, min_size=1, max_size=3, unique=True), st.lists(labels, min_size=1, max_size=3, unique=True))
def test_any_printable_label_survives_toml(names: list[str], arms: list[str]) -> None:
    import tomllib

    design = dtr.Design([dtr.Stage(f"{name} (stage)", tuple(arms), "1 + x") for name in names])

    assert dtr.Design.from_dict(tomllib.loads(design.to_toml())) == design


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*design*.toml")), ids=lambda path: path.name)
def test_the_example_designs_can_be_read(path: Path) -> None:
    assert "stage" in str(dtr.Design.from_toml(path))


def test_there_are_example_designs() -> None:
    assert list(EXAMPLES.glob("*design*.toml"))


def test_printing_a_design_explains_it() -> None:
    text = str(stard())

    assert "A design of 2 stages with 3 feasible plans." in text
    assert "Entered if end1 > 5; the others leave early, with their outcome, and need end1." in text
    assert "ssri, then other" in text
    assert "84 days" in text


def test_a_stage_holds_plain_values_whatever_was_given() -> None:
    arms = list(np.array(["a", "b"]))

    stage = dtr.Stage(np.str_("s"), arms, "1", columns=[np.str_("x")], expected_days=np.int64(84))  # type: ignore[arg-type]

    assert stage == dtr.Stage("s", ("a", "b"), "1", columns=("x",), expected_days=84.0)
    assert {type(text) for text in (stage.name, *stage.arms, *(stage.columns or ()))} == {str}
    assert type(stage.expected_days) is float


def test_the_largest_design_is_allowed() -> None:
    arms = tuple(map(str, range(64)))
    stages = [dtr.Stage(f"s{m}", arms, "1") for m in range(20)]

    assert dtr.Design(stages, plans=[[arm] * 20 for arm in arms]).arm_counts == (64,) * 20


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


def test_a_function_cannot_be_read_back_from_a_log_or_written_as_toml() -> None:
    design = dtr.Design([dtr.Stage("first", ("a", "b"), lambda c: np.ones((len(c["x"]), 1)), columns=("x",))])

    with pytest.raises(dtr.DesignError, match="design="):
        dtr.Design.from_dict(design.to_dict())
    with pytest.raises(dtr.DesignError, match="TOML"):
        design.to_toml()


@pytest.mark.parametrize(
    ("stage", "says"),
    [
        (lambda: dtr.Stage("s", ("a", "b"), squares), "columns="),
        (lambda: dtr.Stage("s", "ab", "x"), "list"),  # type: ignore[arg-type]
        (lambda: dtr.Stage("s", (), "x"), "at least 1"),
        (lambda: dtr.Stage("", ("a",), "x"), "printable"),
        (lambda: dtr.Stage(" s", ("a",), "x"), r"name must not begin or end with a space, found ' s'; write 's'"),
        (lambda: dtr.Stage("s", ("a", "a "), "x"), r"arms: each must not .* a space, found 'a '; write 'a'"),
        (lambda: dtr.Stage("s", ("a",), "x", columns=(" z",)), r"columns: each must not .* found ' z'; write 'z'"),
        (lambda: dtr.Design([dtr.Stage("s", ("a",), "x")], plans=[("a ",)]), "unknown arm 'a '"),
        (lambda: dtr.Stage("s", ("a",), "x", expected_days=-3), "positive"),
        (lambda: dtr.Stage("s", ("a",), "x", expected_days=True), "positive"),
        (lambda: dtr.Stage("s", ("a",), "x", expected_days=10**400), "positive"),
        (lambda: dtr.Stage("s", tuple(map(str, range(65))), "x"), "64 at most, found 65"),
        (lambda: dtr.Design([]), "at least one"),
        (lambda: dtr.Design([dtr.Stage("s", ("a",), "x")] * 2), "different names"),
        (lambda: dtr.Design([dtr.Stage("x", ("a",), "x")]), "both a column and a stage"),
        (lambda: dtr.Design([dtr.Stage("s", ("a",), three_ones, columns=("x",))]), r"\(n, d\)"),
        (lambda: dtr.Design([dtr.Stage(f"s{m}", tuple("abcde"), "x") for m in range(6)]), "10000 plans"),
    ],
)
def test_a_stage_or_design_that_makes_no_sense_is_refused(stage: object, says: str) -> None:
    with pytest.raises(dtr.DesignError, match=says):
        stage()  # type: ignore[operator]
