"""The page on data: the lines on cohorts and Q-learning run."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import dtrbandit as dtr

PAGE = Path(__file__).parents[2] / "docs/data.md"
CONTEXT = ["qids_start1", "qids_slope1", "preference1", "qids_start2", "qids_slope2", "preference2"]


def trial(n: int) -> pd.DataFrame:
    """Return units in the columns of the page."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(n, len(CONTEXT))), columns=CONTEXT)
    end1 = rng.integers(0, 20, size=n)
    first, second = rng.choice([-1, 1], size=(2, n))
    stays = end1 > 5
    frame["id"], frame["qids_end1"], frame["A1"] = range(n), end1, first
    frame["A2"] = np.where(stays, np.where(first == 1, second, -1), np.nan)
    return frame.assign(Y=rng.normal(size=n) - end1)


def test_the_lines_on_cohorts_and_q_learning_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    sections = re.split(r"^## ", PAGE.read_text(), flags=re.MULTILINE)
    ours = [section for section in sections if section.startswith(("Cohorts\n", "Q-learning\n"))]
    blocks = [block for section in ours for block in re.findall(r"```python\n(.*?)```", section, flags=re.DOTALL)]
    trial(300).to_csv(tmp_path / "trial.csv", index=False)
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}

    exec(compile("\n".join(blocks), str(PAGE), "exec"), names)

    assert len(blocks) == 2
    assert isinstance(names["policy"], dtr.FixedRegime)
    assert "A cohort of 300 units" in capsys.readouterr().out
