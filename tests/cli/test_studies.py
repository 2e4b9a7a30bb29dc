"""A study file, run in a folder."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

import dtrbandit as dtr
from dtrbandit.cli.studies import run_file
from dtrbandit.environments import Synthetic

TEXT = """\
horizon = 50
paths = 2
seed = 3
[environment]
name = "Synthetic"
[policies]
greedy = { name = "Greedy" }
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "mine.toml").write_text(TEXT)
    return tmp_path / "mine.toml"


def test_a_file_gives_its_study_table_picture_and_curves(file: Path, tmp_path: Path) -> None:
    result = run_file(file, tmp_path / "out", paths=None, n_jobs=1)

    study = dtr.simulate(Synthetic(), {"greedy": dtr.Greedy()}, horizon=50, paths=2, seed=3)
    assert result.name == "mine"
    assert dtr.load_study(tmp_path / "out") == study
    assert str(result.table.records()) == str(study.summary().records())  # NaN is not equal to itself
    assert [path.name for path in result.files] == ["mine.png", "mine.csv"]
    assert len(pd.read_csv(result.files[1])) == len(study.regret())


def test_other_paths_stand_in_for_the_files(file: Path, tmp_path: Path) -> None:
    run_file(file, tmp_path / "out", paths=3, n_jobs=1)

    assert dtr.load_study(tmp_path / "out").paths == (0, 1, 2)
    with pytest.raises(dtr.DesignError, match="paths must be a whole number of at least 1, found 0"):
        run_file(file, tmp_path / "out", paths=0, n_jobs=1)
