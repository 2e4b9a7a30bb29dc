"""Addresses of stores: of which kind they are, and how they may be shown."""

from __future__ import annotations

import re
from pathlib import Path

from dtrbandit.design.values import shown
from dtrbandit.errors import DesignError

SQLITE, MEMORY, POSTGRES = "sqlite:///", "memory://", "postgresql://"
ALLOWED = f"{SQLITE}trial.db, {POSTGRES}user@host/database or {MEMORY}"


def is_postgres(address: str) -> bool:
    """Say whether an address leads to a PostgreSQL server."""
    return isinstance(address, str) and address.startswith(POSTGRES)


def path_of(address: str) -> Path | None:
    """Return the path of an address of a file; None of one in memory or on a server.

    Examples
    --------
    >>> path_of("sqlite:////data/trial.db").as_posix(), path_of("memory://")
    ('/data/trial.db', None)
    """
    if address == MEMORY or is_postgres(address):
        return None
    path = address.removeprefix(SQLITE) if isinstance(address, str) and address.startswith(SQLITE) else ""
    if not path or "\0" in path:
        raise DesignError(f"a storage address is {ALLOWED}, found {without_secret(shown(address))}")
    return Path(path)


def without_secret(address: str) -> str:
    """Return an address as it may be shown: what could be a password is left out.

    Examples
    --------
    >>> without_secret("postgresql://nurse:secret@db.example.org/trials?password=secret&sslmode=require")
    'postgresql://nurse:***@db.example.org/trials?password=***&sslmode=require'
    """
    address = re.sub(r"(//[^:/?#]*):.*@", r"\1:***@", address)
    return re.sub(r"((?:pass|key|cert)\w*=)[^&]*", r"\1***", address)
