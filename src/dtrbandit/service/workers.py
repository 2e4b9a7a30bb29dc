"""Several processes that serve the same trials: each takes connections of its own, and they take turns to write.

The process that starts them holds the port, starts a worker again when it dies, and ends all of them with SIGTERM. It
has no session and answers nothing. Each worker listens only once it is ready. A worker whose starter is gone ends.
"""

from __future__ import annotations

import logging
import multiprocessing
import os
import signal
import socket
import threading
import time
from collections.abc import Callable
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from typing import NamedTuple

from dtrbandit.errors import DesignError
from dtrbandit.service.app import PagesFor
from dtrbandit.service.limits import Limits
from dtrbandit.service.server import bound, run
from dtrbandit.service.service import Service
from dtrbandit.storage import is_postgres

MOST_WORKERS = 64
Work = Callable[[Connection], None]  # of one process, which ends when its line does
SECONDS_BETWEEN_STARTS = 1.0  # of the same worker, so that one that cannot start does not take all of the machine
log = logging.getLogger("dtrbandit.service")


class Worker(NamedTuple):
    """A process, the line whose end tells it that its starter is gone, and when it was started."""

    process: SpawnProcess
    line: Connection
    started: float


def require_shareable(url: str, workers: int) -> None:
    """Refuse several workers where they could not take turns quickly, or not at all."""
    if not 1 <= workers <= MOST_WORKERS:
        raise DesignError(f"the number of workers is 1 to {MOST_WORKERS}, found {workers}")
    if workers > 1 and not is_postgres(url):
        raise DesignError(
            f"{workers} workers need PostgreSQL (docs/storage.md): a database in memory is not shared between "
            "processes, and an SQLite file syncs for one writer at a time, so that more workers would only wait"
        )
    if workers > 1 and not hasattr(socket, "SO_REUSEPORT"):
        raise DesignError("this system cannot share a port between processes; use --workers 1")


def serve_by(workers: int, work: Work) -> None:
    """Let so many processes do the work of one, until SIGTERM or Ctrl-C."""
    stop, wake = os.pipe()
    for each in (signal.SIGTERM, signal.SIGINT):
        signal.signal(each, lambda *_: os.write(wake, b"."))
    running = [_started(work) for _ in range(workers)]
    try:
        while stop not in wait([stop, *(each.process.sentinel for each in running)]):
            running = [_kept(each, work, stop) for each in running]
    finally:
        _end(running)
        os.close(stop)
        os.close(wake)


def _started(work: Work) -> Worker:
    context = multiprocessing.get_context("spawn")
    line, ours = context.Pipe(duplex=False)
    process = context.Process(target=work, args=(line,), name="dtrbandit-worker")
    process.start()
    line.close()
    return Worker(process, ours, time.monotonic())


def _kept(worker: Worker, work: Work, stop: int) -> Worker:
    """Return a worker that runs: this one, or another in its place."""
    if worker.process.exitcode is None:
        return worker
    log.error("worker %s ended with %s; another is started", worker.process.pid, worker.process.exitcode)
    worker.line.close()
    worker.process.close()
    wait([stop], max(0.0, worker.started + SECONDS_BETWEEN_STARTS - time.monotonic()))
    return _started(work)


def _end(running: list[Worker]) -> None:
    """Let all finish what was asked, and end those that do not."""
    for worker in running:
        worker.process.terminate()
    ends = time.monotonic() + Limits().seconds_to_finish + 5
    for worker in running:
        worker.process.join(max(0.0, ends - time.monotonic()))
        worker.process.kill()
        worker.process.join()
        worker.line.close()


def run_worker(  # what every worker is given, and its own line
    url: str, host: str, port: int, behind_proxy: bool, pages: PagesFor | None, line: Connection
) -> None:
    """Serve in this process, at a port that others share, for as long as whoever started it is there."""
    threading.Thread(target=_end_with, args=(line,), daemon=True).start()
    with bound(host, port, shared=True) as listener:
        run(Service(url, behind_proxy=behind_proxy, patient=True), listener, pages)


def _end_with(line: Connection) -> None:
    try:
        line.recv()
    except EOFError:
        os.kill(os.getpid(), signal.SIGTERM)
