"""Random courses of a trial in which every kind of fact occurs: what happens next, as a command.

It is drawn from a generator and from what is on record, so that most commands are accepted. Some are refused, and
change nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import dtrbandit as dtr
from dtrbandit.record import Histories, Taught
from dtrbandit.record.commands import Command

DESIGN = dtr.Design(
    [
        dtr.Stage("first", ("a", "b"), "1 + x", expected_days=14),
        dtr.Stage("second", ("a", "b", "c"), "1 + z + C(first)", enter_if="r > -1", expected_days=10),
    ]
)
SITES = (None, None, "north", "south")
KINDS = {
    "advance": 45, "enroll": 28, "override": 5, "correct outcome": 4, "correct context": 5, "withdraw": 2, "void": 3,
    "unblind": 3, "hold": 1, "release": 3, "close": 1,
}  # fmt: skip  # how often each is drawn, of 100


class Earlier:
    """Three units of an earlier trial: one left early, one was lost, and one has the id of a unit that is to come."""

    def teaching(self, design: dtr.Design) -> list[Taught]:  # noqa: ARG002  # what a prior is asked
        return [
            Taught("u2", ({"x": 0.5}, {"z": 0.25, "r": 1.0}), ("a", "c"), 2.0),
            Taught("e1", ({"x": -0.5}, {"r": -2.0}), ("b",), 1.0),
            Taught("e2", ({"x": 0.125},), ("a",), None),
        ]


def next_command(histories: Histories, rng: np.random.Generator) -> Command:
    """Draw what happens next."""
    kinds, weights = zip(*KINDS.items(), strict=True)
    kind = rng.choice(kinds, p=np.array(weights) / sum(weights))
    reason = str(rng.choice(["because", "for another reason", 'é, "quoted"']))
    if kind == "enroll" or not histories.names:
        return dtr.Enroll(f"u{len(histories)}", {"x": number(rng)}, *exclusion(rng, "first"), site=site(rng))
    if kind == "advance":
        return advanced(histories, rng)
    if kind in ("hold", "release"):
        return dtr.Hold(reason, site(rng)) if kind == "hold" else dtr.Release(reason, site(rng))
    if kind == "close":
        return dtr.CloseArm("second", str(rng.choice(["b", "c"])), reason)
    return amendment(str(kind), str(rng.choice(histories.names)), reason, rng)


def advanced(histories: Histories, rng: np.random.Generator) -> Command:
    """Bring a unit in flight a step further; one that leaves need not say more than what made it leave."""
    if not histories.in_flight:
        return dtr.Enroll(f"u{len(histories)}", {"x": number(rng)})
    unit = str(rng.choice(list(histories.in_flight)))
    record = histories.in_flight[unit]
    if record.left or record.awaited == 2:
        return dtr.Complete(unit, number(rng))
    if rng.random() < 0.15:
        return dtr.Respond(unit, {"r": -2.0} if rng.random() < 0.5 else {"r": -2.0, "z": number(rng)})
    return dtr.Respond(unit, {"z": number(rng), "r": abs(number(rng))}, None, *exclusion(rng, "second"))


def amendment(kind: str, unit: str, reason: str, rng: np.random.Generator) -> Command:
    """Say something else of a unit than was said before."""
    match kind:
        case "override":
            return dtr.Override(unit, str(rng.choice(["a", "b", "c"])), reason, str(rng.choice(["first", "second"])))
        case "correct outcome":
            return dtr.Correct(unit, reason, number(rng))
        case "correct context":
            stage, column = ("first", "x") if rng.random() < 0.6 else ("second", "z")
            return dtr.Correct(unit, reason, None, stage, {column: number(rng)})
        case "withdraw":
            return dtr.Withdraw(unit, reason)
        case "void":
            return dtr.Void(unit, reason)
        case _:
            return dtr.Unblind(unit, reason)


def exclusion(rng: np.random.Generator, arrival: str) -> tuple[Any, Any]:
    """Return what is said of contraindications on arrival at a stage: mostly nothing."""
    if rng.random() < 0.85:
        return None, None
    named = {"second": [str(rng.choice(["a", "b", "c"]))]}
    if arrival == "first" and rng.random() < 0.3:
        named["first"] = [str(rng.choice(["a", "b"]))]
    return named, "allergy"


def number(rng: np.random.Generator) -> float:
    return round(float(rng.normal()), 3)


def site(rng: np.random.Generator) -> str | None:
    return SITES[int(rng.integers(len(SITES)))]


def go_on(session: dtr.Session, rng: np.random.Generator, steps: int) -> int:
    """Let so many things happen in a session; return how many were refused."""
    refused = 0
    for _ in range(steps):
        try:
            session.believe(session.answer(next_command(session.histories, rng)))
        except dtr.DTRError:
            refused += 1
    return refused


def random_session(policy: Any, seed: int, steps: int, *, taught: bool = False) -> dtr.Session:
    """Return a session after so many things have happened in it."""
    session = dtr.Session(DESIGN, policy, seed=seed, prior=Earlier() if taught else None)
    go_on(session, np.random.default_rng(seed), steps)
    return session
