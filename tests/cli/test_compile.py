"""``dtrbandit compile``: what it says, and its exit code."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from dtrbandit.cli import app
from dtrbandit.kernels import supply
from dtrbandit.kernels.cache import find_cache


@pytest.mark.skipif(supply.mode() == supply.PLAIN, reason="there may be no machine code yet: half a minute")
def test_a_filled_cache_is_told_at_once_and_left_as_it_is() -> None:
    before = {file: file.stat().st_mtime_ns for file in find_cache().folder.glob("*.machine")}

    result = CliRunner().invoke(app, ["compile"])

    assert result.exit_code == 0
    assert str(find_cache().folder) in result.output
    assert " MB, in " in result.output
    assert before.items() <= {file: file.stat().st_mtime_ns for file in find_cache().folder.glob("*.machine")}.items()


def test_a_folder_that_cannot_be_written_is_exit_code_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("DTRBANDIT_CACHE_DIR", str(tmp_path / "file"))

    result = CliRunner().invoke(app, ["compile"])

    assert result.exit_code == 1
    assert "cannot be written" in result.output
    assert "DTRBANDIT_CACHE_DIR" in result.output
