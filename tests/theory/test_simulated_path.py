"""Events on a simulated path, counted by the package and by plain least squares."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

import dtrbandit as dtr
from dtrbandit.courses import Courses, play, potential_courses
from dtrbandit.design.schedule import forced_plan
from dtrbandit.environments import ArrivalProcess, Fixed, Synthetic
from dtrbandit.theory.instance import Instance
from dtrbandit.theory.simulated_path import Simulation, failures, states

Q, DELTA, ROUNDS = 4, (1.6, 1.2), (60, 200, 500)
TRUTH = [np.array([[17 / 12, 239 / 240], [25 / 12, -209 / 240]]), np.array([[1.0, 1.0], [0.0, 3.0]])]


def plain_failures(seed: np.random.SeedSequence, instance: Instance) -> list[list[bool]]:
    """Return which of 𝒢₁, 𝒢₂, ℳ₁, ℳ₂, ℒ fail, by regressions written out from the paper's section 3.1."""
    units_seed, _, policy_seed = seed.spawn(3)
    units = Synthetic().draw(ROUNDS[-1] + 1, np.random.default_rng(units_seed))
    policy = dtr.DTRBandit(q=Q, delta=DELTA)
    arms = play(policy, potential_courses(units), units.design, seed=int(policy_seed.generate_state(1)[0])).arms
    rows, one = np.arange(len(arms)), np.ones(len(arms))
    psi = [
        np.column_stack([one, units.contexts[0]["x1"]]),
        np.column_stack([one, units.contexts[1]["x2"][rows, arms[:, 0]]]),
    ]
    outcome = units.outcome[rows, arms[:, 0], arms[:, 1]]
    forced = np.array([forced_plan(t, units.design.arm_plans, q=Q) is not None for t in range(1, len(rows) + 1)])
    found = []
    for t in ROUNDS:
        tilde, hat = (_two_stages(psi, arms, outcome, (rows < t) & own) for own in (forced, rows >= 0))
        ends = np.array([[1.0, 0.0], [1.0, 1.0]])  # x ∈ [0, 1]: the supremum is at an end
        good = [np.abs(ends @ (tilde[m] - TRUTH[m]).T).max() <= DELTA[m] / 4 for m in (0, 1)]
        large = [
            min(np.linalg.eigvalsh(own.T @ own)[0] for a in (0, 1) for own in [psi[m][(rows < t) & (arms[:, m] == a)]])
            >= instance.diversity.phi[m] * t / 4
            for m in (0, 1)
        ]
        close = np.linalg.norm(hat[1] - TRUTH[1], axis=1).max() <= DELTA[1] / (2 * instance.x_max)
        found.append([not holds for holds in (*good, *large, bool(close))])
    return found


def _two_stages(psi: list[np.ndarray], arms: np.ndarray, outcome: np.ndarray, used: np.ndarray) -> list[np.ndarray]:
    second = np.stack([_least_squares(psi[1], outcome, used & (arms[:, 1] == a)) for a in (0, 1)])
    pseudo = (psi[1] @ second.T).max(axis=1)
    return [np.stack([_least_squares(psi[0], pseudo, used & (arms[:, 0] == a)) for a in (0, 1)]), second]


def _least_squares(psi: np.ndarray, target: np.ndarray, used: np.ndarray) -> np.ndarray:
    return np.asarray(np.linalg.lstsq(psi[used], target[used], rcond=None)[0])


def test_events_are_those_of_plain_least_squares() -> None:
    rng = np.random.default_rng(0)
    instance = Instance.of(Synthetic(), rng, delta=(0.3, 0.3))
    # Δ of the events is that of the constants; φ is a number like any other here
    instance = replace(instance, diversity=replace(instance.diversity, delta=DELTA))
    simulation = Simulation(Synthetic(), dtr.DTRBandit(q=Q, delta=DELTA), ROUNDS, None, instance)
    seeds = np.random.SeedSequence(1).spawn(12)

    counted = np.array([failures(simulation, seed).tolist() for seed in seeds])

    expected = np.array(
        [plain_failures(np.random.SeedSequence(1, spawn_key=seed.spawn_key), instance) for seed in seeds]
    )
    assert (counted == expected).all()
    assert 0 < counted[:, :, :2].mean() < 1  # both happen
    assert 0 < counted[:, :, 4].mean() < 1


def test_a_round_is_looked_at_before_the_next_unit_enrols() -> None:
    """With delays of exactly 2½ arrivals, the second context of the last two rounds is not in yet."""
    instance, rounds = Instance.of(Synthetic(), np.random.default_rng(0), delta=0.3, units=100), (7, 8, 20)
    simulation = Simulation(Synthetic(), dtr.DTRBandit(q=1, delta=0.3), rounds, None, instance)
    drawn = Synthetic().draw(21, np.random.default_rng(0))
    late = ArrivalProcess(between=Fixed(1.0), response=Fixed(2.5)).events(21, 2, np.random.default_rng(0))

    def rows(units: Courses) -> list[int]:
        """Return how many rows count at the second stage: the sum of squares of the intercept, over both arms."""
        factors = [estimates.hat_factors[1] for _, estimates in states(simulation, units, seed=0)]
        return [round(sum(float(own[:, 0] @ own[:, 0]) for own in arms)) for arms in factors]

    assert rows(potential_courses(drawn)) == list(rounds)
    assert rows(potential_courses(drawn, events=late)) == [t - 2 for t in rounds]
