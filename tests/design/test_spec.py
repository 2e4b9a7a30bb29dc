"""Designs: ownership of columns, feasible plans, and the ways in and out."""

from __future__ import annotations

import pickle
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

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


def test_the_largest_design_is_allowed() -> None:
    arms = tuple(map(str, range(64)))
    stages = [dtr.Stage(f"s{m}", arms, "1") for m in range(20)]

    assert dtr.Design(stages, plans=[[arm] * 20 for arm in arms]).arm_counts == (64,) * 20


def test_a_function_cannot_be_read_back_from_a_log_or_written_as_toml() -> None:
    design = dtr.Design([dtr.Stage("first", ("a", "b"), lambda c: np.ones((len(c["x"]), 1)), columns=("x",))])

    with pytest.raises(dtr.DesignError, match="design="):
        dtr.Design.from_dict(design.to_dict())
    with pytest.raises(dtr.DesignError, match="TOML"):
        design.to_toml()


@pytest.mark.parametrize(
    ("design", "says"),
    [
        (lambda: dtr.Design([dtr.Stage("s", ("a",), "x")], plans=[("a ",)]), "unknown arm 'a '"),
        (lambda: dtr.Design([]), "at least one"),
        (lambda: dtr.Design([dtr.Stage("s", ("a",), "x")] * 2), "different names"),
        (lambda: dtr.Design([dtr.Stage("x", ("a",), "x")]), "both a column and a stage"),
        (lambda: dtr.Design([dtr.Stage(f"s{m}", tuple("abcde"), "x") for m in range(6)]), "10000 plans"),
    ],
)
def test_a_design_that_makes_no_sense_is_refused(design: object, says: str) -> None:
    with pytest.raises(dtr.DesignError, match=says):
        design()  # type: ignore[operator]  # wrong on purpose


def test_the_file_of_a_trial_is_known_as_one() -> None:
    with pytest.raises(dtr.DesignError, match="it is the file of a trial, for dtrbandit trial create"):
        dtr.Design.from_toml(Path(__file__).parents[2] / "examples" / "trial.toml")


def test_a_pickle_does_not_tell_what_was_computed_of_a_design_and_gives_it_back() -> None:
    design = dtr.Design([dtr.Stage("first", ("a", "b"), "1 + x"), dtr.Stage("second", ("a", "b"), "1 + z")])
    tree = design.tree
    before = pickle.dumps((design, tree))

    found = design.dimensions, tree.parents, design.arm_counts

    assert pickle.dumps((design, tree)) == before
    again, grown = pickle.loads(before)
    assert again == design
    assert (again.dimensions, grown.parents, again.arm_counts) == found
