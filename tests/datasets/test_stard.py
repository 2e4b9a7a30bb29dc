"""STAR*D as the paper evaluates it: the simulated cohort and the Offline rule."""

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
    read_stard_wide,
    stard_cohort_table,
    stard_counts,
    stard_table,
)
from dtrbandit.datasets.stard import COHORT_SEED, WIDE
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
    """How it was chosen: tests/reproduce/table1/test_patients.py."""
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
    scores = np.asarray(offline_regime(codes).init(design).scores)

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


# -- the analysis table from files ---------------------------------------------------------------------------------


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


def test_a_line_that_is_cut_off_is_refused_and_not_one_of_a_drop_out(tmp_path: Path) -> None:
    path = written(wide_rows(), tmp_path / "stard.csv")
    lines = path.read_text().splitlines()
    lines[SECOND + 1] = lines[SECOND + 1].rsplit(",", 2)[0]
    path.write_text("\n".join(lines))

    with pytest.raises(DesignError, match=rf"every line must have as many cells as the header.*line {SECOND + 2} has"):
        read_stard_wide(path)


def test_a_column_that_is_there_twice_is_refused(tmp_path: Path) -> None:
    path = written(pd.concat([wide_rows(), wide_rows()[["L1_slope"]]], axis=1), tmp_path / "stard.csv")

    with pytest.raises(DesignError, match=r"the columns \['L1_slope'\] are there more than once; keep one of each"):
        read_stard_wide(path)
