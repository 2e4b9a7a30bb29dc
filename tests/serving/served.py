"""A real service in a child process, on a port of this machine that is free, and requests to it."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

TRIAL = {
    "design": {
        "stage": [
            {"name": "first", "arms": ["a", "b"], "features": "1 + x"},
            {"name": "second", "arms": ["a", "b"], "features": "1 + z", "enter_if": "z > 0"},
        ]
    },
    "policy": {"name": "DTRBandit", "q": 1, "delta": 0.5, "schedule": "permuted"},
}
WITHIN = 180.0  # seconds for a child to begin or end, on a machine with much else to do


class Answer(NamedTuple):
    """What came back."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Served:
    """A service on a database of its own; it may be killed and started again."""

    def __init__(
        self,
        folder: Path,
        *,
        behind_proxy: bool = True,
        storage: str | None = None,
        workers: int = 1,
    ) -> None:
        self.storage = storage or f"sqlite:///{folder}/trial.db"
        self.workers, self.behind_proxy = workers, behind_proxy
        self.file = folder / "trial.db"
        self.key = ""
        self.port = 0
        self.start()

    def start(self) -> None:
        """Start it, at the same port as before, and wait until it is ready."""
        ends = time.monotonic() + WITHIN
        while not self._listens():
            assert self.port, "the service ended at once"
            assert time.monotonic() < ends, f"port {self.port} was taken meanwhile, and stays so"
            time.sleep(0.1)  # somebody else has the port for a moment
        while self.try_ready() != 200:
            assert self.process.poll() is None, "the service ended before it was ready"
            assert time.monotonic() < ends, "the service did not become ready"
            time.sleep(0.02)

    def _listens(self) -> bool:
        """Start a process; say whether it has come as far as to listen."""
        command = [sys.executable, "-m", "dtrbandit", "serve", "--storage", self.storage, "--port", str(self.port)]
        command += ["--workers", str(self.workers)]
        if self.behind_proxy:
            command.append("--behind-proxy")  # so that a test may say where its wrong keys come from
        environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
        self.process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        self.told: list[str] = []  # on the terminal, before it listened
        for line in self.process.stdout:
            self.told.append(line.rstrip("\n"))
            if found := re.search(r"dtrb_\S+", line):
                self.key = found[0]
            if found := re.search(r"Listening at http://127.0.0.1:(\d+)", line):
                self.port = int(found[1])
                return True
        self._ended()
        return False

    def try_ready(self) -> int:
        try:
            return self.send("GET", "/ready").status
        except OSError:
            return 0

    def kill(self) -> None:
        """Kill it, as a power cut would."""
        self.process.kill()
        self._ended()

    def stop(self) -> int:
        """Ask it to stop, and return its exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self._ended()

    def _ended(self) -> int:
        code = self.process.wait(WITHIN)
        assert self.process.stdout is not None
        self.process.stdout.close()
        return code

    def send(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        key: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """Send one request: bytes as they are, anything else as JSON."""
        content = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        authorization = {"Authorization": f"Bearer {self.key if key is None else key}"}
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=WITHIN)
        try:
            kind = {"Content-Type": "application/json"} if content else {}
            connection.request(method, path, content, {**authorization, **kind, **(headers or {})})
            answer = connection.getresponse()
            return Answer(answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read())
        finally:
            connection.close()

    def post(self, path: str, body: object, **how: Any) -> Answer:
        return self.send("POST", path, body, **how)

    def get(self, path: str, **how: Any) -> Answer:
        return self.send("GET", path, **how)

    def create(self, name: str) -> str:
        """Create a trial and return its address."""
        assert self.post("/trials", {"name": name, **TRIAL}).status == 200
        return f"/trials/{name}"

    def new_key(self, role: str, label: str = "somebody", **place: Any) -> str:
        """Make a key, of a trial and a site if said, and return it."""
        key: str = self.post("/keys", {"role": role, "label": label, **place}).json["key"]
        return key

    def records(self, trial: str) -> int:
        """Return how many records a trial has."""
        sequence: int = self.get(f"{trial}/head").json["sequence"]
        return sequence
