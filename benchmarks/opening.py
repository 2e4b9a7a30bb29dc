"""What it costs to open a stored trial, with a snapshot and without: `python benchmarks/opening.py [units]`.

A session decides for the units of the synthetic problem, one in fifty of whom is still in flight. Their facts are
stored as a trial's, and the trial is opened in processes of its own.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from statistics import mean
from tempfile import TemporaryDirectory

import numpy as np
from stopwatch import in_words
from table import Line, report

import dtrbandit as dtr
from dtrbandit.environments import Synthetic
from dtrbandit.record.chain import Record, linked
from dtrbandit.trial import Trial

NAME, TAIL, TURNS = "opening", 1_000, 5
OPEN = """
import sys, time
from dtrbandit.trial import Trial
began = time.perf_counter()
trial = Trial.open("opening", storage=sys.argv[1])
opened = time.perf_counter() - began
print(opened, trial._log.unchecked.sequence, trial.head.sequence)
if len(sys.argv) > 2:
    trial.close()
"""


def decided(units: int) -> dtr.Session:
    """Return a session of so many units."""
    design, rows = Synthetic().design, np.random.default_rng(1).normal(size=(units, 3)).tolist()
    (first,), (second,) = design.columns
    session = dtr.Session(design, dtr.DTRBandit(q=5, delta=0.5, schedule="permuted"), seed=0)
    for t, (x, z, y) in enumerate(rows):
        session.enroll(f"u{t}", {first: x})
        session.respond(f"u{t}", {second: z})
        if t % 50:
            session.complete(f"u{t}", y)
    return session


def stored(session: dtr.Session, url: str) -> None:
    """Store the facts of a session as a trial's."""
    with Trial.create(NAME, session.design, session.policy, storage=url, seed=0) as trial:
        now = datetime.now(UTC)
        records = (Record(number, "nurse", now, event) for number, event in enumerate(session.log[1:], 2))
        trial._log.storage.append(list(linked(records, trial.head)), 1)


def opened(url: str, *more: str) -> tuple[float, int, int]:
    """Return how long a new process takes to open the trial, the record of its snapshot, and the last record."""
    done = subprocess.run([sys.executable, "-c", OPEN, url, *more], capture_output=True, text=True, check=True)
    seconds, snapshot, last = done.stdout.split()
    return float(seconds), int(snapshot), int(last)


def lines(units: int) -> Iterator[Line]:
    """Measure, line by line."""
    with TemporaryDirectory() as folder:
        url = f"sqlite:///{Path(folder, 'trial.db')}"
        session = decided(units)
        events = session.version
        began = time.process_time()
        dtr.Session.resume(session.log)
        core = time.process_time() - began
        yield Line(
            f"resume a session of {units:,} units, core", f"{core:.1f} s, {events / core:,.0f} events/s", "≥ 40,000/s"
        )
        stored(session, url)
        del session
        plain, snapshot, last = opened(url, "close")
        assert snapshot == 0
        yield Line(f"open the trial, {last:,} records, no snapshot", f"{plain:.1f} s, {last / plain:,.0f} records/s")
        with Trial.open(NAME, storage=url) as trial:
            for t in range(TAIL // 2 - 1):  # one more, and closing would take another snapshot
                trial.enroll(f"tail {t}", {trial.design.columns[0][0]: 0.5})
            yield from looks(trial)
        times = [opened(url) for _ in range(TURNS)]
        assert all(0 < found < last for _, found, last in times)
        measured = [seconds for seconds, _, _ in times]
        goal = {100_000: "≤ 1 s", 1_000_000: "≤ 5 s"}.get(units, "")
        yield Line(
            f"with a snapshot and {TAIL:,} records after it, in a new process, {TURNS} times: mean; slowest",
            f"{in_words(mean(measured))}; {in_words(max(measured))}", goal,
        )  # fmt: skip
        size = max(path.stat().st_size for path in Path(folder, "trial.db.snapshots").iterdir())
        yield Line("size of the snapshot", f"{size / 1e6:.0f} MB, {size / units:.0f} bytes per unit")


def looks(trial: Trial) -> Iterator[Line]:
    """Measure what is asked of an open trial."""
    from dtrbandit.trial.snapshots import copied

    log = trial._log
    asked: dict[str, tuple[Callable[[], object], str]] = {
        "what verbs wait for when a snapshot is taken": (
            lambda: copied(log.belief, log.head, ""),
            "≤ 50 ms",
        ),
        "summary()": (trial.summary, "≤ 5 ms"),
        f"units(), {trial.in_flight:,} in flight": (trial.units, ""),
        "units() of a site that has none": (lambda: trial.units(site="north"), ""),
        "the story of a unit that has ended": (lambda: trial.unit("u1"), ""),
        "a copy of the ledger, for pages": (trial.ledger, ""),
    }
    for what, (act, goal) in asked.items():
        times = []
        for _ in range(20):
            began = time.perf_counter()
            act()
            times.append(time.perf_counter() - began)
        yield Line(f"{what}: mean of 20; longest", f"{in_words(mean(times))}; {in_words(max(times))}", goal)


if __name__ == "__main__":
    many = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    report("Opening a trial", lines(many), total=10)
