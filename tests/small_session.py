"""A small session, and a policy that says what it is told to say: what several tests begin with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import dtrbandit as dtr
from dtrbandit.policies import Choice
from dtrbandit.record import History
from dtrbandit.record.events import Fact

DESIGN = dtr.Design(
    [
        dtr.Stage("first", arms=("ssri", "other"), features="1 + start1"),
        dtr.Stage("second", arms=("ssri", "other"), features="1 + start2", enter_if="end1 > 5"),
    ],
    plans=[("ssri", "ssri"), ("ssri", "other"), ("other", "other")],
)


def some_session() -> dtr.Session:
    session = dtr.Session(DESIGN, dtr.DTRBandit(q=1, delta=0.1))
    rng = np.random.default_rng(0)
    for t in range(9):
        arm = session.enroll(f"u{t}", {"start1": float(rng.normal())}).arm
        if session.respond(f"u{t}", {"start2": float(rng.normal()), "end1": 9.0 if t % 4 else 2.0}):
            session.complete(f"u{t}", float(rng.normal()) + 3 * (arm == "other"))
    session.withdraw("u8", reason="moved away")  # it has left early
    session.enroll("in flight", {"start1": 0.0})
    return session


def session_of(units: int) -> dtr.Session:
    """Return a session of so many units that have all ended, with five events each."""
    stages = [dtr.Stage("first", ("a", "b"), "1 + x"), dtr.Stage("second", ("a", "b"), "1 + z")]
    session = dtr.Session(dtr.Design(stages), dtr.DTRBandit(q=1, delta=0.5))
    for t in range(units):
        session.enroll(f"u{t}", {"x": t % 7 / 7})
        session.respond(f"u{t}", {"z": t % 5 / 5})
        session.complete(f"u{t}", t % 3)
    return session


@dataclass(frozen=True)
class Says:
    """A policy that says whatever it is told to say."""

    choice: Any

    def init(self, design: dtr.Design) -> dtr.Design:
        return design

    def update(self, state: dtr.Design, history: History, event: Fact) -> dtr.Design:  # noqa: ARG002  # learns nothing
        return state

    def decide(self, state: dtr.Design, history: History, u: float) -> Any:  # noqa: ARG002  # looks at nothing
        return self.choice


FAIR = Choice(0, "coin", (0.5, 0.5))
