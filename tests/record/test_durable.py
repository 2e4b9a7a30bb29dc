"""Writing that is atomic and durable: what is there stays until what is new is on the disk."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

import dtrbandit as dtr
from dtrbandit.record.durable import beside, private_beside, settle
from dtrbandit.record.events import Completed, Event
from record.disk import watched

OLD: list[Event] = [Completed("old", 1.0)]
NEW: list[Event] = [Completed("new", float(n)) for n in range(10_000)]


def test_a_log_is_on_the_disk_before_its_name_is_and_its_name_before_the_call_returns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "log.jsonl"
    dtr.write_log(path, OLD)
    calls = watched(monkeypatch)

    dtr.write_log(path, NEW)

    size = path.stat().st_size  # synced whole: nothing was still in a buffer
    assert calls == [f"sync file of {size} bytes", "replace", "sync folder"]
    assert dtr.read_log(path) == NEW


def test_the_old_log_is_whole_until_the_new_one_takes_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, replace, seen = tmp_path / "log.jsonl", os.replace, []
    dtr.write_log(path, OLD)

    def look(part: Path, place: Path) -> None:
        seen.append((dtr.read_log(place), dtr.read_log(part), part.parent))
        replace(part, place)

    monkeypatch.setattr(os, "replace", look)
    dtr.write_log(path, NEW)

    assert seen == [(OLD, NEW, tmp_path)]


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_step_that_fails_leaves_the_old_log_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    path = tmp_path / "log.jsonl"
    dtr.write_log(path, OLD)

    def fail(*_: object) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr(os, step, fail)
    with pytest.raises(OSError, match="no space left"):
        dtr.write_log(path, NEW)

    assert os.listdir(tmp_path) == ["log.jsonl"]
    assert dtr.read_log(path) == OLD


@pytest.mark.parametrize("error", [OSError, KeyboardInterrupt])
def test_a_log_that_breaks_off_half_way_leaves_the_old_one_alone(tmp_path: Path, error: type[BaseException]) -> None:
    def break_off() -> Iterator[Event]:
        yield from NEW
        raise error

    path = tmp_path / "log.jsonl"
    dtr.write_log(path, OLD)

    with pytest.raises(error):
        dtr.write_log(path, break_off())

    assert os.listdir(tmp_path) == ["log.jsonl"]
    assert dtr.read_log(path) == OLD


def test_two_writers_do_not_share_a_file(tmp_path: Path) -> None:
    with beside(tmp_path / "log") as one, beside(tmp_path / "log") as other:
        one.write_text("one")
        other.write_text("other")
        settle(one, tmp_path / "log")
        settle(other, tmp_path / "log")

    assert (tmp_path / "log").read_text() == "other"
    assert os.listdir(tmp_path) == ["log"]


def test_a_private_file_is_never_open_to_others(tmp_path: Path) -> None:
    with private_beside(tmp_path / "seed") as draft:
        modes = [draft.stat().st_mode & 0o777]
        draft.write_text("7")
        settle(draft, tmp_path / "seed")
        modes.append((tmp_path / "seed").stat().st_mode & 0o777)

    assert modes == [0o600, 0o600]
    assert os.listdir(tmp_path) == ["seed"]


def test_a_new_log_may_be_read_by_whom_the_old_one_could(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    dtr.write_log(path, OLD)
    path.chmod(0o600)

    dtr.write_log(path, NEW)

    assert path.stat().st_mode & 0o777 == 0o600


def test_a_link_to_a_log_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "log.jsonl")

    dtr.write_log(tmp_path / "link", OLD)

    assert (tmp_path / "link").is_symlink()
    assert dtr.read_log(tmp_path / "log.jsonl") == OLD
