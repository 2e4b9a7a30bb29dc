"""A file that one process locks while it compiles."""

from __future__ import annotations

import threading
from pathlib import Path

from dtrbandit.kernels.lock import Lock


def test_a_lock_has_one_holder(tmp_path: Path) -> None:
    first, second = Lock(tmp_path / "lock"), Lock(tmp_path / "lock")

    assert first.take()
    assert not second.take()
    assert not second.is_free()
    first.free()
    assert second.take()


def test_who_waits_has_the_lock_once_it_is_free(tmp_path: Path) -> None:
    first, second = Lock(tmp_path / "lock"), Lock(tmp_path / "lock")
    first.take()
    waiting = threading.Thread(target=second.wait)
    waiting.start()

    first.free()
    waiting.join(timeout=60)

    assert not waiting.is_alive()
    assert not first.take()


def test_to_look_whether_a_lock_is_free_does_not_keep_it(tmp_path: Path) -> None:
    looked = Lock(tmp_path / "lock")

    assert looked.is_free()
    assert Lock(tmp_path / "lock").take()


def test_a_lock_that_was_never_taken_can_be_given_back(tmp_path: Path) -> None:
    Lock(tmp_path / "lock").free()

    assert not (tmp_path / "lock").exists()
