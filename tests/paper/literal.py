"""The paper's algorithms, written out literally and slowly.

An oracle for the package: it imports nothing from it, keeps every trajectory
in a list, and fits every regression anew. Where the paper leaves a choice,
the numbered readings (docs/readings.md) decide, and are cited.

Notation: rounds ``t`` count from 1 as in the paper; stages ``m`` and arms
count from 0, except in the two schedules that copy an equation.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

import numpy as np

from dtrbandit.kernels.arrays import Matrix, Vector

Plan = tuple[int, ...]
Arrival = tuple[int, int]  # (t, m): stage m of unit t; its outcome where m is the number of stages
Estimates = list[list[Vector | None]]  # [stage][arm]
Values = dict[int, float | None]  # arm -> Q, None without an estimate


class World(Protocol):
    """Potential outcomes that nature drew beforehand; ``arms`` are those given so far."""

    def features(self, m: int, t: int, arms: Plan) -> Vector: ...

    def outcome(self, t: int, arms: Plan) -> float: ...

    def leaves(self, t: int, m: int, arms: Plan) -> bool: ...


@dataclass
class Trajectory:
    """One unit so far: one entry per stage whose context is in."""

    features: list[Vector] = field(default_factory=list)
    feasible: list[Plan] = field(default_factory=list)
    arms: list[int] = field(default_factory=list)
    forced: list[bool] = field(default_factory=list)
    left: bool = False
    outcome: float | None = None


class Pick(NamedTuple):
    """A free decision; ``margin`` is its distance from a tie, relative to the values compared."""

    arm: int
    margin: float
    contenders: Plan
    tilde: Values
    hat: Values


@dataclass
class Path:
    """The arms of every round and the free decisions, by (round, stage)."""

    arms: list[Plan] = field(default_factory=list)
    picks: dict[tuple[int, int], Pick] = field(default_factory=dict)

    @property
    def margins(self) -> list[float]:
        return [pick.margin for pick in self.picks.values()]


# ---------------------------------------------------------------- schedules


def T_two_arm(a1: int, a2: int, q: int, horizon: int) -> set[int]:  # noqa: N802
    """Return the rounds of eq. "forced samples"; arms are 1 and 2."""
    rounds = set()
    for n in range(horizon.bit_length() + 1):
        for j in range(q * (2 * a1 + a2 - 3) + 1, q * (2 * a1 + a2 - 2) + 1):
            rounds.add((2 ** (n + 2) - 4) * q + j)
    return {t for t in rounds if t <= horizon}


def T_k_arm(a1: int, a2: int, K1: int, K2: int, q: int, horizon: int) -> set[int]:  # noqa: N802
    """Return the rounds of eq. "forced samples K"; arms are 1..K1 and 1..K2."""
    rounds = set()
    for n in range(horizon.bit_length() + 1):
        for j in range(q * (K2 * a1 + a2 - K2 - 1) + 1, q * (K2 * a1 + a2 - K2) + 1):
            rounds.add((2**n - 1) * K1 * K2 * q + j)
    return {t for t in rounds if t <= horizon}


def T_plan(plan: Plan, plans: Sequence[Plan], q: int, horizon: int) -> set[int]:  # noqa: N802
    """Return the rounds of eq. "forced samples K", its K1 K2 pairs replaced by ``plans``."""
    i = sorted(plans).index(plan) + 1
    rounds = set()
    for n in range(horizon.bit_length() + 1):
        for j in range(q * (i - 1) + 1, q * i + 1):
            rounds.add((2**n - 1) * len(plans) * q + j)
    return {t for t in rounds if t <= horizon}


def schedule(plans: Sequence[Plan], q: int, horizon: int) -> dict[int, Plan]:
    """Return the plan of every forced round."""
    return {t: plan for plan in plans for t in T_plan(plan, plans, q, horizon)}


def feasible_arms(plans: Sequence[Plan], arms: Plan) -> Plan:
    """Return the arms with which some feasible plan continues ``arms``."""
    return tuple(sorted({plan[len(arms)] for plan in plans if plan[: len(arms)] == arms}))


def arm_counts(plans: Sequence[Plan]) -> list[int]:
    """Return the number of arms of each stage."""
    return [1 + max(plan[m] for plan in plans) for m in range(len(plans[0]))]


# --------------------------------------------------------------- estimators


def least_squares(rows: Sequence[Vector], targets: Sequence[float]) -> Vector | None:
    """Return the minimum-norm least-squares coefficients, None without rows (reading 7).

    With the columns scaled to unit length, X D^-1 = U S V'. Keep the r singular
    values above 1e-10 of the largest; then X_r = U_r S_r V_r' D, and pinv(X_r) y is the
    shortest beta with V_r' D beta = S_r^-1 U_r' y: the only one when r is full.
    """
    if not rows:
        return None
    X = np.array(rows)
    y = np.array(targets)
    lengths = np.array([math.sqrt(sum(x * x for x in column)) for column in X.T])
    lengths[lengths == 0.0] = 1.0
    U, S, Vt = np.linalg.svd(X / lengths, full_matrices=False)
    r = sum(1 for s in S if s > 1e-10 * S[0])
    scaled = (U[:, :r].T @ y) / S[:r]
    if r == X.shape[1]:
        only: Vector = (Vt.T @ scaled) / lengths
        return only
    Q, R = np.linalg.qr((Vt[:r] * lengths).T)
    shortest: Vector = Q @ np.linalg.solve(R.T, scaled)
    return shortest


def q_values(estimates: Sequence[Vector | None], features: Vector, arms: Plan) -> Values:
    """Return beta_a' psi(h) for each of ``arms``, None for an arm without an estimate."""
    values: Values = {}
    for a in arms:
        beta = estimates[a]
        values[a] = None if beta is None else float(beta @ features)
    return values


