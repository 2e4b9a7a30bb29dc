"""Processes that fork: ``python -m forked ADDRESS CASE …`` prints what each child found, then what the parent did.

``{}`` in the address stands for the case. Another thread of the parent waits within a call while it forks. A child
that hangs is ended by an alarm.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import dtrbandit as dtr
from dtrbandit.policies import Choice
from dtrbandit.record import History
from dtrbandit.record.events import Enrolled, Fact
from dtrbandit.storage import MemoryStore, connect, sqlite
from dtrbandit.trial import Trial
from trial.small_trial import DESIGN, begun

SECONDS = 30  # that a child may take
ENTERED, LEAVE = threading.Event(), threading.Event()


@dataclass(frozen=True)
class Counts:
    """A policy that counts arrivals, and may wait halfway."""

    wait: list[Callable[[str], None]] = field(default_factory=list, compare=False)

    def init(self, design: dtr.Design) -> list[str]:  # noqa: ARG002
        return []

    def update(self, state: list[str], history: History, event: Fact) -> list[str]:
        if isinstance(event, Enrolled):
            state.append(history.unit)
            for wait in self.wait:
                wait(history.unit)
        return state

    def decide(self, state: list[str], history: History, u: float) -> Choice:  # noqa: ARG002
        return Choice(len(state) % 2, "counted", (0.5, 0.5))


def pause(unit: str) -> None:
    if unit == "slow" and not LEAVE.is_set():
        ENTERED.set()
        LEAVE.wait(SECONDS)


class Slow(dict[str, float]):
    """A context that waits when it is read."""

    def items(self) -> Any:
        pause("slow")
        return super().items()


@contextmanager
def in_a_call(call: Callable[[str, Mapping[str, float]], object], context: Mapping[str, float]) -> Iterator[None]:
    """Let another thread be within a call."""
    thread = threading.Thread(target=call, args=("slow", context))
    thread.start()
    assert ENTERED.wait(SECONDS)
    yield
    LEAVE.set()
    thread.join()


def fork(act: Callable[[], object]) -> None:
    """Let a child act, and end as any process does; wait for it."""
    sys.stdout.flush()
    child = os.fork()
    if not child:
        signal.alarm(SECONDS)
        act()
        sys.exit()
    print("child ended with", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))


def attempt(call: Callable[[], object]) -> None:
    try:
        print("done:", call())
    except dtr.DTRError as error:
        print(f"{type(error).__name__}: {error}")


def sessions() -> None:
    session, other = dtr.Session(DESIGN, Counts([pause])), dtr.Session(DESIGN, Counts())
    session.enroll("before", {"x": 0.1})

    def look() -> None:
        attempt(lambda: session.enroll("next", {"x": 0.2}))
        attempt(session.summary)
        attempt(lambda: other.enroll("next", {"x": 0.2}).arm)
        resumed = dtr.Session.resume(session.log, design=session.design, policy=session.policy)
        attempt(lambda: resumed.enroll("next", {"x": 0.2}).round)

    with in_a_call(session.enroll, {"x": 0.5}):
        fork(look)
    print(session.histories.names)


class Forks(dict[str, float]):
    """A context that forks when it is read: two processes go on with the call."""

    child = -1

    def items(self) -> Any:
        if self.child < 0:
            sys.stdout.flush()
            self.child = os.fork()
        return super().items()


def own_thread() -> None:
    session, context = dtr.Session(DESIGN, Counts()), Forks(x=0.5)

    rounds = session.enroll("first", context).round, session.enroll("second", {"x": 0.2}).round

    if context.child:
        os.waitpid(context.child, 0)
    print(rounds)
    if not context.child:
        sys.exit()


def idle_trial(address: str) -> None:
    trial = begun(address)

    def look() -> None:
        attempt(lambda: trial.enroll("ours", {"x": 0.2}))
        trial.close()
        attempt(lambda: Trial.open("pilot", storage=address).enroll("ours", {"x": 0.2}).round)

    fork(look)
    attempt(lambda: trial.enroll("theirs", {"x": 0.2}).round)


def busy_trial(address: str) -> None:
    trial = begun(address)

    def look() -> None:
        attempt(lambda: trial.enroll("ours", {"x": 0.2}))
        attempt(lambda: Trial.open("pilot", storage=address))

    with in_a_call(trial.enroll, Slow(x=0.5)):
        fork(look)
    attempt(lambda: (trial.events_of(["slow"])[0].unit, trial.verify().ok))  # type: ignore[union-attr]  # the first event is an enrolment


def writing(address: str) -> None:
    store = connect(address)

    def write(name: str) -> str:
        with store.turn():
            store.add_trial(name)
            pause(name)
        return name

    with in_a_call(lambda name, _: attempt(lambda: write(name)), {}):
        fork(lambda: attempt(store.trials))


def wal_trial(address: str) -> None:
    vars(sqlite)["is_safe_for_wal"] = lambda _: True
    idle_trial(address)


def memory_trials() -> None:
    store = MemoryStore()
    trial, other = begun(store), begun("memory://")  # type: ignore[arg-type]  # an address in the place of a store

    def look() -> None:
        attempt(lambda: trial.enroll("ours", {"x": 0.2}))
        attempt(lambda: Trial.open("pilot", storage=store).enroll("ours", {"x": 0.2}))
        attempt(lambda: other.enroll("ours", {"x": 0.2}).round)

    with in_a_call(trial.enroll, Slow(x=0.5)):
        fork(look)


CASES: dict[str, Callable[[str], None]] = {
    "sessions": lambda _: sessions(),
    "own thread": lambda _: own_thread(),
    "memory": lambda _: memory_trials(),
    "idle": idle_trial,
    "busy": busy_trial,
    "writing": writing,
    "wal": wal_trial,
}


if __name__ == "__main__":
    warnings.simplefilter("error")
    warnings.filterwarnings("ignore", message=".*use of fork", category=DeprecationWarning)  # Python's own, of threads
    for case in sys.argv[2:]:
        ENTERED.clear()
        LEAVE.clear()
        print("==", case)
        CASES[case](sys.argv[1].format(case))
