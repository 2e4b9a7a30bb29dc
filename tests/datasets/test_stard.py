"""STAR*D's table: the simulated cohort, and files in the shapes of the field."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from dtrbandit import datasets
from dtrbandit.datasets import (
    OFFLINE,
    offline_regime,
    read_stard_raw,
    read_stard_wide,
    stard_cohort_table,
    stard_counts,
    stard_table,
)
from dtrbandit.datasets.stard import COHORT_SEED
from dtrbandit.datasets.stard_table import WIDE
from dtrbandit.environments import STARD
from dtrbandit.errors import DesignError, DTRError, ObservationError

PAGE = (Path(__file__).parents[2] / "docs/stard.md").read_text()

# -- the simulated cohort --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", [0, 1])
def test_a_cohort_has_the_published_counts(seed: int) -> None:
    counts = stard_counts(stard_cohort_table(seed=seed))

    assert counts["found"].tolist() == counts["published"].tolist() == [1260, 468, 465, 327, 189]


def test_a_cohort_holds_the_first_logged_rows_of_each_kind_in_their_order() -> None:
    logged = pd.DataFrame(STARD().logged(6_000, np.random.default_rng(5)))
    room = {"remitted": 468, "dropped out": 465, "stage 2 ssri": 189, "stage 2 other": 138}
    rows = []
    for row, (status, arm) in enumerate(zip(logged["status"], logged["A1"], strict=True)):
        kind = f"{status} {arm}" if status == "stage 2" else status
        if room[kind] > 0:
            room[kind] -= 1
            rows.append(row)

    table = stard_cohort_table(seed=5)

    pd.testing.assert_frame_equal(table, logged.loc[rows].reset_index(drop=True))


def test_the_default_seed_is_the_one_that_table_1_uses() -> None:
    """How it was chosen: tests/reproduce/test_table1.py."""
    pd.testing.assert_frame_equal(stard_cohort_table(), stard_cohort_table(seed=COHORT_SEED))

    assert not stard_cohort_table()["Y"].equals(stard_cohort_table(seed=1)["Y"])
    with pytest.raises(DesignError, match="stard_cohort_table: seed must be a whole number of at least 0, found -1"):
        stard_cohort_table(seed=-1)


# -- the offline rule ------------------------------------------------------------------------------------------------


def offline_arms(start: int, slope: float, preference: float) -> list[bool]:
    """Say where the rule gives an SSRI at stage 1 and 2, in hundredths so that 0 is 0."""
    return [-73 + start + slope - 67 * preference > 0, -18 - start - 25 * slope > 0]


@pytest.mark.parametrize("codes", [(1.0, -1.0), (1.0, 2.0), (2.0, 1.0)])
def test_the_offline_rule_is_the_published_one_in_every_coding(codes: tuple[float, float]) -> None:
    design = STARD(preference=codes).design
    scores = offline_regime(codes).memory(design).scores

    for start in range(27):
        for slope in (
            -2.0,
            -1.0,
            -0.72,
            0.0,
            1.0,
        ):  # 0 is met: start 8, slope −2; start 7, slope −1
            for preference, code in zip((1.0, -1.0), codes, strict=True):
                psi = np.array([1.0, start, slope, code])
                found = [bool(np.argmax(arms @ psi) == 0) for arms in scores]
                assert found == offline_arms(start, slope, preference)


def test_the_offline_rule_refuses_features_without_an_intercept() -> None:
    with pytest.raises(DesignError, match="each arm needs 3 coefficients"):
        OFFLINE.init(STARD(intercept=False).design)


# -- wide files ------------------------------------------------------------------------------------------------------


def wide_rows() -> pd.DataFrame:
    """Return forty simulated patients as files of the field have them."""
    table = pd.DataFrame(STARD().logged(40, np.random.default_rng(1)))
    second = table["status"] == "stage 2"
    table["unit"], table["entered"] = [f"p{k}" for k in range(40)], second.astype(int)
    for column in ("qids_start2", "preference2"):
        table[column] = table[column].where(second)
    for arm in ("A1", "A2"):
        table[arm] = table[arm].map({"ssri": 1, "other": -1})
    wide = table.rename(columns={name: column for column, name in WIDE.items()})
    return wide[[*WIDE]].assign(L2_Pseudo=0.0).astype(object)


def written(rows: pd.DataFrame, path: Path) -> Path:
    rows.to_csv(path, index=False)
    return path


def assert_same(found: pd.DataFrame, expected: pd.DataFrame) -> None:
    """Compare tables in which a blank may be None or NaN, as the release of pandas has it."""
    found, expected = (table.astype(object).where(table.notna(), None) for table in (found, expected))
    pd.testing.assert_frame_equal(found, expected)


def test_a_wide_file_becomes_the_analysis_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    expected = pd.DataFrame(STARD().logged(40, np.random.default_rng(1)))
    remitted = expected["status"] == "remitted"
    expected["preference2"] = expected["preference2"].where(~remitted)  # such files have it in stage 2 only

    table = read_stard_wide(written(wide_rows(), tmp_path / "stard.csv"))

    assert table["unit"].tolist() == [f"p{k}" for k in range(40)]
    assert_same(table.drop(columns="unit"), expected)
    told = capsys.readouterr()
    assert told.out == ""
    assert "1260" in told.err
    assert str(int(remitted.sum())) in told.err


def test_a_written_analysis_table_comes_back(tmp_path: Path) -> None:
    table = stard_cohort_table()

    back = read_stard_wide(written(table, tmp_path / "table.csv"))

    assert_same(back, table)
    assert_same(stard_table(table), table)


def test_tabs_and_blanks_of_several_kinds_are_read(tmp_path: Path) -> None:
    rows = wide_rows()
    path = tmp_path / "stard.txt"
    rows.to_csv(path, index=False, sep="\t", na_rep="NA")

    pd.testing.assert_frame_equal(read_stard_wide(path), stard_table(rows))


def test_a_blank_second_arm_after_a_non_ssri_is_a_non_ssri() -> None:
    rows = wide_rows()
    forced = (rows["L3_Indicator"] == 1) & (rows["L2_treatment"] == -1)
    expected = stard_table(rows)

    rows.loc[forced, "L3_treatment"] = None

    assert forced.any()
    pd.testing.assert_frame_equal(stard_table(rows), expected)


def first_of(rows: pd.DataFrame, *, entered: int, arm: int = 1) -> int:
    """Return the first patient who entered stage 2 or was lost, after an arm."""
    matching = (rows["L3_Indicator"] == entered) & (rows["L2_End_QCTOT"] > 5) & (rows["L2_treatment"] == arm)
    return int(np.argmax(matching))


def changed(row: int, column: str, value: object) -> Callable[[pd.DataFrame], pd.DataFrame]:
    def change(rows: pd.DataFrame) -> pd.DataFrame:
        rows.loc[row, column] = value
        return rows

    return change


SECOND, LOST = first_of(wide_rows(), entered=1), first_of(wide_rows(), entered=0)
SECOND_OTHER = first_of(wide_rows(), entered=1, arm=-1)


@pytest.mark.parametrize(
    ("change", "kind", "message"),
    [
        (lambda rows: rows.drop(columns="L2_slope"), DesignError, r"the columns \['L2_slope'\] are missing"),
        (changed(2, "L2_Int_QCTOT", "high"), ObservationError, r"row 3 \(patient p2\): qids_start1 must be a finite"),
        (changed(2, "L2_Int_QCTOT", 28), ObservationError, "qids_start1 must be a score from 0 to 27, found '28'"),
        (changed(2, "L1_slope", "inf"), ObservationError, "qids_slope1 must be a finite number"),
        (changed(2, "L2_slope", None), ObservationError, "qids_slope2 must be known, found nothing"),
        (changed(2, "L2_preference", 2), ObservationError, r"preference1 must be 1 \(augment or none\) or -1"),
        (changed(2, "L2_treatment", 2), ObservationError, r"A1 must be 1 \(ssri\) or -1 \(other\): recode it, found"),
        (changed(2, "Patient", "p1"), ObservationError, r"row 3 \(patient p1\): unit must be another for every row"),
        (changed(2, "Patient", None), ObservationError, "unit must be given"),
        (changed(LOST, "L3_Indicator", 2), ObservationError, "entered must be 0 or 1"),
        (changed(LOST, "L3_Indicator", 1), ObservationError, f"row {LOST + 1} .*must be known of one who entered"),
        (changed(SECOND, "L3_Indicator", 0), ObservationError, f"row {SECOND + 1} .*must be blank of one who did not"),
        (changed(SECOND, "L2_End_QCTOT", 3), ObservationError, "qids_end1 must be above 5 of one who entered stage 2"),
        (changed(SECOND, "L3_End_QCTOT", None), ObservationError, "qids_end2 must be known of one who entered stage 2"),
        (changed(SECOND, "L3_treatment", None), ObservationError, "A2 must be known of one who entered stage 2"),
        (changed(SECOND_OTHER, "L3_treatment", 1), ObservationError, r"A2 must be other \(-1\) after other at stage 1"),
    ],
)
def test_what_is_wrong_with_a_wide_file_is_told_with_its_row(
    change: Callable[[pd.DataFrame], pd.DataFrame], kind: type[DTRError], message: str, tmp_path: Path
) -> None:
    path = written(change(wide_rows()), tmp_path / "stard.csv")

    with pytest.raises(kind, match=message) as caught:
        read_stard_wide(path)

    assert str(path) in str(caught.value)


@pytest.mark.parametrize(("column", "value"), [("status", "dropped out"), ("Y", -1.25), ("Y", "none")])
def test_a_status_or_outcome_that_contradicts_the_scores_is_refused(column: str, value: object) -> None:
    table = stard_cohort_table().astype(object)
    table.loc[table.index[table["status"] == "remitted"][0], column] = value

    with pytest.raises(ObservationError, match=f"{column} must be what follows from the scores"):
        stard_table(table)


@pytest.mark.parametrize("content", [None, b"", b"\xff\xfe\x00"])
def test_a_file_that_cannot_be_read_is_told(content: bytes | None, tmp_path: Path) -> None:
    path = tmp_path / "stard.csv"
    if content is not None:
        path.write_bytes(content)

    with pytest.raises(DesignError, match=r"cannot read '.*stard\.csv'"):
        read_stard_wide(path)


# -- the raw release -------------------------------------------------------------------------------------------------

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


# -- the page --------------------------------------------------------------------------------------------------------


def test_the_pages_lines_run_on_a_smaller_scale(capsys: pytest.CaptureFixture[str]) -> None:
    code = "\n".join(re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL))
    code = code.replace("horizon=5_000", "horizon=100").replace("paths=80", "paths=2")

    exec(compile(code, "stard.md", "exec"), {})

    printed = capsys.readouterr().out
    assert "Regret after 100 rounds" in printed
    assert "1260" in printed


def test_the_pages_names_are_there() -> None:
    named = set(re.findall(r"`((?:read_|stard_|offline_)\w+)\b", PAGE)) - {"stard_exact"}

    assert {"read_stard_wide", "read_stard_raw", "stard_table", "offline_regime"} <= named
    assert [name for name in sorted(named) if not hasattr(datasets, name)] == []
    assert all(column in PAGE for column in WIDE)
