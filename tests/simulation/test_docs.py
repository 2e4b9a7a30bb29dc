"""The page on studies: its lines run."""

from __future__ import annotations

import re
from pathlib import Path

import matplotlib as mpl
import pytest

import dtrbandit as dtr

mpl.use("Agg")

PAGE = Path(__file__).parents[2] / "docs/studies.md"


def test_the_pages_lines_run_on_a_smaller_scale(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A horizon of 60, a twentieth of the paths, one process."""
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(), flags=re.DOTALL)
    code = re.sub(r"horizon=[\d_]+", "horizon=60", "\n".join(blocks))
    code = re.sub(r"paths=([\d_]+)", lambda found: f"paths={max(2, int(found[1]) // 20)}", code)
    code = re.sub(r"n_jobs=-?\d", "n_jobs=1", code)
    names: dict[str, object] = {}
    monkeypatch.chdir(tmp_path)

    exec(compile(code, str(PAGE), "exec"), names)

    assert len(blocks) == 6
    assert (tmp_path / "regret.png").stat().st_size > 10_000
    assert len(dtr.load_study("results/first").paths) == 5
    assert isinstance(names["study"], dtr.Study)
