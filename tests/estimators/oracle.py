"""Backward induction written down plainly over bare arrays: the refit that the exact learner must agree with."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

import dtrbandit as dtr
from dtrbandit.estimators.exact import ExactLearner
from dtrbandit.estimators.observed import Observed
from dtrbandit.kernels import constants as c
from dtrbandit.kernels.arrays import Vector
from dtrbandit.record import Assigned, Completed, Corrected, Enrolled, History, Responded
from dtrbandit.record.events import Fact as Event
from estimators.few_units import LABELS
from estimators.few_units import bare_design as bare_design
from plain.least_squares import least_squares

Counts = NDArray[np.int64]


@dataclass
class Fact:
    """One unit: features and node by stage, arms by stage, and the stage after which its outcome came."""

    psi: dict[int, Vector] = field(default_factory=dict)
    node: dict[int, int] = field(default_factory=dict)
    arm: dict[int, int] = field(default_factory=dict)
    last: int = -1
    outcome: float = np.nan


class Both:
    """The compiled learner and the plain refit, told the same things."""

    def __init__(self, design: dtr.Design, *, capacity: int = 0) -> None:
        self.design = design
        self.policy = dtr.Greedy()
        self.state = self.policy.init(design)
        self.state.reserve(capacity)
        self.facts: dict[int, Fact] = {}

    @property
    def learner(self) -> ExactLearner:
        learner: ExactLearner = self.state.learner
        return learner

    @property
    def observed(self) -> Observed:
        observed: Observed = self.state.observed
        return observed

    def _tell(self, unit: int, event: Event) -> None:
        """Let the learner hear of an event, with the unit's history as the facts have it."""
        fact, tree = self.facts[unit], self.design.tree
        arms = tuple(fact.arm[m] for m in range(len(fact.arm)))
        node, outcome = tree.after(arms), fact.outcome if fact.last >= 0 else None
        feasible = tree.feasible[node] if len(fact.psi) > len(arms) else ()
        features = tuple(fact.psi[m] for m in range(len(fact.psi)))
        history = History(f"u{unit}", unit + 1, node, features, arms, feasible, outcome)
        self.state = self.policy.update(self.state, history, event)

    def arrive(self, unit: int, m: int, node: int, psi: Any) -> None:
        if m == 0:
            self.facts[unit] = Fact()
        self.facts[unit].psi[m], self.facts[unit].node[m] = np.asarray(psi, dtype=np.float64), node
        name = f"u{unit}"
        self._tell(unit, Responded(name, f"s{m}", {}) if m else Enrolled(name, unit + 1, {}))

    def give(self, unit: int, m: int, arm: int) -> int:
        """Give an arm; return the node that it leads to."""
        self.facts[unit].arm[m] = arm
        name, label = f"u{unit}", LABELS[arm]
        self._tell(unit, Assigned(dtr.Decision(name, unit + 1, f"s{m}", label, "greedy", 1.0, {}, {}, (label,))))
        return int(self.design.tree.child[self.facts[unit].node[m], arm])

    def complete(self, unit: int, last: int, outcome: float) -> None:
        self.facts[unit].last, self.facts[unit].outcome = last, float(outcome)
        self._tell(unit, Completed(f"u{unit}", float(outcome)))

    def rebuild(self) -> None:
        """Make the learner begin anew, by a correction that changes nothing, of the first unit with an outcome."""
        unit = next(unit for unit, fact in sorted(self.facts.items()) if fact.last >= 0)
        self._tell(unit, Corrected(f"u{unit}", self.facts[unit].outcome, None, None, "to begin anew"))

    def coefficients(self) -> list[Vector]:
        """Return the learner's coefficients, (K_m, d_m) for each stage, 0 where an arm has no rows."""
        beta, problem = np.asarray(self.learner.fits.beta), np.asarray(self.learner.problem)
        shapes = enumerate(zip(self.design.arm_counts, self.design.dimensions, strict=True))
        return [beta[problem[m, :k], :d] for m, (k, d) in shapes]

    def rows(self) -> list[list[int]]:
        """Return how many rows count, by stage and arm."""
        rows: list[list[int]] = np.asarray(self.learner.rows).tolist()
        return [own[:k] for own, k in zip(rows, self.design.arm_counts, strict=True)]

    def bits(self) -> dict[str, bytes]:
        """Return all that the learner knows, without room for more units and their slots, which must be blank."""
        arrays, blocks = self.learner.arrays(), max(np.asarray(self.learner.used), default=0)
        used = {"counted": self.observed.units, "follows": blocks}
        used |= dict.fromkeys(("cells", "units", "nodes", "labels"), blocks * c.BLOCK)
        for name, length in used.items():
            whole = arrays[name] if name == "counted" else np.moveaxis(arrays[name], 1, 0)
            assert not whole[length:].any()
            arrays[name] = whole[:length]
        return {name: array.tobytes() for name, array in arrays.items()}

    def error(self) -> float:
        """Return the largest difference of coefficients, each times the size of its feature; rows must agree."""
        beta, counts, scales, _ = refit(self.design, self.facts)
        assert self.rows() == [own.tolist() for own in counts]
        return max(map(difference, self.coefficients(), beta, scales))

    def error_of_determined(self) -> float | None:
        """Return the same over the last stages whose arms all have full rank, None if there are none."""
        beta, _, scales, ranks = refit(self.design, self.facts)
        worst = None
        for m in reversed(range(len(beta))):
            if (ranks[m] < self.design.dimensions[m]).any():
                break
            worst = max(worst or 0.0, difference(self.coefficients()[m], beta[m], scales[m]))
        return worst


def all_plans(*arms: int) -> list[tuple[int, ...]]:
    """Return the plans of a design in which everything is feasible."""
    return list(product(*map(range, arms)))


