"""Print the processor time of a unit, in microseconds: `python benchmarks/guarded_session.py plain|guarded UNITS`.

``guarded`` is a session with a floor, an earlier trial of 500 units, a contraindication for every 50th unit, a hold and
a release after every 100 units, and a void unit after every 500. ``plain`` runs with sources from before there were
guardrails, too.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

import dtrbandit as dtr
from dtrbandit.environments import Synthetic

FEW = 200  # first units, left out


def session_of(kind: str) -> Any:
    """Open a session."""
    if kind == "plain":
        return dtr.Session(Synthetic().design, dtr.DTRBandit(q=5, delta=0.5))
    n, rng = 500, np.random.default_rng(3)
    units, arms, who = Synthetic().draw(n, rng), rng.integers(0, 2, size=(n, 2)), np.arange(n)
    contexts = {"x1": units.contexts[0]["x1"]}, {"x2": units.contexts[1]["x2"][who, arms[:, 0]]}
    outcome, names = units.outcome[who, arms[:, 0], arms[:, 1]], tuple(map(str, who))
    prior = dtr.Cohort(units.design, names, contexts, arms.astype(np.int8), outcome, np.ones(n))
    return dtr.Session(units.design, dtr.DTRBandit(q=5, delta=0.5, floor=0.05), prior=prior)


def main(kind: str, units: int) -> None:
    drawn, session = Synthetic().draw(units + FEW, np.random.default_rng(4)), session_of(kind)
    x1, x2 = drawn.contexts[0]["x1"].tolist(), drawn.contexts[1]["x2"].tolist()
    outcome, start = drawn.outcome.tolist(), 0.0
    for i in range(units + FEW):
        if i == FEW:
            start = time.process_time()
        exclude = {"exclude": {"second": ["1"]}, "reason": "allergy"} if kind == "guarded" and i % 50 == 20 else {}
        take_through(session, f"u{i}", (x1[i], x2[i]), outcome[i], exclude)
        if kind == "guarded" and i % 100 == 99:
            session.hold(reason="a meeting")
            session.release(reason="it is over")
        if kind == "guarded" and i % 500 == 499:
            session.void(f"u{i - 7}", reason="not eligible")
    sys.stdout.write(f"{(time.process_time() - start) / units * 1e6:.3f}")


def take_through(session: Any, unit: str, context: Any, outcome: Sequence[Sequence[float]], more: Any) -> None:
    """Enrol a unit, let it respond, and complete it."""
    first = int(session.enroll(unit, {"x1": context[0]}, **more).arm) - 1
    second = int(session.respond(unit, {"x2": context[1][first]}).arm) - 1
    session.complete(unit, outcome[first][second])


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
