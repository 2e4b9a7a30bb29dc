"""The report on a problem: a finding for each assumption, in words, and simulated regret beside the bound."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from typing import Literal, NamedTuple

import numpy as np

from dtrbandit.design.values import whole
from dtrbandit.environments.arrivals import ArrivalProcess
from dtrbandit.environments.potential_outcomes import Environment
from dtrbandit.intervals import Spread, mean_over_paths, spread_of_paths
from dtrbandit.policies.dtr_bandit import DTRBandit
from dtrbandit.simulation.run_paths import simulate
from dtrbandit.theory.bounds import (
    c_tilde_1,
    c_tilde_2,
    c_tilde_3,
    delay_cost,
    delay_of,
    delay_penalty,
    informative_from,
    peeling_depth,
    regret_bound,
    regret_bound_as_proved,
    smallest_q,
    smallest_q_as_proved,
    worst_regret,
)
from dtrbandit.theory.constants import Constants
from dtrbandit.theory.evidence import UNITS
from dtrbandit.theory.instance import Instance
from dtrbandit.words import counted

FindingVerdict = Literal["holds", "fails", "note"]


class Finding(NamedTuple):
    """A statement about a problem: whether it holds, by which label of the paper, in words."""

    verdict: FindingVerdict
    subject: str
    label: str
    words: str

    def __str__(self) -> str:
        return f"[{self.verdict:<5}] {self.subject}: {self.words}"


def findings(instance: Instance, *, q: int, arrivals: ArrivalProcess | None = None) -> tuple[Finding, ...]:
    """Judge every assumption of Theorem 1, and of the theorem on delay if there is one."""
    found = [_scope(instance), *_leavers(instance), _linear(instance), _bounded(instance), _noise(instance)]
    found += [*_margin(instance), *_diversity(instance), *_constants(instance, q)]
    return tuple(found if arrivals is None else [*found, _delay(instance, arrivals)])


def _scope(instance: Instance) -> Finding:
    design = instance.evidence.design
    arms = "×".join(map(str, design.arm_counts))
    if instance.two_by_two:
        return Finding("holds", "scope", "thm: regret upper bound", "two stages of two arms, each plan feasible")
    if len(design.stages) == 2 and design.every_combination:
        words = f"two stages with {arms} arms: the paper extends the order of regret to them, without constants"
        return Finding("note", "scope", "section: k arms", words)
    if len(design.stages) == 1:
        words = f"one stage with {arms} arms: the bandit that section 4 embeds, for which no constants are stated"
        return Finding("note", "scope", "section: theory", words)
    if design.every_combination:
        words = (
            f"{len(design.stages)} stages with {arms} arms: the paper extends the algorithm to them, and proves nothing"
        )
        return Finding("fails", "scope", "section: conclusion", words)
    words = f"{len(design.arm_plans)} of {prod(design.arm_counts)} plans are feasible: no theorem allows for that"
    return Finding("fails", "scope", "thm: regret upper bound", words)


def _leavers(instance: Instance) -> Iterator[Finding]:
    if any(stage.condition is not None for stage in instance.evidence.design.parsed):
        words = "units may leave early, of which no theorem speaks; the later stages are judged on those who enter"
        yield Finding("note", "leavers", "section: stard", words)


def _linear(instance: Instance) -> Finding:
    if instance.linear:
        return Finding("holds", "linear Q", "assumption: bounded", "Q-functions are linear in the features")
    worst = int(np.argmax(instance.misfit))
    stage = instance.evidence.design.stages[worst].name
    words = f"at stage {stage} Q is off its best linear fit by up to {instance.misfit[worst]:.2g} of its size"
    return Finding("fails", "linear Q", "assumption: bounded", words)


def _bounded(instance: Instance) -> Finding:
    reach = f"‖ψ‖ up to {instance.x_max:.3g} among {instance.evidence.units:,} units"
    if instance.bounded:
        words = f"{reach}, less than 5 % farther than in a tenth of them"
        return Finding("holds", "bounded features", "assumption: bounded", words)
    words = f"{reach}, {instance.growth - 1:.0%} farther than in a tenth of them: features look unbounded"
    return Finding("fails", "bounded features", "assumption: bounded", words)


def _noise(instance: Instance) -> Finding:
    words = f"σ is about {instance.sigma:.3g}; a sample cannot show that the tails stay sub-Gaussian"
    return Finding("note", "residues", "def: subgaussian", words)


def _margin(instance: Instance) -> Iterator[Finding]:
    for stage in instance.margin.stages:
        verdict: FindingVerdict = "note" if np.isnan(stage.alpha) else "holds"  # too few units to tell
        yield Finding(verdict, "margin", "assumption: margin", str(stage))
    if _has_constant_feature(instance):
        words = "not usable for this α: features with a constant among them have no density, so γ is estimated instead"
        yield Finding("note", "lemma on α = 1", "lemma: alpha is one", words)
    powers = [stage.power for stage in instance.margin.stages]
    if instance.two_by_two and len(set(powers)) > 1:
        d = max(instance.evidence.design.dimensions)
        depth = " and ".join(str(peeling_depth(power, d)) if power < np.inf else "none" for power in powers)
        least = f"{min(powers):.3g}: {peeling_depth(min(powers), d)}"
        words = f"Theorem 1's M takes the smaller α, {least}; its proof needs each stage's own: {depth}"
        yield Finding("note", "M", "thm: regret upper bound", words)


def _has_constant_feature(instance: Instance) -> bool:
    first = instance.evidence.visits[0]
    return bool((np.ptp(first.psi[first.reached], axis=0) == 0).any())


def _diversity(instance: Instance) -> Iterator[Finding]:
    label, diversity = "assumption: diversity", instance.diversity
    for m, (stage, regions) in enumerate(zip(instance.evidence.design.stages, diversity.regions, strict=True)):
        nowhere = [region.arm for region in regions if not region.suboptimal and region.probability == 0]
        excused = [region.arm for region in regions if region.suboptimal]
        if nowhere:
            words = f"at stage {stage.name} with Δ = {diversity.delta[m]:.3g} no history has {_arms(nowhere)} best by Δ"
            yield Finding("fails", "diversity", label, f"{words}, so nothing is learnt there without forcing")
        elif not diversity.holds[m]:
            words = f"at stage {stage.name} φ = {diversity.phi[m]:.2g} cannot be told from 0"
            yield Finding("fails", "diversity", label, words)
        else:
            words = f"at stage {stage.name} φ = {diversity.phi[m]:.3g} and p = {diversity.p[m]:.3g}"
            yield Finding("holds", "diversity", label, f"{words} with Δ = {diversity.delta[m]:.3g}")
        if excused:
            words = f"at stage {stage.name} {_arms(excused)} is worse by Δ everywhere, which appendix K arms allows"
            yield Finding("note", "suboptimal arms", "assumption: diversity k arms (with suboptimal arms)", words)


def _arms(labels: list[str]) -> str:
    return f"arm{'s' if len(labels) > 1 else ''} {', '.join(labels)}"


def _constants(instance: Instance, q: int) -> Iterator[Finding]:
    if instance.constants is None:
        return
    yield _enough_pulls(instance.constants, q)
    if c_tilde_3(instance.constants) > max(c_tilde_1(instance.constants), c_tilde_2(instance.constants)):
        needed = c_tilde_3(instance.constants)
        words = f"the proof needs q ≥ {needed:.3g} as well, for stage 1's design matrices; the theorem leaves it out"
        verdict: FindingVerdict = "note" if q >= needed else "fails"
        yield Finding(verdict, "C̃₁ ∨ C̃₂", "lemma: positive defnite 1", words)


def _enough_pulls(constants: Constants, q: int) -> Finding:
    asked = smallest_q(constants)
    both = f"C̃₁ = {c_tilde_1(constants):.2g}, C̃₂ = {c_tilde_2(constants):.2g}"
    if q >= asked:
        return Finding("holds", "forced pulls", "thm: regret upper bound", f"q = {q:,} is at least {both}")
    words = f"q = {q:,} is below {both}, so the theorem promises nothing for it"
    return Finding("fails", "forced pulls", "thm: regret upper bound", words)


def _delay(instance: Instance, arrivals: ArrivalProcess) -> Finding:
    stages = len(instance.evidence.design.stages)
    mean = f"{arrivals.mean_delay(stages):.3g} units enrol between a unit's enrolment and its outcome"
    if not arrivals.sub_exponential:
        words = (
            f"{mean}, but some time is not sub-exponential (its tail is too heavy): the theorem on delay says nothing"
        )
        return Finding("fails", "delay", "thm: delay", words)
    penalty = delay_penalty(delay_of(arrivals, stages))
    words = f"{mean}; its times are sub-exponential and add {penalty:.3g} to the order of regret, times a constant"
    return Finding("holds", "delay", "thm: delay", words)


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
                f"No policy can lose more than {worst:.3g}, so that the formula tells nothing here; it is informative "
                f"(below what any policy can lose) from T ≈ {since:.1g} on."
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
    >>> found = report(Synthetic(), q=5, delta=0.2, horizon=500, paths=2, units=2000)
    >>> found.promised, [finding.subject for finding in found.findings if finding.verdict == "fails"]
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
    judged = findings(instance, q=policy.q, arrivals=arrivals)
    return Report(policy, horizon, judged, *regret, instance, best, cost)


def _listed(delta: tuple[float, ...]) -> str:
    return ", ".join(f"{value:.3g}" for value in delta)
