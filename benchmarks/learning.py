"""What learning and deciding cost: `make bench` prints this table, measured in one run.

Problems are drawn beforehand; what is timed is the compiled driver (learning and decisions), one core.
"""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from table import Line, report, seconds

import dtrbandit as dtr
from dtrbandit.courses import Courses, at_once, play, potential_courses
from dtrbandit.environments import Synthetic

POLICY = dtr.DTRBandit(q=5, delta=0.5)
RUNS = 3
NULLS = 20  # problems without an effect, to average over
BuiltIn = dtr.DTRBandit | dtr.EpsilonGreedy | dtr.Greedy | dtr.LSVIUCB


class Cost(NamedTuple):
    """Microseconds per unit: the mean of some runs, and the slowest."""

    mean: float
    worst: float

    def __str__(self) -> str:
        return f"{self.mean:.2f} µs (slowest run {self.worst:.2f})"


def linear(n: int, *, stages: int, arms: int, d: int, gap: str = "linear", seed: int = 2) -> tuple[dtr.Design, Courses]:
    """Draw units whose outcome is linear in the features of each stage, (1, x) with x normal.

    ``gap="null"``: the last stage's arms do not differ. ``gap="half"``: the difference of the last stage's two arms
    has a density that grows like κ^(−1/2) at zero, margin exponent ½.
    """
    rng = np.random.default_rng(seed)
    formula = " + ".join(["1", *(f"x{j}" for j in range(1, d))])
    labels = tuple(str(a) for a in range(arms))
    design = dtr.Design([dtr.Stage(f"s{m}", labels, formula.replace("x", f"x{m}_")) for m in range(stages)])
    inner, plans = len(design.tree.child), len(design.arm_plans)
    features = rng.normal(size=(n, inner, d))
    features[:, :, 0] = 1.0
    if gap == "half":
        features[:, :, 1] = np.sign(features[:, :, 1]) * rng.random((n, inner)) ** 2
    theta = rng.normal(size=(stages, arms, d))
    if gap == "null":
        theta[-1] = theta[-1, 0]
    if gap == "half":
        theta[-1] = np.array([[0.0, 0.5], [0.0, -0.5]])
    outcome = rng.normal(size=(n, plans))
    for p, plan in enumerate(design.arm_plans):
        for m, arm in enumerate(plan):
            outcome[:, p] += features[:, design.tree.after(plan[:m])] @ theta[m, arm]
    leaf = np.concatenate([np.zeros(inner, dtype=np.int64), np.arange(plans)])
    units = Courses(at_once(n, stages), np.arange(inner), features, np.ones((n, inner), np.bool_), leaf, outcome)
    return design, units


def synthetic(n: int) -> tuple[dtr.Design, Courses]:
    return Synthetic().design, potential_courses(Synthetic().draw(n, np.random.default_rng(1)))


def microseconds(problem: tuple[dtr.Design, Courses], policy: BuiltIn = POLICY, *, runs: int = RUNS) -> Cost:
    """Return the cost per unit in some runs; before several, one is not timed. The longest problems have one run."""
    design, units = problem
    n = len(units.features)
    runs = 1 if n > 10**5 else runs
    times = [seconds(lambda: play(policy, units, design, seed=1)) for _ in range(runs + (runs > 1))][-runs:]
    return Cost(float(np.mean(times)) / n * 1e6, max(times) / n * 1e6)


def null(n: int) -> Cost:
    """Return the cost per unit where the last stage's arms do not differ: how often labels flip is chance."""
    explores = dtr.EpsilonGreedy(epsilon=0.5)  # so that the arms' estimates keep crossing
    problems = (linear(n, stages=2, arms=2, d=2, gap="null", seed=k) for k in range(NULLS))
    costs = [microseconds(problem, explores, runs=1).mean for problem in problems]
    return Cost(float(np.mean(costs)), max(costs))


def numpy_refit(rounds: int) -> float:
    """Return the microseconds of one plain refit of both stages in NumPy after so many rounds."""
    rng = np.random.default_rng(3)
    first, second = (
        np.column_stack([np.ones(rounds), rng.random(rounds)]),
        np.column_stack([np.ones(rounds), rng.random(rounds)]),
    )
    arms, outcome = rng.integers(0, 2, (rounds, 2)), rng.normal(size=rounds)

    def refit() -> list[NDArray[np.float64]]:
        late = [np.linalg.lstsq(second[arms[:, 1] == a], outcome[arms[:, 1] == a], rcond=None)[0] for a in (0, 1)]
        target = np.maximum(second @ late[0], second @ late[1])
        return [np.linalg.lstsq(first[arms[:, 0] == a], target[arms[:, 0] == a], rcond=None)[0] for a in (0, 1)]

    return min(seconds(refit) for _ in range(20)) * 1e6


def measure_learning() -> Iterator[Line]:
    base = microseconds(synthetic(10**4))
    yield Line("(d=2, K=2) synthetic, 10⁴ units, per unit", str(base), "≤ 2.6 µs, as before")
    for n, name, goal in ((10**5, "10⁵", "≤ 2.3 µs, as before"), (10**6, "10⁶", "≤ 2.1 µs, as before")):
        cost = microseconds(synthetic(n))
        yield Line(f"(d=2, K=2) synthetic, {name} units, per unit", f"{cost}, {cost.mean / base.mean:.2f}×", goal)
    refit = numpy_refit(10**4)
    yield Line("NumPy refit at round 10⁴, fastest of 20", f"{refit:,.0f} µs, {refit / base.mean:,.0f}× ours", "≥ 300×")
    yield from measure_problems()
    yield measure_memory(10**5)
    design = Synthetic().design
    cost = microseconds(synthetic(10**4), dtr.LSVIUCB(beta=dtr.suggested_beta(design, rounds=10**4)))
    measured = f"{cost.mean / 100:.2f} s (slowest run {cost.worst / 100:.2f})"
    yield Line("LSVI-UCB, a path of 10⁴ rounds", measured, "≤ 0.4 s")


def measure_problems() -> Iterator[Line]:
    for name, options, goal in (
        ("(d=10, K=4)", {"stages": 2, "arms": 4, "d": 10}, "≤ 15 µs at 10⁵"),
        ("three stages", {"stages": 3, "arms": 2, "d": 2}, "≤ 1.5×"),
        ("margin exponent ½", {"stages": 2, "arms": 2, "d": 2, "gap": "half"}, ""),
    ):
        small, large = (microseconds(linear(n, **options)) for n in (10**4, 10**5))
        yield compared(name, small, large, goal)
    yield compared(f"null: no stage-2 effect, {NULLS} problems", null(10**4), null(10**5), "≤ 30 µs, ≤ √10×")


def compared(name: str, small: Cost, large: Cost, goal: str) -> Line:
    measured = f"{small}, {large}, {large.mean / small.mean:.2f}×"
    return Line(f"{name}, 10⁴ and 10⁵ units, per unit", measured, goal)


def measure_memory(n: int) -> Line:
    """Trace what playing leaves: the state and the arms."""
    design, units = synthetic(n)
    tracemalloc.start()
    played = play(POLICY, units, design)
    each = tracemalloc.get_traced_memory()[0] / len(played.arms)
    tracemalloc.stop()
    return Line("memory of the compiled learner and the arms", f"{each:.0f} bytes per unit", "≤ 300")


if __name__ == "__main__":
    report("Learning", measure_learning(), total=10)
