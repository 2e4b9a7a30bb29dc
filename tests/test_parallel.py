"""Work on many cores: where it runs, how many threads it has, and what is told of its progress."""

from __future__ import annotations

import os
import threading
import time
from typing import Any

import joblib
import pytest

from dtrbandit import parallel
from dtrbandit.parallel import map_unordered


def where(_: int) -> tuple[int, int, str | None]:
    time.sleep(0.02)
    return os.getpid(), threading.get_ident(), os.environ.get("OMP_NUM_THREADS")


def square(number: int) -> int:
    return number * number


@pytest.mark.parametrize("n_jobs", [None, 1])
def test_one_job_runs_in_this_process(n_jobs: int | None) -> None:
    places = {place[:2] for place in map_unordered(where, range(5), n_jobs=n_jobs)}

    assert places == {(os.getpid(), threading.get_ident())}


def test_two_jobs_run_in_other_processes_with_one_thread_each() -> None:
    places = list(map_unordered(where, range(12), n_jobs=2))

    assert os.getpid() not in {process for process, _, _ in places}
    assert {threads for _, _, threads in places} == {"1"}


def test_without_a_number_of_jobs_the_configuration_decides() -> None:
    with joblib.parallel_config(backend="threading", n_jobs=2):
        places = list(map_unordered(where, range(12)))

    assert {process for process, _, _ in places} == {os.getpid()}
    assert threading.get_ident() not in {thread for _, thread, _ in places}


def test_a_configured_number_of_processes_is_followed() -> None:
    with joblib.parallel_config(n_jobs=2):
        places = list(map_unordered(where, range(12)))

    assert os.getpid() not in {process for process, _, _ in places}


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_every_item_is_worked_on_once(n_jobs: int) -> None:
    assert sorted(map_unordered(square, range(200), n_jobs=n_jobs)) == [number * number for number in range(200)]


def test_nothing_is_said_unless_asked(capfd: pytest.CaptureFixture[str]) -> None:
    list(map_unordered(square, range(3)))

    assert capfd.readouterr() == ("", "")


def test_outside_a_terminal_progress_is_lines_on_standard_error(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parallel, "SECONDS_BETWEEN_LINES", 0.0)

    list(map_unordered(square, range(3), progress="paths"))

    output, errors = capfd.readouterr()
    assert output == ""
    assert [line.split(",")[0] for line in errors.splitlines()] == [f"paths: {done} of 3" for done in (1, 2, 3)]
    assert "/s" in errors
    assert "s left" in errors


def test_a_result_is_counted_once_it_was_taken(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that what is counted before Ctrl-C has been kept."""
    monkeypatch.setattr(parallel, "SECONDS_BETWEEN_LINES", 0.0)
    results = map_unordered(square, range(3), progress="paths")

    next(results)
    before = capfd.readouterr().err
    next(results)

    assert before == ""
    assert capfd.readouterr().err.startswith("paths: 1 of 3")


def test_in_a_terminal_progress_is_a_bar_with_a_rate(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")  # rich takes it for a terminal

    assert sorted(map_unordered(square, range(4), progress="paths")) == [0, 1, 4, 9]

    output, errors = capfd.readouterr()
    assert output == ""
    assert "paths" in errors
    assert "4/4" in errors
    assert "/s" in errors


def test_an_error_in_the_work_comes_through(capfd: pytest.CaptureFixture[str]) -> None:
    results: Any = map_unordered(int, ["1", "two"], progress="numbers")

    with pytest.raises(ValueError, match="two"):
        list(results)
    assert "Traceback" not in capfd.readouterr().err
