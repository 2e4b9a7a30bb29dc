"""A watch on what reaches the disk, and in which order."""

from __future__ import annotations

import os
import stat
from typing import Any

import pytest


def watched(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return a list that fills with each call that makes a write atomic or durable; the calls still do their work."""
    calls: list[str] = []
    fsync, replace = os.fsync, os.replace

    def sync(handle: int) -> None:
        found = os.fstat(handle)
        calls.append("sync folder" if stat.S_ISDIR(found.st_mode) else f"sync file of {found.st_size} bytes")
        fsync(handle)

    def move(*paths: Any) -> None:
        calls.append("replace")
        replace(*paths)

    monkeypatch.setattr(os, "fsync", sync)
    monkeypatch.setattr(os, "replace", move)
    return calls
