"""Compiled policies against the plain refit: the same decisions over random designs, delays and amendments."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import pytest

import dtrbandit as dtr
import plain.dtr_bandit
from dtrbandit.environments import Synthetic
from dtrbandit.policies import Choice
from dtrbandit.record import Assigned, Completed, History, Responded
from dtrbandit.record.events import Fact
from effort import seeded
from estimators.oracle import random_plans
from paper.literal import schedule
from plain.backward_induction import backward_induction, coefficients_of
from plain.samples import Samples
from policies.twins import CLOSE, TIE, Twins, in_order, margin

LABELS = "abcd"
POLICIES = (
    dtr.DTRBandit(q=1, delta=0.5),
    dtr.DTRBandit(q=1, delta=1.0, schedule="permuted"),
    dtr.DTRBandit(q=2, delta=3.0, schedule="permuted"),
    dtr.EpsilonGreedy(epsilon=0.3),
    dtr.Greedy(),
    dtr.DTRBandit(q=1, delta=0.5, floor=0.2),
    dtr.DTRBandit(q=1, delta=2.0, schedule="permuted", floor=0.1),
    dtr.Greedy(floor=0.2),
)
OPTIONS: dict[str, list[Any]] = {
    "beta": [0.1, 0.5, 2.0],
    "ridge": [0.5, 1.0],
    "clip": [None, 1.0, 3.0],
    "leavers": ["observed", "optimistic"],
    "switching": ["every", "rare"],
    "scale": [1.0, 0.3, 13.0],
}


def random_design(rng: np.random.Generator) -> dtr.Design:
    """Draw one to three stages of two or three arms, a tree of plans, and features that look back."""
    arms = rng.integers(2, 4, size=rng.integers(1, 4)).tolist()
    stages = []
    for m, count in enumerate(arms):
        looks_back = rng.choice(["", f" + x{m - 1}", f" + C(s{m - 1})", f" + x0:x{m}"]) if m else ""
        enter_if = f"x{m} > -1 or x0 > 1" if m and rng.random() < 0.7 else None
        stages.append(dtr.Stage(f"s{m}", tuple(LABELS[:count]), f"1 + x{m}{looks_back}", enter_if=enter_if))
    plans = [tuple(LABELS[arm] for arm in plan) for plan in random_plans(arms, rng)]
    return dtr.Design(stages, plans=plans)


def run_a_trial(twins: Twins, rng: np.random.Generator, events: int) -> None:
    """Let units come, wait and go on at random; at times one is lost, voided, overridden or corrected."""
    design, units = twins.session.design, 0
    waiting: list[tuple[int, int]] = []  # unit, and the stage to come
    for number in range(events):
        kind = 0.905 if number % 40 == 39 else rng.random()
        if not waiting or kind < 0.35:
            twins.tell("enroll", f"u{units}", {"x0": value(rng)})
            waiting.append((units, 1))
            units += 1
        elif kind < 0.87:
            unit, m = waiting.pop(rng.integers(len(waiting)))
            goes_on = m < len(design.stages)
            if goes_on and twins.tell("respond", f"u{unit}", {f"x{m}": value(rng)}) is not None:
                waiting.append((unit, m + 1))
            elif goes_on:
                waiting.append((unit, len(design.stages)))  # left early: its outcome is to come
            else:
                twins.tell("complete", f"u{unit}", value(rng))
        elif kind < 0.9:
            unit, _ = waiting.pop(rng.integers(len(waiting)))
            twins.tell("withdraw", f"u{unit}", reason="moved away")
        elif kind < 0.91:
            unit = int(rng.integers(units))
            with suppress(dtr.ProtocolError):  # void already
                twins.tell("void", f"u{unit}", reason=f"not eligible, event {len(twins.session.log)}")
                twins.tally["voided"] += 1
            waiting = [each for each in waiting if each[0] != unit]
        else:
            amend(twins, rng, f"u{rng.integers(units)}")


def amend(twins: Twins, rng: np.random.Generator, unit: str) -> None:
    stage = twins.session.design.stages[int(rng.integers(len(twins.session.design.stages)))]
    with suppress(dtr.ProtocolError):  # where nothing is on record, or the tree or enter_if forbids it
        kind = rng.integers(3)
        if kind == 0:
            twins.tell("override", unit, str(rng.choice(stage.arms)), stage=stage.name, reason="allergy")
        elif kind == 1:
            twins.tell("correct", unit, outcome=value(rng), reason="typing error")
        else:
            column = f"x{stage.name[1:]}"
            twins.tell("correct", unit, stage=stage.name, context={column: value(rng)}, reason="misread")


def value(rng: np.random.Generator) -> float:
    return round(float(rng.normal()), 3)


def compare(policy: Any, seed: int) -> Counter[str]:
    rng = np.random.default_rng(seed)
    twins = Twins(random_design(rng), policy, seed=int(rng.integers(1000)))
    run_a_trial(twins, rng, 160)
    assert len(twins.session.log) == len(twins.plain.log)
    assert twins.tally["decisions"] > 40
    assert twins.tally["voided"] > 0
    assert twins.tally["ties"] <= max(1, 0.05 * twins.tally["free"])
    return twins.tally


@seeded(32)
def test_bandit_and_greedy_decide_as_the_plain_refit(seed: int) -> None:
    compare(POLICIES[seed % len(POLICIES)], seed)


@pytest.mark.parametrize("schedule", ["paper", "permuted"])
def test_overrides_taken_back_free_and_force_as_in_the_plain_refit(schedule: Literal["paper", "permuted"]) -> None:
    plans = ("aabb", "abab", "abba", "abbb", "bbab", "bbba")
    stages = [dtr.Stage(f"s{m}", ("a", "b"), f"1 + x{m}") for m in range(4)]
    design, forced_again = dtr.Design(stages, plans=[tuple(plan) for plan in plans]), 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        twins = Twins(design, dtr.DTRBandit(q=1, delta=0.5, schedule=schedule), seed=seed)
        reasons: dict[str, list[str]] = {f"u{t}": [] for t in range(12)}  # both first blocks
        waiting = [unit for unit in reasons for _ in stages]
        rng.shuffle(waiting)
        for unit in waiting:
            m = len(reasons[unit])
            if m:
                with suppress(dtr.ProtocolError):  # what the tree forbids
                    twins.tell("override", unit, str(rng.choice(["a", "b"])), stage="s0", reason=f"event {m}")
            decision = twins.tell("respond" if m else "enroll", unit, {f"x{m}": value(rng)})
            reasons[unit].append(decision.reason)
        forced_again += sum(is_forced_again(each) for each in reasons.values())

    assert forced_again > 0


def is_forced_again(reasons: list[str]) -> bool:
    """Say whether a forced decision of a unit comes after a free one."""
    forced = [reason == "forced" for reason in reasons]
    return not all(forced) and any(forced[forced.index(False) :])


@seeded(24)
def test_lsvi_ucb_decides_as_the_plain_refit_whatever_its_options(seed: int) -> None:
    rng = np.random.default_rng([seed, 1])
    policy = dtr.LSVIUCB(**{name: values[rng.integers(len(values))] for name, values in OPTIONS.items()})

    tally = compare(policy, seed)

    assert tally["free"] > 20


@seeded(10)
def test_lsvi_ucb_with_a_bound_decides_as_the_plain_refit(seed: int) -> None:
    rng = np.random.default_rng(seed)
    design = random_design(rng)
    bound = tuple(tuple(rng.choice([0.5, 2.0, 26.0], size=d).tolist()) for d in design.dimensions)
    clip = tuple(rng.choice([0.5, 2.0, 9.0], size=len(design.stages)).tolist())
    policy = dtr.LSVIUCB(beta=0.5, bound=bound, clip=clip, leavers="optimistic")

    run_a_trial(Twins(design, replace(policy, switching="every"), seed=1), rng, 120)
    run_a_trial(Twins(design, replace(policy, switching="rare"), seed=1), rng, 120)


class Checked:
    """DTRBandit, and at some rounds the plain refit fitted to all rows so far: they must choose alike."""

    def __init__(self, policy: dtr.DTRBandit, rounds: set[int]) -> None:
        self.policy, self.rounds, self.init = policy, rounds, policy.init
        self.samples = Samples(Synthetic().design)
        self.scheduled: dict[int, dict[int, int]] = {}
        self.planned = schedule(Synthetic().design.arm_plans, policy.q, max(rounds))
        self.plain = plain.dtr_bandit.DTRBandit(q=policy.q, delta=policy.delta)
        self.checked: list[float] = []

    def update(self, state: Any, history: History, event: Fact) -> Any:
        if isinstance(event, Assigned) and event.decision.reason == "forced":
            self.scheduled.setdefault(history.round, {})[len(history.arms) - 1] = history.arms[-1]
        elif isinstance(event, Responded | Completed):
            self.samples.record(history)
        return self.policy.update(state, history, event)

    def decide(self, state: Any, history: History, u: float) -> Choice:
        choice = self.policy.decide(state, history, u)
        if history.round in self.rounds:
            self.check(choice, self.plain_choice(history, u), history)
        return choice

    def plain_choice(self, history: History, u: float) -> Choice:
        # Without delay all forced samples so far are those up to e_t: Q̃ as it is now is the frozen one.
        fresh = self.plain.init(Synthetic().design)
        fresh = replace(fresh, samples=self.samples, scheduled=self.scheduled, planned=self.planned)
        forced = plain.dtr_bandit._forced_samples(fresh)
        fresh.hat = coefficients_of(backward_induction(fresh.design, self.samples), fresh.design)
        fresh.tilde = coefficients_of(backward_induction(fresh.design, self.samples, forced), fresh.design)
        return self.plain.decide(fresh, history, u)

    def check(self, found: Choice, expected: Choice, history: History) -> None:
        assert in_order(found.q_hat) == pytest.approx(in_order(expected.q_hat), abs=CLOSE)
        assert in_order(found.q_tilde) == pytest.approx(in_order(expected.q_tilde), abs=CLOSE)
        assert (found.arm, found.reason, found.propensities) == expected[:3]
        self.checked.append(margin(expected, history.feasible, float(np.min(self.plain.delta))))


def test_a_long_run_decides_as_the_plain_refit_at_random_times() -> None:
    n, rng = 3_000, np.random.default_rng(4)
    units = Synthetic().draw(n, rng)
    policy = Checked(dtr.DTRBandit(q=1, delta=0.5), set((1 + rng.choice(n, 60, replace=False)).tolist()))
    session = dtr.Session(Synthetic().design, policy)

    for i in range(n):
        first = session.enroll(f"u{i}", {"x1": float(units.contexts[0]["x1"][i])}).arm
        second = session.respond(f"u{i}", {"x2": float(units.contexts[1]["x2"][i, int(first) - 1])})
        assert second is not None
        session.complete(f"u{i}", float(units.outcome[i, int(first) - 1, int(second.arm) - 1]))

    assert len(policy.checked) == 120
    assert min(policy.checked) > TIE
    assert sum(np.isfinite(policy.checked)) > 100
