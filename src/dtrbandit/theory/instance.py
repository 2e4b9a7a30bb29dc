"""A problem as the theory sees it: the constants of its assumptions, estimated from an environment."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from dtrbandit.design.spec import Design
from dtrbandit.environments.potential_outcomes import Environment, along, require_environment
from dtrbandit.kernels.arrays import Array
from dtrbandit.theory.constants import Constants
from dtrbandit.theory.diversity import Diversity, estimate_diversity
from dtrbandit.theory.evidence import UNITS, Evidence, from_units
from dtrbandit.theory.margin import Margin, estimate_margin

LINEAR = 1e-8  # of the largest |Q|: misfits below are rounding errors
TENTH = 10


@dataclass(frozen=True, repr=False)
class Instance:
    """An environment's constants, estimated from drawn units.

    Attributes
    ----------
    coefficients, misfit
        β_{a,m} by least squares of the true Q on the features, (K_m, d_m), and the largest misfit of each stage
        relative to the largest |Q_m|: 0 but for rounding if Q is linear.
    x_max, x_inf, growth
        The largest ‖ψ‖ and ‖ψ‖_∞ found, and by which factor the former exceeds the largest among a tenth of the units:
        1, or almost, if features are bounded.
    sigma
        The largest √(2 log E e^{sη}) / |s| found at moderate s: an estimate of the residues' sub-Gaussian constant, too
        low where their tails are heavier than those of a normal law.
    """

    evidence: Evidence
    coefficients: tuple[Array, ...]
    misfit: tuple[float, ...]
    x_max: float
    x_inf: float
    growth: float
    sigma: float
    margin: Margin
    diversity: Diversity

    @classmethod
    def of(
        cls,
        environment: Environment,
        rng: np.random.Generator,
        *,
        delta: float | tuple[float, ...] | None = None,
        units: int = UNITS,
    ) -> Instance:
        """Draw units and estimate the constants; α_m = 1 is assumed where it is within two standard errors.

        Examples
        --------
        >>> from dtrbandit.environments import Synthetic
        >>> instance = Instance.of(Synthetic(), np.random.default_rng(0), delta=0.2)
        >>> instance.linear, instance.bounded, round(instance.x_max, 2)
        (True, True, 1.41)
        """
        require_environment(environment, "an instance of the theory")
        drawn = environment.draw(units, rng)
        evidence = from_units(drawn, source=f"{environment!r}")
        fits = [_fit(evidence, m) for m in range(len(evidence.design.stages))]
        rows = [visit.psi * visit.reached[:, None] for visit in evidence.visits]
        norms = [np.linalg.norm(own, axis=1) for own in rows]
        tenth = max(own[: max(len(own) // TENTH, 1)].max() for own in norms)
        x_max = float(max(own.max() for own in norms))
        return cls(
            evidence,
            tuple(coefficients for coefficients, _ in fits),
            tuple(misfit for _, misfit in fits),
            x_max,
            float(max(np.abs(own).max() for own in rows)),
            x_max / float(tenth) if tenth else math.inf,
            max(map(sub_gaussian, _residues(evidence, drawn.outcome)), default=0.0),
            likely_margin(evidence),
            estimate_diversity(evidence, delta=delta),
        )

    def with_widest(self) -> Instance:
        """Return the instance with the Δ_m at which Δ_m·φ_m is largest, stage by stage."""
        return replace(self, diversity=estimate_diversity(self.evidence))

    @property
    def linear(self) -> bool:
        """Whether all Q-functions are linear in the features."""
        return max(self.misfit) < LINEAR

    @property
    def bounded(self) -> bool:
        """Whether features look bounded: ten times the units reach hardly farther."""
        return self.growth < 1.05

    @property
    def two_by_two(self) -> bool:
        """Whether there are two stages of two arms, each plan feasible: what Theorem 1 is stated for."""
        return two_by_two(self.evidence.design)

    @cached_property
    def constants(self) -> Constants | None:
        """The constants of Theorem 1; None if it is not about this design, or a φ_m is 0."""
        if not self.two_by_two or min(self.diversity.phi) <= 0 or not self.sigma:
            return None
        first, second = self.margin.stages
        return Constants(
            d=max(self.evidence.design.dimensions),
            x_max=self.x_max,
            x_inf=self.x_inf,
            b_max=float(max(np.linalg.norm(rows, axis=1).max() for rows in self.coefficients)),
            sigma=self.sigma,
            alpha=(first.power, second.power),
            gamma=(first.gamma, second.gamma),
            delta=(self.diversity.delta[0], self.diversity.delta[1]),
            phi=(self.diversity.phi[0], self.diversity.phi[1]),
        )

    def __repr__(self) -> str:
        return f"<Instance of {self.evidence.source}: x_max = {self.x_max:.3g}, σ = {self.sigma:.3g}>"


def two_by_two(design: Design) -> bool:
    """Say whether a design has two stages of two arms, each plan feasible."""
    return design.arm_counts == (2, 2) and design.every_combination


def likely_margin(evidence: Evidence) -> Margin:
    """Return the margin with γ for α = 1 where that is within two standard errors, else for the estimate."""
    stages = estimate_margin(evidence).stages
    powers = [1.0 if stage.likely_one or not math.isfinite(stage.power) else stage.power for stage in stages]
    return estimate_margin(evidence, alpha=tuple(powers))


def sub_gaussian(residue: Array) -> float:
    """Return the largest √(2 log E e^{sη}) / |s| over s within ±1/sd (label "def: subgaussian").

    At s → 0 it is the standard deviation. For larger s a sample says little about E e^{sη}.
    """
    residue, spread = residue - residue.mean(), float(residue.std())
    if spread == 0:
        return 0.0
    scales = np.array([-1.0, -0.75, -0.5, -0.25, 0.25, 0.5, 0.75, 1.0]) / spread
    logs = np.array([math.log(float(np.mean(np.exp(s * residue)))) for s in scales])
    return max(spread, float(np.max(np.sqrt(np.maximum(2 * logs, 0)) / np.abs(scales))))


def _fit(evidence: Evidence, m: int) -> tuple[Array, float]:
    """Return the coefficients of Q_m, (K_m, d_m), and their largest misfit relative to the largest |Q_m|."""
    visits = evidence.at_stage(m)
    psi = np.concatenate([visit.psi[visit.reached] for visit in visits])
    q = np.concatenate([visit.q[visit.reached] for visit in visits])
    coefficients, misfit = np.zeros((q.shape[1], psi.shape[1])), 0.0
    for arm, values in enumerate(q.T):
        known = np.isfinite(values)
        coefficients[arm] = np.linalg.lstsq(psi[known], values[known], rcond=None)[0]
        misfit = max(misfit, float(np.abs(psi[known] @ coefficients[arm] - values[known]).max(initial=0.0)))
    largest = float(np.abs(q[np.isfinite(q)]).max(initial=0.0))
    return coefficients, misfit / largest if largest else 0.0


def _residues(evidence: Evidence, outcome: Array) -> Iterator[Array]:
    """Give η at every node and arm: max Q of the next stage, or the outcome, less Q (label "assumption: bounded")."""
    by_arms = {visit.arms: visit for visit in evidence.visits}
    for visit in evidence.visits:
        for arm in range(visit.q.shape[1]):
            arms, q = (*visit.arms, arm), visit.q[:, arm]
            if arms in by_arms:
                going_on = by_arms[arms].reached
                yield np.nanmax(by_arms[arms].q[going_on], axis=1) - q[going_on]
            elif evidence.design.tree.after(arms) >= 0:
                yield (along(outcome, arms) - q)[visit.reached]