def target(unit: Trajectory, m: int, later: Sequence[Vector | None] | None) -> float | None:
    """Return what stage m is regressed on: a pseudo-outcome or Y; None while unknown.

    The pseudo-outcome is the max over the arms feasible for that unit (reading 2)
    that have an estimate (reading 7), once the next context is in (reading 5). The
    last stage and early leavers (reading 1) take Y.
    """
    if later is not None and len(unit.features) > m + 1:
        values = q_values(later, unit.features[m + 1], unit.feasible[m + 1])
        known = [value for value in values.values() if value is not None]
        return max(known) if known else None
    if later is None or unit.left:
        return unit.outcome
    return None


def is_pulled(unit: Trajectory, m: int) -> bool:
    """Say whether the unit has its arm of stage m."""
    return len(unit.arms) > m


def is_forced(unit: Trajectory, m: int) -> bool:
    """Say whether the unit has its arm of stage m, and from the schedule (reading 6)."""
    return len(unit.arms) > m and unit.forced[m]


def backward_induction(
    units: Iterable[Trajectory], counts: Sequence[int], in_sample: Callable[[Trajectory, int], bool]
) -> Estimates:
    """Return beta for each stage and arm, from the rows in the sample (section 3.1)."""
    units = list(units)
    estimates: Estimates = [[None] * count for count in counts]
    for m in reversed(range(len(counts))):
        later = estimates[m + 1] if m + 1 < len(counts) else None
        rows: list[list[Vector]] = [[] for _ in range(counts[m])]
        targets: list[list[float]] = [[] for _ in range(counts[m])]
        for unit in units:
            if not in_sample(unit, m):
                continue
            y = target(unit, m, later)
            if y is not None:
                rows[unit.arms[m]].append(unit.features[m])
                targets[unit.arms[m]].append(y)
        estimates[m] = [least_squares(rows[a], targets[a]) for a in range(counts[m])]
    return estimates


def tilde_estimates(units: Iterable[Trajectory], counts: Sequence[int]) -> Estimates:
    """Return the forced-sample estimators: sums over T_{a,m}(t) (section 3.1)."""
    return backward_induction(units, counts, is_forced)


def hat_estimates(units: Iterable[Trajectory], counts: Sequence[int]) -> Estimates:
    """Return the all-samples estimators: sums over S_{a,m}(t) (section 3.1)."""
    return backward_induction(units, counts, is_pulled)


# ------------------------------------------------------------ decision rules


