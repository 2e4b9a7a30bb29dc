"""What learning and deciding cost: `make bench` prints this table, measured in one run.

Problems are drawn beforehand; what is timed is the compiled driver (learning and decisions), one core.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import chain

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

import dtrbandit as dtr
from dtrbandit.compiled import Arrivals, at_once, play, potential_arrivals
from dtrbandit.environments import Synthetic
from dtrbandit.policies.compiled_policy import CompiledPolicy
from dtrbandit.record.events import Assigned, Completed, Enrolled, Event, Responded

POLICY = dtr.DTRBandit(q=5, delta=0.5)
NULLS = 20  # problems without an effect, to average over
FIRST_SESSION = """
import time
start = time.perf_counter()
import dtrbandit as dtr
design = dtr.Design([dtr.Stage("a", ("1", "2"), "1 + x"), dtr.Stage("b", ("1", "2"), "1 + z")])
dtr.Session, dtr.DTRBandit, dtr.LSVIUCB  # imported when first asked for
print(time.perf_counter() - start)
start = time.perf_counter()
session = dtr.Session(design, dtr.DTRBandit(q=1, delta=1.0))
session.enroll("u", {"x": 1.0}); session.respond("u", {"z": 1.0}); session.complete("u", 1.0)
print(time.perf_counter() - start)
"""
EVERYTHING = (
    FIRST_SESSION
    + """
import numpy as np
from dtrbandit.compiled import play, potential_arrivals
from dtrbandit.environments import Synthetic
session.correct("u", outcome=2.0, reason="timing")
for policy in (dtr.DTRBandit(q=1, delta=1.0), dtr.LSVIUCB(beta=1.0)):
    play(policy, potential_arrivals(Synthetic().draw(9, np.random.default_rng(0))), Synthetic().design)
lsvi = dtr.Session(design, dtr.LSVIUCB(beta=1.0))
lsvi.enroll("u", {"x": 1.0}); lsvi.respond("u", {"z": 1.0}); lsvi.complete("u", 1.0)
print(time.perf_counter() - start)
"""
)


@dataclass(frozen=True)
class Line:
    """A line of the table."""

    what: str
    measured: str
    goal: str = ""


def linear(
    n: int, *, stages: int, arms: int, d: int, gap: str = "linear", seed: int = 2
) -> tuple[dtr.Design, Arrivals]:
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
    units = Arrivals(at_once(n, stages), np.arange(inner), features, np.ones((n, inner), np.bool_), leaf, outcome)
    return design, units


def synthetic(n: int) -> tuple[dtr.Design, Arrivals]:
    return Synthetic().design, potential_arrivals(Synthetic().draw(n, np.random.default_rng(1)))


def microseconds(problem: tuple[dtr.Design, Arrivals], policy: CompiledPolicy = POLICY) -> float:
    """Return the cost per unit, the better of two runs for short ones."""
    design, units = problem
    times = []
    for _ in range(1 if len(units.features) > 50_000 else 2):
        start = time.perf_counter()
        play(policy, units, design, seed=1)
        times.append(time.perf_counter() - start)
    return min(times) / len(units.features) * 1e6


def null(n: int) -> float:
    """Return the cost per unit where the last stage's arms do not differ: how often labels flip is chance."""
    explores = dtr.EpsilonGreedy(epsilon=0.5)  # so that the arms' estimates keep crossing
    return float(
        np.mean([microseconds(linear(n, stages=2, arms=2, d=2, gap="null", seed=k), explores) for k in range(NULLS)])
    )


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

    return _best_of(refit, 20) * 1e6


def _best_of(call: Callable[[], object], times: int) -> float:
    best = float("inf")
    for _ in range(times):
        start = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - start)
    return best


class Trial:
    """A session fed with units of the synthetic problem."""

    def __init__(self, units: int) -> None:
        drawn = Synthetic().draw(units, np.random.default_rng(4))
        self.x1, self.x2 = drawn.contexts[0]["x1"].tolist(), drawn.contexts[1]["x2"].tolist()
        self.outcome = drawn.outcome.tolist()
        self.session = dtr.Session(Synthetic().design, POLICY)
        self.enrolled = 0

    def enrol(self, units: int) -> float:
        """Take so many more units through, and return the microseconds per unit."""
        start, session = time.perf_counter(), self.session
        for i in range(self.enrolled, self.enrolled + units):
            first = session.enroll(f"u{i}", {"x1": self.x1[i]}).arm == "2"
            decision = session.respond(f"u{i}", {"x2": self.x2[i][first]})
            assert decision is not None
            session.complete(f"u{i}", self.outcome[i][first][decision.arm == "2"])
        self.enrolled += units
        return (time.perf_counter() - start) / units * 1e6


