"""How the process that compiles ends, told without starting one."""

from __future__ import annotations

from pathlib import Path

import pytest

from dtrbandit.kernels import child
from dtrbandit.kernels.cache import Cache
from dtrbandit.kernels.lock import Lock


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    made = Cache(tmp_path / "dtrbandit" / "kernels-x")
    made.open()
    return made


@pytest.fixture(autouse=True)
def found(cache: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(child, "find_cache", lambda: cache)
    monkeypatch.setattr(child, "fill", lambda *_, **__: None)


def test_it_ends_at_once_while_another_compiles(cache: Cache) -> None:
    other = Lock(cache.lock)
    other.take()

    assert child.main([str(cache.folder), "usual"]) == child.BUSY
    other.free()
    assert child.main([str(cache.folder), "usual"]) == child.FILLED


def test_it_ends_if_its_own_folder_is_another(cache: Cache) -> None:
    assert child.main([f"{cache.folder}-of-before", "usual"]) == child.OTHER_MAKERS


def test_it_ends_on_a_full_disk(cache: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(child, "fill", full)

    assert child.main([str(cache.folder), "usual"]) == child.NOT_WRITABLE
