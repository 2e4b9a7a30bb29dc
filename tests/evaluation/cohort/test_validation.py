"""Frames against the design: what is filled in, and what is refused, with its rows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dtrbandit as dtr
from dtrbandit.errors import ObservationError
from dtrbandit.evaluation import Cohort
from evaluation import cohorts
from evaluation.small_frame import FRAME, changed, read


def test_a_blank_arm_is_the_only_feasible_one_but_not_for_a_drop_out() -> None:
    cohort = read(FRAME)

    assert FRAME["A2"].isna().tolist() == [False, True, True, True, True]
    assert cohort.arms[2].tolist() == [1, 1]  # other, then nothing but other
    assert cohort.arms[4].tolist() == [1, -1]  # whether this unit came to the second stage is not known


def test_a_blank_before_a_later_arm_is_filled_in_for_a_drop_out_too() -> None:
    stages = [dtr.Stage(name, ("a", "b"), "1") for name in ("first", "second", "third")]
    design = dtr.Design(stages, plans=[("a", "b", "a"), ("a", "b", "b"), ("b", "a", "a"), ("b", "b", "a")])
    frame = pd.DataFrame({"A1": ["a", "a"], "A2": [None, None], "A3": ["b", None], "Y": [None, None]})

    cohort = Cohort.from_frame(frame, design, arms=["A1", "A2", "A3"], outcome="Y")

    assert cohort.arms.tolist() == [[0, 1, 1], [0, -1, -1]]


def test_units_are_called_by_their_rows_unless_they_have_ids() -> None:
    assert read(FRAME, unit=None).units == ("1", "2", "3", "4", "5")
    assert read(FRAME.assign(id=[7.0, 8.0, 9.0, 10.0, 11.0])).units == ("7", "8", "9", "10", "11")


# -- what is refused -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (changed(4, start1=None), "column 'start1' is blank, and stage 'first' needs it .*: row 4$"),
        (changed(1, start2=math.nan), "column 'start2' is blank, and stage 'second' needs it .*: row 1$"),
        (changed(2, end1=None), "column 'end1' is blank, and stage 'second' needs it .*: row 2$"),
        (changed(4, A2=1), "column 'start2' is blank, and stage 'second' needs it .*: row 4$"),
        (changed(4, A2=1, end1=None), "column 'end1' is blank, and stage 'second' needs it .*: row 4$"),
        (changed(2, start1="high"), "column 'start1' must hold finite numbers .*found 'high': row 2$"),
        (changed(2, start1=True), "column 'start1' must hold finite numbers .*found True: row 2$"),
        (changed(2, start2="1_000"), "column 'start2' must hold finite numbers .*found '1_000': row 2$"),
        (changed(2, start1=math.inf), "column 'start1' must hold finite numbers .*found inf: row 2$"),
        (changed(2, start1=1e101), r"column 'start1' must hold finite numbers .*found 1e\+101: row 2$"),
        (changed(1, Y="good"), "column 'Y' must hold finite numbers .*found 'good': row 1$"),
        (changed(1, Y=-math.inf), "column 'Y' must hold finite numbers .*found -inf: row 1$"),
        (changed(3, A2=1), r"stage 'second' has \['ssri'\] after \['other'\], .*feasible: \['other'\]\).*: row 3$"),
        (changed(2, A2=1), "units without 'end1 > 5' leave before stage 'second', and must have no arm .*: row 2$"),
        (changed(1, A2=None), "column 'A2' is blank, and several arms are feasible .*'second' .*: row 1$"),
        (changed(1, A1=None), "column 'A1' is blank, and several arms are feasible .*'first' .*: row 1$"),
        (changed(5, A1=None), "'first' .every unit.; fill it in, or leave out who was never given one: row 5$"),
        (changed(4, Y=-8.0), "column 'start2' is blank, .*: row 4\n  column 'A2' is blank, .*: row 4$"),
        (changed(4, Y="lost"), "found 'lost': row 4\n  column 'start2' is blank, .*: row 4\n  column 'A2' .*: row 4$"),
        (
            changed(1, A1=3),
            r"column 'A1' must hold arms of stage 'first', \['ssri', 'other'\], or blanks, found 3; "
            r"say which arm each means, recode=\{'A1': \{3: \.\.\.\}\} or --recode 'A1: 3=\.\.\.': row 1$",
        ),
        (changed(4, id="u1"), "column 'id' must name each unit once, found 'u1' again; .*: rows 1, 4$"),
        (changed(4, id=None), "column 'id' must name each unit in 1 to 200 printable characters: row 4$"),
        (changed(4, w=0), "column 'w' must hold weights above 0; .*: row 4$"),
        (changed(4, w=-1.5), "column 'w' must hold weights above 0; .*: row 4$"),
        (changed(4, w=None), "column 'w' must hold weights above 0; .*: row 4$"),
        (changed(4, w=math.inf), "column 'w' must hold finite numbers .*: row 4$"),
    ],
)
def test_a_row_that_does_not_fit_is_named_with_what_is_wrong(frame: pd.DataFrame, message: str) -> None:
    with pytest.raises(ObservationError, match=message) as refusal:
        read(frame, weights="w")

    assert str(refusal.value).startswith(
        "the frame does not fit the design (rows are counted from 1, without the header)"
    )


def test_everything_that_is_wrong_is_told_at_once() -> None:
    frame = changed(1, A1="x", start1="y")
    frame.loc[1, ["A2", "Y"]] = [1, "bad"]
    frame.loc[2, "A2"] = 1
    frame.loc[3, "id"] = "u1"

    with pytest.raises(ObservationError) as refusal:
        read(frame)

    wrong = str(refusal.value).splitlines()[1:]
    assert [line.rsplit(": ", 1)[1] for line in wrong] == ["rows 1, 4", "row 2", "row 1", "row 1", "row 2", "row 3"]


def test_of_many_rows_the_first_are_named_and_the_others_counted() -> None:
    frame = pd.concat([FRAME.iloc[:1]] * 1200, ignore_index=True).assign(start1=None)

    with pytest.raises(ObservationError, match=r"rows 1, 2, 3, 4, 5 and 1,195 more$"):
        read(frame, unit=None)


# -- what is left out ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("frame", "columns"),
    [
        (changed(1, start1=None), {"start1": 1}),
        (changed(5, start1="NA"), {"start1": 1}),  # a drop-out has reached the first stage, too
        (changed(1, start2=math.nan), {"start2": 1}),
        (changed(1, end1=None), {"end1": 1}),  # whether it entered the second stage is not known
        (changed(2, end1="."), {"end1": 1}),
        (changed(4, A2=1), {"start2": 1}),  # a drop-out that reached the second stage, by its arm
        (changed(4, Y=-8.0), {"start2": 1}),  # nobody asks for the second arm of a unit that is left out
        (changed(1, start1=None, start2=None), {"start1": 1, "start2": 1}),
        (changed(1, start1=math.inf), {"start1": 1}),
        (changed(1, start2=-math.inf), {"start2": 1}),
        (changed(3, start1=None, A2=1), {"start1": 1}),  # nor whether its second arm is feasible
        (changed(2, start1=None, A2=1), {"start1": 1}),  # nor whether it should have one
    ],
)
def test_a_unit_without_a_covariate_that_it_needs_is_left_out_and_counted(
    frame: pd.DataFrame, columns: dict[str, int]
) -> None:
    (row,) = [i for i in range(5) if not frame.astype(object).iloc[i].equals(FRAME.astype(object).iloc[i])]
    with pytest.raises(ObservationError):
        read(frame, weights="w")

    cohort = read(frame, weights="w", missing="drop")

    rest = read(FRAME.drop(index=row), weights="w")
    assert cohort.left_out.units == (f"u{row + 1}",)
    assert cohort.left_out.columns == columns
    assert cohort.units == rest.units
    np.testing.assert_array_equal(cohort.arms, rest.arms)
    np.testing.assert_array_equal(cohort.outcome, rest.outcome)
    np.testing.assert_array_equal(cohort.weights, rest.weights)
    for found, expected in zip(cohort.features, rest.features, strict=True):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    "frame",
    [
        FRAME,
        changed(2, start2=None),  # left early, with what the second stage would have needed
        changed(4, end1=None),  # dropped out after the first arm, and nothing more is known
        changed(5, start2=math.inf),
    ],
)
def test_who_does_not_need_a_covariate_is_not_left_out(frame: pd.DataFrame) -> None:
    cohort = read(frame, missing="drop")

    assert not cohort.left_out
    assert cohort.units == ("u1", "u2", "u3", "u4", "u5")
    assert cohort.dropped_out.tolist() == [False, False, False, True, True]
    assert np.isfinite(cohort.outcome[:3]).all()


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (changed(1, start1="high"), "column 'start1' must hold finite numbers .*found 'high': row 1$"),
        (changed(1, start1=1e101), r"column 'start1' must hold finite numbers .*found 1e\+101: row 1$"),
        (changed(1, Y=math.inf), "column 'Y' must hold finite numbers .*found inf: row 1$"),
        (changed(1, w=math.inf), "column 'w' must hold finite numbers .*found inf: row 1$"),
        (changed(1, w=None), "column 'w' must hold weights above 0; .*: row 1$"),
        (changed(1, A1=None), "column 'A1' is blank, and several arms are feasible .*: row 1$"),
        (changed(1, A1=None, start1=None, A2="x"), "column 'A2' must hold arms .*found 'x'; .*: row 1$"),
        (changed(3, A2=1), r"stage 'second' has \['ssri'\] after \['other'\], .*: row 3$"),
        (changed(2, A2=1), "units without 'end1 > 5' leave before stage 'second'.*: row 2$"),
    ],
)
def test_what_is_no_blank_covariate_is_refused_all_the_same(frame: pd.DataFrame, message: str) -> None:
    with pytest.raises(ObservationError, match=message):
        read(frame, weights="w", missing="drop")


def test_a_refusal_says_that_such_units_can_be_left_out() -> None:
    with pytest.raises(ObservationError, match=r"; fill it in, or leave such units out by missing='drop' or --missing"):
        read(changed(4, start1=None))


def test_a_frame_in_which_everybody_lacks_something_is_refused() -> None:
    with pytest.raises(
        ObservationError,
        match=r"each of the 5 units lacks a covariate .* leaves nobody; blank are \{'start1': 5\}; fill",
    ):
        read(FRAME.assign(start1=None), missing="drop")


def test_units_left_out_do_not_shift_the_numbers_of_rows() -> None:
    frame = pd.DataFrame({"x": [None, 1.0, 1e60], "y": [1.0, 1.0, 1e60], "A": ["a"] * 3, "Y": [1.0, 2.0, 3.0]})
    product, sum_of_both = (dtr.Design([dtr.Stage("only", ("a",), each)]) for each in ("1 + x:y", "1 + x + y"))

    cohort = Cohort.from_frame(frame, sum_of_both, arms=["A"], outcome="Y", missing="drop")

    assert cohort.units == ("2", "3")
    assert cohort.left_out.units == ("1",)
    with pytest.raises(ObservationError, match=r"features must be finite .*: row 3 "):
        Cohort.from_frame(frame, product, arms=["A"], outcome="Y", missing="drop")


# -- against a plain reading, row by row ---------------------------------------------------------------------


BRANCHING = cohorts.branching(1, seed=0).design
CELLS: dict[str, st.SearchStrategy[object]] = {
    **dict.fromkeys("xyrzs", st.sampled_from([None, -2.0, 0.0, 0.5, 2.0])),
    **dict.fromkeys(("A1", "A2", "A3"), st.sampled_from([None, "a", "b", "c"])),
    "Y": st.sampled_from([None, 1.0]),
}


class BlankError(ValueError):
    """A covariate that a row needs is blank."""


def plainly(row: dict[str, Any]) -> tuple[int, ...]:
    """Return the arms of a row, or raise ValueError: one unit, one stage after the other."""
    arms: list[int] = []
    given = [row["A1"], row["A2"], row["A3"]]
    for m, stage in enumerate(BRANCHING.stages):
        known_there = m == 0 or row["Y"] is not None or any(arm is not None for arm in given[m:])
        if not known_there:
            break
        decisive = {1: ("r",), 2: ("s",)}.get(m, ())
        if any(row[name] is None for name in decisive):
            raise BlankError
        if (m == 1 and not row["r"] > -1) or (m == 2 and not row["s"] < 1):
            if any(arm is not None for arm in given[m:]):
                raise ValueError
            break
        if any(row[name] is None for name in BRANCHING.columns[m]):
            raise BlankError
        labels = [plan[m] for plan in BRANCHING.plans or () if plan[:m] == _labels(arms)]
        arm = given[m] if given[m] is not None else labels[0] if len(set(labels)) == 1 else None
        if arm not in labels:
            raise ValueError
        arms.append(stage.arms.index(arm))
    return (*arms, *(-1,) * (3 - len(arms)))


def _labels(arms: Sequence[int]) -> tuple[str, ...]:
    return tuple(stage.arms[arm] for stage, arm in zip(BRANCHING.stages, arms, strict=False))


@given(st.lists(st.fixed_dictionaries(CELLS), min_size=1, max_size=8))
def test_every_row_is_read_as_one_would_read_it_alone(rows: list[dict[str, object]]) -> None:
    expected, wrong = [], []
    for number, row in enumerate(rows, 1):
        try:
            expected.append(plainly(row))
        except ValueError:
            wrong.append(number)
    good = [row for number, row in enumerate(rows, 1) if number not in wrong]

    if wrong:
        with pytest.raises(ObservationError) as refusal:
            _read_rows(rows)
        named = {int(n) for line in str(refusal.value).splitlines()[1:] for n in _named(line)}
        assert named <= set(wrong)
        assert named == set(wrong) or " more" in str(refusal.value)
    if good:
        assert _read_rows(good).arms.tolist() == [list(arms) for arms in expected]


@given(st.lists(st.fixed_dictionaries(CELLS), min_size=1, max_size=8))
def test_every_row_is_left_out_as_one_would_leave_it_out_alone(rows: list[dict[str, object]]) -> None:
    arms: dict[str, list[int]] = {}
    blank, whole = [], []
    for number, row in enumerate(rows, 1):
        if "c" in (row["A1"], row["A3"]):  # no arm of these stages: a cell that means nothing is never passed over
            continue
        try:
            arms[str(number)] = list(plainly(row))
        except BlankError:
            blank.append(str(number))
        except ValueError:
            continue
        whole.append(row)
    if len(whole) < len(rows) or not arms:
        with pytest.raises(ObservationError):
            _read_rows(rows, missing="drop")
        return

    cohort = _read_rows(rows, missing="drop")

    assert dict(zip(cohort.units, cohort.arms.tolist(), strict=True)) == arms
    assert cohort.left_out.units == tuple(blank)
    assert max(cohort.left_out.columns.values(), default=0) <= len(blank) <= sum(cohort.left_out.columns.values())


def _named(line: str) -> list[str]:
    return line.rsplit(": ", 1)[1].removeprefix("rows ").removeprefix("row ").split(" and ")[0].split(", ")


def _read_rows(rows: list[dict[str, object]], **other: Any) -> Cohort:
    return Cohort.from_frame(pd.DataFrame(rows), BRANCHING, arms=["A1", "A2", "A3"], outcome="Y", **other)


def test_the_arm_that_is_left_is_filled_in_where_the_file_is_blank() -> None:
    cohort = cohorts.autism()

    with_device = cohort.arms[:, 0] == 0
    assert set(cohort.arms[with_device & ~cohort.left_early, 1]) == {1}
    assert set(cohort.arms[cohort.left_early, 1]) == {-1}
    assert cohort.entered[:, 1].sum() == (cohort.contexts[1]["R"] == 0).sum()
