"""Files that are there whole or not at all, and still there after a power cut."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def beside(path: str | Path) -> Iterator[Path]:
    """Give a new path in the same folder to write to; what is left there in the end is removed.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with beside(f"{folder}/log") as part:
    ...         _ = part.write_text("whole")
    ...         settle(part, f"{folder}/log")
    ...     [file.name for file in Path(folder).iterdir()]
    ['log']
    """
    name = f".{Path(path).name[:200]}-{secrets.token_hex(8)}"  # not mkstemp, which only its owner may read
    part = Path(path).with_name(name)
    try:
        yield part
    finally:  # after Ctrl-C too
        part.unlink(missing_ok=True)


def settle(part: Path, path: str | Path) -> None:
    """Move a file that is written to its place, so that no crash leaves less than the old one or the new one."""
    place = Path(path)
    if place.exists():
        shutil.copymode(place, part)  # who could not read the old one cannot read the new one
    with part.open("rb+") as file:
        os.fsync(file.fileno())  # first the content: a crash may otherwise leave the name with an empty file
    os.replace(part, place)
    _sync_folder(place.parent)


def _sync_folder(folder: Path) -> None:
    """Let the new name itself survive a crash; Windows cannot open a folder, and needs no such call."""
    if os.name == "nt":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
