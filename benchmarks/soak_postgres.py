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
from serving.faults import Nurse, are_listening, assert_on_record, workers_of
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
    kinds: dict[str, tuple[int, Callable[[], object]]] = {
        "a kill": (size.kills, lambda: kill_one(served, rng)),
        "a cut": (size.cuts, server.cut_off),
        "a restart": (size.restarts, server.restart),
    }
    acts = [kind for kind, (count, _) in kinds.items() for _ in range(count)]
    rng.shuffle(acts)
    for nurse in nurses:
        nurse.start()
    waits: dict[str, list[float]] = {kind: [] for kind in kinds}
    try:
        for number, kind in enumerate(acts, 1):
            waits[kind].append(hurt(nurses, kinds[kind][1], rng.randint(1, 20)))
            if number % 20 == 0:
                print(f"F2: {number} of {len(acts)}", file=sys.stderr)
    finally:
        for nurse in nurses:
            nurse.over = True
        for nurse in nurses:
            nurse.join(WITHIN)
    told = {what: body for nurse in nurses for what, body in nurse.told.items()}
    served.stop()
    assert_on_record(served, "hurt", told)
    each = waits.items()
    yield Line(
        f"F2: {size.kills} workers killed, connections cut {size.cuts} times, server restarted {size.restarts} times",
        f"{len(told):,} acknowledged, none lost or changed, no gaps; "
        + "; ".join(f"next answer after {kind}: {np.mean(w):.1f} s, at most {max(w):.1f} s" for kind, w in each),
        "≤ 5 s",
    )


def kill_one(served: Served, rng: random.Random) -> None:
    """Kill one of all workers, once all serve."""
    ends = time.monotonic() + WITHIN
    while not (len(workers_of(served)) == WORKERS and are_listening(served, WORKERS)):
        assert time.monotonic() < ends, "the workers do not come back"
        time.sleep(0.02)
    rng.choice(workers_of(served)).kill()


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
