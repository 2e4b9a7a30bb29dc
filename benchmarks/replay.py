"""What replay costs (Algorithm 2): `python benchmarks/replay.py` prints this table, measured in one run.

A cohort of the synthetic problem, all plans equally probable: three rows in four are rejected. The Python version is
what one would write: a loop over draws, and both stages refitted with NumPy after every accepted row. It draws the
same rows, and must accept the same.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from numpy_bandit import NumpyDTRBandit, by_lstsq
from table import Line, report, seconds

import dtrbandit as dtr
from dtrbandit.environments import Synthetic
from dtrbandit.evaluation.cohort.cohort import Cohort
from dtrbandit.evaluation.replay.paths import ROWS
from dtrbandit.evaluation.replay.replay import SmallCohort, replay
from dtrbandit.evaluation.replay.sampling import drawn_rows, sampling_weights
from dtrbandit.policies.policy import Policy

UNITS, HORIZON, PATHS = 2_000, 5_000, 10
DTRB = dtr.DTRBandit(q=5, delta=0.5)
POLICIES: dict[str, Policy[Any]] = {
    "DTRB(5, 0.5)": DTRB,
    "Greedy": dtr.Greedy(),
    "0.1-Greedy": dtr.EpsilonGreedy(epsilon=0.1),
    "LSVI-UCB": dtr.LSVIUCB(),
}


def cohort(rng: np.random.Generator) -> Cohort:
    """Draw units that were given a plan each, all plans alike."""
    units, row, arms = Synthetic().draw(UNITS, rng), np.arange(UNITS), rng.integers(2, size=(UNITS, 2))
    contexts = {"x1": units.contexts[0]["x1"]}, {"x2": units.contexts[1]["x2"][row, arms[:, 0]]}
    outcome = units.outcome[row, arms[:, 0], arms[:, 1]]
    return Cohort(units.design, tuple(map(str, row)), contexts, arms.astype(np.int8), outcome, np.ones(UNITS))


def in_python(units: Cohort) -> NDArray[np.int64]:
    """Return the rows that the first path accepts."""
    (x1, x2), outcome, arms = units.features, units.outcome, units.arms
    bandit = NumpyDTRBandit(q=DTRB.q, delta=0.5, fit=by_lstsq)
    bandit.start(np.empty((HORIZON, 2)), np.empty((HORIZON, 2)), np.empty(HORIZON), np.empty((HORIZON, 2), np.int8))
    accepted: list[int] = []
    for block in drawn_rows(
        sampling_weights(units, None), np.random.default_rng(np.random.SeedSequence(0, spawn_key=(0, ROWS)))
    ):
        for row in block.tolist():
            t = len(accepted) + 1
            plan = bandit.plan(t)
            first = plan[0] if plan else bandit.choose(0, x1[row])
            if first != arms[row, 0] or (plan[1] if plan else bandit.choose(1, x2[row])) != arms[row, 1]:
                continue
            accepted.append(row)
            bandit.x1[t - 1], bandit.x2[t - 1] = x1[row], x2[row]
            bandit.outcome[t - 1], bandit.arms[t - 1] = outcome[row], arms[row]
            if t == HORIZON:
                return np.array(accepted)
            if t >= 4 * DTRB.q:  # before, there are no estimates, and all rounds are forced
                bandit.refit(t)
    raise AssertionError("draws have no end")


def measure() -> Iterator[Line]:
    units = cohort(np.random.default_rng(1))
    replay(DTRB, units, horizon=HORIZON, paths=PATHS, n_jobs=1)  # imports what it needs
    costs = {}
    for name, policy in POLICIES.items():
        costs[name] = seconds(partial(replay, policy, units, horizon=HORIZON, paths=PATHS, n_jobs=1))
        goal = "" if name == "LSVI-UCB" else "≤ 10 µs"  # LSVI-UCB looks at all rows in every round
        yield Line(f"{name}, {PATHS} × {HORIZON:,}, per accepted round", f"{cost(costs[name]):.1f} µs", goal)
    plain: list[NDArray[np.int64]] = []
    spent = seconds(lambda: plain.append(in_python(units))) * PATHS
    assert (plain[0] == replay(DTRB, units, horizon=HORIZON, paths=1).rows[0]).all(), "Python accepts other rows"
    yield Line(
        "DTRB(5, 0.5) in Python and NumPy, per accepted round",
        f"{cost(spent):,.0f} µs, {spent / costs['DTRB(5, 0.5)']:,.0f}×",
    )


def cost(spent: float) -> float:
    """Return microseconds per accepted round."""
    return spent / (PATHS * HORIZON) * 1e6


if __name__ == "__main__":
    warnings.simplefilter("ignore", SmallCohort)
    report("Replay", measure(), total=5)
