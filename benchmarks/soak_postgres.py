"""Faults of several workers on PostgreSQL at full size: `make soak` runs them and prints what was found.

Small sizes of the same run in `make test` (tests/service/test_workers.py, tests/test_postgres_faults.py).
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import numpy as np
from table import Line, report

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

import dtrbandit as dtr
from postgres_server import Server
from serving.faults import Nurse, assert_on_record, workers_of
from serving.served import WITHIN, Served

WORKERS, CLIENTS, CROWD = 4, 8, 64


class Size(NamedTuple):
    """How much is tried."""

    kills: int
    cuts: int
    restarts: int
    enrolments: int


WHOLE = Size(100, 500, 20, 10_000)
QUICK = Size(3, 5, 1, 640)


def falls(size: Size, server: Server, folder: Path) -> Iterator[Line]:
    """F2: kill workers, cut connections, restart the server, under eight clients."""
    served, rng = Served(folder, storage=server.new(), workers=WORKERS), random.Random(1)
    nurses = [Nurse(served, served.create("hurt"), number) for number in range(CLIENTS)]
    acts: list[Callable[[], object]] = [lambda: kill_one(served, rng)] * size.kills
    acts += [server.cut_off] * size.cuts + [server.restart] * size.restarts
    rng.shuffle(acts)
    for nurse in nurses:
        nurse.start()
    try:
        waits = []
        for number, act in enumerate(acts, 1):
            waits.append(hurt(nurses, act, rng.randint(1, 20)))
            if number % 20 == 0:
                print(f"F2: {number} of {len(acts)}, longest wait {max(waits):.1f} s", file=sys.stderr)
    finally:
        for nurse in nurses:
            nurse.over = True
        for nurse in nurses:
            nurse.join(WITHIN)
    told = {what: body for nurse in nurses for what, body in nurse.told.items()}
    served.stop()
    assert_on_record(served, "hurt", told)
    yield Line(
        f"F2: {size.kills} workers killed, connections cut {size.cuts} times, server restarted {size.restarts} times",
        f"{len(told):,} acknowledged, none lost or changed, no gaps; "
        f"next answer after {np.mean(waits):.1f} s, at most {max(waits):.1f} s",
        "≤ 5 s",
    )


def kill_one(served: Served, rng: random.Random) -> None:
    """Kill a worker; there is always one, or will be at once."""
    ends = time.monotonic() + WITHIN
    while not (running := workers_of(served)):
        assert time.monotonic() < ends, "no workers any more"
        time.sleep(0.01)
    rng.choice(running).kill()


def hurt(nurses: list[Nurse], act: Callable[[], object], after: int) -> float:
    """Do something after so many answers; return the seconds until the next."""
    wait_for_more(nurses, after)
    act()
    began = time.monotonic()
    wait_for_more(nurses, 1)
    return time.monotonic() - began


def wait_for_more(nurses: list[Nurse], count: int) -> None:
    """Wait until clients have got so many answers more."""
    enough, ends = sum(len(nurse.told) for nurse in nurses) + count, time.monotonic() + 3 * WITHIN
    while sum(len(nurse.told) for nurse in nurses) < enough:
        assert time.monotonic() < ends, "no answers any more"
        time.sleep(0.002)


def crowd(size: Size, server: Server, folder: Path) -> Iterator[Line]:
    """F5: 64 clients enrol at once."""
    served = Served(folder, storage=server.new(), workers=WORKERS)
    trial = served.create("crowded")

    def enrol(number: int) -> int:
        return served.post(f"{trial}/units", {"unit": f"u{number}", "context": {"x": number % 7 / 7}}).status

    with ThreadPoolExecutor(CROWD) as clients:
        statuses = list(clients.map(enrol, range(size.enrolments)))
    served.stop()
    with dtr.Trial.open("crowded", storage=served.storage) as found:
        rounds = [event.round for event in found.session_log() if isinstance(event, dtr.record.Enrolled)]
        assert found.verify()
    assert statuses == [200] * size.enrolments
    assert rounds == list(range(1, size.enrolments + 1))
    yield Line(f"F5: {CROWD} clients, {WORKERS} workers", f"rounds are exactly 1 to {size.enrolments:,}; verified")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small sizes, to try it out")
    size = QUICK if parser.parse_args().quick else WHOLE
    server = Server()
    try:
        with tempfile.TemporaryDirectory() as folder:
            lines = (line for part in (crowd, falls) for line in part(size, server, Path(folder)))
            report("Faults on PostgreSQL", lines, total=2)
    finally:
        server.close()


if __name__ == "__main__":
    main()
