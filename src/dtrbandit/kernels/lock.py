"""A file that one process locks while it compiles. The system frees it when that process ends, however it ends."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

SECONDS_BETWEEN_TRIES = 0.2


class Lock:
    """A lock on a file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._descriptor: int | None = None

    def take(self) -> bool:
        """Take the lock if it is free; say whether it is ours now."""
        descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600)
        if not _locked(descriptor):
            os.close(descriptor)
            return False
        self._descriptor = descriptor
        return True

    def wait(self) -> None:
        """Take the lock as soon as it is free."""
        while not self.take():
            time.sleep(SECONDS_BETWEEN_TRIES)

    def free(self) -> None:
        """Give the lock back."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def is_free(self) -> bool:
        """Say whether nobody holds the lock."""
        free = self.take()
        self.free()
        return free


if sys.platform == "win32":
    import msvcrt

    def _locked(descriptor: int) -> bool:
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True
else:
    import fcntl

    def _locked(descriptor: int) -> bool:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError:
            return True  # a file system without locks: two may compile, files are replaced as a whole
        return True