def measure_sessions() -> Iterator[Line]:
    trial = Trial(130_000)
    trial.enrol(1_000)
    early = float(np.median([trial.enrol(1_000) for _ in range(10)]))
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    trial.enrol(20_000)
    bytes_each = (tracemalloc.get_traced_memory()[0] - before) / 20_000
    tracemalloc.stop()
    trial.enrol(100_000 - trial.enrolled)
    log = trial.session.log
    late = float(np.median([trial.enrol(1_000) for _ in range(10)]))
    yield Line("Session, whole unit, after 10³ units", f"{early:.0f} µs", "≤ 60")
    yield Line("Session, whole unit, after 10⁵ units", f"{late:.0f} µs ({late / early:.2f}×)", "flat")
    yield Line("Session, memory per unit", f"{bytes_each:,.0f} bytes", "≤ 2,000")
    start = time.perf_counter()
    dtr.Session.resume(log)
    yield Line("resume a log of 10⁵ units", f"{time.perf_counter() - start:.1f} s")
    longer = list(_repeated(log, 10))
    start = time.perf_counter()
    dtr.Session.resume(longer)
    yield Line("resume a log of 10⁶ units", f"{time.perf_counter() - start:.0f} s")


def _repeated(log: Sequence[Event], times: int) -> Iterator[Event]:
    """Give a longer log with other unit ids; what it decides need not follow from its facts."""
    facts = log[1:]
    yield log[0]
    enrolled = sum(isinstance(fact, Enrolled) for fact in facts)
    for k in range(times):
        for fact in facts:
            match fact:
                case Enrolled():
                    yield fact._replace(unit=f"{fact.unit}-{k}", round=fact.round + k * enrolled)
                case Responded() | Completed():
                    yield fact._replace(unit=f"{fact.unit}-{k}")
                case Assigned(decision):
                    renamed = decision._replace(unit=f"{fact.unit}-{k}", round=decision.round + k * enrolled)
                    yield Assigned(renamed)


def measure_compilation() -> Iterator[Line]:
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "NUMBA_CACHE_DIR": folder}
        for what, code, goal in (
            ("a first Session, cold", FIRST_SESSION, "≤ 25 s"),
            ("a first Session, warm", FIRST_SESSION, "≤ 1 s"),
            ("everything, cold (beyond a first Session)", EVERYTHING, "≤ 60 s in all"),
            ("everything, warm", EVERYTHING, "≤ 1 s"),
        ):
            command = [sys.executable, "-c", code]
            seconds = subprocess.run(
                command, env=environment, capture_output=True, text=True, check=True
            ).stdout.split()
            yield Line(f"compilation: {what}", f"{float(seconds[-1]):.1f} s", goal)
        yield Line("imports, before any of these", f"{float(seconds[0]):.1f} s")


def measure_learning() -> Iterator[Line]:
    microseconds(synthetic(1_000))  # compiles, or loads
    base = microseconds(synthetic(10**4))
    yield Line("(d=2, K=2) synthetic, 10⁴ units", f"{base:.2f} µs per unit", "≤ 3")
    for exponent in (5, 6):
        cost = microseconds(synthetic(10**exponent))
        yield Line(
            f"(d=2, K=2) synthetic, 10{'⁵⁶'[exponent - 5]} units", f"{cost:.2f} µs ({cost / base:.2f}×)", "≤ 1.5×"
        )
    refit = numpy_refit(10**4)
    yield Line("NumPy refit at round 10⁴", f"{refit:,.0f} µs, {refit / base:,.0f}× ours", "≥ 300×")
    for name, options, goal in (
        ("(d=10, K=4)", {"stages": 2, "arms": 4, "d": 10}, "≤ 1.5×"),
        ("three stages", {"stages": 3, "arms": 2, "d": 2}, "≤ 1.5×"),
        ("margin exponent ½", {"stages": 2, "arms": 2, "d": 2, "gap": "half"}, ""),
    ):
        small, large = (microseconds(linear(n, **options)) for n in (10**4, 10**5))
        yield Line(f"{name}, 10⁴ and 10⁵ units", f"{small:.2f} and {large:.2f} µs ({large / small:.2f}×)", goal)
    small, large = (null(n) for n in (10**4, 10**5))
    what = f"null: no stage-2 effect, 10⁴ and 10⁵ units, mean of {NULLS}"
    yield Line(what, f"{small:.2f} and {large:.2f} µs ({large / small:.2f}×)", "≤ 30 µs, ≤ √10×")
    design, units = synthetic(10**5)
    state = play(POLICY, units, design).state
    bytes_each = sum(array.nbytes for array in state.arrays() if len(array) >= 10**5 // 2) / 10**5
    linked = sum(array.nbytes for array in (state.beliefs.cells, state.beliefs.tags, state.beliefs.follows)) / 10**5
    yield Line("memory of the compiled learner", f"{bytes_each + linked:.0f} bytes per unit", "≤ 300")
    seconds = microseconds(synthetic(10**4), dtr.LSVIUCB(beta=dtr.suggested_beta(design, rounds=10**4))) / 100
    yield Line("LSVI-UCB, a path of 10⁴ rounds", f"{seconds:.2f} s", "≤ 1 s")


def report(title: str, lines: Iterable[Line], *, total: int) -> None:
    """Print lines as they are measured, then all of them as a table."""
    table = Table("what", "measured", "to reach", title=f"{title}, {datetime.now(UTC):%Y-%m-%d}, {platform.machine()}")
    with Progress(transient=True) as progress:
        task = progress.add_task("measuring", total=total)
        for line in lines:
            table.add_row(line.what, line.measured, line.goal)
            progress.advance(task)
            progress.console.print(f"{line.what}: {line.measured}")
    Console(width=110).print(table)


if __name__ == "__main__":
    report("Learning", chain(measure_learning(), measure_sessions(), measure_compilation()), total=25)
