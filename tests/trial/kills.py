"""F1: a process that enrols is killed, again and again; nothing that it acknowledged is lost or changed.

``python -m trial.kills FOLDER MODE TIMES`` prints how much was acknowledged. ``benchmarks/soak.py`` has the full size.
"""

from __future__ import annotations

import json
import os
import random
import select
import signal
import sys
import threading
import time
from pathlib import Path

import dtrbandit as dtr
from dtrbandit.record import Command
from dtrbandit.record.codec import encode
from dtrbandit.record.events import Assigned
from dtrbandit.storage import SQLiteStore, sqlite
from dtrbandit.trial import Ask, Taken, Trial
from trial.small_trial import DESIGN, POLICY, address

THREADS = 4
Acknowledged = dict[str, str]  # what was answered, by what was asked


def kill(folder: Path, mode: str, times: int) -> int:
    """Kill a process of some threads so many times; return how many answers it gave."""
    vars(sqlite)["is_safe_for_wal"] = lambda _: mode == "wal"
    Trial.create("pilot", DESIGN, POLICY, storage=address(folder), seed=1).close()
    rng, known = random.Random(mode), Acknowledged()
    for attempt in range(times):
        said = one_life(folder, attempt, rng.uniform(0.02, 0.15))
        assert said, "it was killed before it answered anything"
        look(folder, said)
        known.update(said)
    look(folder, known)
    return len(known)


def one_life(folder: Path, attempt: int, seconds: float) -> Acknowledged:
    """Let a process answer for so long, kill it, and return what it had said by then."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.close(reading)
        try:
            work(folder, attempt, writing)
        finally:
            os._exit(1)
    os.close(writing)
    said = b""
    try:
        deadline = None
        while True:
            wait = 300.0 if deadline is None else deadline - time.monotonic()
            if wait <= 0 or not select.select([reading], [], [], wait)[0]:
                break
            more = os.read(reading, 1 << 16)
            if not more:
                break
            said += more
            deadline = deadline or time.monotonic() + seconds  # from its first answer on
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    while more := os.read(reading, 1 << 16):
        said += more
    os.close(reading)
    lines = said[: said.rfind(b"\n") + 1].decode().splitlines()  # a line that is half written was not said
    return {json.dumps(line[0]): line[1] for line in map(json.loads, lines)}


def work(folder: Path, attempt: int, writing: int) -> None:
    """Answer from several threads until killed."""
    trial = Trial.open("pilot", storage=address(folder))
    turn = threading.Lock()

    def say(asked: list[object], answer: Taken) -> None:
        with turn:
            os.write(writing, (json.dumps([asked, text_of(answer)]) + "\n").encode())

    def serve(thread: int) -> None:
        for n in range(10**9):
            unit = f"{attempt}-{thread}-{n}"
            commands: list[Command] = [
                dtr.Enroll(unit, {"x": n / 7}),
                dtr.Respond(unit, {"r": 1.0, "z": n / 5}),
                dtr.Complete(unit, n / 3),
            ]
            for command in commands[: 1 + n % 3]:
                (answer,) = trial.take([Ask(command, f"thread {thread}", f"{type(command).__name__} {unit}")])
                assert isinstance(answer, Taken), answer
                say([type(command).__name__, *command], answer)

    threads = [threading.Thread(target=serve, args=(k,)) for k in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def text_of(answer: Taken) -> str:
    """Return the decision of an answer as a log has it."""
    return encode(Assigned(answer.decision)) if answer.decision else ""


def look(folder: Path, known: Acknowledged) -> None:
    """Look whether everything that was ever answered is on record, as it was answered."""
    store = SQLiteStore(folder / "trial.db")
    try:
        assert store.check() is None
        trial = Trial.open("pilot", storage=store)
        head = trial.head
        for asked, answer in known.items():
            name, *fields = json.loads(asked)
            command = getattr(dtr, name)(*fields)
            for ask in (Ask(command), Ask(command, key=f"{name} {fields[0]}")):
                (again,) = trial.take([ask])
                assert isinstance(again, Taken), again
                assert again.repeated, f"{asked} was acknowledged and is not on record"
                assert text_of(again) == answer, f"{asked}: {answer} was acknowledged, found {text_of(again)}"
        assert trial.head == head, "a repetition wrote something"
        assert trial.verify(), trial.verify()
    finally:
        store.close()


if __name__ == "__main__":
    print(kill(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])))
