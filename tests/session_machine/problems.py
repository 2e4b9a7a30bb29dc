"""Two designs with infeasible plans and early leavers, and what a naive model must know of each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import dtrbandit as dtr
from paper.literal import Plan

ARMS = ("a", "b")
Context = dict[str, float]


@dataclass(frozen=True)
class Problem:
    """A design, and what the naive model must know of it."""

    design: dtr.Design
    plans: list[Plan]
    columns: list[tuple[str, ...]]
    decisive: list[tuple[str, ...]]  # the columns of enter_if that a stage observes itself
    features: list[Callable[[Context, Plan], list[float]]]
    enters: list[Callable[[Context], bool]]
    policies: list[Any]

    @property
    def names(self) -> list[str]:
        return [stage.name for stage in self.design.stages]

    @property
    def dimensions(self) -> list[int]:
        return [2, *(4 if m == 1 else 3 for m in range(1, len(self.plans[0])))]


TWO = Problem(
    design=dtr.Design(
        [
            dtr.Stage("first", ARMS, "1 + x"),
            dtr.Stage("second", ARMS, "1 + x + z + C(first)", enter_if="r > -1.5 or x > 2"),
        ],
        plans=[tuple(plan) for plan in ("aa", "ab", "bb")],
    ),
    plans=[(0, 0), (0, 1), (1, 1)],
    columns=[("x",), ("z", "r")],
    decisive=[(), ("r",)],
    features=[lambda h, _: [1.0, h["x"]], lambda h, arms: [1.0, h["x"], h["z"], float(arms[0] == 1)]],
    enters=[lambda _: True, lambda h: h["r"] > -1.5 or h["x"] > 2],
    policies=[
        dtr.DTRBandit(q=1, delta=0.5),
        dtr.DTRBandit(q=1, delta=0.5, schedule="permuted"),
        dtr.DTRBandit(q=1, delta=0.5, floor=0.2),
        dtr.EpsilonGreedy(epsilon=0.2),
        dtr.LSVIUCB(beta=0.5, leavers="optimistic", clip=(9.0, 2.0), scale=3.0),
        dtr.UniformRandom(),
    ],
)
THREE = Problem(
    design=dtr.Design(
        [
            dtr.Stage("first", ARMS, "1 + x"),
            dtr.Stage("second", ARMS, "1 + z + x:z + C(first)", enter_if="r > -2 or x > 2"),
            dtr.Stage("third", ARMS, "1 + w + C(second)", enter_if="w > -2 or x > 2"),
        ],
        plans=[tuple(plan) for plan in ("aab", "aba", "abb", "bba", "bbb")],
    ),
    plans=[(0, 0, 1), (0, 1, 0), (0, 1, 1), (1, 1, 0), (1, 1, 1)],
    columns=[("x",), ("z", "r"), ("w",)],
    decisive=[(), ("r",), ("w",)],
    features=[
        lambda h, _: [1.0, h["x"]],
        lambda h, arms: [1.0, h["z"], h["x"] * h["z"], float(arms[0] == 1)],
        lambda h, arms: [1.0, h["w"], float(arms[1] == 1)],
    ],
    enters=[lambda _: True, lambda h: h["r"] > -2 or h["x"] > 2, lambda h: h["w"] > -2 or h["x"] > 2],
    policies=[
        dtr.DTRBandit(q=1, delta=1.0),
        dtr.DTRBandit(q=1, delta=(0.5, 1.0, 2.0), schedule="permuted"),
        dtr.Greedy(floor=0.3),
        dtr.LSVIUCB(beta=0.5, bound=(1.0, 2.0, (1.0, 3.0, 1.0)), switching="rare"),
    ],
)
