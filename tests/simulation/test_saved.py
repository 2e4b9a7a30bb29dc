"""Studies on disk: what is read is what was written, and nothing is lost on the way."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as parquet
import pytest

import dtrbandit as dtr
from dtrbandit.environments import Synthetic
from record.disk import watched
from simulation.worlds import DESIGN, Branching, Slow, policies

FEW = {"DTRB": dtr.DTRBandit(q=2, delta=0.5), "a/b: uniform": dtr.UniformRandom()}


def run(paths: int = 2, horizon: int = 40) -> dtr.Study:
    return dtr.simulate(Synthetic(), FEW, horizon=horizon, paths=paths)


def signed(manifest: dict[str, object]) -> str:
    """Return the text of a manifest with the checksum that its content has."""
    entries = {key: entry for key, entry in manifest.items() if key != "checksum"}
    digest = hashlib.sha256(json.dumps(entries, separators=(",", ":")).encode()).hexdigest()
    return json.dumps({**entries, "checksum": digest})


def tables(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.parquet"))


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("knows_q", [True, False])
def test_a_study_comes_back_as_it_was(tmp_path: Path, knows_q: bool) -> None:
    environment = Branching(knows_q=knows_q)
    study = dtr.simulate(environment, policies(DESIGN), horizon=60, paths=3, arrivals=Slow())

    study.save(tmp_path / "deep" / "study")

    back = dtr.load_study(tmp_path / "deep" / "study")
    assert back == study
    assert str(back.summary()) == str(study.summary())


def test_some_paths_of_a_study_come_back_under_their_numbers(tmp_path: Path) -> None:
    study = run(paths=4).take([1, 3])

    study.save(tmp_path)

    assert dtr.load_study(tmp_path).paths == (1, 3)
    assert dtr.load_study(tmp_path) == study


def test_the_files_are_plain_tables(tmp_path: Path) -> None:
    study = run()
    study.save(tmp_path)

    manifest = json.loads((tmp_path / "manifest.json").read_text())
    table = pd.read_parquet(tmp_path / manifest["files"]["DTRB"])

    columns = ["path", "t", "arm first", "regret first", "arm second", "regret second", "reward", "oracle"]
    assert list(table.columns) == columns
    assert table["reward"].tolist() == study.rewards["DTRB"].ravel().tolist()
    assert manifest["policies"]["DTRB"]["q"] == 2
    assert manifest["design"] == Synthetic().design.to_dict()


def test_more_paths_of_the_same_study_replace_fewer(tmp_path: Path) -> None:
    run(paths=2).save(tmp_path)

    dtr.simulate(Synthetic(), FEW, horizon=40, paths=3, resume=dtr.load_study(tmp_path)).save(tmp_path)

    assert dtr.load_study(tmp_path) == run(paths=3)
    assert len(list(tmp_path.iterdir())) == 1 + len(FEW)


def test_fewer_paths_do_not_replace_more(tmp_path: Path) -> None:
    run(paths=3).save(tmp_path)
    before = contents(tmp_path)

    with pytest.raises(dtr.DesignError, match=r"holds 3 paths of this study, among them 2"):
        run(paths=2).save(tmp_path)

    assert contents(tmp_path) == before


def test_another_study_is_never_overwritten(tmp_path: Path) -> None:
    run(horizon=40).save(tmp_path)
    before = contents(tmp_path)

    with pytest.raises(dtr.DesignError, match="another study: horizon is 40 there and 41 here"):
        run(horizon=41).save(tmp_path)

    assert contents(tmp_path) == before


def test_a_save_that_breaks_off_leaves_the_old_study_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run(paths=2).save(tmp_path)
    before, whole, write = contents(tmp_path), run(paths=3), parquet.write_table
    written: list[int] = []

    def break_off(*args: object, **options: object) -> None:
        if written:
            raise OSError("no space left on device")
        written.append(1)
        write(*args, **options)

    monkeypatch.setattr(parquet, "write_table", break_off)
    with pytest.raises(dtr.DesignError, match=r"cannot be saved in .*no space left .* with room on its disk"):
        whole.save(tmp_path)

    assert dtr.load_study(tmp_path) == run(paths=2)
    assert contents(tmp_path).items() >= before.items()


def test_a_study_is_not_saved_onto_a_file_or_below_one(tmp_path: Path) -> None:
    file = tmp_path / "results"
    file.write_text("mine")

    with pytest.raises(dtr.DesignError, match="results is a file, and a study needs a folder; give another name"):
        run(paths=2).save(file)
    with pytest.raises(dtr.DesignError, match=r"the folder .*below cannot be made: .*; give another one"):
        run(paths=2).save(file / "below")
    with pytest.raises(dtr.DesignError, match=r"no study in .*results that can be read"):
        dtr.load_study(file)
    assert file.read_text() == "mine"


@pytest.mark.parametrize("place", [3, None, "a\0b"])
def test_a_place_that_cannot_be_a_folder_is_refused(place: Any) -> None:
    for ask in (run(paths=2).save, dtr.load_study):
        with pytest.raises(dtr.DesignError, match="a study is kept in a folder, called by a text or a Path; found"):
            ask(place)


def test_a_folder_without_a_study_is_refused(tmp_path: Path) -> None:
    with pytest.raises(dtr.DesignError, match=r"no study in .*manifest\.json is missing"):
        dtr.load_study(tmp_path)


@pytest.mark.parametrize("text", ["{", "[]", '{"paths": [], "files": {}}', signed({"paths": 3}), "\xff"])
def test_a_damaged_manifest_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "manifest.json").write_text(text)

    with pytest.raises(dtr.DesignError, match="does not describe a study"):
        dtr.load_study(tmp_path)


def test_a_manifest_cannot_name_files_elsewhere_which_saving_would_remove(tmp_path: Path) -> None:
    folder, victim = tmp_path / "study", tmp_path / "victim"
    victim.write_text("mine")
    run(paths=2).save(folder)
    manifest = json.loads((folder / "manifest.json").read_text())
    for elsewhere in ("../victim", str(victim)):
        (folder / "manifest.json").write_text(signed({**manifest, "files": dict.fromkeys(FEW, elsewhere)}))

        with pytest.raises(dtr.DesignError, match=r"victim' is no file of a study"):
            run(paths=3).save(folder)

    assert victim.read_text() == "mine"


@pytest.mark.parametrize("entry", [{"horizon": "x"}, {"paths": [0, 1, 2]}, {"files": {}}, {"design": {"stage": [{}]}}])
def test_a_manifest_that_the_tables_do_not_bear_out_is_refused(tmp_path: Path, entry: dict[str, object]) -> None:
    run().save(tmp_path)
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    (tmp_path / "manifest.json").write_text(signed({**manifest, **entry}))

    with pytest.raises(dtr.DesignError, match="is damaged"):
        dtr.load_study(tmp_path)


def flipped(content: bytes, bit: int) -> bytes:
    changed = bytearray(content)
    changed[bit // 8] ^= 1 << bit % 8
    return bytes(changed)


def test_no_flipped_bit_in_any_file_changes_what_is_loaded(tmp_path: Path) -> None:
    """200 bits of each of the three files; one in the layout of the manifest may load, as the same study."""
    study, rng, refused = run(), np.random.default_rng(1), []
    study.save(tmp_path)
    for name, content in sorted(contents(tmp_path).items()):
        for bit in rng.choice(8 * len(content), size=200, replace=False):
            (tmp_path / name).write_bytes(flipped(content, int(bit)))
            try:
                loaded = dtr.load_study(tmp_path)
            except dtr.DesignError as error:
                refused.append((name, str(error)))
            else:
                assert name == "manifest.json"
                assert loaded == study
        (tmp_path / name).write_bytes(content)

    assert dtr.load_study(tmp_path) == study
    assert len(refused) > 500
    assert all(name in message and "restore the whole folder" in message for name, message in refused)


@pytest.mark.parametrize(
    "damage",
    [
        lambda table: table.write_bytes(table.read_bytes()[:-1]),
        lambda table: table.write_bytes(table.read_bytes() + b"\0"),
        lambda table: table.write_bytes(b""),
        lambda table: table.write_bytes(next(each for each in tables(table.parent) if each != table).read_bytes()),
        Path.unlink,
    ],
    ids=["cut off", "lengthened", "emptied", "another table", "missing"],
)
def test_a_damaged_table_is_refused_by_name(tmp_path: Path, damage: Callable[[Path], object]) -> None:
    run().save(tmp_path)
    table = tables(tmp_path)[1]
    damage(table)

    with pytest.raises(dtr.DesignError, match=rf"{re.escape(table.name)} is damaged.*restore the whole folder"):
        dtr.load_study(tmp_path)


def test_a_table_of_another_study_is_refused(tmp_path: Path) -> None:
    run().save(tmp_path / "one")
    dtr.simulate(Synthetic(), FEW, horizon=40, paths=2, seed=1).save(tmp_path / "other")
    table, foreign = tables(tmp_path / "one")[0], tables(tmp_path / "other")[0]
    table.write_bytes(foreign.read_bytes())

    with pytest.raises(dtr.DesignError, match=rf"{re.escape(table.name)} .*of another study"):
        dtr.load_study(tmp_path / "one")


@pytest.mark.parametrize("key", ["seed", "paths", "checksum", "policies"])
def test_an_altered_manifest_is_refused(tmp_path: Path, key: str) -> None:
    run().save(tmp_path)
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    altered = {
        "seed": 7,
        "paths": [1, 0],
        "checksum": "0" * 64,
        "policies": dict(reversed(manifest["policies"].items())),
    }
    (tmp_path / "manifest.json").write_text(json.dumps({**manifest, key: altered[key]}))

    with pytest.raises(dtr.DesignError, match=r"manifest\.json is damaged.*its own checksum"):
        dtr.load_study(tmp_path)
    with pytest.raises(dtr.DesignError, match=r"manifest\.json is damaged.*its own checksum"):
        run(paths=3).save(tmp_path)


def test_a_manifest_may_be_laid_out_anew(tmp_path: Path) -> None:
    run().save(tmp_path)
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))

    assert dtr.load_study(tmp_path) == run()


def test_every_file_is_on_the_disk_before_its_name_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = watched(monkeypatch)

    run().save(tmp_path)

    files = [*tables(tmp_path), tmp_path / "manifest.json"]
    each = ([f"sync file of {file.stat().st_size} bytes", "replace", "sync folder"] for file in files)
    assert calls == [call for file in each for call in file]


def test_whoever_may_read_the_folder_may_read_the_study(tmp_path: Path) -> None:
    (tmp_path / "plain").touch()

    run().save(tmp_path / "study")

    modes = {path.stat().st_mode for path in [tmp_path / "plain", *(tmp_path / "study").iterdir()]}
    assert len(modes) == 1
