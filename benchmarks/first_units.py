"""The first units of a trial in a fresh process: run by cold_start.py.

It prints the first decision, and last a line of JSON. Nothing that could help is imported before dtrbandit.
"""

import json
import random
import sys
import time
from collections.abc import Callable
from typing import Any

FIRST = 300  # units in a row; then bursts of some units, with a pause after each
BURST, PAUSE = 20, 0.04


class FirstUnits:
    """Takes units through a session of two stages, and notes how long each verb took."""

    def __init__(self, features: int, arms: int) -> None:
        start = time.perf_counter()
        from dtrbandit import Design, DTRBandit, Session, Stage

        self.imported = time.perf_counter() - start
        self.draw = random.Random(1)
        self.columns = [[f"x{m}_{j}" for j in range(1, features)] for m in (0, 1)]
        labels = tuple(str(arm) for arm in range(arms))
        stages = [Stage(f"s{m}", labels, " + ".join(["1", *self.columns[m]])) for m in (0, 1)]
        self.session = Session(Design(stages), DTRBandit(q=5, delta=0.5))
        self.took: list[float] = []
        self.units = 0

    def enroll(self) -> Any:
        """Enrol the next unit."""
        self.units += 1
        return self.timed(lambda: self.session.enroll(f"u{self.units}", self.context(0)))

    def finish(self, first: Any) -> None:
        """Take the unit that was enrolled last to its end."""
        second = self.timed(lambda: self.session.respond(f"u{self.units}", self.context(1)))
        outcome = int(first.arm) - int(second.arm) + self.draw.gauss(0.0, 1.0)
        self.timed(lambda: self.session.complete(f"u{self.units}", outcome))

    def context(self, m: int) -> dict[str, float]:
        """Draw a context of stage m."""
        return {name: self.draw.gauss(0.0, 1.0) for name in self.columns[m]}

    def timed(self, verb: Callable[[], Any]) -> Any:
        """Call a verb and note its time."""
        start = time.perf_counter()
        answer = verb()
        self.took.append(time.perf_counter() - start)
        return answer


def main(features: int, arms: int, bursts: float, spawned: float) -> None:
    """Print what the first units take after ``spawned``, a time of time.time(), and bursts for so many seconds."""
    before = time.time() - spawned
    start = time.perf_counter()
    trial = FirstUnits(features, arms)
    decision = trial.enroll()
    print(decision, flush=True)
    first = time.perf_counter() - start
    trial.finish(decision)
    while trial.units < FIRST:
        trial.finish(trial.enroll())
    done = time.perf_counter() - start
    correcting = time.perf_counter()
    trial.session.correct("u1", outcome=0.5, reason="benchmark")
    corrected = time.perf_counter() - correcting
    until = time.perf_counter() + bursts
    while time.perf_counter() < until:
        for _ in range(BURST):
            trial.finish(trial.enroll())
        time.sleep(PAUSE)
    found = {"import": trial.imported, "decision": first + before, "done": done + before, "correct": corrected}
    print(json.dumps({**found, "took": trial.took}))


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]), float(sys.argv[4]))
