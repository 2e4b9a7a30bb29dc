"""Stores by their address."""

from __future__ import annotations

from pathlib import Path

from dtrbandit.errors import DesignError, NotFound
from dtrbandit.storage.sqlite import MemoryStore, SQLiteStore
from dtrbandit.storage.store import POSTGRES, Store, is_postgres, path_of


def connect(address: str) -> Store:
    """Return the store at an address; a file, or the tables of a database, are made if they are not there.

    ``sqlite:///trial.db`` is a file in the present folder, ``sqlite:////data/trial.db`` one anywhere,
    ``postgresql://user@host/database`` a database of a server, ``memory://`` a new store in memory.

    Examples
    --------
    >>> connect("memory://").trials()
    []
    """
    if is_postgres(address):
        _require_psycopg()
        from dtrbandit.storage.postgres import PostgresStore

        return PostgresStore(address)
    path = path_of(address)
    return MemoryStore() if path is None else SQLiteStore(path)


def connect_existing(address: str) -> Store:
    """Return the store at an address. A file or a table that is not there is NotFound, and not made."""
    if is_postgres(address):
        _require_psycopg()
        from dtrbandit.storage.postgres import existing

        return existing(address)
    path = path_of(address)
    if path is not None and not path.is_file():
        raise NotFound(f"there is no file {path}; look at the address {address!r}, or create a trial there first")
    return connect(address)


def upgrade_tables(address: str, backup: str | Path) -> int:
    """Bring the tables at an address up to this release, after a backup to a file; return how many steps it took.

    A file takes its steps when it is opened, after a backup beside it. A database of a server waits for this.
    """
    if not is_postgres(address):
        raise DesignError("a file is backed up and brought up to this release by itself, when it is opened")
    _require_psycopg()
    from dtrbandit.storage.postgres import upgrade

    return upgrade(address, backup)


def _require_psycopg() -> None:
    try:
        import psycopg  # noqa: F401  # only where such an address is used
    except ImportError as error:
        raise DesignError(
            f"an address with {POSTGRES} needs another package ({error}): pip install 'dtrbandit[postgres]'"
        ) from error
