"""Seeded courses of sessions and trials, by public names alone: what fixtures and digests are made of.

A seed gives the same calls with every supported Python and numpy. All numbers come from Philox, by ``integers`` and
``random``, and have few decimals.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

import dtrbandit as dtr
from dtrbandit.policies import Policy

TWO, THREE, FOUR = ("a", "b"), ("a", "b", "c"), ("a", "b", "c", "d")


def _wide(column: str, features: int) -> str:
    """Return a formula of an intercept and so many features less one."""
    return " + ".join(["1", *(f"{column}{j}" for j in range(1, features))])


DESIGNS = {
    "two stages": dtr.Design([dtr.Stage("first", TWO, "1 + x"), dtr.Stage("second", TWO, "1 + z")]),
    "leavers": dtr.Design(
        [dtr.Stage("first", TWO, "1 + x"), dtr.Stage("second", TWO, "1 + x + z", enter_if="r > -1.5")],
        plans=[("a", "a"), ("a", "b"), ("b", "b")],
    ),
    "three stages": dtr.Design(
        [
            dtr.Stage("first", TWO, "1 + x"),
            dtr.Stage("second", THREE, "1 + x + z + C(first)", enter_if="r > -2 or x > 1"),
            dtr.Stage("third", TWO, "1 + w + z:w", enter_if="w > -2.5"),
        ]
    ),
    "one stage": dtr.Design([dtr.Stage("only", THREE, "1 + x", columns=("weight",))]),
    "five features": dtr.Design([dtr.Stage("first", THREE, _wide("x", 5)), dtr.Stage("second", TWO, _wide("z", 5))]),
    "ten features": dtr.Design([dtr.Stage("first", FOUR, _wide("x", 10)), dtr.Stage("second", FOUR, _wide("z", 10))]),
}


def policies(design: dtr.Design) -> dict[str, Policy[Any]]:
    """Return every policy of the package with each of its options, by a name for people."""
    stages, dimensions = len(design.stages), design.dimensions
    scores = {
        stage.name: {arm: [float(k - j) for j in range(d)] for k, arm in enumerate(stage.arms)}
        for stage, d in zip(design.stages, dimensions, strict=True)
    }
    bounds = tuple(tuple(1.0 + j for j in range(d)) for d in dimensions)
    return {
        "DTRBandit": dtr.DTRBandit(q=1, delta=0.5),
        "DTRBandit, large delta": dtr.DTRBandit(q=2, delta=5.0),
        "DTRBandit, delta by stage": dtr.DTRBandit(q=1, delta=tuple(0.5 + m for m in range(stages))),
        "DTRBandit, permuted": dtr.DTRBandit(q=2, delta=1.0, schedule="permuted"),
        "DTRBandit, floor": dtr.DTRBandit(q=1, delta=0.5, floor=0.125),
        "DTRBandit, permuted, floor": dtr.DTRBandit(q=1, delta=0.5, schedule="permuted", floor=0.125),
        "EpsilonGreedy": dtr.EpsilonGreedy(epsilon=0.25),
        "Greedy": dtr.Greedy(),
        "Greedy, floor": dtr.Greedy(floor=0.125),
        "LSVIUCB": dtr.LSVIUCB(beta=0.5),
        "LSVIUCB, ridge": dtr.LSVIUCB(beta=0.5, ridge=2.5),
        "LSVIUCB, clip": dtr.LSVIUCB(beta=0.5, clip=3.0),
        "LSVIUCB, clip by stage": dtr.LSVIUCB(beta=0.5, clip=tuple(2.0 + m for m in range(stages))),
        "LSVIUCB, bound": dtr.LSVIUCB(beta=0.5, bound=tuple(2.0 + m for m in range(stages))),
        "LSVIUCB, bound by feature": dtr.LSVIUCB(beta=0.5, bound=bounds),
        "LSVIUCB, scale": dtr.LSVIUCB(beta=0.5, scale=4.0),
        "LSVIUCB, optimistic leavers": dtr.LSVIUCB(beta=0.5, leavers="optimistic"),
        "LSVIUCB, rare switching": dtr.LSVIUCB(beta=0.5, switching="rare"),
        "LSVIUCB, all options": dtr.LSVIUCB(
            beta=1.5, ridge=0.5, clip=6.0, bound=bounds, scale=2.0, leavers="optimistic", switching="rare"
        ),
        "FixedRegime, settled": dtr.FixedRegime(rule={stage.name: stage.arms[-1] for stage in design.stages}),
        "FixedRegime, scores": dtr.FixedRegime(rule=scores),
        "UniformRandom": dtr.UniformRandom(),
    }


COURSES: dict[str, frozenset[str]] = {
    name: frozenset(name.split(" and "))
    for name in (
        "in turn", "delays", "delays and overrides", "delays and corrections", "delays and voids",
        "delays and withdrawals", "delays and exclusions", "delays and closings", "holds and sites", "prior",
    )
}  # fmt: skip
EVERYTHING = frozenset().union(*COURSES.values(), {"unblinding"})
COURSES["everything"] = EVERYTHING


def stream(seed: int) -> np.random.Generator:
    """Return the generator of a course."""
    return np.random.Generator(np.random.Philox(seed))


def number(rng: np.random.Generator) -> float:
    """Draw a number from −3 to 3 with two decimals."""
    return int(rng.integers(-300, 301)) / 100


class Call(NamedTuple):
    """A verb, what it was given, and what it answered; whether it was refused."""

    verb: str
    given: Mapping[str, object]
    answer: object
    refused: bool


class Course:
    """Tells a session, or a trial, what happens to units, and keeps what it answers.

    Without ``delays`` each unit is through before the next comes.
    """

    def __init__(
        self, target: object, design: dtr.Design, kinds: frozenset[str], *, seed: int, prefix: str = "u"
    ) -> None:
        self.target, self.design, self.kinds, self.prefix = target, design, kinds, prefix  # of names of units
        self.rng = stream(seed)
        self.calls: list[Call] = []
        self.waiting: list[tuple[str, int]] = []  # units, and the stage that each comes to next
        self.benefit: dict[str, float] = {}  # of the arms that units were given
        self.ended: list[str] = []

    def tell(self, verb: str, **given: object) -> object:
        """Call a verb. A refusal is an answer too."""
        try:
            answer, refused = getattr(self.target, verb)(**given), False
        except dtr.ProtocolError:
            answer, refused = None, True
        self.calls.append(Call(verb, given, answer, refused))
        return answer

    def chance(self, kind: str, probability: float) -> bool:
        """Say whether something of this kind happens now. A kind that is not played draws nothing."""
        return kind in self.kinds and bool(self.rng.random() < probability)

    def pick(self, sequence: Sequence[str]) -> str:
        return sequence[int(self.rng.integers(len(sequence)))]

    def play(self, units: int, then: Callable[[int], None] = lambda _: None) -> Course:
        """Let units come, and what happens to the trial as a whole; call ``then`` after each unit, with its number."""
        for t in range(units):
            if "holds" in self.kinds and t == units // 3:
                self._hold(t)
            if "closings" in self.kinds and t == 2 * units // 3:
                self.tell("close_arm", stage=self.design.stages[-1].name, arm="a", reason="harm")
            if "closings" in self.kinds and t == 5 * units // 6:
                self.tell("close_arm", stage=self.design.stages[0].name, arm="b", reason="futility")
            self._enroll(f"{self.prefix}{t}")
            while self.waiting and ("delays" not in self.kinds or self.rng.random() < 0.66):
                self._advance()
            self._amend()
            then(t)
        return self

    def _hold(self, t: int) -> None:
        self.tell("hold", reason="review")
        self.tell("enroll", unit=f"{self.prefix}{t} too early", context=self._context(0))
        self.tell("release", reason="review done")
        self.tell("hold", reason="staff", site="north")
        self.tell("enroll", unit=f"{self.prefix}{t} in the north", context=self._context(0), site="north")
        self.tell("release", reason="staff is back", site="north")

    def _context(self, m: int) -> dict[str, float]:
        return {column: number(self.rng) for column in self.design.columns[m]}

    def _excluded(self, m: int, probability: float) -> dict[str, object]:
        if not self.chance("exclusions", probability):
            return {}
        stage = self.design.stages[int(self.rng.integers(m, len(self.design.stages)))]
        return {"exclude": {stage.name: [self.pick(stage.arms)]}, "reason": "contraindicated"}

    def _enroll(self, unit: str) -> None:
        given = self._excluded(0, 0.2)
        if "sites" in self.kinds:
            given["site"] = self.pick(("north", "south"))
        context = self._context(0)
        self._arrived(unit, 0, context, self.tell("enroll", unit=unit, context=context, **given))

    def _arrived(self, unit: str, m: int, context: Mapping[str, float], decision: object) -> None:
        """Keep where a unit is. Each arm helps some units more than others."""
        if isinstance(decision, dtr.Decision):
            arm = self.design.stages[m].arms.index(decision.arm)
            lead = next(iter(context.values()))
            self.benefit[unit] = self.benefit.get(unit, 0.0) + 0.25 * arm + 0.5 * (arm - 0.5) * lead
            self.waiting.append((unit, m + 1))

    def _advance(self) -> None:
        """Bring one unit a step further."""
        unit, m = self.waiting.pop(int(self.rng.integers(len(self.waiting))))
        if self.chance("withdrawals", 0.1):
            self.tell("withdraw", unit=unit, reason="moved away")
            return
        if m < len(self.design.stages):
            context = self._context(m)
            given = self._excluded(m, 0.15)
            decision = self.tell("respond", unit=unit, context=context, **given)
            if self.calls[-1].refused:  # no arm is left
                self.tell("withdraw", unit=unit, reason="no arm is left")
                return
            if decision is not None:
                self._arrived(unit, m, context, decision)
                return
        self.tell("complete", unit=unit, outcome=round(self.benefit[unit] + number(self.rng) / 2, 3))
        self.ended.append(unit)

    def _amend(self) -> None:
        """Amend what is on record of a unit, at times."""
        known = [*self.benefit] or ["nobody"]
        if self.chance("overrides", 0.2):
            stage = self.design.stages[int(self.rng.integers(len(self.design.stages)))]
            self.tell("override", unit=self.pick(known), arm=self.pick(stage.arms), stage=stage.name, reason="wish")
        if self.chance("corrections", 0.15) and self.ended:
            self.tell("correct", unit=self.pick(self.ended), outcome=number(self.rng), reason="typing error")
        if self.chance("corrections", 0.15):
            column = self.pick(self.design.columns[0])
            given: dict[str, object] = {"stage": self.design.stages[0].name, "context": {column: number(self.rng)}}
            self.tell("correct", unit=self.pick(known), reason="typing error", **given)
        if self.chance("voids", 0.06):
            unit = self.pick(known)
            self.tell("void", unit=unit, reason="not eligible")
            self.waiting = [each for each in self.waiting if each[0] != unit]
        if self.chance("unblinding", 0.06):
            self.tell("unblind", unit=self.pick(known), reason="adverse event")


@cache
def finished_trial(design: dtr.Design, units: int, *, seed: int = 3) -> dtr.Cohort:
    """Return a trial with arms at random that has ended: some left early, and some were lost."""
    session = dtr.Session(design, dtr.UniformRandom(), seed=seed)
    Course(session, design, frozenset({"withdrawals"}), seed=seed).play(units)
    return dtr.Cohort.from_log(session.log)


def begun(design: str, policy: Policy[Any], course: str, *, seed: int) -> Course:
    """Return the course of a new session, before the first unit."""
    own, kinds = DESIGNS[design], COURSES[course]
    prior = finished_trial(own, 40) if "prior" in kinds else None
    return Course(dtr.Session(own, policy, seed=seed, prior=prior), own, kinds, seed=seed)
