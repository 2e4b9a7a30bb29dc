"""An extension in a folder: its studies, picture and curves, and settings compared."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import dtrbandit as dtr
from dtrbandit.reproduce import EXTENSIONS, reproduce
from dtrbandit.reproduce.extensions import growth
from dtrbandit.reproduce.extensions.extension import DTRB, summary_of
from reproduce.curves import logarithmic
from reproduce.extension_studies import HORIZON, LOGARITHMIC, by_hand


@pytest.mark.parametrize("name", EXTENSIONS)
def test_an_extension_writes_its_studies_picture_and_curves(tmp_path: Path, name: str) -> None:
    extension = EXTENSIONS[name]

    result = reproduce(extension, tmp_path, paths=2, horizon=200)

    assert [file.name for file in result.files] == [f"{name}.png", f"{name}.csv"]
    studies = {each: dtr.load_study(tmp_path / each.replace(" ", "-")) for each in extension.settings}
    assert result.claims == extension.claims(studies)
    if name in LOGARITHMIC:
        settings, place = LOGARITHMIC[name]
        assert result.claims[place] == growth.free_rounds_slower_than_root(studies, settings)
    assert [row["policy"] for row in result.table.records()] == list(extension.settings)
    curves = pd.read_csv(result.files[1])
    assert list(curves["setting"].unique()) == list(extension.settings)
    assert set(curves.columns) >= {"setting", "path", "t", "regret", "realised"}
    assert result.files[0].stat().st_size > 10_000
    same_units = list(extension.settings)[1:] if name in ("delay", "features") else []
    assert [each.policy for each in summary_of(studies).differences] == same_units
    assert "setting" in str(result.table)
    assert "policy" not in str(result.table)


def test_differences_between_settings_are_path_by_path() -> None:
    studies = by_hand({"one": logarithmic(10.0), "other": logarithmic(11.0)})
    ends = [study.total_regret(DTRB, [HORIZON])[:, 0] for study in studies.values()]

    (difference,) = summary_of(studies).differences

    assert difference.mean == pytest.approx(np.mean(ends[1] - ends[0]))
    assert difference.share_better == 0.0


def test_more_paths_extend_an_extension_and_another_seed_is_refused(tmp_path: Path) -> None:
    def run(paths: int, seed: int = 0) -> str:
        result = reproduce(EXTENSIONS["stages"], tmp_path, paths=paths, horizon=100, seed=seed)
        return json.dumps([result.table.records(), result.claims])

    two, three, again = run(2), run(3), run(2)

    assert two == again != three
    assert dtr.load_study(tmp_path / "three-stages").paths == (0, 1, 2)
    with pytest.raises(dtr.DesignError, match="holds another study: seed"):
        run(2, seed=1)
