"""Frames from anywhere: the same cells, read the same way; and what is no frame."""

from __future__ import annotations

import gzip
import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import dtrbandit as dtr
from dtrbandit.errors import DesignError
from dtrbandit.evaluation import Cohort
from dtrbandit.evaluation.cohort.frames import NO_ARM, UNKNOWN_ARM, arm_numbers, infinite, numbers, texts
from evaluation.small_frame import FRAME, read
from extras import needed


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
        (b" \n\n", "cannot read .*it is empty, where the first line must name the columns"),
        (b"id,start1\n1,2,3,4\n", "cannot read .*as many cells as the header, 2; line 2 has 4 .lines count"),
        (b'id,start1\n1,2\n2,"3\n3,4\n', "cannot read .*unexpected end of data"),
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


HEADER = "id,start1,A1,end1,start2,A2,Y"
WHOLE = "u1,12,1,8,8.5,-1,-9"


def test_a_line_that_is_cut_off_is_refused_and_no_drop_out(tmp_path: Path) -> None:
    file = tmp_path / "trial.csv"
    file.write_text(f"{HEADER}\n{WHOLE}\nu2,13,1,7,,,\n")
    assert read(file).dropped_out.tolist() == [False, True]

    file.write_text(f"{HEADER}\n{WHOLE}\nu2,13,1,7\n")

    with pytest.raises(
        DesignError, match=r"header, 7; line 3 has 4 \(lines .*cells of a drop-out are blank, not absent: add them"
    ):
        read(file)


def test_lines_are_counted_as_an_editor_counts_them(tmp_path: Path) -> None:
    """Empty lines are passed over, and a cell in quotes may hold several lines; both count."""
    file = tmp_path / "trial.csv"
    file.write_text(f'{HEADER},note\n\n{WHOLE},"one\ntwo"\n  \nu2,13\n{WHOLE},fine\n{WHOLE},too,much\n')

    with pytest.raises(DesignError, match=r"header, 8; line 6 has 2, line 8 has 9 \("):
        read(file)


def test_of_many_damaged_lines_the_first_are_named_and_the_others_counted(tmp_path: Path) -> None:
    (tmp_path / "trial.tsv").write_text("\n".join([HEADER.replace(",", "\t"), *["u1\t12"] * 1206]))

    with pytest.raises(DesignError, match=r"line 2 has 2, .*, line 6 has 2, and so on in 1,201 more lines"):
        read(tmp_path / "trial.tsv")


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
def test_lines_may_end_as_on_any_system_and_the_last_not_at_all(ending: str, tmp_path: Path) -> None:
    (tmp_path / "trial.csv").write_bytes(f"{HEADER}{ending}{WHOLE}{ending}{ending}u2,13,1,3,,,-3".encode())

    cohort = read(tmp_path / "trial.csv")

    assert cohort.units == ("u1", "u2")
    assert cohort.outcome.tolist() == [-9.0, -3.0]


def test_a_zipped_file_that_is_cut_off_is_refused(tmp_path: Path) -> None:
    whole = gzip.compress(f"{HEADER}\n{WHOLE}\n".encode())
    (tmp_path / "trial.csv.gz").write_bytes(whole[:-12])

    with pytest.raises(DesignError, match="cannot read"):
        read(tmp_path / "trial.csv.gz")


def test_a_damaged_parquet_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "trial.parquet").write_bytes(b"PAR1 and more")

    with pytest.raises(DesignError, match="cannot read"):
        read(tmp_path / "trial.parquet")


def test_cells_become_numbers_blanks_are_nan_and_the_rest_is_refused() -> None:
    cells = pd.Series([1, " 2.5 ", None, "NA", ".", "high", True, 1e101, "1_000"], dtype=object)

    values, refused = numbers(cells)

    np.testing.assert_array_equal(values, [1.0, 2.5, *[np.nan] * 7])
    assert refused.tolist() == [False] * 5 + [True] * 4


def test_infinite_numbers_are_told_from_what_is_no_number() -> None:
    cells = pd.Series([1, "inf", -math.inf, None, "high", True, 1e101, "nan"], dtype=object)

    assert infinite(cells).tolist() == [False, True, True, False, False, False, False, False]
    assert infinite(pd.Series([1.0, math.nan, math.inf])).tolist() == [False, False, True]


def test_whole_numbers_are_texts_without_a_point() -> None:
    assert texts(pd.Series([1.0, None, 2.5, " a ", 2**60], dtype=object)) == ["1", "", "2.5", "a", str(2**60)]


def test_cells_become_arms_no_arm_or_none_that_is_known() -> None:
    stage = dtr.Stage("only", ("ssri", "other"), "1")
    cells = pd.Series(["ssri", "1", 1.0, "", "NA", "0", "x"], dtype=object)

    found = arm_numbers(cells, stage, {1: "other", 0: None})

    assert found.tolist() == [0, 1, 1, NO_ARM, NO_ARM, NO_ARM, UNKNOWN_ARM]