def best_arm(values: Values, among: Sequence[int]) -> tuple[int, float]:
    """Return the argmax over the arms that have a value, and its lead over the next.

    Ties go to the lowest arm (reading 8); so does a choice without any value (reading 7).
    """
    known = {a: value for a in among if (value := values[a]) is not None}
    if not known:
        return min(among), math.inf
    ranked = sorted(known, key=lambda a: (-known[a], a))
    lead = known[ranked[0]] - known[ranked[1]] if len(ranked) > 1 else math.inf
    return ranked[0], lead


def relative(margin: float, *groups: Values, also: float = 0.0) -> float:
    """Return the margin as a share of the largest number it was computed from."""
    sizes = [abs(value) for group in groups for value in group.values() if value is not None]
    return margin / max([*sizes, also, 1e-300])


def two_arm_rule(tilde: Values, hat: Values, delta: float) -> Pick:
    """Choose as Algorithm 1 does (label "alg"), lines 8 to 12."""
    first, second = tilde[0], tilde[1]
    assert first is not None
    assert second is not None
    difference = abs(first - second)
    if difference > delta / 2:
        arm, _ = best_arm(tilde, (0, 1))
        contenders: Plan = (arm,)
        margin = difference - delta / 2
    else:
        arm, lead = best_arm(hat, (0, 1))
        contenders = (0, 1)
        margin = min(lead, delta / 2 - difference)
    return Pick(arm, relative(margin, tilde, hat, also=delta), contenders, tilde, hat)


def filter_rule(tilde: Values, hat: Values, delta: float) -> Pick:
    """Choose as Algorithm 4 does (label "alg: k arms"), lines 8 and 9.

    An arm without a Q-tilde is not filtered out and filters nothing out (reading 3).
    """
    feasible = sorted(tilde)
    known = {a: value for a, value in tilde.items() if value is not None}
    top, _ = best_arm(tilde, feasible)
    below = {a: known[top] - value for a, value in known.items()}
    contenders = tuple(a for a in feasible if a not in below or below[a] <= delta / 2)
    arm, lead = best_arm(hat, contenders)
    from_threshold = [abs(below[a] - delta / 2) for a in below if a != top]
    margin = min([lead, *from_threshold])
    return Pick(arm, relative(margin, tilde, hat, also=delta), contenders, tilde, hat)


# ----------------------------------------------------------------- observing


def observe(unit: Trajectory, world: World, t: int, plans: Sequence[Plan]) -> bool:
    """Let the next context arrive; say whether it brings the unit to another decision."""
    m, arms = len(unit.arms), tuple(unit.arms)
    if unit.left or m == len(plans[0]):
        return False
    if m > 0 and world.leaves(t, m, arms):
        unit.left = True
        return False
    unit.features.append(world.features(m, t, arms))
    unit.feasible.append(feasible_arms(plans, arms))
    return True


def pull(unit: Trajectory, arm: int, *, forced: bool) -> None:
    """Give the unit its arm."""
    unit.arms.append(arm)
    unit.forced.append(forced)


def complete(unit: Trajectory, world: World, t: int) -> None:
    """Let the outcome arrive."""
    unit.outcome = world.outcome(t, tuple(unit.arms))


# ---------------------------------------------------------------- algorithms


def algorithm_1(world: World, *, q: int, delta: Sequence[float], horizon: int) -> Path:
    """Run DTRBandit (Algorithm 1, label "alg") with two arms in each of two stages."""
    plans = [(0, 0), (0, 1), (1, 0), (1, 1)]
    prescribed = {t: p for p in plans for t in T_two_arm(p[0] + 1, p[1] + 1, q, horizon)}
    units: list[Trajectory] = []
    tilde = hat = tilde_estimates([], [2, 2])
    path = Path()
    for t in range(1, horizon + 1):
        unit = Trajectory()
        for m in (0, 1):
            observe(unit, world, t, plans)
            if t in prescribed:
                pull(unit, prescribed[t][m], forced=True)
            else:
                h = unit.features[m]
                pick = two_arm_rule(q_values(tilde[m], h, (0, 1)), q_values(hat[m], h, (0, 1)), delta[m])
                path.picks[t, m] = pick
                pull(unit, pick.arm, forced=False)
        complete(unit, world, t)
        units.append(unit)
        path.arms.append(tuple(unit.arms))
        if t in prescribed:
            tilde = tilde_estimates(units, [2, 2])
        hat = hat_estimates(units, [2, 2])
    return path


