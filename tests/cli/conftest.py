"""The command line as it is typed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from dtrbandit.cli import app

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    """Run the command line in an empty folder; return the exit code, stdout and stderr."""
    monkeypatch.chdir(tmp_path)

    def command(*arguments: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as stopped:
            app(list(arguments))
        assert isinstance(stopped.value.code, int)
        return stopped.value.code, *capsys.readouterr()

    return command
