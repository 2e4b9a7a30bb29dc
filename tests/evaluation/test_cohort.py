"""Cohorts from frames: what is read, what is filled in, and what is refused, with its rows."""

from __future__ import annotations

import gzip
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dtrbandit as dtr
from dtrbandit.errors import DesignError, LogError, NotEstimable, ObservationError
from dtrbandit.evaluation import Cohort
from evaluation import cohorts
from extras import needed

DESIGN = dtr.Design(
    [
        dtr.Stage("first", ("ssri", "other"), "1 + start1"),
        dtr.Stage("second", ("ssri", "other"), "1 + start2", enter_if="end1 > 5"),
    ],
    plans=[("ssri", "ssri"), ("ssri", "other"), ("other", "other")],
)
RECODE = {"A1": {1: "ssri", -1: "other"}, "A2": {1: "ssri", -1: "other"}}
FRAME = pd.DataFrame(
    {
        "id": ["u1", "u2", "u3", "u4", "u5"],
        "start1": [12, 13, 14, 15, 16],
        "A1": [1, 1, -1, 1, -1],
        "end1": [8, 3, 9, 7, None],
        "start2": [8.5, 3.5, 9.5, None, None],
        "A2": [-1, None, None, None, None],
        "Y": [-9.0, -3.0, -10.0, None, None],
        "w": [1.0, 2.0, 1.0, 1.0, 0.5],
    }
)


def read(frame: object, **other: Any) -> Cohort:
    roles: dict[str, Any] = {"arms": ["A1", "A2"], "outcome": "Y", "unit": "id", "recode": RECODE, **other}
    return Cohort.from_frame(frame, DESIGN, **roles)


def changed(row: int, **cells: object) -> pd.DataFrame:
    """Return the frame with cells of a row, counted from 1, replaced."""
    frame = FRAME.astype(object)
    for name, cell in cells.items():
        frame.loc[row - 1, name] = cell
    return frame


# -- what is read --------------------------------------------------------------------------------------------


def test_a_frame_becomes_contexts_arms_and_outcomes() -> None:
    cohort = read(FRAME, weights="w")

    assert cohort.units == ("u1", "u2", "u3", "u4", "u5")
    assert cohort.contexts[0]["start1"].tolist() == [12, 13, 14, 15, 16]
    assert cohort.arms.tolist() == [[0, 1], [0, -1], [1, 1], [0, -1], [1, -1]]
    np.testing.assert_array_equal(cohort.outcome, [-9.0, -3.0, -10.0, np.nan, np.nan])
    assert cohort.left_early.tolist() == [False, True, False, False, False]
    assert cohort.dropped_out.tolist() == [False, False, False, True, True]
    assert cohort.weights.tolist() == [1.0, 2.0, 1.0, 1.0, 0.5]


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


def test_what_is_known_of_a_stage_that_was_not_reached_is_kept() -> None:
    cohort = read(FRAME)

    assert cohort.contexts[1]["start2"][1] == 3.5  # of a unit that left early
    assert cohort.contexts[1]["end1"][3] == 7.0  # of a drop-out
    assert cohort.features[1][1].tolist() == [1.0, 3.5]
    assert np.isnan(cohort.features[1][3]).all()


def test_units_enter_by_condition_with_a_whole_context_only() -> None:
    cohort = read(changed(5, end1=9, start2=9))  # dropped out, with all that the second stage needs

    assert cohort.entered[:, 0].all()
    assert cohort.entered[:, 1].tolist() == [True, False, True, False, True]
    assert cohort.feasible[1].tolist() == [[True, True], [True, True], [False, True], [True, True], [False, True]]


def test_features_after_an_arm_that_was_not_given_are_not_known() -> None:
    stages = [
        dtr.Stage("one", ("a", "b"), "1 + x"),
        dtr.Stage("two", ("a", "b"), "1", enter_if="x > 0"),
        dtr.Stage("three", ("a", "b"), "1 + z + C(two)"),
    ]
    frame = pd.DataFrame(
        {"x": [1, -1], "z": [5, 6], "A1": ["a", "a"], "A2": ["b", None], "A3": ["a", None], "Y": [1, 2]}
    )

    cohort = Cohort.from_frame(frame, dtr.Design(stages), arms=["A1", "A2", "A3"], outcome="Y")

    np.testing.assert_array_equal(cohort.features[2], [[1, 5, 1], [np.nan] * 3])


