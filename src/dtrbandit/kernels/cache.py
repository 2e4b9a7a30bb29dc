"""Where machine code is kept: one file for each entry, in a folder named after everything that it depends on.

A folder belongs to one state of the sources, one release of Python, numba and llvmlite, and one kind of processor, so
that nothing in it is ever stale. It holds pickles, and whoever can write a pickle can run code: a folder counts only if
it belongs to the user (or to root) and nobody else may write into it. A file begins with its checksum; one that is
damaged counts as missing.
"""

from __future__ import annotations

import hashlib
import os
import stat
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from dtrbandit.kernels.compile import Name
from dtrbandit.kernels.sources import SOURCES

CHECKSUM = hashlib.sha256().digest_size
SUFFIX = ".machine"
MARK = b"dtrbandit machine code 1\n"


class NoCache(Exception):  # noqa: N818  # what there is: no cache
    """There is no folder for machine code that can be used; the message says why."""


@dataclass(frozen=True)
class Cache:
    """A folder of machine code; it may not be there yet."""

    folder: Path

    def has(self, name: Name) -> bool:
        """Say whether there is a file for an entry, whole or not."""
        return self.file(name).is_file()

    def load(self, name: Name) -> bytes | None:
        """Return the machine code of an entry; None if there is none, or it is damaged."""
        if not (trusted(self.folder) and trusted(self.folder.parent)):
            return None
        try:
            content = self.file(name).read_bytes()
        except OSError:
            return None
        head, packed = content[: len(MARK) + CHECKSUM], content[len(MARK) + CHECKSUM :]
        return packed if head == MARK + _checksum(name, packed) else None

    def store(self, name: Name, packed: bytes) -> None:
        """Keep the machine code of an entry: the whole file, or none. Raises OSError if it cannot be written."""
        with tempfile.NamedTemporaryFile(dir=self.folder, delete=False) as file:
            try:
                file.write(MARK + _checksum(name, packed) + packed)
                file.close()
                Path(file.name).replace(self.file(name))
            except OSError:
                Path(file.name).unlink(missing_ok=True)
                raise

    def drop(self, name: Name) -> None:
        """Remove a file that is damaged, so that it is made anew."""
        try:
            self.file(name).unlink(missing_ok=True)
        except OSError:
            return  # then it stays, and counts as missing

    def open(self) -> None:
        """Make the folder, for this user alone. Raises NoCache if it cannot be used."""
        for folder in (self.folder.parent, self.folder):
            try:
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)
                tempfile.TemporaryFile(dir=folder).close()
            except OSError as error:
                raise NoCache(f"{folder} cannot be written ({error.strerror or error})") from error
            if not trusted(folder):
                raise NoCache(f"{folder} belongs to somebody else, or others may write into it")

    @property
    def lock(self) -> Path:
        """The file that a process locks while it compiles."""
        return self.folder / "lock"

    def file(self, name: Name) -> Path:
        """Return the file of an entry."""
        return self.folder / (".".join(name) + SUFFIX)

    def sizes(self) -> Iterator[int]:
        """Give the size of each file."""
        return (path.stat().st_size for path in self.folder.glob(f"*{SUFFIX}"))


def find_cache() -> Cache:
    """Return the cache of this state of the kernels on this machine. Imports llvmlite, to know the processor."""
    return Cache(base() / "dtrbandit" / f"kernels-{fingerprint()}")


def base() -> Path:
    """Return the folder of caches that the environment names."""
    for name in ("DTRBANDIT_CACHE_DIR", "NUMBA_CACHE_DIR", "XDG_CACHE_HOME"):
        if os.environ.get(name):
            return Path(os.environ[name]).expanduser().absolute()
    return Path("~/.cache").expanduser().absolute()


def fingerprint(sources: str = SOURCES) -> str:
    """Return a hash of everything that machine code depends on."""
    from llvmlite.binding import get_host_cpu_features, get_host_cpu_name

    parts = [sources, sys.version, sys.platform, version("numba"), version("llvmlite"), version("numpy")]
    parts += [get_host_cpu_name(), get_host_cpu_features().flatten()]
    parts += sorted(f"{key}={value}" for key, value in os.environ.items() if key in SETTINGS)
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


SETTINGS = ("NUMBA_BOUNDSCHECK", "NUMBA_CPU_FEATURES", "NUMBA_CPU_NAME", "NUMBA_DEBUGINFO", "NUMBA_OPT")


def trusted(folder: Path) -> bool:
    """Say whether a folder is a real one of this user or of root, into which nobody else may write."""
    try:
        found = folder.lstat()
    except OSError:
        return False
    if not stat.S_ISDIR(found.st_mode):
        return False
    if not hasattr(os, "geteuid"):  # Windows: folders in a profile are private
        return True
    return found.st_uid in (0, os.geteuid()) and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def _checksum(name: Name, packed: bytes) -> bytes:
    """Return a checksum that also tells one entry from another."""
    return hashlib.sha256(".".join(name).encode() + b"\0" + packed).digest()
