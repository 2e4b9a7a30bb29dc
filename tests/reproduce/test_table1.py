"""Table 1 as an experiment: replays, files, and a file's patients in the place of ours."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from dtrbandit.cli import app
from dtrbandit.datasets import stard_cohort_table
from dtrbandit.datasets.stard import COHORT_SEED, WIDE
from dtrbandit.reproduce import TABLE1, Reproduction, reproduce
from dtrbandit.reproduce.reproduction import Size
from dtrbandit.reproduce.table1.claims import by_path, claims
from dtrbandit.reproduce.table1.patients import Patients, played
from dtrbandit.reproduce.table1.printed import PrintedTable
from dtrbandit.reproduce.table1.versions import ENTRIES
from reproduce.small_table1 import HORIZON, PATHS, frame


def test_replay_of_offline_converges_to_the_exact_value() -> None:
    patients = Patients.simulated(COHORT_SEED)

    size: Size = {"paths": 30, "horizon": 5_000, "seed": 0, "n_jobs": 1, "progress": False}
    found = played("Offline", patients, size)

    assert found.value == pytest.approx(patients.benchmarks.offline.value, abs=4 * found.std_error)
    assert found.std_error < 0.02


# -- a file's patients -----------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_cohort_that_is_written_gives_the_same_table_when_it_is_read(small: Reproduction, tmp_path: Path) -> None:
    assert [file.name for file in small.files] == ["table1.png", "table1.csv", "cohort.csv"]
    assert small.files[0].stat().st_size > 10_000

    again = reproduce(TABLE1.on(small.files[2]), tmp_path, paths=PATHS, horizon=HORIZON, n_jobs=1)

    assert [file.name for file in again.files] == ["table1.png", "table1.csv"]  # a file's patients stay where they are
    for column in ("value", "text_value"):
        pd.testing.assert_series_equal(frame(again)[column], frame(small)[column])
    assert frame(again)[["true_value", "optimism", "cohorts_median"]].isna().all(axis=None)
    assert isinstance(small.table, PrintedTable)
    assert again.claims == claims(small.table.results.averages, by_path)  # over paths: there are no other cohorts
    assert "over paths through this cohort, which hold together" in " ".join(str(again.table).split())


@pytest.fixture
def wide(tmp_path: Path) -> Path:
    """Write patients as files of the field have them, level 3 blank outside stage 2."""
    table = stard_cohort_table(seed=8)
    entered = table["status"] == "stage 2"
    for arm in ("A1", "A2"):
        table[arm] = table[arm].map({"ssri": 1, "other": -1})
    late = ["qids_start2", "preference2", "A2", "qids_end2"]
    table[late] = table[late].where(entered)
    table["entered"], table["unit"] = entered.astype(int), np.arange(len(table))
    rows = table.rename(columns={name: column for column, name in WIDE.items()})[list(WIDE)]
    rows.to_csv(tmp_path / "wide.csv", index=False)
    return tmp_path / "wide.csv"


def command(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as stopped:
        app(["reproduce", *arguments, "--paths", "2", "--horizon", "120", "--jobs", "1"])
    assert isinstance(stopped.value.code, int)
    return stopped.value.code, *capsys.readouterr()


def test_a_wide_file_takes_the_place_of_simulated_patients(
    wide: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = command(capsys, "table1", "--data", str(wide), "--out", str(tmp_path / "out"))

    text = " ".join(out.split())
    assert "simulated" not in text
    assert "optimism" not in text
    assert "468 of 468 patients in remission have no features of stage 2" in text
    assert "replays: 12 of 12" in err
    assert "1260" in err  # the counts beside the published ones
    assert code == any(line.strip().startswith("✗") for line in out.splitlines())


def test_json_is_one_document(wide: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = command(capsys, "table1", "--data", str(wide), "--out", str(tmp_path / "out"), "--json")

    document = json.loads(out)
    assert list(document) == ["name", "files", "table", "claims"]
    assert document["files"] == [str(tmp_path / "out" / name) for name in ("table1.png", "table1.csv")]
    assert [row["entry"] for row in document["table"]] == list(ENTRIES)
    by_entry = {row["entry"]: row for row in document["table"]}
    assert by_entry["LSVI-UCB"]["value"] == by_entry["LSVI-UCB observed"]["value"]  # no features of those in remission
    assert by_entry["Offline"]["maximum_likelihood"] is not None
    assert by_entry["Greedy"]["true_value"] is None
    assert by_entry["Greedy"]["cohort"] == "from a file"
    assert code == any(claim["verdict"] == "refuted" for claim in document["claims"])


def test_a_missing_file_is_named_and_leaves_no_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = command(capsys, "table1", "--data", str(tmp_path / "no.csv"), "--out", str(tmp_path / "out"))

    assert (code, out) == (2, "")
    assert "no.csv" in err
    assert not (tmp_path / "out").exists()