def test_after_a_stage_without_an_arm_nothing_is_feasible() -> None:
    cohort = cohorts.branching(100, seed=1)

    none = cohort.arms[:, 1] < 0
    assert none.any()
    assert not cohort.feasible[2][none].any()


def test_units_are_called_by_their_rows_unless_they_have_ids() -> None:
    assert read(FRAME, unit=None).units == ("1", "2", "3", "4", "5")
    assert read(FRAME.assign(id=[7.0, 8.0, 9.0, 10.0, 11.0])).units == ("7", "8", "9", "10", "11")


def test_ids_of_many_digits_are_kept_to_the_last() -> None:
    ids = [2**53 + k for k in range(5)]

    assert read(FRAME.assign(id=ids)).units == tuple(map(str, ids))


@pytest.mark.parametrize("blank", [None, math.nan])
def test_what_blanks_mean_is_said_once_for_all_of_them(blank: object) -> None:
    design = dtr.Design([dtr.Stage("only", ("drug", "none"), "1")])
    frame = pd.DataFrame({"A": ["drug", None, "NA", "."], "Y": [1, 2, 3, 4]})

    cohort = Cohort.from_frame(frame, design, arms=["A"], outcome="Y", recode={"A": {blank: "none"}})

    assert cohort.arms[:, 0].tolist() == [0, 1, 1, 1]


@pytest.mark.parametrize("cells", [[1, 0, 1], [1.0, 0.0, 1.0], ["1", "0", " 1 "], ["1.0", "0.0", "1"]])
def test_numbers_that_read_like_labels_need_no_recoding(cells: list[object]) -> None:
    design = dtr.Design([dtr.Stage("only", ("0", "1"), "1")])

    cohort = Cohort.from_frame(pd.DataFrame({"A": cells, "Y": [1, 2, 3]}), design, arms=["A"], outcome="Y")

    assert cohort.arms[:, 0].tolist() == [1, 0, 1]


def test_labels_are_read_beside_recoded_cells_and_none_means_no_arm() -> None:
    frame = FRAME.assign(A1=["ssri", 1, "other", "ssri", "other"], A2=[-1, 0, 0, 0, 0])

    cohort = read(frame, recode={"A1": {1: "ssri"}, "A2": {-1: "other", 0: None}})

    np.testing.assert_array_equal(cohort.arms, read(FRAME).arms)


def test_an_arm_may_be_called_what_others_write_for_a_blank(tmp_path: Path) -> None:
    design = dtr.Design([dtr.Stage("only", ("None", "NA"), "1 + x")])
    (tmp_path / "trial.csv").write_text("x,A,Y\n1,None,2\n2,NA,NA\n")

    cohort = Cohort.from_frame(tmp_path / "trial.csv", design, arms=["A"], outcome="Y")

    assert cohort.arms[:, 0].tolist() == [0, 1]
    assert cohort.dropped_out.tolist() == [False, True]


# -- where it comes from -------------------------------------------------------------------------------------


def csv(folder: Path) -> str:
    FRAME.to_csv(folder / "trial.csv", index=False)
    return str(folder / "trial.csv")


def csv_of_r(folder: Path) -> Path:
    FRAME.to_csv(folder / "trial.csv", index=False, na_rep="NA", quoting=2, encoding="utf-8-sig", lineterminator="\r\n")
    return folder / "trial.csv"


def zipped_tabs(folder: Path) -> Path:
    (folder / "trial.tsv.gz").write_bytes(gzip.compress(FRAME.to_csv(sep="\t", index=False).encode()))
    return folder / "trial.tsv.gz"


def parquet(folder: Path) -> Path:
    FRAME.set_index("id").to_parquet(folder / "trial.parquet")  # pandas keeps the index as a column of its own
    return folder / "trial.parquet"


