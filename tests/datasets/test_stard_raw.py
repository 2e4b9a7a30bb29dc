"""The raw release of STAR*D becomes the analysis table."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from dtrbandit.datasets import (
    read_stard_raw,
)
from dtrbandit.errors import DesignError, ObservationError

ITEMS = (
    *("vsoin", "vmnin", "vemin", "vhysm", "vmdsd", "vapdc", "vapin", "vwtdc", "vwtin"),
    *("vcntr", "vvwsf", "vsuic", "vintr", "vengy", "vslow", "vagit"),
)
PREFERENCES = ["medswl2", "medaugl2", "cogswl2", "cogaugl2", "sw3", "aug3"]


def visit(unit: str, level: str, day: int, score: int, form: str = "Clinician") -> dict[str, str]:
    """Return a visit of a given score, spread over the six single items and the three groups."""
    items = dict.fromkeys(ITEMS, "0")
    items["vapdc"] = items["vwtdc"] = "999"  # no loss of appetite to rate, but a gain
    groups = ["vmdsd", "vcntr", "vvwsf", "vsuic", "vintr", "vengy", "vemin", "vapin", "vagit"]
    for k in range(score):
        items[groups[k % 9]] = str(k // 9 + 1)
    items["vsoin"] = items["vemin"]  # the worst of a group counts, not the sum
    return {"subjectkey": unit, "days_baseline": str(day), "level": level, "week": "", "version_form": form, **items}


def assignment(unit: str, treatment: str, *acceptable: str) -> dict[str, str]:
    flags = {name: "1" if name in acceptable else "0" for name in PREFERENCES}
    return {"subjectkey": unit, "txassign": treatment, **flags}


VISITS = [
    visit("a", "Level 1", 0, 20),
    visit("a", "Level 1", 70, 15),
    visit("a", "Level 1", 35, 3, "Self Rating"),
    visit("a", "Level 2", 70, 15),  # the same visit, repeated
    visit("a", "Level 2", 112, 9),
    visit("a", "Level 2.1", 140, 10),
    visit("a", "Level 3", 140, 10),
    visit("a", "Level 3", 154, 12),
    visit("a", "Level 3", 224, 7),
    visit("b", "Level 1", 0, 12),
    visit("b", "Level 1", 14, 12),
    visit("b", "Level 2", 28, 4),
    visit("c", "Level 1", 0, 18),
    visit("c", "Level 1", 7, 16),
    visit("c", "Level 2", 21, 14),
    visit("d", "Level 1", 0, 18),  # one visit: no slope
    visit("d", "Level 2", 21, 14),
]
ASSIGNED = [
    assignment("a", "CIT"),
    assignment("a", "CIT+CT", "medswl2", "cogaugl2"),
    assignment("a", "VEN"),
    assignment("a", "LI+VEN", "sw3"),
    assignment("b", "BUP", "medswl2"),
    assignment("c", "SER"),
    assignment("d", "SER"),
]


def release(folder: Path, visits: list[dict[str, str]], assigned: list[dict[str, str]]) -> Path:
    for name, rows in (("qids01", visits), ("ivra01", assigned)):
        lines = [list(rows[0]), [f"describes {column}" for column in rows[0]], *(list(row.values()) for row in rows)]
        (folder / f"{name}.txt").write_text("\n".join("\t".join(line) for line in lines) + "\n")
    return folder


def read(folder: Path) -> pd.DataFrame:
    return read_stard_raw(folder, switch2=["sw3"], augment2=["aug3"])


def test_the_raw_release_becomes_the_analysis_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = read(release(tmp_path, VISITS, ASSIGNED)).set_index("unit")

    assert table.index.tolist() == ["a", "b", "c"]  # d has no slope
    assert table["status"].tolist() == ["stage 2", "remitted", "dropped out"]
    assert table["A1"].tolist() == ["ssri", "other", "ssri"]
    assert table["A2"].dropna().tolist() == ["other"]
    assert table["preference1"].tolist() == [1, -1, 1]  # b accepts switching only
    first, second = (
        ["qids_start1", "qids_slope1", "qids_end1"],
        ["qids_slope2", "qids_start2", "preference2", "qids_end2"],
    )
    np.testing.assert_allclose(table.loc["a", first].astype(float), [15, -0.5, 10])
    np.testing.assert_allclose(table.loc["a", second].astype(float), [-0.5, 12, -1, 7])
    np.testing.assert_allclose(table["Y"].astype(float), [-8.5, -4, np.nan])
    np.testing.assert_allclose(table["qids_slope2"].astype(float), [-0.5, -4.0, -1.0])
    assert "published" in capsys.readouterr().err


def test_a_score_with_a_missing_item_is_no_score(tmp_path: Path) -> None:
    without_mood = {**visit("c", "Level 2", 35, 9), "vmdsd": "999"}

    table = read(release(tmp_path, [*VISITS, without_mood], ASSIGNED)).set_index("unit")

    assert table.loc["c", "qids_end1"] == 14


def test_an_unknown_treatment_is_refused(tmp_path: Path) -> None:
    release(tmp_path, VISITS, [*ASSIGNED, assignment("c", "ECT")])

    with pytest.raises(ObservationError, match=r"unknown txassign \['ECT'\]; known are .*elsewhere="):
        read(tmp_path)
    assert len(read_stard_raw(tmp_path, switch2=["sw3"], augment2=["aug3"], elsewhere=["CIT", "ECT"])) == 3


def test_flags_that_are_not_flags_are_refused(tmp_path: Path) -> None:
    release(tmp_path, VISITS, [*ASSIGNED, {**assignment("c", "SER"), "sw3": "2"}])

    with pytest.raises(ObservationError, match=r"sw3 must be 1 \(acceptable\), 0 or blank, found \['2'\]"):
        read(tmp_path)


def test_missing_files_and_columns_are_told(tmp_path: Path) -> None:
    with pytest.raises(DesignError, match=r"cannot read '.*qids01\.txt'"):
        read(tmp_path)
    release(tmp_path, VISITS, ASSIGNED)
    with pytest.raises(DesignError, match=r"ivra01.txt: the columns \['sw4'\] are missing"):
        read_stard_raw(tmp_path, switch2=["sw4"], augment2=["aug3"])
    release(tmp_path, [{k: v for k, v in row.items() if k != "vslow"} for row in VISITS], ASSIGNED)
    with pytest.raises(DesignError, match=r"the columns \['vslow'\] are missing"):
        read(tmp_path)


@pytest.mark.parametrize("name", ["qids01", "ivra01"])
def test_a_line_of_the_release_that_is_cut_off_is_refused(name: str, tmp_path: Path) -> None:
    file = release(tmp_path, VISITS, ASSIGNED) / f"{name}.txt"
    lines = file.read_text().splitlines()
    file.write_text("\n".join([*lines[:-1], lines[-1].rsplit("\t", 1)[0]]))

    with pytest.raises(DesignError, match=rf"every line must have as many cells as the header.*line {len(lines)} has"):
        read(tmp_path)
