"""Where machine code is kept: one file for each entry, named after everything that it depends on.

A folder belongs to one release of Python, numpy, numba and llvmlite, and one kind of processor; the name of a file says
what the entry is made of (``digest.py``). So nothing in it is ever stale. It holds pickles, and whoever can write a
pickle can run code: a folder counts only if it belongs to the user (or to root) and nobody else may write into it. A
file begins with its checksum; one that is damaged counts as missing.
"""

from __future__ import annotations

import hashlib
import os
import platform
import stat
import sys
import tempfile
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from dtrbandit.kernels.sources import hash_of_makers

CHECKSUM = hashlib.sha256().digest_size
SUFFIX = ".machine"
MARK = b"dtrbandit machine code 1\n"


class NoCache(Exception):  # noqa: N818  # what there is: no cache
    """There is no folder for machine code that can be used; the message says why."""


@dataclass(frozen=True)
class Cache:
    """A folder of machine code; it may not be there yet."""

    folder: Path

    def has(self, key: str) -> bool:
        """Say whether there is a file for an entry, whole or not."""
        try:
            return self.file(key).is_file()
        except OSError:
            return False

    def load(self, key: str) -> bytes | None:
        """Return the machine code of an entry; None if there is none, or it is damaged."""
        if not (trusted(self.folder) and trusted(self.folder.parent)):
            return None
        try:
            content = self.file(key).read_bytes()
        except OSError:
            return None
        head, packed = content[: len(MARK) + CHECKSUM], content[len(MARK) + CHECKSUM :]
        return packed if head == MARK + _checksum(key, packed) else None

    def store(self, key: str, packed: bytes) -> None:
        """Keep the machine code of an entry: the whole file, or none. Raises OSError if it cannot be written."""
        with tempfile.NamedTemporaryFile(dir=self.folder, delete=False) as file:
            try:
                file.write(MARK + _checksum(key, packed) + packed)
                file.close()
                Path(file.name).replace(self.file(key))
            except OSError:
                Path(file.name).unlink(missing_ok=True)
                raise

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

    def file(self, key: str) -> Path:
        """Return the file of an entry."""
        return self.folder / (key + SUFFIX)

    def size(self, key: str) -> int:
        """Return the size of the file of an entry, in bytes."""
        return self.file(key).stat().st_size


def find_cache() -> Cache:
    """Return the cache for this machine. Imports llvmlite, to know the processor. Raises NoCache."""
    try:
        return Cache(base() / "dtrbandit" / f"kernels-{fingerprint()}")
    except RuntimeError as error:
        raise NoCache(f"there is no home folder for a cache ({error})") from error
    except OSError as error:
        raise NoCache(f"the files of the package cannot be read ({error})") from error


def base() -> Path:
    """Return the folder of caches that the environment names."""
    for name in ("DTRBANDIT_CACHE_DIR", "NUMBA_CACHE_DIR", "XDG_CACHE_HOME"):
        if os.environ.get(name):
            return Path(os.environ[name]).expanduser().absolute()
    return Path("~/.cache").expanduser().absolute()


def fingerprint() -> str:
    """Return a hash of everything that machine code depends on beside the kernels."""
    parts = [hash_of_makers(), sys.version, sys.platform, version("numba"), version("llvmlite"), version("numpy")]
    parts += [platform.machine(), *processor()]
    parts += sorted(f"{key}={value}" for key, value in os.environ.items() if key in SETTINGS)
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


SETTINGS = ("NUMBA_BOUNDSCHECK", "NUMBA_DEBUGINFO", "NUMBA_ENABLE_AVX", "NUMBA_OPT")


def processor() -> tuple[str, str]:
    """Return the name and features of the processor that machine code is made for: this one, unless told otherwise.

    ``NUMBA_CPU_NAME=generic`` makes code for every processor of the kind, which an image can carry along.
    """
    from llvmlite.binding import get_host_cpu_features, get_host_cpu_name

    name, features = os.environ.get("NUMBA_CPU_NAME"), os.environ.get("NUMBA_CPU_FEATURES")
    if features is None:
        features = "" if str(name).lower() == "generic" else get_host_cpu_features().flatten()
    return get_host_cpu_name() if name is None else name, features


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


def _checksum(key: str, packed: bytes) -> bytes:
    """Return a checksum that also tells one entry from another."""
    return hashlib.sha256(key.encode() + b"\0" + packed).digest()
