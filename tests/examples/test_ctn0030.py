"""The worked example on a real trial: it runs, and its report is the one that is in the repository."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import open_data

FOLDER = Path(__file__).parents[2] / "examples/ctn0030"
SMALL = ("--horizon", "40", "--paths", "3")


@pytest.fixture(scope="module")
def analyse() -> ModuleType:
    specification = importlib.util.spec_from_file_location("ctn0030_analyse", FOLDER / "analyse.py")
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def written(analyse: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Path:
    data, folder = open_data.path("ctn0030"), tmp_path_factory.mktemp("ctn0030")
    analyse.main(["--data", str(data), "--out", str(folder), *SMALL])
    return folder


def pieces(report: str) -> tuple[list[str], list[float]]:
    """Return a report's words, and its numbers."""
    number = r"[-−]?\d[\d,]*(?:\.\d+)?"
    words = re.sub(number, "#", report).split()
    return words, [float(found.replace("−", "-").replace(",", "")) for found in re.findall(number, report)]


@pytest.mark.slow
def test_the_report_in_the_repository_is_what_the_script_writes(written: Path) -> None:
    """All but the replay, which is small here; numbers may differ in their last digit between machines."""
    new, kept = (
        (folder / "REPORT.md").read_text(encoding="utf-8").split("## Replay")[0] for folder in (written, FOLDER)
    )

    (words, numbers), (kept_words, kept_numbers) = pieces(new), pieces(kept)

    assert words == kept_words
    np.testing.assert_allclose(numbers, kept_numbers, rtol=2e-3, atol=0.011)


def test_the_report_has_its_pictures_and_every_policy(written: Path, analyse: ModuleType) -> None:
    report = (written / "REPORT.md").read_text(encoding="utf-8")

    pictures = re.findall(r"!\[.*?\]\((.*?)\)", report)
    assert pictures == ["staying.png", "who.png", "values.png", "replay.png"]
    for name in pictures:
        assert (written / name).stat().st_size > 10_000
        assert (FOLDER / name).stat().st_size > 10_000
    assert all(f"| {name} |" in report.split("## Replay")[1] for name in analyse.POLICIES)


def test_the_trial_is_read_as_its_note_says(analyse: ModuleType) -> None:
    cohort = analyse.read(open_data.path("ctn0030"))

    assert (len(cohort), int(cohort.left_early.sum()), int(cohort.dropped_out.sum())) == (653, 41, 252)
    assert int((cohort.arms[:, 1] >= 0).sum()) == 360
    assert not cohort.left_or_lost.any()
