"""Stores by their address."""

from __future__ import annotations

from pathlib import Path

from dtrbandit.design.values import shown
from dtrbandit.errors import DesignError, NotFound
from dtrbandit.storage.memory import MemoryStore
from dtrbandit.storage.sqlite import SQLiteStore
from dtrbandit.storage.store import Store

SQLITE, MEMORY = "sqlite:///", "memory://"


def connect(address: str) -> Store:
    """Return the store at an address; a file is made if it is not there.

    ``sqlite:///trial.db`` is a file in the present folder, ``sqlite:////data/trial.db`` one anywhere, ``memory://`` a
    new store in memory.

    Examples
    --------
    >>> connect("memory://").trials()
    []
    """
    path = path_of(address)
    return MemoryStore() if path is None else SQLiteStore(path)


def connect_existing(address: str) -> Store:
    """Return the store at an address. A file that is not there is NotFound, and not made."""
    path = path_of(address)
    if path is not None and not path.is_file():
        raise NotFound(f"there is no file {path}; look at the address {address!r}, or create a trial there first")
    return connect(address)


def path_of(address: str) -> Path | None:
    """Return the path of an address of a file; None of one in memory."""
    if address == MEMORY:
        return None
    path = address.removeprefix(SQLITE) if isinstance(address, str) and address.startswith(SQLITE) else ""
    if not path or "\0" in path:
        raise DesignError(f"a storage address is {SQLITE}trial.db or {MEMORY}, found {shown(address)}")
    return Path(path)
