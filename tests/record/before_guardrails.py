"""A course of events without any guardrail, as an earlier release could tell it: its logs are in ``logs/``."""

from __future__ import annotations

from typing import Any

import numpy as np

import dtrbandit as dtr

DESIGN = dtr.Design(
    [
        dtr.Stage("first", ("a", "b"), "1 + x"),
        dtr.Stage("second", ("a", "b", "c"), "1 + z + C(first)", enter_if="w > -1"),
    ],
    plans=[tuple(plan) for plan in ("aa", "ab", "ac", "bb", "bc")],
)
POLICIES: dict[str, Any] = {
    "dtr_bandit": dtr.DTRBandit(q=1, delta=0.5, schedule="permuted"),
    "epsilon_greedy": dtr.EpsilonGreedy(epsilon=0.2),
    "lsvi_ucb": dtr.LSVIUCB(beta=0.5),
}


def play(policy: Any) -> dtr.Session:
    """Return a session of 24 units, with leavers, an override, a correction and a withdrawal."""
    session, rng = dtr.Session(DESIGN, policy, seed=7), np.random.default_rng(7)
    for t in range(24):
        x, z, w, y = rng.normal(size=4).round(3).tolist()
        session.enroll(f"u{t}", {"x": x})
        if t == 9:
            session.override("u9", "a" if session.log[-1].decision.arm == "b" else "b", reason="allergy")  # type: ignore[union-attr]
        session.respond(f"u{t}", {"z": z, "w": w})
        if t == 15:
            session.withdraw("u15", reason="moved away")
        else:
            session.complete(f"u{t}", y)
    session.correct("u3", outcome=0.25, reason="typing error")
    session.enroll("last", {"x": 0.5})
    return session
