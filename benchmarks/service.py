"""What a live trial costs over real HTTP on this machine, and what the limit is: `make bench` prints these tables.

The service is a child process, as `dtrbandit serve` starts it, on an SQLite file in a folder of this disk. This process
sends. Both share the machine with whatever else runs: the seconds of a core say what the service itself used.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from itertools import count, islice
from pathlib import Path
from typing import NamedTuple

import numpy as np
from http_load import Load, drive, request
from stopwatch import in_words
from table import Line, report

import dtrbandit as dtr
from dtrbandit.service.key_store import first_key
from dtrbandit.storage import connect
from dtrbandit.trial import Ask

CONNECTIONS = 32
WAVE = 700  # units that come together while memory is watched
STAGES = [dtr.Stage("first", ("a", "b"), "1 + x"), dtr.Stage("second", ("a", "b"), "1 + z")]
POLICY = dtr.DTRBandit(q=5, delta=0.5, schedule="permuted")
PATH = "/trials/bench/units"
TOLD = "rate; mean, p50, p99, p99.9, worst"


class Size(NamedTuple):
    """How much is measured."""

    enrolments: int  # of the first table
    many: int  # units that a trial has when the longest answer is looked for
    mixed: int  # requests after these
    minutes: float  # of looking at memory


WHOLE = Size(20_000, 100_000, 10_000, 2.0)
QUICK = Size(3_000, 5_000, 2_000, 0.2)


class Server:
    """A service on a database of its own."""

    def __init__(self, folder: Path) -> None:
        self.url = f"sqlite:///{folder}/trial.db"
        store = connect(self.url)
        new = first_key(store, now=datetime.now(UTC))
        assert new is not None
        self.key = new.key
        self.trial = dtr.Trial.create("bench", dtr.Design(STAGES), POLICY, storage=store)

    def fill(self, units: int) -> None:
        """Give the trial so many units, most of them complete, without HTTP."""
        rng = np.random.default_rng(5)
        for start in range(0, units, 1000):
            names = [f"old{number}" for number in range(start, min(start + 1000, units))]
            x, z, y = rng.normal(size=(3, len(names))).tolist()
            for commands in (
                [dtr.Enroll(name, {"x": value}) for name, value in zip(names, x, strict=True)],
                [dtr.Respond(name, {"z": value}) for name, value in zip(names, z, strict=True)],
                [dtr.Complete(name, value) for name, value in zip(names, y, strict=True)],
            ):
                self.trial.take([Ask(command) for command in commands])

    def start(self) -> float:
        """Start the service; return the seconds until it is ready."""
        began = time.perf_counter()
        command = [sys.executable, "-m", "dtrbandit", "serve", "--storage", self.url, "--port", "0"]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        found = None
        while found is None:
            line = self.process.stdout.readline()
            assert line, "the service did not start"
            found = re.search(r"http://127.0.0.1:(\d+)", line)
        self.port = int(found[1])
        while not self._is_ready():
            time.sleep(0.05)
        return time.perf_counter() - began

    def _is_ready(self) -> bool:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/ready", timeout=60) as answer:
                return bool(answer.status == 200)
        except OSError:
            return False

    def drive(self, requests: Iterator[bytes]) -> Load:
        """Send requests until there are none left."""
        return drive("127.0.0.1", self.port, requests, connections=CONNECTIONS)

    def core(self) -> float:
        """Return the seconds of a core that the service has used."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(") ", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def memory(self) -> float:
        """Return the megabytes that the service holds."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.split("VmRSS:")[1].split()[0]) / 1e3

    def stop(self) -> None:
        """Stop it, and wait until it has."""
        self.process.terminate()
        self.process.wait(60)
        assert self.process.stdout is not None
        self.process.stdout.close()


def enrolments(key: str, prefix: str) -> Iterator[bytes]:
    """Give requests that enrol ever new units, as the client sends them."""
    rng = np.random.default_rng(7)
    for number in count():
        body = {"unit": f"{prefix}{number}", "context": {"x": float(rng.normal())}}
        yield request("POST", PATH, key, body, idempotency_key=f"{prefix}{number}")


def in_a_line(load: Load) -> str:
    """Return rate, mean, tails and the worst, and what was not answered with 200."""
    took = np.array(load.took) / 1e9
    tails = (took.mean(), *np.quantile(took, [0.5, 0.99, 0.999]), took.max())
    others = {status: n for status, n in load.statuses.items() if status != 200}
    rate = len(took) / load.seconds
    words = "; ".join(in_words(float(each)) for each in tails)
    return f"{rate:,.0f}/s; {words}{f'; others {others}' if others else ''}"


def answers(size: Size) -> Iterator[Line]:
    """Measure enrolments on a small trial."""
    with tempfile.TemporaryDirectory(dir=".") as folder:
        server = Server(Path(folder))
        mode = getattr(connect(server.url), "journal_mode", "?")
        yield Line("start of an empty trial until ready", in_words(server.start()))
        server.drive(islice(enrolments(server.key, "warm"), 500))
        for what, requests, goal in (
            ("enrolments", enrolments(server.key, "new"), "≥ 800/s; p99 ≤ 60 ms"),
            ("the same again", enrolments(server.key, "new"), ""),
        ):
            made = list(islice(requests, size.enrolments))
            before = server.core()
            load = server.drive(iter(made))
            core = (server.core() - before) / len(made)
            told = f"{in_a_line(load)}; core {in_words(core)} each"
            yield Line(f"{what}, {CONNECTIONS} connections, journal {mode}: {TOLD}", told, goal)
        alive = [request("GET", "/live", server.key)] * size.enrolments
        refused = [request("POST", PATH, server.key, {"unit": "u", "context": {}})] * (size.enrolments // 4)
        for what, plain in (("nothing but HTTP (GET /live)", alive), ("refused by the session (422)", refused)):
            before = server.core()
            load = server.drive(iter(plain))
            core = (server.core() - before) / len(plain)
            yield Line(what, f"{len(plain) / load.seconds:,.0f}/s; core {in_words(core)} each")
        server.stop()


def parts(size: Size) -> Iterator[Line]:
    """Measure the same enrolments without HTTP, with and without a disk: what is left is the limit."""
    commits = size.enrolments // CONNECTIONS
    for what, address in (("in memory", "memory://"), ("on disk", "sqlite:///trial.db")):
        with tempfile.TemporaryDirectory(dir=".") as folder:
            url = address.replace("trial.db", f"{folder}/trial.db")
            trial = dtr.Trial.create("bench", dtr.Design(STAGES), POLICY, storage=url)
            asks = [
                [Ask(dtr.Enroll(f"u{c}-{n}", {"x": 0.1 * n}), key=f"{c}-{n}", api_key="k") for n in range(CONNECTIONS)]
                for c in range(commits)
            ]
            clock, core = time.perf_counter(), time.process_time()
            for together in asks:
                trial.take(together)
            clock, core = time.perf_counter() - clock, time.process_time() - core
            each = commits * CONNECTIONS
            told = f"{in_words(clock / commits)} a commit; {in_words(clock / each)} each; core {in_words(core / each)}"
            yield Line(f"{CONNECTIONS} enrolments in one commit, without HTTP, {what}", told)
            trial.close()


def mixed(key: str, prefix: str) -> Iterator[bytes]:
    """Give enrolments, repeats, responses, looks at units, and now and then a list, a head or a part of the log."""
    for number in count():
        unit = f"{prefix}{number}"
        body = {"unit": unit, "context": {"x": (number % 17) / 10}}
        yield request("POST", PATH, key, body)
        yield request("POST", PATH, key, body)
        yield request("GET", f"{PATH}/old{number}", key)
        if number % 50 == 0:
            yield request("GET", "/trials/bench/head", key)
            yield request("GET", f"/trials/bench/log?since={number}&most=100", key)
        if number % 200 == 0:
            yield request("GET", f"{PATH}?overdue=true", key)


def many(size: Size) -> Iterator[Line]:
    """Measure a trial with many units: its start, its longest answer, and what it holds in memory."""
    with tempfile.TemporaryDirectory(dir=".") as folder:
        server = Server(Path(folder))
        server.fill(size.many)
        yield Line(f"start with {size.many:,} units until ready", in_words(server.start()), "≤ 8 s at 10⁵")
        load = server.drive(iter([request("GET", f"{PATH}?overdue=true", server.key)]))
        yield Line("the first list after a start", in_words(load.took[0] / 1e9))
        load = server.drive(islice(enrolments(server.key, "more"), size.mixed))
        yield Line(f"enrolments after {size.many:,} units: {TOLD}", in_a_line(load), "< 250 ms")
        load = server.drive(islice(mixed(server.key, "mix"), size.mixed))
        yield Line("enrolments, repeats, looks and lists: the same", in_a_line(load), "< 250 ms")
        began = time.perf_counter()
        ask = urllib.request.Request(
            f"http://127.0.0.1:{server.port}/trials/bench/summary", headers={"Authorization": f"Bearer {server.key}"}
        )
        summary = subprocess.Popen([sys.executable, "-c", SUMMARY, ask.full_url, server.key], stdout=subprocess.PIPE)
        load = server.drive(islice(enrolments(server.key, "while"), size.mixed))
        assert summary.stdout is not None
        took = json.loads(summary.stdout.read())
        summary.wait()
        summary.stdout.close()
        told = f"{in_a_line(load)} ({in_words(took)} for the summary, of {in_words(time.perf_counter() - began)})"
        yield Line("enrolments while a summary is made: the same", told, "< 250 ms")
        yield from memory(server, size.minutes)
        server.stop()


SUMMARY = """
import json, sys, time, urllib.request
began = time.perf_counter()
urllib.request.urlopen(urllib.request.Request(sys.argv[1], headers={"Authorization": "Bearer " + sys.argv[2]})).read()
print(json.dumps(time.perf_counter() - began))
"""


def memory(server: Server, minutes: float) -> Iterator[Line]:
    """Watch what the service holds under repeats and reads, and then while units come and end."""
    known = [request("GET", f"{PATH}/more{n}", server.key) for n in range(100)]
    known += [request("GET", "/trials/bench/head", server.key), request("GET", "/trials/bench/log?most=10", server.key)]
    known += list(islice(enrolments(server.key, "more"), 1000))
    server.drive(iter(known * 3))
    before, sent, ends = server.memory(), 0, time.perf_counter() + 60 * minutes / 2
    while time.perf_counter() < ends:
        server.drive(iter(known * 2))
        sent += 2 * len(known)
    grown = server.memory() - before
    told = f"{grown:+.1f} MB over {sent:,} requests, from {before:.0f} MB"
    yield Line(f"memory over {minutes / 2:g} minutes of repeats and reads", told, "none")
    whole_units(server, "warm", 5 * WAVE)
    before, units, ends = server.memory(), 0, time.perf_counter() + 60 * minutes / 2
    while time.perf_counter() < ends:
        whole_units(server, f"whole{units}-", WAVE)
        units += WAVE
    grown = server.memory() - before
    told = f"{grown:+.1f} MB over {units:,} units ({grown * 1e6 / units:,.0f} bytes each), from {before:.0f} MB"
    yield Line(f"memory over {minutes / 2:g} minutes of units from enrolment to outcome", told, "as a session's")


def whole_units(server: Server, prefix: str, count: int) -> None:
    """Let units enrol, respond and complete, all of them one step at a time."""
    names = [f"{prefix}{number}" for number in range(count)]
    steps: list[Callable[[str], bytes]] = [
        lambda unit: request("POST", PATH, server.key, {"unit": unit, "context": {"x": len(unit) / 9}}),
        lambda unit: request("POST", f"{PATH}/{unit}/responses", server.key, {"context": {"z": len(unit) / 8}}),
        lambda unit: request("POST", f"{PATH}/{unit}/outcome", server.key, {"outcome": len(unit) / 7}),
    ]
    for step in steps:
        load = server.drive(map(step, names))
        assert set(load.statuses) == {200}, load.statuses


def opening(units: int) -> Iterator[Line]:
    """Measure what so many units take to fill without HTTP, to open, to list, to sum up and to serve."""
    with tempfile.TemporaryDirectory(dir=".") as folder:
        server = Server(Path(folder))
        took = seconds(lambda: server.fill(units))
        size = (Path(folder) / "trial.db").stat().st_size / 1e6
        yield Line(f"fill with {units:,} units, without HTTP", f"{in_words(took)}; {size:,.0f} MB on disk")
        server.trial.close()
        code = OPENING.format(url=server.url)
        told = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, check=True).stdout
        for line in told.splitlines():
            yield Line(*line.split("; "))
        yield Line("start of the service until ready", in_words(server.start()))
        yield Line("memory of the service", f"{server.memory():,.0f} MB")
        server.stop()


def seconds(act: Callable[[], object]) -> float:
    """Return how long something takes."""
    began = time.perf_counter()
    act()
    return time.perf_counter() - began


OPENING = """
import resource, time
import dtrbandit as dtr
clock = time.perf_counter()
trial = dtr.Trial.open("bench", storage={url!r})
for what, act in (("Trial.open", None), ("the first list", trial.units), ("the first summary", trial.summary),
                  ("the next summary", trial.summary)):
    if act is not None:
        clock = time.perf_counter()
        act()
    print(what, format(time.perf_counter() - clock, ".3g") + " s", sep="; ")
print("memory at most", format(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3, ",.0f") + " MB", sep="; ")
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--units", type=int, help="only fill a trial with so many units, and open it")
    parser.add_argument("--quick", action="store_true", help="small sizes, to try it out")
    parser.add_argument("--minutes", type=float, help="of looking at memory")
    options = parser.parse_args()
    if options.units:
        report(f"{options.units:,} units", opening(options.units), total=8)
        return
    size = QUICK if options.quick else WHOLE
    if options.minutes:
        size = size._replace(minutes=options.minutes)
    report("Over HTTP", answers(size), total=5)
    report("Without HTTP", parts(size), total=2)
    report("Many units", many(size), total=7)


if __name__ == "__main__":
    main()