def algorithm_4(world: World, plans: Sequence[Plan], *, q: int, delta: Sequence[float], horizon: int) -> Path:
    """Run K-armed DTRBandit (Algorithm 4, label "alg: k arms").

    Stages, feasible plans and early leavers are as many as the world has.
    """
    counts = arm_counts(plans)
    prescribed = schedule(plans, q, horizon)
    units: list[Trajectory] = []
    tilde = hat = tilde_estimates([], counts)
    path = Path()
    for t in range(1, horizon + 1):
        unit = Trajectory()
        while observe(unit, world, t, plans):
            m = len(unit.arms)
            if t in prescribed:
                pull(unit, prescribed[t][m], forced=True)
            else:
                h, arms = unit.features[m], unit.feasible[m]
                pick = filter_rule(q_values(tilde[m], h, arms), q_values(hat[m], h, arms), delta[m])
                path.picks[t, m] = pick
                pull(unit, pick.arm, forced=False)
        complete(unit, world, t)
        units.append(unit)
        path.arms.append(tuple(unit.arms))
        if t in prescribed:
            tilde = tilde_estimates(units, counts)
        hat = hat_estimates(units, counts)
    return path


def algorithm_3(
    world: World, plans: Sequence[Plan], arrivals: Sequence[Arrival], *, q: int, delta: Sequence[float]
) -> Path:
    """Run DelayedDTRBandit (Algorithm 3, label "alg_delayed") over arrivals in order of time.

    Q-tilde is the one of the unit's own e_t, frozen when the first free unit after e_t
    is enrolled (reading 3); Q-hat is fitted to all that is observed by now (reading 4).
    """
    counts = arm_counts(plans)
    prescribed = schedule(plans, q, max(t for t, _ in arrivals))
    units: dict[int, Trajectory] = {}
    frozen: dict[int, Estimates] = {}
    path = Path()
    for t, m in arrivals:
        unit = units.setdefault(t, Trajectory())
        if m == len(counts):
            complete(unit, world, t)
        elif observe(unit, world, t, plans):
            if t in prescribed:
                pull(unit, prescribed[t][m], forced=True)
                continue
            e = max(j for j in prescribed if j < t)
            if e not in frozen:
                frozen[e] = tilde_estimates(units.values(), counts)
            hat = hat_estimates(units.values(), counts)
            h, arms = unit.features[m], unit.feasible[m]
            pick = filter_rule(q_values(frozen[e][m], h, arms), q_values(hat[m], h, arms), delta[m])
            path.picks[t, m] = pick
            pull(unit, pick.arm, forced=False)
    path.arms = [tuple(units[t].arms) for t in sorted(units)]
    return path


# ------------------------------------------------------------------ LSVI-UCB


class Optimist(NamedTuple):
    """Step h of Algorithm 1 of Jin et al.: Lambda^-1, w, and how often each arm was pulled."""

    inverse: Matrix
    w: Vector
    pulls: list[int]


def blocked(psi: Vector, arm: int, count: int) -> Vector:
    """Return phi(h, a) = e_a (x) psi(h) (reading 11)."""
    phi = np.zeros(count * len(psi))
    phi[arm * len(psi) : (arm + 1) * len(psi)] = psi
    return phi


def optimistic_values(step: Optimist, psi: Vector, arms: Plan, beta: float) -> dict[int, float]:
    """Return w' phi + beta sqrt(phi' Lambda^-1 phi) for each arm, unclipped."""
    values = {}
    for a in arms:
        phi = blocked(psi, a, len(step.pulls))
        values[a] = float(step.w @ phi + beta * math.sqrt(phi @ step.inverse @ phi))
    return values


def optimistic_target(unit: Trajectory, m: int, later: Optimist | None, beta: float) -> float | None:
    """Return r_h + max_a Q_{h+1}, the reward being zero before the end."""
    if later is not None and len(unit.features) > m + 1:
        psi, arms = unit.features[m + 1], unit.feasible[m + 1]
        return max(optimistic_values(later, psi, arms, beta).values())
    if later is None or unit.left:
        return unit.outcome
    return None


