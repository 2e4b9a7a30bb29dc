"""Cohorts for replay: random ones with leavers and drop-outs, and those of logged environments."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

import dtrbandit as dtr
from dtrbandit.environments import PotentialOutcomes
from dtrbandit.evaluation.cohort.cohort import Cohort
from dtrbandit.evaluation.replay.paths import POLICY, ROWS
from dtrbandit.policies.registry import examples
from effort import scaled
from estimators.oracle import random_plans
from plain.replay import Point

LABELS = "abc"
TWO = dtr.Design(
    [dtr.Stage("first", ("a", "b"), "1 + x"), dtr.Stage("second", ("a", "b"), "1 + z", enter_if="z > -1")],
    plans=[("a", "a"), ("a", "b"), ("b", "b")],
)


def random_design(rng: np.random.Generator) -> dtr.Design:
    """Draw one to three stages of two or three arms, a tree of plans, early leavers, and features that look back."""
    counts = rng.integers(2, 4, size=rng.integers(1, 4)).tolist()
    stages = []
    for m, count in enumerate(counts):
        looks_back = rng.choice(["", f" + x{m - 1}", f" + C(s{m - 1})", f" + x0:x{m}"]) if m else ""
        enter_if = f"x{m} > -0.7 or x0 > 1" if m and rng.random() < 0.7 else None
        more = ("z",) if m == 1 else None
        stages.append(
            dtr.Stage(f"s{m}", tuple(LABELS[:count]), f"1 + x{m}{looks_back}", columns=more, enter_if=enter_if)
        )
    return dtr.Design(stages, plans=[tuple(LABELS[arm] for arm in plan) for plan in random_plans(counts, rng)])


def random_cohort(design: dtr.Design, n: int, rng: np.random.Generator, *, dropped_out: float = 0.15) -> Cohort:
    """Draw units with plans at random; leavers of which some lack a column, drop-outs at any stage; a few decimals."""
    stages, plans = len(design.stages), np.array(design.arm_plans)
    columns = [{name: rng.normal(size=n).round(2) for name in own} for own in design.columns]
    arms = plans[np.concatenate([np.arange(len(plans)), rng.integers(len(plans), size=n - len(plans))])].astype(np.int8)
    outcome = rng.normal(size=n).round(2) + arms.sum(axis=1)
    seen, whole = {}, len(plans)  # the first rows complete every plan
    for m in range(stages):
        seen.update(columns[m])
        condition = design.parsed[m].condition
        if condition is not None:
            columns[m]["x0" if m == 0 else f"x{m}"][:whole] = 1.5
            left = ~condition.mask(seen) & (arms[:, m] >= 0)
            arms[left, m:] = -1
            if "z" in columns[m]:
                columns[m]["z"][left & (rng.random(n) < 0.5)] = np.nan
        for name in columns[m]:
            columns[m][name][arms[:, m - 1] < 0 if m else np.zeros(n, bool)] = np.nan
    gone = rng.random(n) < dropped_out
    gone[:whole] = False
    outcome[gone] = np.nan
    for row in np.flatnonzero(gone):
        last = int(rng.integers(0, stages))
        arms[row, last + 1 :] = -1
    return Cohort(design, tuple(f"r{i}" for i in range(n)), tuple(columns), arms, outcome, np.ones(n))


def two_stage_cohort(n: int = 60, seed: int = 0) -> Cohort:
    """Draw units of TWO: a third leave, a few drop out."""
    rng = np.random.default_rng(seed)
    x, z = rng.normal(size=n), rng.normal(size=n)
    arms = np.array(TWO.arm_plans, dtype=np.int8)[rng.integers(3, size=n)]
    arms[z <= -1, 1] = -1
    outcome = rng.normal(size=n) + arms[:, 0]
    dropped = (rng.random(n) < 0.1) & (z > -1)
    outcome[dropped], arms[dropped, 1] = np.nan, -1
    return Cohort(TWO, tuple(map(str, range(n))), ({"x": x}, {"z": z}), arms, outcome, np.ones(n))


def logged(units: PotentialOutcomes, rng: np.random.Generator) -> Cohort:
    """Return drawn units that were given a plan each, all plans alike."""
    design, n = units.design, len(units.outcome)
    plans = np.array(design.arm_plans)[rng.integers(len(design.arm_plans), size=n)]
    rows = np.arange(n)
    contexts = [
        {name: values[(rows, *plans[:, :m].T)] for name, values in context.items()}
        for m, context in enumerate(units.contexts)
    ]
    outcome = units.outcome[(rows, *plans.T)]
    return Cohort(design, tuple(map(str, rows)), tuple(contexts), plans.astype(np.int8), outcome, np.ones(n))


def policies(design: dtr.Design) -> dict[str, Any]:
    """Return every built-in policy, with its options."""
    rule = {
        stage.name: {arm: np.linspace(-1, k, d).tolist() for k, arm in enumerate(stage.arms)}
        for stage, d in zip(design.stages, design.dimensions, strict=True)
    }
    return {
        "DTRB": dtr.DTRBandit(q=1, delta=0.5),
        "DTRB, twice each": dtr.DTRBandit(q=2, delta=2.0),
        "DTRB, permuted": dtr.DTRBandit(q=2, delta=1.0, schedule="permuted"),
        "0.3-Greedy": dtr.EpsilonGreedy(epsilon=0.3),
        "Greedy": dtr.Greedy(),
        "Greedy, floor": dtr.Greedy(floor=0.2),
        "DTRB, floor": dtr.DTRBandit(q=1, delta=0.5, floor=0.2),
        "LSVI-UCB": dtr.LSVIUCB(beta=0.7),
        "LSVI-UCB, optimistic": dtr.LSVIUCB(beta=0.7, leavers="optimistic", clip=9.0, scale=1.7),
        "LSVI-UCB, rare": dtr.LSVIUCB(beta=0.7, switching="rare"),
        "LSVI-UCB, theory": dtr.LSVIUCB(),
        "rule": dtr.FixedRegime(rule=rule),
        "uniform": dtr.UniformRandom(),
        **{repr(each): each for each in examples()},
    }


seeds = st.integers(0, 2**32 - 1)
names = st.sampled_from(list(policies(TWO)))
few = settings(max_examples=scaled(40), deadline=None, suppress_health_check=list(HealthCheck))


def world(seed: int, name: str, n: int = 50) -> tuple[Cohort, Any, np.random.Generator]:
    """Draw a design and a cohort, and return them with a policy and the generator."""
    rng = np.random.default_rng(seed)
    design = random_design(rng)
    policy = policies(design)[name]
    return random_cohort(design, n, rng), dtr.LSVIUCB(beta=3.0) if name == "LSVI-UCB, theory" else policy, rng


def points(cohort: Cohort) -> list[Point | None]:
    """Return a cohort's rows as the paper writes them."""
    found: list[Point | None] = []
    for row, arms in enumerate(cohort.arms.tolist()):
        if np.isnan(cohort.outcome[row]):
            found.append(None)
            continue
        own = [arm for arm in arms if arm >= 0]
        seen = min(len(own) + 1, len(arms))
        contexts = tuple(
            {name: float(values[row]) for name, values in context.items() if np.isfinite(values[row])}
            for context in cohort.contexts[:seen]
        )
        labels = tuple(stage.arms[arm] for stage, arm in zip(cohort.design.stages, own, strict=False))
        found.append(Point(contexts, labels, float(cohort.outcome[row])))
    return found


def streams(seed: int, path: int) -> tuple[np.random.Generator, int]:
    """Return the generator of a path's rows, and the seed of its policy."""
    rows, policy = (np.random.SeedSequence(seed, spawn_key=(path, stream)) for stream in (ROWS, POLICY))
    return np.random.default_rng(rows), int(policy.generate_state(1, np.uint64)[0])
