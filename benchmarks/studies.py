"""What simulation studies cost: `make bench` prints this table, measured in one run.

Studies run through ``simulate``: drawing, learning, deciding and regret are included, data frames are not. The NumPy
version refits both stages on all data in every round; its cost grows with the round, so it is measured in the middle of
each tenth of a path, and averaged. It starts there from what DTRB did so far, and must go on as DTRB does.

What is around the loop of learning and deciding is ``simulate`` less ``courses.play``, in processor time, the least of
some runs. So the first run does not count, for which the system has to find memory: on a virtual machine that can take
longer than the rest.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import chain
from typing import Any
from unittest.mock import patch

import numpy as np
from learning import BuiltIn
from numpy_bandit import Fit, NumpyDTRBandit, by_lstsq, by_normal_equations
from stopwatch import spent
from table import Line, report, seconds

import dtrbandit as dtr
from dtrbandit.courses import Played, play, potential_courses
from dtrbandit.environments import Synthetic
from dtrbandit.simulation import one_path

PATHS, HORIZON, CORES = 40, 10_000, 2
TURNS = 5  # studies, of which the least counts
ROUNDS = 20  # of the NumPy version, in each tenth of a path
DTRB = dtr.DTRBandit(q=5, delta=0.5)
POLICIES: dict[str, BuiltIn] = {
    "DTRB(5, 0.5)": DTRB,
    "Greedy": dtr.Greedy(),
    "0.1-Greedy": dtr.EpsilonGreedy(epsilon=0.1),
}


def study(policy: BuiltIn, *, horizon: int = HORIZON, paths: int = PATHS, n_jobs: int = 1) -> float:
    """Return the seconds of a study of one policy."""
    return seconds(lambda: dtr.simulate(Synthetic(), [policy], horizon=horizon, paths=paths, n_jobs=n_jobs))


def parts(horizon: int, paths: int) -> tuple[float, float]:
    """Return the microseconds per unit of the loop, and of all around it."""
    inside: list[float] = []

    def timed(*units: Any, **options: Any) -> Played:
        start = time.process_time()
        played = play(*units, **options)
        inside.append(time.process_time() - start)
        return played

    loop, around = [], []
    with patch.object(one_path, "play", timed):
        for _ in range(TURNS):
            inside.clear()
            whole = spent(lambda: dtr.simulate(Synthetic(), [DTRB], horizon=horizon, paths=paths, n_jobs=1)).core
            loop.append(sum(inside))
            around.append(whole - sum(inside))
    per_unit = 1e6 / (horizon * paths)
    return min(loop) * per_unit, min(around) * per_unit


def numpy_rounds(fit: Fit) -> float:
    """Return the microseconds of a round of the NumPy version, averaged over a path."""
    units = Synthetic().draw(HORIZON, np.random.default_rng(1))
    arms = play(DTRB, potential_courses(units), Synthetic().design).arms
    row = np.arange(HORIZON)
    ones = np.ones(HORIZON)
    x1 = np.column_stack([ones, units.contexts[0]["x1"]])
    x2 = np.column_stack([ones, units.contexts[1]["x2"][row, arms[:, 0]]])
    outcome = units.outcome[row, arms[:, 0], arms[:, 1]]
    bandit, spent, free = NumpyDTRBandit(q=DTRB.q, delta=0.5, fit=fit), 0.0, 0
    bandit.start(x1, x2, outcome, arms)
    for middle in range(HORIZON // 20, HORIZON, HORIZON // 10):
        bandit.tilde = bandit.backward(np.nonzero(bandit.forced[:middle])[0])
        for t in range(middle + 1, middle + ROUNDS + 1):
            start = time.perf_counter()
            bandit.refit(t - 1)
            plan = bandit.plan(t)
            first = plan[0] if plan else bandit.choose(0, x1[t - 1])
            second = plan[1] if plan else bandit.choose(1, x2[t - 1])
            spent += time.perf_counter() - start
            free += plan is None
            assert (first, second) == tuple(arms[t - 1]), f"the NumPy version decides otherwise in round {t}"
    assert free
    return spent / (10 * ROUNDS) * 1e6


def measure_rounds() -> Iterator[Line]:
    study(DTRB)  # imports what it needs
    costs = {name: study(policy) / (PATHS * HORIZON) * 1e6 for name, policy in POLICIES.items()}
    for name, cost in costs.items():
        goal = "≤ 4 µs" if name.startswith("DTRB") else ""
        yield Line(f"{name}, {PATHS} × {HORIZON:,}, one core, per round", f"{cost:.2f} µs", goal)
    ours = costs["DTRB(5, 0.5)"]
    drawing = seconds(lambda: [Synthetic().draw(HORIZON, np.random.default_rng(path)) for path in range(PATHS)])
    yield Line("share of drawing in DTRB(5, 0.5)", f"{drawing / (PATHS * HORIZON) * 1e6 / ours:.0%}")
    for name, fit, goal in (("lstsq", by_lstsq, "≥ 150×"), ("normal equations", by_normal_equations, "")):
        plain = numpy_rounds(fit)
        yield Line(
            f"DTRB(5, 0.5) in NumPy ({name}), per round of a path", f"{plain:,.0f} µs, {plain / ours:,.0f}×", goal
        )


def measure_parts() -> Iterator[Line]:
    small, large = parts(HORIZON, PATHS), parts(10**6, 1)
    for (loop, around), size in ((small, "10⁴"), (large, "10⁶")):
        yield Line(f"DTRB(5, 0.5), {size} units: the loop, per unit", f"{loop:.2f} µs")
        yield Line(f"DTRB(5, 0.5), {size} units: all around the loop, per unit", f"{around:.2f} µs", "≤ 1 µs")
    loop, whole = large[0] / small[0], sum(large) / sum(small)
    yield Line("the same, from 10⁴ to 10⁶ units: the loop, simulate", f"{loop:.2f}×, {whole:.2f}×", "≤ 1.3×")


def measure_studies() -> Iterator[Line]:
    yield Line("DTRB(5, 0.5), one path of 10⁶ rounds", f"{study(DTRB, horizon=10**6, paths=1):.1f} s", "≤ 6 s")
    many = study(DTRB, paths=1_000, n_jobs=CORES)
    yield Line(f"DTRB(5, 0.5), 1,000 × {HORIZON:,}, {CORES} cores", f"{many:.1f} s", "≤ 40 s")
    yield Line(f"dtrbandit reproduce figure1, {CORES} cores", f"{figure():.1f} s", "≤ 30 s")


def figure() -> float:
    """Return the seconds of the command that makes Figure 1, from its start, picture and files included."""
    command = [sys.executable, "-m", "dtrbandit", "reproduce", "figure1", "--jobs", str(CORES)]
    with tempfile.TemporaryDirectory() as folder:
        command += ["--out", folder]
        return seconds(lambda: subprocess.run(command, capture_output=True, check=True))


if __name__ == "__main__":
    report("Studies", chain(measure_rounds(), measure_parts(), measure_studies()), total=14)