def well_behaved(both: Both, unit: int, rng: np.random.Generator) -> None:
    """Take a unit through all stages, with features (1, normal, …) and effects of every arm."""
    node, value = 0, rng.normal()
    for m, d in enumerate(both.design.dimensions):
        psi = np.append(1.0, rng.normal(size=d - 1))
        both.arrive(unit, m, node, psi)
        arm = int(rng.choice(np.flatnonzero(both.design.tree.feasible[node])))
        value += (arm - 1.0) * psi[-1]
        node = both.give(unit, m, arm)
    both.complete(unit, len(both.design.dimensions) - 1, value)


def difference(mine: Vector, beta: Vector, scales: Vector) -> float:
    size = np.abs(beta) * scales
    return float((np.abs(mine - beta) * scales).max() / (1.0 + size.max()))


def refit(design: dtr.Design, facts: dict[int, Fact]) -> tuple[list[Vector], list[Counts], list[Vector], list[Counts]]:
    """Return coefficients, counted rows, the largest size of each feature, and ranks, by stage and arm."""
    shapes = list(zip(design.arm_counts, design.dimensions, strict=True))
    beta: list[Vector] = [np.zeros(shape) for shape in shapes]
    scales: list[Vector] = [np.zeros(shape) for shape in shapes]
    counts: list[Counts] = [np.zeros(k, dtype=np.int64) for k, _ in shapes]
    ranks: list[Counts] = [np.zeros(k, dtype=np.int64) for k, _ in shapes]
    for m in reversed(range(len(shapes))):
        for a in range(shapes[m][0]):
            mine = [facts[unit] for unit in sorted(facts) if facts[unit].arm.get(m) == a]
            targets = [target(design, fact, m, beta, counts) for fact in mine]
            known = np.isfinite(targets)
            counts[m][a] = known.sum()
            if known.any():
                rows = np.array([fact.psi[m] for fact in mine])[known]
                beta[m][a], ranks[m][a], _ = least_squares(rows, np.array(targets)[known])
                scales[m][a] = np.abs(rows).max(axis=0)
    return beta, counts, scales, ranks


def target(design: dtr.Design, fact: Fact, m: int, beta: list[Vector], counts: list[Counts]) -> float:
    """Return the outcome or the pseudo-outcome of a row, NaN while it is unknown."""
    if fact.last == m:
        return fact.outcome
    if m + 1 not in fact.psi:
        return np.nan
    feasible = design.tree.feasible[fact.node[m + 1]]
    values = [beta[m + 1][a] @ fact.psi[m + 1] for a, yes in enumerate(feasible) if yes and counts[m + 1][a] > 0]
    return float(max(values, default=np.nan))


class RandomTrial:
    """Random events over a random tree: delays, withdrawals, early leavers, awkward features."""

    def __init__(
        self, arms: list[int], features: list[int], seed: int, *, decades: int = 5, far: float = 0.0, capacity: int = 0
    ) -> None:
        self.rng = np.random.default_rng(seed)
        self.both = Both(bare_design(random_plans(arms, self.rng), arms, features), capacity=capacity)
        self.scales = [10.0 ** self.rng.integers(0, decades, d) for d in features]
        self.kinds = [self.rng.choice(3, d, p=[0.6, 0.2, 0.2]) for d in features]
        if far:
            self.kinds = [np.array([1, 3, 0, 0][:d]) for d in features]
        self.effects = [self.rng.integers(-1, 2, (k, d)) for k, d in zip(arms, features, strict=True)]
        self.far, self.units = far, 0
        self.waiting: list[tuple[int, int, int, float]] = []  # unit, stage, node, value so far

    def psi(self, m: int) -> Vector:
        values = self.rng.integers(-2, 3, len(self.kinds[m])).astype(np.float64)
        for j, kind in enumerate(self.kinds[m]):
            if kind == 1:
                values[j] = 1.0  # a constant column
            elif kind == 2 and j > 0:
                values[j] = 3.0 * values[j - 1]  # an exactly collinear one
            elif kind == 3:
                values[j] += self.far  # one far from zero
        return values * self.scales[m]

    def step(self) -> None:
        if not self.waiting or self.rng.random() < 0.4:
            self.units += 1
            self.enter(self.units - 1, 0, 0, 0.0)
            return
        unit, m, node, value = self.waiting.pop(self.rng.integers(len(self.waiting)))
        chance = self.rng.random()
        if chance < 0.07:
            return  # withdrawn
        if m == len(self.scales) - 1 or chance < 0.2:
            self.both.complete(unit, m, value + self.rng.integers(-1, 2))
        else:
            self.enter(unit, m + 1, node, value)

    def enter(self, unit: int, m: int, node: int, value: float) -> None:
        psi = self.psi(m)
        self.both.arrive(unit, m, node, psi)
        arm = int(self.rng.choice(np.flatnonzero(self.both.design.tree.feasible[node])))
        following = self.both.give(unit, m, arm)
        value += float(self.effects[m][arm] @ (psi / self.scales[m]))
        self.waiting.append((unit, m, following, value))


def random_plans(arms: list[int], rng: np.random.Generator) -> list[tuple[int, ...]]:
    """Return the plans of a tree in which every node keeps at least one arm, and every arm is in some plan."""
    plans: list[tuple[int, ...]] = [()]
    for count in arms:
        grown = []
        for plan in plans:
            kept = rng.random(count) < 0.7
            kept[rng.integers(count)] = True
            grown += [(*plan, int(a)) for a in np.flatnonzero(kept)]
        missing = set(range(count)) - {plan[-1] for plan in grown}
        plans = sorted({*grown, *((*plans[0], a) for a in missing)})
    return plans
