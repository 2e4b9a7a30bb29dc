"""A small trial of which everything is known: overrides, corrections, one lost, one void, one under way."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

import dtrbandit as dtr

STAGES = [
    dtr.Stage("first", ("a", "b"), "1 + x", expected_days=10),
    dtr.Stage("second", ("a", "b"), "1 + z + C(first)", enter_if="z > -1", expected_days=20),
]
UNITS = 40


def small_course(units: int = UNITS, *, floor: float = 0.0, tidy: bool = False) -> dtr.Trial:
    """Return a trial in memory. With ``tidy`` every unit has its outcome, as decided."""
    design = dtr.Design(STAGES)
    policy = dtr.DTRBandit(q=2, delta=1.0, schedule="permuted", floor=floor)
    trial = dtr.Trial.create("course", design, policy, storage="memory://", seed=3)
    rng = np.random.default_rng(0)
    for number in range(units):
        go_through(trial, f"u{number}", rng.normal(size=4), None if tidy else "u7")
        if not tidy:
            amend(trial, number)
    if not tidy:
        trial.enroll("late", {"x": 0.25})
        trial.hold(reason="review")
        trial.close_arm("second", "b", reason="harm")
    return trial


def go_through(trial: dtr.Trial, unit: str, drawn: NDArray[np.float64], lost: str | None) -> None:
    x, z, noise, _ = (float(value) for value in drawn)
    first = trial.enroll(unit, {"x": x}).arm
    second = trial.respond(unit, {"z": z})
    effect = (x if first == "a" else -x) + (0.0 if second is None else z if second.arm == "a" else 0.5)
    if unit == lost:
        trial.withdraw(unit, reason="moved")
    else:
        trial.complete(unit, effect + noise)


def amend(trial: dtr.Trial, number: int) -> None:
    """Amend some units."""
    if number == 5:
        given = trial.unit("u5").arms["first"]
        trial.override("u5", "b" if given == "a" else "a", stage="first", reason="allergy")
    if number == 9:
        trial.correct("u9", reason="typed wrongly", outcome=1.5)
    if number == 11:
        trial.correct("u11", reason="typed wrongly", stage="first", context={"x": 2.0})
    if number == 13:
        trial.void("u13", reason="not eligible")