SOURCES: dict[str, Callable[[Path], object]] = {
    "pandas": lambda _: FRAME,
    "pandas with types that know blanks": lambda _: FRAME.convert_dtypes(),
    "pandas with categories": lambda _: FRAME.astype({"A1": "category", "A2": "category"}),
    "pandas objects": lambda _: FRAME.astype(object),
    "pandas with an index": lambda _: FRAME.set_axis([9, 9, 1, 2, 0]),
    "arrow": lambda _: pa.Table.from_pandas(FRAME),
    "arrow reader": lambda _: pa.Table.from_pandas(FRAME).to_reader(),
    "polars": lambda _: needed("polars").DataFrame(FRAME.to_dict("list")),
    "csv": csv,
    "csv as R writes it": csv_of_r,
    "zipped tabs": zipped_tabs,
    "parquet": parquet,
}


@pytest.mark.parametrize("source", SOURCES)
def test_every_source_gives_the_same_cohort(source: str, tmp_path: Path) -> None:
    found, expected = read(SOURCES[source](tmp_path), weights="w"), read(FRAME, weights="w")

    assert found.units == expected.units
    np.testing.assert_array_equal(found.arms, expected.arms)
    np.testing.assert_array_equal(found.outcome, expected.outcome)
    np.testing.assert_array_equal(found.weights, expected.weights)
    for one, other in zip(found.contexts, expected.contexts, strict=True):
        assert one.keys() == other.keys()
        for name in one:
            np.testing.assert_array_equal(one[name], other[name])


def test_reading_leaves_the_frame_as_it_was() -> None:
    frame = FRAME.copy()

    read(frame)

    pd.testing.assert_frame_equal(frame, FRAME)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ({"x": [1]}, r"found \{'x': \[1\]\} \(dict\)"),
        (None, "found None"),
        ("absent.csv", "cannot read absent.csv: .*No such file"),
        ("absent.parquet", "cannot read absent.parquet: .*; give a path to a whole file"),
        ("trial.xlsx", r"expected a name in \.csv, \.tsv, \.txt, \.parquet, \.pq"),
        (pa.array([1, 2]), r"\(Int64Array\)"),
        (pa.chunked_array([[1, 2]]), "ChunkedArray"),
    ],
)
def test_what_is_no_frame_is_refused(source: object, message: str) -> None:
    with pytest.raises(DesignError, match=message):
        read(source)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"", "cannot read"),
        (b"id,start1\n1,2,3,4\n", "cannot read .*Expected 2 fields in line 2, saw 4"),
        (b"id,start1\n\xff,2\n", "cannot read .*text in UTF-8"),
        (b"id;start1;A1\n1;2;3\n", r"the frame lacks .*it has \['id;start1;A1'\]"),
        (b"id,id,start1,A1,end1,start2,A2,Y\n1,1,2,3,4,5,6,7\n", r"more than one column \['id'\]"),
        (b"id,start1,A1,end1,start2,A2,Y\n", "the frame has no rows"),
    ],
)
def test_a_damaged_file_is_refused(text: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / "trial.csv").write_bytes(text)

    with pytest.raises(DesignError, match=message):
        read(tmp_path / "trial.csv")


def test_a_damaged_parquet_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "trial.parquet").write_bytes(b"PAR1 and more")

    with pytest.raises(DesignError, match="cannot read"):
        read(tmp_path / "trial.parquet")


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


