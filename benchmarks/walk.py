"""The way of one enrolment over HTTP through this package: its files in order, and how often each is called.

The service runs in this process, as `dtrbandit serve` runs it. `sys.setprofile` tells every call, in all threads, while
one request is answered, on a connection that has served others before. Compiled functions are not seen.
"""

from __future__ import annotations

import http.client
import json
import os
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType

import dtrbandit as dtr
from dtrbandit.service.key_store import first_key
from dtrbandit.service.server import serve
from dtrbandit.storage import connect
from dtrbandit.web.app import Pages
from dtrbandit.web.logins import new_secret

PACKAGE = f"{Path(dtr.__file__).parent}{os.sep}"
WARM_UP, FOLLOWED = 20, 5  # enrolments before those that are followed, of which the one with fewest calls counts
STAGES = [dtr.Stage("first", ("a", "b"), "1 + x"), dtr.Stage("second", ("a", "b"), "1 + z")]
POLICY = dtr.DTRBandit(q=5, delta=0.5, schedule="permuted")


class Walk:
    """Calls of functions of this package, by file, in the order in which the files are first called."""

    def __init__(self) -> None:
        self.calls: Counter[str] | None = None  # while nothing is followed

    def note(self, frame: FrameType, event: str, _: object) -> None:
        """Count a call, while calls are followed."""
        if self.calls is not None and event == "call" and frame.f_code.co_filename.startswith(PACKAGE):
            self.calls[frame.f_code.co_filename.removeprefix(PACKAGE)] += 1

    def of(self, requests: Iterator[bytes], line: http.client.HTTPConnection, key: str) -> Counter[str]:
        """Return the calls of the next request."""
        body = next(requests)
        time.sleep(0.1)  # what the request before has left to do is done
        self.calls = calls = Counter[str]()
        line.request("POST", "/trials/walk/units", body, {"Authorization": f"Bearer {key}"})
        answer = line.getresponse()
        assert answer.status == 200, answer.read()
        answer.read()
        time.sleep(0.05)  # its count comes after its answer
        self.calls = None
        return calls


def enrolments() -> Iterator[bytes]:
    """Give the bodies of enrolments, without end."""
    for number in count():
        yield json.dumps({"unit": f"u{number}", "context": {"x": number % 7 / 10}}).encode()


def follow(walk: Walk, address: str, key: str) -> None:
    """Send enrolments to a service, print the walk of one, and stop the service."""
    try:
        line, requests = http.client.HTTPConnection(address.removeprefix("http://")), enrolments()
        while not _is_ready(line):
            time.sleep(0.05)
        found = [walk.of(requests, line, key) for _ in range(WARM_UP + FOLLOWED)][WARM_UP:]
        calls = min(found, key=lambda each: each.total())
        for number, (file, times) in enumerate(calls.items(), 1):
            print(f"{number:3}  {file:<32}{times:5}")
        print(f"{len(calls)} files, {calls.total()} calls")
    finally:
        os.kill(os.getpid(), signal.SIGTERM)


def _is_ready(line: http.client.HTTPConnection) -> bool:
    try:
        line.request("GET", "/ready")
    except ConnectionRefusedError:  # it is about to listen
        line.close()
        return False
    answer = line.getresponse()
    answer.read()
    return answer.status == 200


def main() -> None:
    walk = Walk()
    with TemporaryDirectory() as folder:
        url = f"sqlite:///{folder}/trial.db"
        store = connect(url)
        new = first_key(store, now=datetime.now(UTC))
        assert new is not None
        dtr.Trial.create("walk", dtr.Design(STAGES), POLICY, storage=store).close()
        store.close()

        def listening(address: str) -> None:
            threading.Thread(target=follow, args=(walk, address, new.key)).start()
            threading.setprofile(walk.note)
            sys.setprofile(walk.note)

        with suppress(SystemExit):
            serve(url, port=0, pages=partial(Pages, secret=new_secret()), listening=listening)


if __name__ == "__main__":
    main()
