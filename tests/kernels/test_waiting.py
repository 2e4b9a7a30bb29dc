"""What somebody sees who waits for the compiler."""

from __future__ import annotations

from collections.abc import Callable
from io import StringIO
from typing import Any

import pytest

from dtrbandit.kernels.waiting import Waiting


def test_nothing_is_said_before_there_is_something_to_wait_for(capsys: pytest.CaptureFixture[str]) -> None:
    with Waiting("a study", seconds=25.0):
        pass

    assert capsys.readouterr() == ("", "")


def test_a_line_is_written_once_where_there_is_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    with Waiting("a study", seconds=24.6) as waiting:
        waiting.show(0, 9)
        waiting.show(4, 9)

    said = capsys.readouterr()
    assert said.out == ""
    assert said.err == (
        "dtrbandit: compiling kernels for a study, about 25 s on an idle machine, once for this release …\n"
    )


def test_a_bar_on_a_terminal_says_how_many_are_done(monkeypatch: pytest.MonkeyPatch) -> None:
    import rich.console

    written, made = StringIO(), rich.console.Console

    def terminal(**_: object) -> Any:
        return made(file=written, force_terminal=True, width=200)

    console: Callable[..., Any] = terminal
    monkeypatch.setattr(rich.console, "Console", console)

    with Waiting("a study", seconds=25.0) as waiting:
        waiting.show(3, 9)

    assert "compiling kernels for a study" in written.getvalue()
    assert "3/9" in written.getvalue()
