"""The core against commit 78463e0, measured in turn: `bash benchmarks/today.sh`, then `python benchmarks/in_turn.py`.

Two processes stay alive, one with each package. They take turns, so that a machine which slows down slows both. What is
compared is processor time, and the median of the ratios of all turns. A first turn of each is not counted.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

TURNS = 9
TODAY = Path(__file__).resolve().parents[1] / ".venv-today/bin/python"


class Case(NamedTuple):
    """A piece of work, its units, and the largest ratio that is allowed; None where none is asked."""

    name: str
    units: int
    most: float | None


CASES = (
    Case("two features, two arms", 10**4, 0.65),
    Case("two features, two arms", 10**6, 0.65),
    Case("ten features, four arms", 10**4, 1.05),
    Case("three stages", 10**4, 1.05),
    Case("null", 10**4, 1.05),
    Case("replay", 10**4, 1.05),
    Case("LSVI-UCB", 3_000, 1.25),
    Case("simulate", 10**4, None),
    Case("simulate", 10**6, None),
    Case("session", 2_000, 0.5),
)
GROWTH = 1.3  # at most, per unit from 10⁴ to 10⁶


# -- the work, with whichever package this process has ---------------------------------------------------------


def prepared(name: str, n: int) -> Callable[[], object]:
    """Return a piece of work whose units are drawn already."""
    import numpy as np

    import dtrbandit as dtr
    from dtrbandit.environments import Synthetic

    bandit = dtr.DTRBandit(q=5, delta=0.5)
    if name == "simulate":
        return lambda: dtr.simulate(Synthetic(), {"DTRBandit": bandit}, horizon=n, paths=1)
    if name == "session":
        return _session(n)
    if name == "replay":
        cohort = _cohort(2_000)
        return lambda: dtr.replay(bandit, cohort, horizon=n // 5, paths=1)
    courses = import_module(f"dtrbandit.{'courses' if find_spec('dtrbandit.courses') else 'compiled'}")  # its old name
    if name.startswith("two"):
        units = courses.potential_courses(Synthetic().draw(n, np.random.default_rng(1)))
        return lambda: courses.play(bandit, units, Synthetic().design, seed=1)
    if name == "LSVI-UCB":
        units, beta = courses.potential_courses(Synthetic().draw(n, np.random.default_rng(1))), 4.0
        return lambda: courses.play(dtr.LSVIUCB(beta=beta), units, Synthetic().design, seed=1)
    stages, arms, d = {"ten features, four arms": (2, 4, 10), "three stages": (3, 2, 2), "null": (2, 2, 2)}[name]
    design, units = _linear(courses, n, stages, arms, d, null=name == "null")
    policy = dtr.EpsilonGreedy(epsilon=0.5) if name == "null" else bandit  # so that estimates keep crossing
    return lambda: courses.play(policy, units, design, seed=1)


def _session(n: int) -> Callable[[], object]:
    """Return a session of so many units, each from its enrolment to its outcome."""
    import numpy as np

    import dtrbandit as dtr
    from dtrbandit.environments import Synthetic

    design, rows = Synthetic().design, np.random.default_rng(1).normal(size=(n, 3)).tolist()
    (first,), (second,) = design.columns

    def act() -> None:
        session = dtr.Session(design, dtr.DTRBandit(q=5, delta=0.5), seed=1)
        for t, (x, z, y) in enumerate(rows):
            session.enroll(f"u{t}", {first: x})
            session.respond(f"u{t}", {second: z})
            session.complete(f"u{t}", y)

    return act


def _linear(courses: Any, n: int, stages: int, arms: int, d: int, *, null: bool) -> tuple[Any, Any]:
    """Draw units whose outcome is linear in the features of each stage, (1, x) with x normal."""
    import numpy as np

    import dtrbandit as dtr

    rng = np.random.default_rng(2)
    formula = " + ".join(["1", *(f"x{j}" for j in range(1, d))])
    labels = tuple(str(a) for a in range(arms))
    design = dtr.Design([dtr.Stage(f"s{m}", labels, formula.replace("x", f"x{m}_")) for m in range(stages)])
    inner, plans = len(design.tree.child), len(design.arm_plans)
    features, theta = rng.normal(size=(n, inner, d)), rng.normal(size=(stages, arms, d))
    features[:, :, 0] = 1.0
    if null:
        theta[-1] = theta[-1, 0]
    outcome = rng.normal(size=(n, plans))
    for p, plan in enumerate(design.arm_plans):
        for m, arm in enumerate(plan):
            outcome[:, p] += features[:, design.tree.after(plan[:m])] @ theta[m, arm]
    leaf = np.concatenate([np.zeros(inner, dtype=np.int64), np.arange(plans)])
    enters = np.ones((n, inner), np.bool_)
    return design, courses.Courses(courses.at_once(n, stages), np.arange(inner), features, enters, leaf, outcome)


def _cohort(n: int) -> Any:
    import numpy as np

    import dtrbandit as dtr

    rng = np.random.default_rng(3)
    design = dtr.Design([dtr.Stage("first", ("a", "b"), "1 + x"), dtr.Stage("second", ("a", "b"), "1 + x + z")])
    x, z, arms = rng.normal(size=n), rng.normal(size=n), rng.integers(2, size=(n, 2)).astype(np.int8)
    outcome = np.where(arms[:, 0] == 1, x, -x) + np.where(arms[:, 1] == 1, z, 0.2) + rng.normal(size=n)
    return dtr.Cohort(design, tuple(map(str, range(n))), ({"x": x}, {"z": z}), arms, outcome, np.ones(n))


def work() -> None:
    """Answer each case on standard input with its processor time in seconds."""
    import warnings

    warnings.simplefilter("ignore")
    ready: dict[str, Callable[[], object]] = {}
    for line in sys.stdin:
        name, n = line.rstrip("\n").rsplit(";", 1)
        act = ready.setdefault(line, prepared(name, int(n)))
        began = time.process_time()
        act()
        print(time.process_time() - began, flush=True)


# -- turns ------------------------------------------------------------------------------------------------------


class Worker:
    """A process with one of the packages."""

    def __init__(self, python: str) -> None:
        command = [python, "-P", __file__, "work"]  # benchmarks/coverage.py is not what numba looks for
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def seconds(self, case: Case) -> float:
        """Return the processor time of a case."""
        told, answers = self._process.stdin, self._process.stdout
        assert told is not None
        assert answers is not None
        told.write(f"{case.name};{case.units}\n")
        told.flush()
        return float(answers.readline())


def main() -> int:
    """Print a line for each case; 1 if one is slower than allowed."""
    if not TODAY.exists():
        print("There is no .venv-today: bash benchmarks/today.sh makes it, with commit 78463e0.", file=sys.stderr)
        return 2
    before, now = Worker(str(TODAY)), Worker(sys.executable)
    costs: dict[tuple[str, int], float] = {}
    failed = False
    print(f"{'case':<26}{'units':>10}{'78463e0':>12}{'now':>12}{'ratio':>8}{'range':>16}  goal")
    for case in CASES:
        turns = [(before.seconds(case), now.seconds(case)) for _ in range(TURNS + 1)][1:]
        ratios = sorted(new / old for old, new in turns)
        old, new = (statistics.median(times) / case.units * 1e6 for times in zip(*turns, strict=True))
        ratio = statistics.median(ratios)
        costs[case.name, case.units] = new
        failed = failed or (case.most is not None and ratio > case.most)
        goal = "" if case.most is None else f"≤ {case.most}"
        found = f"{ratios[0]:.2f} – {ratios[-1]:.2f}"
        print(
            f"{case.name:<26}{case.units:>10,}{old:>9.2f} µs{new:>9.2f} µs{ratio:>8.2f}{found:>16}  {goal}", flush=True
        )
    for name in ("two features, two arms", "simulate"):
        growth = costs[name, 10**6] / costs[name, 10**4]
        failed = failed or growth > GROWTH
        print(f"{name}, from 10⁴ to 10⁶ units: {growth:.2f} times the time per unit, ≤ {GROWTH}")
    around = costs["simulate", 10**4] - costs["two features, two arms", 10**4]
    print(f"around the loop of a study, at 10⁴ units: {around:.2f} µs per unit, ≤ 1")
    return int(failed)


if __name__ == "__main__":
    if sys.argv[1:] == ["work"]:
        work()
    else:
        sys.exit(main())