@pytest.mark.parametrize(
    ("other", "message"),
    [
        ({"arms": ["A1"]}, r"arms must list one column for each of the stages \['first', 'second'\], found \['A1'\]"),
        ({"arms": "A1"}, "arms must list one column .*found 'A1'"),
        ({"arms": ["A1", "A1"], "recode": None}, r"arms must name a column for each stage, found \['A1', 'A1'\]"),
        ({"outcome": "y"}, r"the frame lacks \['y'\]; it has \['id', 'start1', .*'w'\]"),
        ({"outcome": "start2"}, "outcome='start2' is also a column of the design, of arms or of weights"),
        ({"outcome": "A2"}, "outcome='A2' is also a column of the design, of arms or of weights"),
        ({"outcome": "w", "weights": "w"}, "outcome='w' is also a column of the design, of arms or of weights"),
        ({"outcome": ["Y"]}, r"columns are called by a text, found \[\['Y'\]\]"),
        ({"arms": ["A1", 2], "unit": 0}, r"columns are called by a text, found \[2, 0\]"),
        ({"unit": "unit", "weights": "weight"}, r"the frame lacks \['unit', 'weight'\]"),
        ({"recode": {"A3": {1: "ssri"}}}, r"recode is for the columns of arms, \['A1', 'A2'\], found 'A3'"),
        ({"recode": {"A1": {1: "SSRI"}}}, r"recode\['A1'\] must lead to \['ssri', 'other'\].*found \['SSRI'\]"),
        ({"recode": {"A1": ["ssri"]}}, r"recode\['A1'\] must map cells to arms, found \['ssri'\]"),
        ({"recode": "A1"}, "recode must map columns of arms"),
    ],
)
def test_roles_that_do_not_fit_are_refused(other: dict[str, Any], message: str) -> None:
    with pytest.raises(DesignError, match=message):
        read(FRAME, **other)


def test_all_roles_that_do_not_fit_are_told_at_once() -> None:
    with pytest.raises(DesignError, match=r"recode is for .*; the frame lacks \['start1', 'y', 'unit'\]; it has"):
        read(FRAME.drop(columns="start1"), outcome="y", unit="unit", recode={"x": {}})


def test_a_column_that_is_there_twice_is_refused() -> None:
    with pytest.raises(DesignError, match=r"more than one column \['Y'\]"):
        read(pd.concat([FRAME, FRAME[["Y", "w"]]], axis=1))


def test_an_empty_frame_is_refused() -> None:
    with pytest.raises(DesignError, match="the frame has no rows"):
        read(FRAME.iloc[:0])


def test_a_design_is_needed() -> None:
    with pytest.raises(DesignError, match=r"a cohort needs a Design, found .design\.toml."):
        Cohort.from_frame(FRAME, "design.toml", arms=["A1"], outcome="Y")  # type: ignore[arg-type]  # wrong on purpose


def test_features_that_overflow_are_refused() -> None:
    design = dtr.Design([dtr.Stage("only", ("a",), "1 + x:y")])
    frame = pd.DataFrame({"x": [1.0, 1e60], "y": [1.0, 1e60], "A": ["a", "a"], "Y": [1.0, 2.0]})

    with pytest.raises(ObservationError, match=r"stage .only.: features must be finite .*: row 2 "):
        Cohort.from_frame(frame, design, arms=["A"], outcome="Y")


# -- against a plain reading, row by row ---------------------------------------------------------------------


BRANCHING = cohorts.branching(1, seed=0).design
CELLS: dict[str, st.SearchStrategy[object]] = {
    **dict.fromkeys("xyrzs", st.sampled_from([None, -2.0, 0.0, 0.5, 2.0])),
    **dict.fromkeys(("A1", "A2", "A3"), st.sampled_from([None, "a", "b", "c"])),
    "Y": st.sampled_from([None, 1.0]),
}


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
            raise ValueError
        if (m == 1 and not row["r"] > -1) or (m == 2 and not row["s"] < 1):
            if any(arm is not None for arm in given[m:]):
                raise ValueError
            break
        if any(row[name] is None for name in BRANCHING.columns[m]):
            raise ValueError
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


def _named(line: str) -> list[str]:
    return line.rsplit(": ", 1)[1].removeprefix("rows ").removeprefix("row ").split(" and ")[0].split(", ")


def _read_rows(rows: list[dict[str, object]]) -> Cohort:
    return Cohort.from_frame(pd.DataFrame(rows), BRANCHING, arms=["A1", "A2", "A3"], outcome="Y")


