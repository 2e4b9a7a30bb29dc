"""Event logs that last: memory and SQLite behind one contract (``dtrbandit.testing.StorageContract``)."""

from dtrbandit.storage.connect import connect, connect_existing, path_of
from dtrbandit.storage.memory import MemoryStore
from dtrbandit.storage.sqlite import SQLiteStore
from dtrbandit.storage.store import ApiKey, IdempotencyKey, Storage, Store, TrialEntry

__all__ = [
    "ApiKey",
    "IdempotencyKey",
    "MemoryStore",
    "SQLiteStore",
    "Storage",
    "Store",
    "TrialEntry",
    "connect",
    "connect_existing",
    "path_of",
]
