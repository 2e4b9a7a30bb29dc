"""The report: what the theory says about a problem, and how far simulated regret is from the bound."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dtrbandit.design.parameters import whole
from dtrbandit.environments.arrivals import ArrivalProcess
from dtrbandit.environments.potential_outcomes import Environment
from dtrbandit.intervals import Spread, mean_over_paths, spread_of_paths
from dtrbandit.policies.dtr_bandit import DTRBandit
from dtrbandit.simulation.run_paths import simulate
from dtrbandit.theory.bounds import (
    informative_from,
    regret_bound,
    regret_bound_as_proved,
    smallest_q,
    smallest_q_as_proved,
    worst_regret,
)
from dtrbandit.theory.constants import Constants
from dtrbandit.theory.delay import delay_cost, delay_of
from dtrbandit.theory.evidence import UNITS
from dtrbandit.theory.findings import Finding, findings
from dtrbandit.theory.instance import Instance
from dtrbandit.words import counted

PATHS = 8


@dataclass(frozen=True, repr=False)
class Report:
    """What holds, what does not, and regret beside its bound; printing it gives the words.

    Attributes
    ----------
    findings
        One per assumption.
    regret, regret_low, regret_high, regret_interval
        Mean regret of simulated paths after ``horizon`` rounds, its interval, NaN with too few paths, and what that
        is worth.
    spread
        Median regret, and the regret that 5 % and 95 % of the paths are below.
    bound, bound_as_proved
        Theorem 1's formula with this q, whether or not q is as large as it asks; None where there is none.
    delay_cost
        What the proof on delay adds to it; None without delays, or where they are not sub-exponential.
    instance, best
        The constants with the given Δ, and with the Δ at which Δ·φ is largest.
    """

    policy: DTRBandit
    horizon: int
    findings: tuple[Finding, ...]
    regret: float
    regret_low: float
    regret_high: float
    regret_interval: str
    spread: Spread
    instance: Instance
    best: Instance
    delay_cost: float | None

    @property
    def constants(self) -> Constants | None:
        """The constants of the bound: with the given Δ if it has any, else with the best."""
        return self.instance.constants or self.best.constants

    @property
    def bound(self) -> float | None:
        """Theorem 1's bound, as printed."""
        return None if self.constants is None else regret_bound(self.constants, self.horizon, self.policy.q)

    @property
    def bound_as_proved(self) -> float | None:
        """Theorem 1's bound, as its proof gives it."""
        return None if self.constants is None else regret_bound_as_proved(self.constants, self.horizon, self.policy.q)

    @property
    def ratio(self) -> float | None:
        """How many times larger the bound is than the regret."""
        return None if self.bound is None or not self.regret else self.bound / self.regret

    @property
    def promised(self) -> bool:
        """Whether every assumption holds, so that the formula is a bound; with delays only its order is proved."""
        held = all(finding.verdict != "fails" and finding.subject != "delay" for finding in self.findings)
        return held and self.instance.constants is not None

    def __str__(self) -> str:
        heading = f"{self.policy!r} on {self.instance.evidence.source}, {counted(self.horizon, 'round')}"
        lines = [heading, "", *(f"  {finding}" for finding in self.findings), "", *self._regret(), *self._smallest()]
        return "\n".join(lines)

    __repr__ = __str__

    def _regret(self) -> list[str]:
        known = math.isfinite(self.regret_low)
        between = f"{self.regret_low:,.4g} to {self.regret_high:,.4g}, {self.regret_interval}"
        lines = [
            f"Simulated regret: mean {self.regret:,.4g} ({between if known else self.regret_interval}), "
            f"median {self.spread.median:,.4g}, 5 – 95 % of paths {self.spread.path_5:,.4g} to "
            f"{self.spread.path_95:,.4g}."
        ]
        if self.constants is None or self.bound is None:
            return [*lines, "There is no bound with constants to compare it with."]
        word = "Bound of Theorem 1" if self.promised else "Formula of Theorem 1, no promise here"
        if self.instance.constants is None:
            word += f", with Δ = {_listed(self.constants.delta)}"
        lines.append(f"{word}: {self.bound:.3g} as printed, {self.bound_as_proved:.3g} as proved.")
        if self.ratio is not None:
            lines.append(f"As printed it is {self.ratio:.2g} times the simulated regret.")
        if self.delay_cost is not None:
            lines.append(f"Delay adds {self.delay_cost:.3g} to it, by the sketch of its proof.")
        worst = worst_regret(self.constants, self.horizon)
        if self.bound > worst:
            since = informative_from(self.constants, self.policy.q)
            lines.append(
                f"No policy can lose more than {worst:.3g}; the formula says more than that from T ≈ {since:.1g} on."
            )
        return lines

    def _smallest(self) -> list[str]:
        if self.best.constants is None:
            return []
        delta = _listed(self.best.constants.delta)
        asked, proved = smallest_q(self.best.constants), smallest_q_as_proved(self.best.constants)
        also = "" if proved == asked else f" (and its proof {proved:.2g})"
        return [f"With Δ = {delta}, where Δφ is largest, the theorem asks for q ≥ {asked:.2g}{also}."]


def report(  # noqa: PLR0913  # each by its name
    environment: Environment,
    *,
    q: int,
    delta: float | tuple[float, ...],
    arrivals: ArrivalProcess | None = None,
    horizon: int = 10_000,
    paths: int = PATHS,
    units: int = UNITS,
    seed: int = 0,
) -> Report:
    """Say in words what the theory promises DTRBandit on a problem, beside the regret that is simulated.

    Constants are estimated from ``units`` drawn units, regret from ``paths`` simulated paths.

    Examples
    --------
    >>> from dtrbandit.environments import Synthetic
    >>> told = report(Synthetic(), q=5, delta=0.2, horizon=500, paths=2, units=2000)
    >>> told.promised, [finding.subject for finding in told.findings if finding.verdict == "fails"]
    (False, ['forced pulls'])
    """
    policy, rng = DTRBandit(q=q, delta=delta), np.random.default_rng(seed)
    horizon, units = whole(horizon, "report: horizon", low=1), whole(units, "report: units", low=1)
    instance = Instance.of(environment, rng, delta=delta, units=units)
    best = instance.with_widest()
    study = simulate(environment, [policy], horizon=horizon, paths=paths, seed=seed, arrivals=arrivals)
    assert study.stage_regret is not None  # Q is known, or there would be no instance
    final = next(iter(study.stage_regret.values())).sum(axis=(1, 2))
    mean, _, low, high, level = mean_over_paths(final, seed=seed)
    regret = float(mean), float(low), float(high), level, spread_of_paths(final)
    constants = instance.constants or best.constants
    cost = None
    if arrivals is not None and arrivals.sub_exponential and constants is not None:
        cost = delay_cost(constants, delay_of(arrivals, len(instance.coefficients)), horizon)
    told = findings(instance, q=policy.q, arrivals=arrivals)
    return Report(policy, horizon, told, *regret, instance, best, cost)


def _listed(delta: tuple[float, ...]) -> str:
    return ", ".join(f"{value:.3g}" for value in delta)
