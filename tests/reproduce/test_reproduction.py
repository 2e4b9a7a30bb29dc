"""An experiment in a folder: what is written, gone on with, and refused."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import dtrbandit as dtr
from dtrbandit.environments import Synthetic
from dtrbandit.reproduce import EXTENSIONS, FIGURES, reproduce
from dtrbandit.reproduce.more_paths import MorePaths, stage_totals
from dtrbandit.reproduce.rates import free_rounds_slower_than_root
from dtrbandit.reproduce.reproduction import DTRB, Setting, claim_paths, summary_of
from reproduce.curves import logarithmic, marks
from reproduce.extension_studies import HORIZON, LOGARITHMIC, by_hand


@pytest.mark.parametrize("figure", FIGURES)
def test_a_reproduction_writes_its_study_picture_and_curves(tmp_path: Path, figure: str) -> None:
    result = reproduce(FIGURES[figure], tmp_path, paths=3, horizon=300)

    assert [file.name for file in result.files] == [f"{figure}.png", f"{figure}.csv"]
    assert all(file.stat().st_size > 10_000 for file in result.files)
    assert [row["policy"] for row in result.table.records()] == list(FIGURES[figure].policies)
    assert result.refuted == any(claim.refuted for claim in result.claims)
    study = dtr.simulate(Synthetic(), FIGURES[figure].policies, horizon=300, paths=3)
    assert dtr.load_study(tmp_path) == study


@pytest.mark.parametrize("figure", FIGURES)
def test_claims_are_judged_by_more_paths_of_which_those_of_the_study_are_the_first(tmp_path: Path, figure: str) -> None:
    own = FIGURES[figure]
    needed = {name: 75 * count // 1_000 for name, count in own.claim_paths.items()}  # 3 paths of 40

    result = reproduce(own, tmp_path, paths=3, horizon=300)

    whole = dtr.simulate(Synthetic(), own.policies, horizon=300, paths=max(needed.values()))
    sums = {name: stage_totals(whole.take(range(count)), name, np.arange(1, 301)) for name, count in needed.items()}
    more = MorePaths(dtr.load_study(tmp_path), np.arange(1, 301), sums)
    assert own.claims(more) == result.claims
    assert result.basis.startswith("Claims that need more paths than the picture rest on 75 of ")
    assert "(they need 1,000)" in result.basis


@pytest.mark.slow
def test_more_paths_extend_a_reproduction_and_fewer_leave_it(tmp_path: Path) -> None:
    def run(paths: int) -> dtr.Study:
        reproduce(FIGURES["figure2"], tmp_path, paths=paths, horizon=200)
        return dtr.load_study(tmp_path)

    three, five, kept = run(3), run(5), run(2)

    assert five.take([0, 1, 2]) == three
    assert kept == five
    assert kept == dtr.simulate(Synthetic(), FIGURES["figure2"].policies, horizon=200, paths=5)


def test_another_study_in_the_folder_is_refused_before_anything_runs(tmp_path: Path) -> None:
    reproduce(FIGURES["figure2"], tmp_path, paths=2, horizon=200)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}

    for seed, horizon in ((1, 200), (0, 201)):
        with pytest.raises(dtr.DesignError, match=r"holds another study: (seed|horizon) is .*choose another folder"):
            reproduce(FIGURES["figure2"], tmp_path, paths=2, horizon=horizon, seed=seed)
    with pytest.raises(dtr.DesignError, match=r"holds another study: policies, .* there and missing here"):
        reproduce(FIGURES["figure1"], tmp_path, paths=2, horizon=200)

    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
    assert json.loads(before["manifest.json"])["seed"] == 0


def test_what_cannot_be_told_for_want_of_paths_comes_with_advice(tmp_path: Path) -> None:
    result = reproduce(FIGURES["figure2"], tmp_path, paths=2, horizon=200)

    assert result.advice == (
        "Claims about mean regret need 1,000 paths, and get 50 here: they get fewer in proportion where --paths is "
        "below 40. --paths 40 goes on with this study."
    )
    assert replace(result, claims=()).advice == ""


@pytest.mark.parametrize(("paths", "horizon"), [(1, 200), (2, 99), (0, 200), (2, 0)])
def test_what_is_too_small_for_the_claims_is_refused(tmp_path: Path, paths: int, horizon: int) -> None:
    with pytest.raises(dtr.DesignError, match=r"(paths|horizon) (of at least|must be)"):
        reproduce(FIGURES["figure1"], tmp_path / "new", paths=paths, horizon=horizon)

    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("name", EXTENSIONS)
def test_an_extension_writes_its_studies_picture_and_curves(tmp_path: Path, name: str) -> None:
    extension = EXTENSIONS[name]
    first, *others = extension.settings.values()

    result = reproduce(extension, tmp_path, paths=2, horizon=200)

    assert [file.name for file in result.files] == [f"{name}.png", f"{name}.csv"]
    studies = {each: dtr.load_study(tmp_path / each.replace(" ", "-")) for each in extension.settings}
    more = claim_paths(extension.claim_paths, 2, extension.paths)
    longer = {each: simulated(extension.settings[each], more.get(each, 2)) for each in extension.settings}
    assert marks(result.claims) == marks(extension.claims(studies, longer))
    if name in LOGARITHMIC:
        settings, place = LOGARITHMIC[name]
        assert result.claims[place] == free_rounds_slower_than_root(studies, settings)
    assert [row["policy"] for row in result.table.records()] == list(extension.settings)
    curves = pd.read_csv(result.files[1])
    assert list(curves["setting"].unique()) == list(extension.settings)
    assert set(curves.columns) >= {"setting", "path", "t", "regret", "realised"}
    assert result.files[0].stat().st_size > 10_000
    alike = all(setting.environment == first.environment for setting in others)
    same_units = list(extension.settings)[1:] if alike else []
    assert [each.policy for each in summary_of(studies).differences] == same_units
    assert "setting" in str(result.table)
    assert "policy" not in str(result.table)


def simulated(setting: Setting, paths: int) -> dtr.Study:
    environment, policies = setting.environment, {DTRB: setting.policy}
    arrivals, design = setting.arrivals, setting.design
    return dtr.simulate(environment, policies, horizon=200, paths=paths, arrivals=arrivals, design=design)


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
