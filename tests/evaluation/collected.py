"""Trials that a policy collected, on problems whose regimes have known values."""

from __future__ import annotations

from heapq import heappop, heappush
from math import erf, sqrt
from typing import Any

import numpy as np

import dtrbandit as dtr
from dtrbandit.environments import Synthetic
from dtrbandit.evaluation import Cohort
from dtrbandit.evaluation.values.adherence import agrees

REGIMES = {f"({arm}, {arm})": dtr.FixedRegime(rule={"first": arm, "second": arm}) for arm in ("2", "1")}
TRUTH = {"(2, 2)": 3 * 13 / 30, "(1, 1)": 1 + 17 / 30}  # the mean of x2 is 13/30 after arm 2, 17/30 after arm 1

WHAT = ("x", "z")  # the covariates of ``normal_session``

LEAVERS = dtr.Design(
    [
        dtr.Stage("first", ("a", "b"), "1 + x"),
        dtr.Stage("second", ("a", "b", "c"), "1 + x", enter_if="r > 0"),
    ],
    plans=[("a", "a"), ("a", "b"), ("b", "b"), ("b", "c")],
)
LEAVERS_REGIMES = {f"({arm}, b)": dtr.FixedRegime(rule={"first": arm, "second": "b"}) for arm in ("a", "b")}
STAY = 0.5 * (1 + erf(0.5 / sqrt(2)))  # after a; after b it is one half
LEAVERS_TRUTH = {"(a, b)": 1 - STAY + 0.5 * STAY, "(b, b)": 0.5 + 0.5 * 0.5}


def synthetic_session(policy: Any, units: int, *, seed: int, delay: float = 0.0) -> dtr.Session:
    """Let units of the synthetic problem come one in each round, and tell a session what happens in order of time.

    A response and an outcome take exponential times, on average ``delay`` rounds each.
    """
    rng, environment = np.random.default_rng([31, seed]), Synthetic()
    drawn = environment.draw(units, rng)
    late = rng.exponential(delay, size=(units, 2)) if delay else np.zeros((units, 2))
    session = dtr.Session(environment.design, policy, seed=seed)
    due: list[tuple[float, int, int]] = [(float(t), t, 0) for t in range(units)]
    arms: list[tuple[int, ...]] = [()] * units
    while due:
        time, t, step = heappop(due)
        name = f"u{t + 1}"
        if step == 2:
            session.complete(name, float(drawn.outcome[(t, *arms[t])]))
            continue
        if step == 0:
            decision = session.enroll(name, {"x1": float(drawn.contexts[0]["x1"][t])})
        else:
            told = session.respond(name, {"x2": float(drawn.contexts[1]["x2"][(t, *arms[t])])})
            assert told is not None
            decision = told
        arms[t] = (*arms[t], int(decision.arm) - 1)
        heappush(due, (time + float(late[t, step]), t, step + 1))
    return session


def leavers_session(policy: Any, units: int, *, seed: int) -> dtr.Session:
    """Let units come of whom some leave early; after each first arm two of three second arms are feasible."""
    rng, session = np.random.default_rng([32, seed]), dtr.Session(LEAVERS, policy, seed=seed)
    for t in range(units):
        name, (x, r, noise) = f"u{t + 1}", rng.normal(size=3).tolist()
        first = session.enroll(name, {"x": x})
        second = session.respond(name, {"r": r + (0.5 if first.arm == "a" else 0.0)})
        session.complete(name, x + noise + (1.0 if second is None else {"a": 0.0, "b": 0.5, "c": 1.0}[second.arm]))
    return session


def normal_session(  # what a problem consists of, by name
    policy: Any,
    units: int,
    *,
    seed: int,
    effects: tuple[tuple[float, ...], ...],
    delay: float = 0.0,
    trend: float = 0.0,
) -> dtr.Session:
    """Let units come whose arms at each stage add ``effects`` (M, K) to a normal outcome.

    An outcome has the standard deviation 1.2 and follows the units' own covariates. It rises with the order of
    enrolment so that this alone has the standard deviation ``trend``. Responses and outcomes are late as above.
    """
    labels, stages = tuple("abc"[: len(effects[0])]), len(effects)
    design = dtr.Design([dtr.Stage(f"s{m}", labels, " + ".join(["1", *WHAT[: m + 1]])) for m in range(stages)])
    rng, session = np.random.default_rng([33, seed]), dtr.Session(design, policy, seed=seed)
    drawn = rng.normal(size=(units, 3))
    late = rng.exponential(delay, size=(units, 2)) if delay else np.zeros((units, 2))
    total = 0.5 * drawn[:, :2].sum(axis=1) + drawn[:, 2] + trend * np.linspace(-sqrt(3), sqrt(3), units)
    due: list[tuple[float, int, int]] = [(float(t), t, 0) for t in range(units)]
    while due:
        time, t, m = heappop(due)
        name = f"u{t + 1}"
        if m == stages:
            session.complete(name, float(total[t]))
            continue
        context = {WHAT[m]: float(drawn[t, m])}
        decision = session.respond(name, context) if m else session.enroll(name, context)
        assert decision is not None
        total[t] += effects[m][labels.index(decision.arm)]
        heappush(due, (time + float(late[t, m]), t, m + 1))
    return session


def same_arm(arm: str, stages: int) -> dtr.FixedRegime:
    """Return the regime that gives an arm at all stages of ``normal_session``."""
    return dtr.FixedRegime(rule={f"s{m}": arm for m in range(stages)})


def plain_mean(cohort: Cohort, regime: dtr.FixedRegime) -> tuple[float, float]:
    """Return the mean of all units that had the arms of a regime, and its usual standard error."""
    own = cohort.outcome[agrees(cohort, regime)]
    return float(own.mean()), float(own.std(ddof=1) / np.sqrt(len(own)))
