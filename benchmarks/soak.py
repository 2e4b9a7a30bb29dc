"""Fault tests of a live trial at full size: ``python benchmarks/soak.py [kills flips machine courses opening]``.

Small sizes of the same run in ``make test``. Searches begin from a seed that is printed; ``SEED=n`` repeats one.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dtrbandit as dtr
from dtrbandit.record.chain import Stored
from dtrbandit.storage import MemoryStore
from dtrbandit.trial import Trial, verify_stored

TESTS = Path(__file__).parents[1] / "tests"
KILLS, FLIPS, HISTORIES, UNITS = 200, 5_000, 10_000, 100_000
AT_ONCE = 250  # histories
COURSES = 50  # of each problem and policy
SEED = int(os.environ.get("SEED") or random.SystemRandom().randrange(2**32))
DESIGN = dtr.Design([dtr.Stage("first", ("a", "b"), "1 + x"), dtr.Stage("second", ("a", "b"), "1 + z")])
POLICY = dtr.DTRBandit(q=1, delta=0.5, schedule="permuted")


def kills() -> None:
    """F1: kill -9 under enrolling threads."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([*sys.path, str(TESTS)])}
    for mode in ("delete", "wal"):
        with tempfile.TemporaryDirectory() as folder:
            command = [sys.executable, "-m", "trial.kills", folder, mode, str(KILLS)]
            found = subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout.strip()
        print(f"F1, {mode}: {KILLS} kills, {found} answers acknowledged, none lost or changed")


def flips() -> None:
    """F14: a damaged log, in a file and in a store."""
    store, rng = MemoryStore(), random.Random(0)
    trial = Trial.create("soak", DESIGN, POLICY, storage=store, seed=1)
    _fill(trial, 50)
    with tempfile.TemporaryDirectory() as folder:
        path, found = Path(folder) / "log", 0
        dtr.write_log(path, trial.session_log())
        whole = path.read_bytes()
        for _ in range(FLIPS):
            path.write_bytes(_flipped(whole, rng))
            try:
                dtr.read_log(path)
            except dtr.LogError:
                found += 1
    print(f"F14: {found:,} of {FLIPS:,} flipped bits of a log file found")
    stored, named = list(store.log(1).read()), dict.fromkeys(DAMAGES, 0)
    for number in range(FLIPS):
        what = list(DAMAGES)[number % len(DAMAGES)]
        place = rng.randrange(len(stored) - 1)
        damaged = MemoryStore()
        damaged.log(damaged.add_trial("soak").rehearsal).append(DAMAGES[what](stored, place, rng), 0)
        found_bad = verify_stored(damaged, "soak", against=trial.head).first_bad
        named[what] += found_bad == place + 1
    told = ", ".join(f"{what} {count:,}" for what, count in named.items())
    print(
        f"F14: {sum(named.values()):,} of {FLIPS:,} damages of a stored log found, the first bad record named: {told}"
    )


def _flipped(whole: bytes, rng: random.Random) -> bytes:
    damaged = bytearray(whole)
    damaged[rng.randrange(len(whole))] ^= 1 << rng.randrange(8)
    return bytes(damaged)


def _changed(stored: list[Stored], place: int, record: Stored) -> list[Stored]:
    return [*stored[:place], record, *stored[place + 1 :]]


# what becomes of records if the one at a place is damaged
DAMAGES: dict[str, Callable[[list[Stored], int, random.Random], list[Stored]]] = {
    "flipped bits of texts": lambda stored, place, rng: _changed(
        stored, place, stored[place]._replace(text=_flipped(stored[place].text, rng))
    ),
    "flipped bits of hashes": lambda stored, place, rng: _changed(
        stored, place, stored[place]._replace(hash=_flipped(stored[place].hash.encode(), rng).decode("latin-1"))
    ),
    "edits": lambda stored, place, _: _changed(
        stored, place, stored[place]._replace(text=stored[place].text.replace(b'"sequence":', b'"sequence":1'))
    ),
    "deletions": lambda stored, place, _: stored[:place] + stored[place + 1 :],
    "swaps": lambda stored, place, _: [*stored[:place], stored[place + 1], stored[place], *stored[place + 2 :]],
    "truncations": lambda stored, place, _: stored[:place],
}


def machine() -> None:
    """F11: histories of a trial against a plain session."""
    from trial.machine import TrialMachine

    for done in range(AT_ONCE, HISTORIES + 1, AT_ONCE):  # all at once would keep what was found of each in memory
        search(TrialMachine, examples=AT_ONCE, seed=SEED + done)
        print(f"F11: {done:,} of {HISTORIES:,}", file=sys.stderr)
    print(f"F11: {HISTORIES} histories equal to a session's, event for event")


def courses() -> None:
    """Courses of a session against a naive model and the plain refit."""
    from session_machine.machine import machine_of
    from session_machine.problems import THREE, TWO

    for problem in (TWO, THREE):
        for policy in problem.policies:
            search(machine_of(problem, policy), examples=COURSES, seed=SEED)
            print(f"{COURSES} courses of {len(problem.names)} stages under {policy!r}: as the naive model says")


def search(state_machine: Any, *, examples: int, seed: int) -> None:
    """Let Hypothesis look for a course that fails, beginning from a seed."""
    from hypothesis import HealthCheck, settings
    from hypothesis import seed as seeded
    from hypothesis.stateful import run_state_machine_as_test

    some = settings(
        max_examples=examples, derandomize=False, database=None, deadline=None, suppress_health_check=list(HealthCheck)
    )
    run_state_machine_as_test(seeded(seed)(state_machine), settings=some)


def opening() -> None:
    """How long a trial of many units takes to open and to verify."""
    with tempfile.TemporaryDirectory() as folder:
        address = f"sqlite:///{folder}/trial.db"
        with Trial.create("soak", DESIGN, POLICY, storage=address, seed=1) as trial:
            _fill(trial, UNITS)
        _timed(f"opening {UNITS:,} units", lambda: Trial.open("soak", storage=address).close())
        with Trial.open("soak", storage=address) as trial:
            _timed(f"verifying {UNITS:,} units", lambda: trial.verify())


def _timed(what: str, work: Callable[[], object]) -> None:
    wall, own = time.perf_counter(), time.process_time()
    work()
    print(f"{what}: {time.perf_counter() - wall:.1f} s, {time.process_time() - own:.1f} s of this process")


def _fill(trial: Trial, units: int) -> None:
    from dtrbandit.trial import Ask

    for first in range(0, units, 1_000):
        asks = []
        for t in range(first, min(first + 1_000, units)):
            asks += [Ask(dtr.Enroll(f"u{t}", {"x": t % 7 / 7})), Ask(dtr.Respond(f"u{t}", {"z": t % 11 / 11}))]
            asks += [Ask(dtr.Complete(f"u{t}", t % 13 / 13))]
        trial.take(asks)


if __name__ == "__main__":
    sys.path.insert(0, str(TESTS))
    print(f"Seed {SEED}: SEED={SEED} makes the same searches.")
    for name in sys.argv[1:] or ["kills", "flips", "machine", "courses", "opening"]:
        globals()[name]()
