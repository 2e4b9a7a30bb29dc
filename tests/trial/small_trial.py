"""A small trial, in memory and in a file: what tests of trials begin with."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import dtrbandit as dtr
from dtrbandit.trial import Trial

DESIGN = dtr.Design(
    [
        dtr.Stage("first", ("a", "b"), "1 + x", expected_days=14),
        dtr.Stage("second", ("a", "b"), "1 + z", enter_if="r > 0", expected_days=10),
    ]
)
POLICY = dtr.DTRBandit(q=1, delta=0.5, schedule="permuted")


class Clock:
    """A clock that goes as it is told; a minute with each look at it."""

    def __init__(self) -> None:
        self.now = datetime(2026, 11, 17, 9, tzinfo=UTC)

    def __call__(self) -> datetime:
        self.now += timedelta(minutes=1)
        return self.now


def address(folder: Path) -> str:
    return f"sqlite:///{folder}/trial.db"


def begun(storage: str, *, name: str = "pilot", seed: int = 1) -> Trial:
    return Trial.create(name, DESIGN, POLICY, storage=storage, seed=seed, actor="lead", clock=Clock())


def fill(trial: Trial | dtr.Session, units: int, *, first: int = 0) -> None:
    """Let units come: one in four leaves early, every fifth is still in flight."""
    for t in range(first, first + units):
        unit = f"u{t}"
        trial.enroll(unit, {"x": t % 7 / 7})
        leaves = t % 4 == 3
        trial.respond(unit, {"r": -1.0} if leaves else {"r": 1.0, "z": t % 5 / 5})
        if t % 5:
            trial.complete(unit, t % 3 + t / 100)


def under_way() -> tuple[Trial, Clock]:
    """Return a trial with a unit at each point of its course."""
    clock = Clock()
    trial = Trial.create("pilot", DESIGN, POLICY, storage="memory://", seed=1, clock=clock)
    trial.enroll("early", {"x": 1.0}, actor="nurse")
    trial.enroll("middle", {"x": 1.0})
    trial.respond("middle", {"r": 1.0, "z": 0.5})
    trial.enroll("left", {"x": 1.0})
    trial.respond("left", {"r": -1.0})
    for unit in ("done", "gone", "void"):
        trial.enroll(unit, {"x": 1.0})
    trial.respond("done", {"r": -1.0})
    trial.complete("done", 2.0)
    trial.withdraw("gone", reason="moved away")
    trial.void("void", reason="not eligible")
    return trial, clock
