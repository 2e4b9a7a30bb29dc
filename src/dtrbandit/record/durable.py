"""Files that are there whole or not at all, and still there after a power cut."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dtrbandit.errors import ProtocolError


@contextmanager
def beside(file: str | Path) -> Iterator[Path]:
    """Give the name of a new file in the same folder, to write to. What is left of it in the end is removed.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with beside(f"{folder}/log") as draft:
    ...         _ = draft.write_text("whole")
    ...         settle(draft, f"{folder}/log")
    ...     [each.name for each in Path(folder).iterdir()]
    ['log']
    """
    name = f".{Path(file).name[:200]}-{secrets.token_hex(8)}"  # not mkstemp, which only its owner may read
    draft = Path(file).with_name(name)
    try:
        yield draft
    finally:  # after Ctrl-C too
        draft.unlink(missing_ok=True)


@contextmanager
def private_beside(file: str | Path) -> Iterator[Path]:
    """Give the same, as an empty file that its owner alone may read."""
    with beside(file) as draft:
        make_private(draft)
        yield draft


def make_private(file: Path) -> None:
    """Make a new, empty file that its owner alone may read."""
    os.close(os.open(file, os.O_CREAT | os.O_RDWR, 0o600))


def require_absent(file: str | Path, what: str) -> None:
    """Refuse to write where there is something already; ``what`` is about to be written."""
    if os.path.lexists(file):
        raise ProtocolError(f"{file} is there already: {what} replaces nothing; move it away, or give another name")


def settle(draft: Path, file: str | Path) -> None:
    """Give a draft the name of the file. A crash leaves the old file or the new one, whole."""
    place = Path(file)
    if place.exists():
        shutil.copymode(place, draft)  # who could not read the old one cannot read the new one
    with draft.open("rb+") as written:
        os.fsync(written.fileno())  # first the content: a crash may otherwise leave the name with an empty file
    os.replace(draft, place)
    _sync_folder(place.parent)


def _sync_folder(folder: Path) -> None:
    """Let the new name survive a crash. Windows cannot open a folder, and needs no such call."""
    if os.name == "nt":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
