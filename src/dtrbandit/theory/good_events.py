"""How often the good events of the proofs happen, by simulation, beside their bounds.

𝒢_{t,m} (eq. "event gt"): Q̃ is within Δ_m/4 of Q_m everywhere. ℳ_{t,m} (eq. "event M"): the design matrices behind Q̂
have eigenvalues of at least φ_m·t/4. ℒ_t (label "section: k arms"): β̂₂ is within Δ₂ / 2x_max of β₂. 𝒪_t (proof of
"thm: delay"): the outcomes of the first ⌊t/2⌋ units come before unit t does.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dtrbandit.courses import Courses, Played, at_once, potential_courses
from dtrbandit.design.schedule import place
from dtrbandit.design.spec import Design
from dtrbandit.design.values import whole
from dtrbandit.environments.arrivals import ArrivalProcess
from dtrbandit.environments.potential_outcomes import Environment
from dtrbandit.errors import DesignError
from dtrbandit.estimators.estimates import Estimates
from dtrbandit.policies.dtr_bandit import DTRBandit
from dtrbandit.theory.bounds import delay_of, feedback_fails, feedback_misses, smallest_q
from dtrbandit.theory.instance import Instance
from dtrbandit.theory.lemmas import design_fails, hat_fails, tilde_fails

if TYPE_CHECKING:
    import pandas as pd


class EventRate(NamedTuple):
    """How often an event failed on simulated paths, with a 95 % interval, beside the bound on that probability.

    ``bound`` is as printed. For ℒ the paper prints none, and it is that of ``hat_fails``. It is None where no bound is
    known, or the delays are not sub-exponential. ``applies`` says that q and t are as large as the bound asks. With
    delays only the bound for 𝒪 applies, since for the others the paper has an order only.
    """

    event: str
    stage: str | None
    t: int
    paths: int
    failed: float
    low: float
    high: float
    bound: float | None
    applies: bool

    @property
    def refuted(self) -> bool:
        """Whether the bound applies and lies below the interval."""
        return self.applies and self.bound is not None and self.bound < self.low


@dataclass(frozen=True)
class EventRates:
    """A row per event, stage and round; printing gives a table, ``to_frame`` the numbers."""

    rows: tuple[EventRate, ...]
    q: int
    allowed_q: int | None

    def to_frame(self) -> pd.DataFrame:
        """Return a tidy frame."""
        import pandas as pd

        return pd.DataFrame(self.rows)

    def __str__(self) -> str:
        heading = f"{'event':<12}{'t':>9}{'failed on':>12}{'95 % interval':>18}{'bound':>12}"
        asked = "" if self.allowed_q is None else f"; their bounds ask for q ≥ {self.allowed_q:,.3g}"
        lines = [f"How often events fail with q = {self.q:,}{asked}", heading]
        for row in self.rows:
            name = f"{row.event} {row.stage}" if row.stage else row.event
            bound = "none" if row.bound is None else f"{min(row.bound, 1):.3g}{'' if row.applies else ' *'}"
            between = f"{row.low:.1%} to {row.high:.1%}"
            lines.append(f"{name:<12}{row.t:>9,}{row.failed:>12.1%}{between:>18}{bound:>12}")
        if not all(row.applies for row in self.rows):
            lines.append("* q or t is below what the bound asks, or outcomes are delayed: a comparison, not a promise")
        return "\n".join(lines)


def event_rates(  # each by its name
    environment: Environment,
    *,
    q: int,
    delta: float | tuple[float, ...],
    at: Sequence[int],
    paths: int = 20,
    seed: int = 0,
    arrivals: ArrivalProcess | None = None,
) -> EventRates:
    """Play DTRBandit on a problem with linear Q-functions and count at rounds ``at`` which events hold.

    The supremum over histories in 𝒢 is taken over the histories drawn to estimate the constants. The state of a round
    is that just before the next unit enrols. 𝒪 is counted with ``arrivals`` only. Where φ_m is 0, ℳ always holds.

    Examples
    --------
    >>> from dtrbandit.environments import Synthetic
    >>> rates = event_rates(Synthetic(), q=5, delta=(0.2, 0.2), at=[200], paths=10)
    >>> [(row.event, row.stage) for row in rates.rows]
    [('G', 'first'), ('G', 'second'), ('M', 'first'), ('M', 'second'), ('L', None)]
    """
    rounds = tuple(sorted({whole(t, "event_rates: at", low=2) for t in at}))
    if not rounds:
        raise DesignError("event_rates: at must name at least one round")
    policy = DTRBandit(q=q, delta=delta)
    *seeds, own = np.random.SeedSequence(seed).spawn(whole(paths, "event_rates: paths", low=1) + 1)
    instance = Instance.of(environment, np.random.default_rng(own), delta=delta)
    if not instance.linear:
        raise DesignError(f"event_rates: the Q-functions of {environment!r} are not linear, so there is no true β")
    simulation = Simulation(environment, policy, rounds, arrivals, instance)
    failed = np.stack([failures(simulation, each) for each in seeds])
    events = _events(instance.evidence.design, arrivals)
    rows = [
        _rate(simulation, event, t, failed[:, i, j]) for j, event in enumerate(events) for i, t in enumerate(rounds)
    ]
    return EventRates(tuple(rows), policy.q, None if instance.constants is None else smallest_q(instance.constants))


def wilson(failed: int, n: int) -> tuple[float, float]:
    """Return Wilson's 95 % interval for a probability, from ``failed`` of ``n``."""
    z = 1.959963984540054
    share, weight = failed / n, 1 / (1 + z**2 / n)
    middle = weight * (share + z**2 / (2 * n))
    reach = weight * z * math.sqrt(share * (1 - share) / n + z**2 / (4 * n**2))
    return max(middle - reach, 0.0), min(middle + reach, 1.0)


