"""Which experiments a name stands for, and that every file of extensions is one."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import dtrbandit as dtr
from dtrbandit.reproduce import EXPERIMENTS, EXTENSIONS, FIGURES, NAMES, TABLE1, Figure, experiments, extensions
from dtrbandit.reproduce.figure2 import POLICIES


def test_a_name_stands_for_its_modules_experiments() -> None:
    assert experiments("figure2") == {"figure2": {".": FIGURES["figure2"]}}
    assert FIGURES["figure2"].policies is POLICIES
    assert experiments("extensions") == {"extensions": EXTENSIONS}
    assert experiments("table1") == {"table1": {".": TABLE1}}


def test_all_are_those_that_have_a_name_in_their_order() -> None:
    assert tuple(experiments("all")) == NAMES == tuple(EXPERIMENTS)
    assert list(FIGURES) == [name for name, own in EXPERIMENTS.items() if isinstance(own.get("."), Figure)]
    assert {"figure1", "figure2"} <= set(FIGURES)
    assert all(name == extension.name for name, extension in EXTENSIONS.items())


def test_every_file_of_extensions_is_an_experiment_and_the_first_six_keep_their_order() -> None:
    files = {file.stem for file in Path(extensions.__file__).parent.glob("*.py")} - {"__init__"}

    assert set(EXTENSIONS) == files
    assert list(EXTENSIONS)[:6] == ["delay", "arms", "stages", "margin", "one_stage", "features"]


def test_data_are_for_table_1(tmp_path: Path) -> None:
    file = tmp_path / "wide.csv"

    assert experiments("all", data=file)["table1"] == {".": TABLE1.on(file)}
    assert experiments("all")["table1"] == {".": TABLE1}
    with pytest.raises(dtr.DesignError, match="figure1 is simulated and takes no data; they are for table1"):
        experiments("figure1", data=file)


def test_names_are_known_before_anything_heavy_is_loaded() -> None:
    code = "import dtrbandit.reproduce as r, sys; print(r.NAMES, [m for m in ('numpy', 'pandas') if m in sys.modules])"

    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == f"{NAMES} []\n"


def test_other_names_are_not_there() -> None:
    import dtrbandit.reproduce

    with pytest.raises(AttributeError, match=r"dtrbandit\.reproduce' has no attribute 'figure9'"):
        _ = dtrbandit.reproduce.figure9  # type: ignore[attr-defined]  # wrong on purpose
