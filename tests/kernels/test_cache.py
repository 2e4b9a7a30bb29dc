"""The cache of machine code: whole files of a trusted folder, or nothing."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from dtrbandit.kernels import cache as caching
from dtrbandit.kernels.cache import Cache, NoCache, fingerprint, processor, trusted

NAME, OTHER = "module.entry-1", "module.other-1"


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    made = Cache(tmp_path / "dtrbandit" / "kernels-x")
    made.open()
    return made


def disown(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make a folder one of somebody else."""
    if os.geteuid() == 0:
        os.chown(folder, 12345, -1)
    else:
        monkeypatch.setattr(os, "geteuid", lambda: 12345)


def test_what_is_stored_is_loaded_again(cache: Cache) -> None:
    cache.store(NAME, b"code")

    assert cache.load(NAME) == b"code"
    assert cache.load(OTHER) is None


@pytest.mark.parametrize(
    "damage",
    [lambda whole: whole[:-1], lambda whole: whole[:5], lambda _: b"", lambda whole: whole[:-1] + b"X"],
    ids=["truncated", "short", "empty", "flipped"],
)
def test_a_damaged_file_counts_as_missing(cache: Cache, damage: object) -> None:
    cache.store(NAME, b"code")
    file = cache.file(NAME)

    file.write_bytes(damage(file.read_bytes()))  # type: ignore[operator]  # one of those above

    assert cache.load(NAME) is None


def test_the_file_of_another_entry_counts_as_missing(cache: Cache) -> None:
    cache.store(NAME, b"code")

    cache.file(NAME).rename(cache.file(OTHER))

    assert cache.load(OTHER) is None


def test_folders_are_for_the_user_alone(cache: Cache) -> None:
    assert [folder.stat().st_mode & 0o777 for folder in (cache.folder, cache.folder.parent)] == [0o700, 0o700]


@pytest.mark.parametrize("level", [0, 1])
@pytest.mark.parametrize("mode", [0o770, 0o707])
def test_a_folder_that_others_may_write_into_is_passed_over(cache: Cache, level: int, mode: int) -> None:
    cache.store(NAME, b"code")

    (cache.folder, cache.folder.parent)[level].chmod(mode)

    assert cache.load(NAME) is None
    with pytest.raises(NoCache, match="others may write"):
        cache.open()


def test_a_folder_of_somebody_else_is_passed_over(cache: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    cache.store(NAME, b"code")

    disown(cache.folder, monkeypatch)

    assert cache.load(NAME) is None
    with pytest.raises(NoCache, match="somebody else"):
        cache.open()


def test_a_link_to_a_folder_is_not_trusted(cache: Cache, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(cache.folder)

    assert trusted(cache.folder)
    assert not trusted(link)


def test_a_store_that_fails_leaves_nothing_behind(cache: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)

    with pytest.raises(OSError, match="No space"):
        cache.store(NAME, b"code")
    assert list(cache.folder.iterdir()) == []


@pytest.mark.parametrize("variable", ["DTRBANDIT_CACHE_DIR", "NUMBA_CACHE_DIR", "XDG_CACHE_HOME"])
def test_the_environment_says_where_it_lies(variable: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("DTRBANDIT_CACHE_DIR", "NUMBA_CACHE_DIR", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)

    monkeypatch.setenv(variable, str(tmp_path))

    assert caching.find_cache().folder.is_relative_to(tmp_path)


def test_other_settings_of_numba_have_another_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    before = fingerprint()
    monkeypatch.setenv("NUMBA_BOUNDSCHECK", "1")

    assert fingerprint() != before


def test_code_for_every_processor_does_not_depend_on_this_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NUMBA_CPU_NAME", raising=False)
    monkeypatch.delenv("NUMBA_CPU_FEATURES", raising=False)
    here = fingerprint()

    monkeypatch.setenv("NUMBA_CPU_NAME", "generic")
    generic, names = fingerprint(), processor()
    monkeypatch.setattr("llvmlite.binding.get_host_cpu_name", lambda: "another")

    assert names == ("generic", "")
    assert fingerprint() == generic != here
    monkeypatch.delenv("NUMBA_CPU_NAME")
    assert fingerprint() not in (generic, here)


def test_numba_makes_code_for_the_processor_that_the_cache_names() -> None:
    code = "from numba.core.registry import cpu_target; "
    code += "made = cpu_target.target_context.codegen(); "
    code += "from dtrbandit.kernels.cache import processor; "
    code += "print([made._get_host_cpu_name(), made._get_host_cpu_features()] == list(processor()))"

    for setting in ({}, {"NUMBA_CPU_NAME": "generic"}):
        asked = subprocess.run([sys.executable, "-c", code], env=os.environ | setting, capture_output=True, text=True)
        assert asked.stdout == "True\n", asked.stderr
