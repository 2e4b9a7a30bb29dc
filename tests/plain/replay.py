"""Algorithm 2 of the paper, ReplayDTR, line by line: the algorithm is a function of the history, computed anew."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import dtrbandit as dtr


class Point(NamedTuple):
    """(x₁, a₁, x₂, a₂, …, y); a unit that left early has fewer arms, and its last context tells why."""

    contexts: tuple[dict[str, float], ...]
    arms: tuple[str, ...]
    outcome: float


class Algorithm:
    """An online DTR algorithm: ``A(hist, x₁)``, ``A(hist, x₁, a₁, x₂)``, …"""

    def __init__(self, design: dtr.Design, policy: Any, seed: int) -> None:
        self.design, self.policy, self.seed = design, policy, seed

    def __call__(self, hist: tuple[Point, ...], contexts: tuple[dict[str, float], ...], arms: tuple[str, ...]) -> str:
        """Return the arm for a unit whose last context was just seen, after the arms that it was given before."""
        session = dtr.Session(self.design, self.policy, seed=self.seed)
        for t, point in enumerate(hist, 1):
            assert self._tell(session, f"u{t}", point.contexts) == point.arms
            session.complete(f"u{t}", point.outcome)
        given = self._tell(session, f"u{len(hist) + 1}", contexts)
        assert given[:-1] == arms
        return given[-1]

    def _tell(self, session: dtr.Session, unit: str, contexts: tuple[dict[str, float], ...]) -> tuple[str, ...]:
        decisions = [session.enroll(unit, contexts[0])]
        for m, context in enumerate(contexts[1:], 1):
            decision = session.respond(unit, context, stage=self.design.stages[m].name)
            if decision is not None:
                decisions.append(decision)
        return tuple(decision.arm for decision in decisions)


def replay_dtr(T: int, algorithm: Algorithm, points: Iterable[Point | None]) -> tuple[float, tuple[Point, ...]]:
    """Return Ĝ/T and the history, given points in the order in which they are sampled; None has dropped out."""
    hist: tuple[Point, ...] = ()  # line 2
    payoff = 0.0  # line 3
    sampled = iter(points)
    for _ in range(T):  # line 4
        while True:  # lines 5 to 7
            point = next(sampled)
            if point is not None and all(
                algorithm(hist, point.contexts[: m + 1], point.arms[:m]) == arm for m, arm in enumerate(point.arms)
            ):
                break
        hist = (*hist, point)  # line 8
        payoff += point.outcome  # line 9
    return payoff / T, hist  # line 11