def _events(design: Design, arrivals: ArrivalProcess | None) -> list[tuple[str, int | None]]:
    """Return the events with their stages, in the order of ``failures``."""
    stages: list[int | None] = list(range(len(design.stages)))
    events = [(event, m) for event in "GM" for m in stages] + [("L", None)] * (len(stages) > 1)
    return events + [("O", None)] * (arrivals is not None)


def _rate(simulation: Simulation, event: tuple[str, int | None], t: int, failed: NDArray[np.bool_]) -> EventRate:
    name, m = event
    low, high = wilson(int(failed.sum()), len(failed))
    stage = None if m is None else simulation.instance.evidence.design.stages[m].name
    return EventRate(name, stage, t, len(failed), float(failed.mean()), low, high, *event_bound(simulation, event, t))


def event_bound(simulation: Simulation, event: tuple[str, int | None], t: int) -> tuple[float | None, bool]:
    """Return the bound on the probability that an event fails, and whether it applies to these q, t and delays."""
    (name, m), constants, q = event, simulation.instance.constants, simulation.policy.q
    if name == "O":
        assert simulation.arrivals is not None
        if not simulation.arrivals.sub_exponential:
            return None, False
        return feedback_fails(delay_of(simulation.arrivals, len(simulation.instance.coefficients)), t), True
    if constants is None:
        return None, False
    enough = q >= smallest_q(constants) and simulation.arrivals is None
    if name == "G":
        return tilde_fails(m or 0, t), enough and t >= 64 * q**2
    plans = len(simulation.instance.evidence.design.arm_plans)
    forced, _, offset = place(t, plans, q)
    free = not forced or offset == plans * q - 1  # or at the end of a forced block
    bound = design_fails(constants, t) if name == "M" else hat_fails(constants, t)
    return bound, enough and t >= 256 * q**2 and free


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
        required = [own for own, region in zip(rows, regions, strict=True) if not region.suboptimal]
        yield any(bool(np.linalg.eigvalsh(own.T @ own)[0] < phi * t / 4) for own in required)


def _hat(instance: Instance, estimates: Estimates) -> Iterator[bool]:
    """Say whether ℒ fails: some β̂ after the first stage is off by more than Δ_m / 2x_max."""
    if len(estimates.hat) > 1:
        later = zip(estimates.hat[1:], instance.coefficients[1:], instance.diversity.delta[1:], strict=True)
        reach = 2 * instance.x_max
        yield any(not np.linalg.norm(hat - truth, axis=1).max() <= delta / reach for hat, truth, delta in later)
