"""What the command line says about errors, and its exit codes."""

from __future__ import annotations

import sys

import pytest
import typer

import dtrbandit as dtr
from dtrbandit.cli.error_handling import handled_errors, until_stopped
from dtrbandit.environments import Synthetic


def stopped_by(error: BaseException, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    with pytest.raises(typer.Exit) as stopped, handled_errors():
        raise error
    return stopped.value.exit_code, capsys.readouterr().err


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (dtr.DesignError("q must be 1 or more"), 2, "error: q must be 1 or more\n"),
        (dtr.ObservationError("x is [nan]"), 2, "error: x is [nan]\n"),
        (
            PermissionError(13, "Permission denied", "/results"),
            2,
            "error: /results: Permission denied; choose another file or folder\n",
        ),
    ],
)
def test_an_error_is_one_line(error: Exception, code: int, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert stopped_by(error, capsys) == (code, said)


def test_a_study_that_failed_or_was_interrupted_says_what_is_saved_and_how_to_go_on(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["/bin/dtrbandit", "simulate", "my study.toml"])
    study = dtr.simulate(Synthetic(), [dtr.Greedy()], horizon=5, paths=3)
    failed = dtr.StudyError("in Python", study)
    failed.__cause__ = ZeroDivisionError("no arm today")
    command = "dtrbandit simulate 'my study.toml'"
    saved = f"saved: 3 finished paths; the same command goes on from what is saved:\n  {command}\n"

    assert stopped_by(failed, capsys) == (2, f"error: ZeroDivisionError('no arm today'); {saved}")
    assert stopped_by(dtr.StudyInterrupted("in Python", study), capsys) == (130, f"interrupted; {saved}")


def test_an_interruption_before_any_path_says_how_to_start_again(capsys: pytest.CaptureFixture[str]) -> None:
    code, said = stopped_by(KeyboardInterrupt(), capsys)

    assert code == 130
    assert said.startswith("interrupted; the same command begins again, or goes on from what is saved:\n  dtrbandit")


def test_an_error_of_ours_is_not_hidden() -> None:
    """What the package does not raise on purpose keeps its traceback."""
    with pytest.raises(ZeroDivisionError), handled_errors():
        raise ZeroDivisionError


def test_what_goes_on_until_it_is_stopped_ends_in_order(capsys: pytest.CaptureFixture[str]) -> None:
    with until_stopped("Stopped. Nothing is left."):
        raise KeyboardInterrupt

    assert capsys.readouterr().err == "Stopped. Nothing is left.\n"
