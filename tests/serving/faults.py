"""What hurts a service, and how to tell that nothing was lost: for tests, and for benchmarks/soak_http.py."""

from __future__ import annotations

import http.client
import json
import random
import socket
import threading
import time
from pathlib import Path
from typing import Any

import dtrbandit as dtr
from dtrbandit.storage import connect_existing
from extras import needed
from serving.served import WITHIN, Served


class Nurse(threading.Thread):
    """A client that enrols and responds until it is told to stop, and remembers every answer that it got."""

    def __init__(self, served: Served, trial: str, number: int) -> None:
        super().__init__()
        self.served, self.trial, self.number = served, trial, number
        self.told: dict[tuple[str, str], bytes] = {}
        self.changed: list[tuple[str, str]] = []
        self.over = False
        self.rng = random.Random(number)

    def run(self) -> None:
        count = 0
        while not self.over:
            count += 1
            unit = f"n{self.number}-u{count}"
            self.ask(unit, "units", {"unit": unit, "context": {"x": self.rng.uniform(-1, 1)}})
            if self.rng.random() < 0.7:
                self.ask(unit, f"units/{unit}/responses", {"context": {"z": self.rng.uniform(-1, 1)}})

    def ask(self, unit: str, path: str, body: object) -> None:
        """Repeat a request until it is answered, as a client does."""
        what, keyed = path.rpartition("/")[2], {"Idempotency-Key": f"{unit}-{path}"}
        while not self.over:
            try:
                answer = self.served.post(f"{self.trial}/{path}", body, headers=keyed)
            except (OSError, http.client.HTTPException):  # no answer, or half of one
                time.sleep(0.01)
                continue
            if answer.status == 200:
                self.told[unit, what] = answer.body
                return
            assert answer.status == 503, answer
            time.sleep(0.01)


def assert_on_record(served: Served, name: str, acknowledged: dict[tuple[str, str], bytes]) -> None:
    """Hold what clients were told against the log, read from the file; rounds are gapless."""
    store = connect_existing(served.storage)
    trial = dtr.Trial.open(name, storage=store)
    for (unit, what), body in acknowledged.items():
        told = json.loads(body)
        arms = trial.unit(unit).arms
        if told.get("left"):
            assert "second" not in arms
        else:
            assert told["stage"] == {"units": "first", "responses": "second"}[what]
            assert arms[told["stage"]] == told["arm"]
    rounds = [e.round for e in trial.session_log() if type(e).__name__ == "Enrolled"]  # type: ignore[union-attr]
    assert rounds == list(range(1, len(rounds) + 1))
    dtr.verify(trial.session_log())
    assert store.check() is None
    store.close()


def workers_of(served: Served) -> list[Any]:
    """Return the processes that serve: those that were spawned to."""
    psutil = needed("psutil")
    found = []
    for child in psutil.Process(served.process.pid).children():
        try:
            if any("spawn_main" in word for word in child.cmdline()):
                found.append(child)
        except psutil.Error:  # it ended meanwhile
            continue
    return found


def are_listening(served: Served, workers: int) -> bool:
    """Say whether every worker listens: the port has so many sockets that do."""
    sockets, listens = Path("/proc/net/tcp"), f":{served.port:04X} 00000000:0000 0A"
    return not sockets.exists() or sockets.read_text().count(listens) == workers


class Lossy(threading.Thread):
    """A proxy that passes every request on, and loses some of the answers."""

    def __init__(self, port: int, *, lost: float) -> None:
        super().__init__(daemon=True)
        self._target, self._lost, self._rng = port, lost, random.Random(3)
        self._place = socket.create_server(("127.0.0.1", 0))
        self.port, self.dropped = self._place.getsockname()[1], 0

    def run(self) -> None:
        while True:
            try:
                line, _ = self._place.accept()
            except OSError:
                return
            threading.Thread(target=self._relay, args=(line,), daemon=True).start()

    def _relay(self, line: socket.socket) -> None:
        with line, socket.create_connection(("127.0.0.1", self._target), WITHIN) as other:
            threading.Thread(target=self._pass_on, args=(line, other), daemon=True).start()
            while answer := other.recv(65536):
                if self._rng.random() < self._lost:
                    self.dropped += 1
                    line.shutdown(socket.SHUT_RDWR)
                    return
                line.sendall(answer)

    def _pass_on(self, line: socket.socket, other: socket.socket) -> None:
        try:
            while request := line.recv(65536):
                other.sendall(request)
            other.shutdown(socket.SHUT_WR)
        except OSError:  # the other direction has ended
            pass

    def close(self) -> None:
        self._place.close()


def connected(served: Served) -> socket.socket:
    return socket.create_connection(("127.0.0.1", served.port), WITHIN)


def head(served: Served, trial: str, *headers: str) -> bytes:
    lines = [f"POST {trial}/units HTTP/1.1", "Host: x", f"Authorization: Bearer {served.key}", *headers]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()
