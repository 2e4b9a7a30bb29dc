"""A cache is filled with what it lacks, and what somebody waits for comes first."""

from __future__ import annotations

import gc
from pathlib import Path

import pytest

from dtrbandit.kernels import fill as filling
from dtrbandit.kernels.cache import Cache, NoCache
from dtrbandit.kernels.compile import ENTRIES, Entry, Name, kernel
from dtrbandit.kernels.digest import key_of
from dtrbandit.kernels.fill import all_entries, fill, fill_alone, in_order, lacking, own_entries
from dtrbandit.kernels.lock import Lock
from dtrbandit.kernels.machine import install, unpack


@kernel(entry="float64")
def third(x: float) -> float:
    return x / 3


@kernel(entry="float64")
def fourth(x: float) -> float:
    return x / 4


MODULE = third.plain.__module__
NAMES: list[Name] = [(MODULE, "third"), (MODULE, "fourth")]


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cache:
    """Return an empty cache for two small entries."""
    monkeypatch.setattr(filling, "all_entries", lambda: list(NAMES))
    made = Cache(tmp_path / "dtrbandit" / "kernels-x")
    made.open()
    return made


def stored(cache: Cache) -> list[str]:
    files = sorted(cache.folder.glob("*.machine"), key=lambda file: file.stat().st_mtime_ns)
    return [file.name.removesuffix(".machine").rpartition("-")[0].rpartition(".")[2] for file in files]


def test_what_is_stored_runs_as_machine_code(cache: Cache) -> None:
    fill(cache, NAMES)
    packed, entry = cache.load(key_of(NAMES[0])), Entry(third.plain, "float64")

    assert packed is not None
    install(entry, unpack(packed))
    assert entry.compiled
    assert entry.call(7.0) == third.plain(7.0)


def test_entries_are_compiled_in_the_order_in_which_they_are_named(cache: Cache) -> None:
    fill(cache, reversed(NAMES))

    assert stored(cache) == ["fourth", "third"]


@pytest.mark.usefixtures("cache")
def test_what_somebody_waits_for_comes_first_and_strangers_are_passed_over() -> None:
    assert in_order([NAMES[1]]) == in_order([("elsewhere", "fifth"), *reversed(NAMES)]) == [*reversed(NAMES)]


def test_a_damaged_file_is_lacking(cache: Cache) -> None:
    cache.store(key_of(NAMES[0]), b"there")
    cache.store(key_of(NAMES[1]), b"there")
    cache.file(key_of(NAMES[1])).write_bytes(b"th")

    assert lacking(cache, NAMES) == [NAMES[1]]


def test_only_what_is_missing_is_compiled_and_reported(cache: Cache) -> None:
    cache.store(key_of(NAMES[0]), b"there")
    told: list[tuple[int, int]] = []

    fill(cache, NAMES, report=lambda done, total: told.append((done, total)))

    assert told == [(0, 1)]
    assert cache.load(key_of(NAMES[0])) == b"there"


def test_what_another_process_has_stored_meanwhile_is_passed_over(cache: Cache) -> None:
    def store(done: int, _total: int) -> None:
        if done == 1:
            cache.store(key_of(NAMES[1]), b"there")

    fill(cache, NAMES, report=store)

    assert cache.load(key_of(NAMES[1])) == b"there"


def test_the_garbage_collector_rests_only_meanwhile(cache: Cache) -> None:
    before, told = gc.get_threshold(), []

    fill(cache, NAMES, report=lambda *_: told.append(gc.get_threshold()))

    assert min(told) > before == gc.get_threshold()


def test_who_fills_alone_gives_the_lock_back(cache: Cache) -> None:
    fill_alone(cache)

    assert sorted(stored(cache)) == ["fourth", "third"]
    assert Lock(cache.lock).is_free()


def test_a_folder_that_cannot_be_used_is_not_filled(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(NoCache, match="cannot be written"):
        fill_alone(Cache(tmp_path / "file" / "kernels-x"))


def test_entries_of_others_are_not_the_packages_own() -> None:
    everything = all_entries()

    assert set(NAMES) <= set(ENTRIES)
    assert not set(NAMES) & set(everything)
    assert everything == own_entries()
    assert ("dtrbandit.compiled", "fold_exact") in everything