# -- from logs ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("load", [cohorts.adhd, cohorts.autism])
def test_a_log_of_what_happened_gives_the_cohort_back(load: Callable[[], Cohort]) -> None:
    cohort = load()

    again = Cohort.from_log(cohorts.session_of(cohort, dtr.UniformRandom()).log)

    assert again.units == cohort.units
    assert again.design == cohort.design
    np.testing.assert_array_equal(again.arms, cohort.arms)
    np.testing.assert_array_equal(again.outcome, cohort.outcome)
    for one, other in zip(again.features, cohort.features, strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_log_is_read_as_it_stands_and_units_under_way_are_left_out() -> None:
    session = dtr.Session(DESIGN, dtr.FixedRegime(rule={"first": "ssri", "second": "other"}))
    for unit in ("u1", "u2", "u3", "u4"):
        session.enroll(unit, {"start1": 10.0})
    session.respond("u1", {"end1": 3.0})
    session.complete("u1", -3.0)
    session.correct("u1", outcome=-4.0, reason="typing error")
    session.respond("u2", {"end1": 9.0, "start2": 9.0})
    session.override("u2", "ssri", reason="allergy")
    session.correct("u2", stage="second", context={"start2": 9.5}, reason="typing error")
    session.withdraw("u2", reason="moved away")
    session.override("u3", "other", reason="allergy")
    session.withdraw("u3", reason="moved away")

    cohort = Cohort.from_log(session.log)

    assert cohort.units == ("u1", "u2", "u3")
    assert cohort.arms.tolist() == [[0, -1], [0, 0], [1, -1]]
    np.testing.assert_array_equal(cohort.outcome, [-4.0, np.nan, np.nan])
    np.testing.assert_array_equal(cohort.contexts[1]["start2"], [np.nan, 9.5, np.nan])


def test_a_log_without_an_ended_unit_or_an_opening_is_refused() -> None:
    session = dtr.Session(DESIGN, dtr.UniformRandom())
    session.enroll("u1", {"start1": 10.0})

    with pytest.raises(NotEstimable, match="none of the 1 units of the log has an outcome yet"):
        Cohort.from_log(session.log)
    with pytest.raises(LogError, match="a log begins with Opened, found Enrolled"):
        Cohort.from_log(session.log[1:])
    with pytest.raises(LogError, match="a log begins with Opened and has no other"):
        Cohort.from_log([*session.log, *session.log])


# -- open trials, and how a cohort shows itself --------------------------------------------------------------


def test_a_trial_in_the_shape_of_stard_has_the_counts_of_its_note() -> None:
    cohort = cohorts.ctn0030()

    assert len(cohort) == 653
    assert cohort.left_early.sum() == 41
    assert cohort.dropped_out.sum() == 252
    assert (cohort.arms[:, 1] >= 0).sum() == 360


def test_the_arm_that_is_left_is_filled_in_where_the_file_is_blank() -> None:
    cohort = cohorts.autism()

    with_device = cohort.arms[:, 0] == 0
    assert set(cohort.arms[with_device & ~cohort.left_early, 1]) == {1}
    assert set(cohort.arms[cohort.left_early, 1]) == {-1}
    assert cohort.entered[:, 1].sum() == (cohort.contexts[1]["R"] == 0).sum()


@pytest.mark.parametrize("load", cohorts.OPEN)
def test_every_open_trial_is_read_whole(load: Callable[[], Cohort]) -> None:
    cohort = load()

    rows = {cohorts.ctn0030: 653, cohorts.adhd: 150, cohorts.autism: 200, cohorts.bmi: 210}
    assert len(cohort) == rows.get(load, len(cohort))
    assert np.isfinite(cohort.features[0]).all()
    assert np.isfinite(cohort.features[1][cohort.arms[:, 1] >= 0]).all()


def test_a_cohort_prints_its_counts() -> None:
    printed = str(read(FRAME, weights="w"))

    assert printed.splitlines() == [
        "A cohort of 5 units:",
        "       2  completed all stages",
        "       1  left early, with their outcome",
        "       2  dropped out",
        "         2  of them before an arm at stage second",
        "They stand for 5.5 units.",
        "Plans of those with an outcome:",
        "       0  ssri, then ssri",
        "       1  ssri, then other",
        "       1  other, then other",
        "       1  ssri, then left early",
    ]
    assert repr(read(FRAME)) == "<Cohort of 5 units>"
