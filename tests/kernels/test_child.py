"""How the process that compiles shares its work, steps back, and ends."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from dtrbandit.kernels import child
from dtrbandit.kernels.cache import Cache
from dtrbandit.kernels.compile import Name
from dtrbandit.kernels.digest import key_of
from dtrbandit.kernels.fill import Report
from dtrbandit.kernels.lock import Lock

TAKE, DECIDE, FOLD = [
    ("dtrbandit.policies.facts", "call_take"),
    ("dtrbandit.policies.facts", "call_decide"),
    ("dtrbandit.compiled", "fold_exact"),
]


class Helper:
    """A helper that has done its work, or failed, when it is waited for."""

    def __init__(self, cache: Cache, names: list[Name], *, fails: bool = False) -> None:
        self.waited, self._cache, self._names, self._fails = 0, cache, names, fails

    def wait(self) -> None:
        self.waited += 1
        for name in self._names:
            if not self._fails:
                self._cache.store(key_of(name), b"by the helper")


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    made = Cache(tmp_path / "dtrbandit" / "kernels-x")
    made.open()
    return made


@pytest.fixture(autouse=True)
def filled(cache: Cache, monkeypatch: pytest.MonkeyPatch) -> list[Name]:
    """Return what is compiled, by a compiler that takes no time; tests keep their priority."""
    done: list[Name] = []

    def fill(cache: Cache, names: Iterable[Name], *, report: Report = lambda *_: None) -> None:
        for number, name in enumerate(list(names)):
            report(number, 0)
            if not cache.has(key_of(name)):
                cache.store(key_of(name), b"by the child")
                done.append(name)

    monkeypatch.setattr(child, "find_cache", lambda: cache)
    monkeypatch.setattr(child, "fill", fill)
    monkeypatch.setattr(child, "lower_priority", lambda: done.append(("", "stepped back")))
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    return done


def written(*names: Name) -> list[str]:
    return ["/".join(name) for name in names]


def test_it_ends_at_once_while_another_compiles(cache: Cache) -> None:
    other = Lock(cache.lock)
    other.take()

    assert child.main([str(cache.folder), child.FOR_SOMEBODY]) == child.BUSY
    other.free()
    assert child.main([str(cache.folder), child.FOR_SOMEBODY]) == child.FILLED


def test_it_ends_if_its_own_folder_is_another(cache: Cache) -> None:
    assert child.main([f"{cache.folder}-of-before", child.FOR_SOMEBODY]) == child.OTHER_MAKERS


def test_it_ends_on_a_full_disk(cache: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(child, "fill", full)

    assert child.main([str(cache.folder), child.FOR_SOMEBODY]) == child.NOT_WRITABLE


@pytest.mark.parametrize("fails", [False, True])
def test_a_helper_compiles_every_other_entry_that_somebody_waits_for(
    cache: Cache, filled: list[Name], monkeypatch: pytest.MonkeyPatch, fails: bool
) -> None:
    asked: list[Any] = []

    def start(_: Cache, task: str, names: list[Name], *, own_session: bool) -> Helper:
        asked.append((task, names, own_session))
        return Helper(cache, names, fails=fails)

    monkeypatch.setattr(child, "_start", start)

    assert child.main([str(cache.folder), child.FOR_SOMEBODY, *written(TAKE, DECIDE, FOLD)]) == child.FILLED

    assert asked == [(child.AS_HELPER, [DECIDE], False)]
    assert filled[:2] == [TAKE, FOLD]
    assert (DECIDE in filled) is fails, "what the helper could not do is done without it"
    assert filled[2 + fails] == ("", "stepped back"), "nobody waits for the rest"


@pytest.mark.parametrize(("task", "cores"), [(child.IN_BACKGROUND, 2), (child.FOR_SOMEBODY, 1)])
def test_in_the_background_and_on_one_core_there_is_no_helper(
    cache: Cache, filled: list[Name], monkeypatch: pytest.MonkeyPatch, task: str, cores: int
) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: cores)
    monkeypatch.setattr(child, "_start", lambda *_, **__: pytest.fail("a helper"))

    assert child.main([str(cache.folder), task, *written(TAKE, DECIDE)]) == child.FILLED

    compiled = [name for name in filled if name[0]]
    assert compiled[:2] == [TAKE, DECIDE]
    assert len(compiled) > 2


def test_without_room_for_a_helper_one_process_compiles_everything(
    cache: Cache, filled: list[Name], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(12, "Cannot allocate memory")

    monkeypatch.setattr(child, "_start", full)

    assert child.main([str(cache.folder), child.FOR_SOMEBODY, *written(TAKE, DECIDE)]) == child.FILLED
    assert filled[:2] == [TAKE, DECIDE]


def test_a_helper_compiles_what_it_is_told_and_nothing_else(cache: Cache, filled: list[Name]) -> None:
    lock = Lock(cache.lock)
    lock.take()  # as the process has that started it

    assert child.main([str(cache.folder), child.AS_HELPER, *written(FOLD, ("elsewhere", "fifth"))]) == child.FILLED
    assert filled == [FOLD]
    lock.free()


@pytest.mark.skipif(not child.AUTOGROUP.exists(), reason="this system does not weigh sessions against each other")
def test_the_lowest_priority_counts_against_other_sessions_too() -> None:
    tell = "from dtrbandit.kernels import child; child.lower_priority(); print(child.AUTOGROUP.read_text())"

    told = subprocess.run([sys.executable, "-c", tell], capture_output=True, text=True, start_new_session=True)

    assert told.stdout.strip().endswith("nice 19"), told.stderr
