"""Every store of ours keeps the contract."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from dtrbandit.storage import MemoryStore, SQLiteStore, Store, connect
from dtrbandit.testing import StorageContract
from postgres_server import Server


class TestMemory(StorageContract):
    def store(self) -> Store:
        return MemoryStore()


class TestSQLite(StorageContract):
    @pytest.fixture(autouse=True)
    def _folder(self, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
        self._place: Path = tmp_path_factory.mktemp("store")
        self._opened: list[SQLiteStore] = []
        yield
        for each in self._opened:
            each.close()

    def store(self) -> Store:
        self._opened.append(SQLiteStore(self._place / f"{len(self._opened)}.db"))
        return self._opened[-1]


class TestPostgres(StorageContract):
    @pytest.fixture(autouse=True)
    def _server(self, postgres_server: Server) -> Iterator[None]:
        self._postgres = postgres_server
        self._opened: list[Store] = []
        yield
        for each in self._opened:
            each.close()

    def store(self) -> Store:
        self._opened.append(connect(self._postgres.new()))
        return self._opened[-1]