def optimistic_induction(
    units: Sequence[Trajectory],
    counts: Sequence[int],
    dimensions: Sequence[int],
    *,
    beta: float,
    ridge: float,
) -> list[Optimist]:
    """Return lines 3 to 7 of Algorithm 1 of Jin et al., one entry per stage."""
    steps: list[Optimist] = []
    for m in reversed(range(len(counts))):
        size = counts[m] * dimensions[m]
        gram, moment, pulls = ridge * np.eye(size), np.zeros(size), [0] * counts[m]
        for unit in units:
            if not is_pulled(unit, m):
                continue
            y = optimistic_target(unit, m, steps[0] if steps else None, beta)
            if y is not None:
                phi = blocked(unit.features[m], unit.arms[m], counts[m])
                gram += np.outer(phi, phi)
                moment += phi * y
                pulls[unit.arms[m]] += 1
        inverse = np.linalg.inv(gram).astype(np.float64)
        steps.insert(0, Optimist(inverse, inverse @ moment, pulls))
    return steps


def optimistic_rule(step: Optimist, psi: Vector, arms: Plan, beta: float) -> Pick:
    """Choose the largest optimistic value.

    Arms never pulled are equal in theory; the lowest (reading 8) stands for them all,
    so that rounding has no say.
    """
    unpulled = [a for a in arms if step.pulls[a] == 0]
    distinct = [a for a in arms if step.pulls[a] > 0] + unpulled[:1]
    values: Values = dict(optimistic_values(step, psi, arms, beta))
    arm, lead = best_arm(values, distinct)
    return Pick(arm, relative(lead, values), arms, {}, values)


def lsvi_ucb(
    world: World,
    plans: Sequence[Plan],
    dimensions: Sequence[int],
    *,
    beta: float,
    ridge: float = 1.0,
    horizon: int,
) -> Path:
    """Run LSVI-UCB, Algorithm 1 of Jin et al., with arm-blocked features (reading 11)."""
    counts = arm_counts(plans)
    units: list[Trajectory] = []
    path = Path()
    for t in range(1, horizon + 1):
        steps = optimistic_induction(units, counts, dimensions, beta=beta, ridge=ridge)
        unit = Trajectory()
        while observe(unit, world, t, plans):
            m = len(unit.arms)
            pick = optimistic_rule(steps[m], unit.features[m], unit.feasible[m], beta)
            path.picks[t, m] = pick
            pull(unit, pick.arm, forced=False)
        complete(unit, world, t)
        units.append(unit)
        path.arms.append(tuple(unit.arms))
    return path


# ------------------------------------------------------------ epsilon-greedy


def epsilon_greedy_rule(hat: Values, epsilon: float, u: float) -> Pick:
    """Choose the best Q-hat, or with probability epsilon another arm (section 5.1, reading 8)."""
    feasible = tuple(sorted(hat))
    greedy, lead = best_arm(hat, feasible)
    others = [a for a in feasible if a != greedy]
    arm = greedy
    if others and u < epsilon:
        arm = others[math.floor(u / epsilon * len(others))]
    return Pick(arm, relative(lead, hat), feasible, {}, hat)


def epsilon_greedy(
    world: World,
    plans: Sequence[Plan],
    uniform: Callable[[int, int], float],
    *,
    d: int,
    epsilon: float,
    horizon: int,
) -> Path:
    """Run epsilon-Greedy (section 5.1, item 1); ``uniform(t, m)`` is the u of a decision.

    It begins with d pulls of each plan, in order. The pull of a unit that leaves early is
    owed again, after all those owed already (reading 10).
    """
    counts = arm_counts(plans)
    owed = [plan for plan in plans for _ in range(d)]
    units: list[Trajectory] = []
    path = Path()
    for t in range(1, horizon + 1):
        plan = owed.pop(0) if owed else None
        hat = hat_estimates(units, counts)
        unit = Trajectory()
        while observe(unit, world, t, plans):
            m = len(unit.arms)
            if plan is not None:
                pull(unit, plan[m], forced=False)
                continue
            values = q_values(hat[m], unit.features[m], unit.feasible[m])
            pick = epsilon_greedy_rule(values, epsilon, uniform(t, m))
            path.picks[t, m] = pick
            pull(unit, pick.arm, forced=False)
        complete(unit, world, t)
        units.append(unit)
        if plan is not None and unit.left:
            owed.append(plan)
        path.arms.append(tuple(unit.arms))
    return path
