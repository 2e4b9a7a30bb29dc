"""One simulated path of DTRBandit: which events of the proofs fail on it, and when."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dtrbandit.courses import Courses, Played, at_once, potential_courses
from dtrbandit.environments.arrivals import ArrivalProcess
from dtrbandit.environments.potential_outcomes import Environment
from dtrbandit.estimators.estimates import Estimates
from dtrbandit.policies.dtr_bandit import DTRBandit
from dtrbandit.theory.delay import feedback_misses
from dtrbandit.theory.instance import Instance

Times = NDArray[np.float64]


class Simulation(NamedTuple):
    """What is simulated, and at which rounds events are judged; ``instance`` has the true coefficients."""

    environment: Environment
    policy: DTRBandit
    rounds: tuple[int, ...]
    arrivals: ArrivalProcess | None
    instance: Instance


def failures(simulation: Simulation, seed: np.random.SeedSequence) -> NDArray[np.bool_]:
    """Play one path and return which events failed at which round, (rounds, events).

    In this order: 𝒢 of every stage, ℳ of every stage, ℒ if there is more than one stage, 𝒪 if there are delays.
    """
    units_seed, arrivals_seed, policy_seed = seed.spawn(3)
    order, times = _order(simulation, arrivals_seed)
    drawn = simulation.environment.draw(simulation.rounds[-1] + 1, np.random.default_rng(units_seed))
    units = potential_courses(drawn, events=order)
    failed = []
    for t, estimates in states(simulation, units, seed=int(policy_seed.generate_state(1)[0])):
        late = [] if times is None else [feedback_misses(times, t)]
        failed.append([*_tilde(simulation.instance, estimates), *_designs(simulation.instance, estimates, t),
                       *_hat(simulation.instance, estimates), *late])  # fmt: skip
    return np.array(failed)


def _order(simulation: Simulation, seed: np.random.SeedSequence) -> tuple[NDArray[np.int32], Times | None]:
    """Return in which order things happen to units and, with delays, when, (n, M + 1)."""
    n, stages = simulation.rounds[-1] + 1, len(simulation.instance.coefficients)
    if simulation.arrivals is None:
        return at_once(n, stages), None
    order = simulation.arrivals.events(n, stages, np.random.default_rng(seed))
    return order, simulation.arrivals.draw(n, stages, np.random.default_rng(seed)).times  # the same stream again


def states(simulation: Simulation, units: Courses, *, seed: int) -> Iterator[tuple[int, Estimates]]:
    """Give each of the rounds, and the estimates just before the next unit enrols."""
    played = Played(simulation.policy, simulation.instance.evidence.design, len(units.features), seed=seed)
    enrolments = np.flatnonzero(units.events[:, 0] == 0)
    cuts = [0, *(int(enrolments[t]) for t in simulation.rounds)]  # unit t, from 0, is round t + 1
    for t, (begin, end) in zip(simulation.rounds, pairwise(cuts), strict=True):
        played.go_on(units._replace(events=units.events[begin:end]))
        yield t, simulation.policy.estimates(played.state)


def _tilde(instance: Instance, estimates: Estimates) -> Iterator[bool]:
    """Say of each stage whether 𝒢 fails: Q̃ is off by more than Δ_m/4 somewhere, or not there at all."""
    assert estimates.tilde is not None
    for m, truth in enumerate(instance.coefficients):
        off = (estimates.tilde[m] - truth).T
        error = max(np.abs(visit.psi[visit.reached] @ off).max() for visit in instance.evidence.at_stage(m))
        yield not error <= instance.diversity.delta[m] / 4


def _designs(instance: Instance, estimates: Estimates, t: int) -> Iterator[bool]:
    """Say of each stage whether ℳ fails: for an arm that is not suboptimal λ_min(Σ̂) is below φ_m·t/4."""
    for rows, regions, phi in zip(
        estimates.hat_factors, instance.diversity.regions, instance.diversity.phi, strict=True
    ):
        asked = [own for own, region in zip(rows, regions, strict=True) if not region.suboptimal]
        yield any(bool(np.linalg.eigvalsh(own.T @ own)[0] < phi * t / 4) for own in asked)


def _hat(instance: Instance, estimates: Estimates) -> Iterator[bool]:
    """Say whether ℒ fails: some β̂ after the first stage is off by more than Δ_m / 2x_max."""
    if len(estimates.hat) > 1:
        later = zip(estimates.hat[1:], instance.coefficients[1:], instance.diversity.delta[1:], strict=True)
        reach = 2 * instance.x_max
        yield any(not np.linalg.norm(hat - truth, axis=1).max() <= delta / reach for hat, truth, delta in later)
