"""Event logs that last, of SQLite and PostgreSQL, behind one contract (``dtrbandit.testing.StorageContract``)."""

from dtrbandit.storage.connect import connect, connect_existing, upgrade_tables
from dtrbandit.storage.sqlite import MemoryStore, SQLiteStore
from dtrbandit.storage.store import (
    KEY_LOG,
    MEMORY,
    ApiKey,
    Check,
    IdempotencyKey,
    Storage,
    Store,
    TrialEntry,
    is_postgres,
    path_of,
    without_secret,
)

__all__ = [
    "KEY_LOG",
    "MEMORY",
    "ApiKey",
    "Check",
    "IdempotencyKey",
    "MemoryStore",
    "SQLiteStore",
    "Storage",
    "Store",
    "TrialEntry",
    "connect",
    "connect_existing",
    "is_postgres",
    "path_of",
    "upgrade_tables",
    "without_secret",
]
