"""Diversity (label "assumption: diversity"): where an arm is best by a margin, its features must span all directions.

U_{a,m} holds the histories at which arm a is better than every other by more than Δ_m. With more than two arms, arms
that are worse than the best by more than Δ_m everywhere are suboptimal and excused (label "assumption: diversity k arms
(with suboptimal arms)"). The paper's p and p′ are the first two entries of ``p``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dtrbandit.design.feasibility import Plan
from dtrbandit.design.values import each, positive, spread, whole
from dtrbandit.environments.potential_outcomes import Environment
from dtrbandit.kernels.arrays import Array, Mask
from dtrbandit.plots import colour_of, legend_above, plain_axes
from dtrbandit.theory.evidence import UNITS, Evidence, Visit, evidence_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

STEPS = 40  # values of Δ that are tried
SINGULAR = 1e-12  # of the largest eigenvalue: smaller ones are rounding errors of 0


class Region(NamedTuple):
    """An arm at a stage: P(U) summed over earlier arms, and the smallest eigenvalue of E[ψψᵀ 1{U}].

    An arm is ``suboptimal`` if it is worse than the best by more than Δ everywhere. The assumption then asks nothing.
    """

    stage: str
    arm: str
    suboptimal: bool
    probability: float
    probability_error: float
    eigenvalue: float
    eigenvalue_error: float

    def __str__(self) -> str:
        if self.suboptimal:
            return f"{self.stage}, {self.arm}: suboptimal everywhere, which is allowed"
        if self.probability == 0:
            return f"{self.stage}, {self.arm}: best by the margin nowhere"
        return (
            f"{self.stage}, {self.arm}: best by the margin with probability {self.probability:.3g} ± "
            f"{self.probability_error:.1g}, smallest eigenvalue {self.eigenvalue:.3g} ± {self.eigenvalue_error:.1g}"
        )


@dataclass(frozen=True)
class Diversity:
    """Estimates of φ_m and p_m for given Δ_m; ± is one standard error."""

    delta: tuple[float, ...]
    regions: tuple[tuple[Region, ...], ...]
    source: str
    caveats: tuple[str, ...]
    evidence: Evidence = field(repr=False)

    @property
    def phi(self) -> tuple[float, ...]:
        """φ_m: the smallest eigenvalue of each stage, over the arms that are not suboptimal."""
        return tuple(min(region.eigenvalue for region in _required(stage)) for stage in self.regions)

    @property
    def p(self) -> tuple[float, ...]:
        """The p and p′ (label "lemma: probability bound"): the smallest probability of each stage."""
        return tuple(min(region.probability for region in _required(stage)) for stage in self.regions)

    @property
    def holds(self) -> tuple[bool, ...]:
        """Whether each stage's φ_m is above 0 by more than two standard errors."""
        return tuple(all(r.eigenvalue > 2 * r.eigenvalue_error for r in _required(stage)) for stage in self.regions)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw φ_m against Δ_m for each stage, the other Δ as they are; a dot marks the Δ_m of this estimate."""
        own_picture = ax is None
        ax = plain_axes(ax, "Δ", "φ, the smallest eigenvalue")
        evidence = self.evidence
        for m, stage in enumerate(evidence.design.stages):
            colour, before, own = colour_of(m), self.delta[:m], self.delta[m]
            tried = deltas(evidence, m)
            ax.plot(tried, profile(evidence, m, tried, before), color=colour, linewidth=2, label=stage.name)
            ax.plot(own, self.phi[m], "o", color=colour, label=f"{stage.name} at Δ = {own:.3g}: φ = {self.phi[m]:.2g}")
        ax.set_ylim(bottom=0)
        legend_above(ax, own_picture)
        return ax

    def __str__(self) -> str:
        lines = [f"Diversity with Δ = {', '.join(f'{delta:.3g}' for delta in self.delta)}, from {self.source}"]
        lines += [f"  {region}" for stage in self.regions for region in stage]
        return "\n".join([*lines, *(f"  Caveat: {caveat}." for caveat in self.caveats)])


def estimate_diversity(
    source: Environment | Evidence,
    rng: np.random.Generator | None = None,
    *,
    units: int = UNITS,
    delta: float | tuple[float, ...] | None = None,
) -> Diversity:
    """Estimate φ_m and p_m from an environment, or from evidence such as ``from_session(session)``.

    Without ``delta``, Δ_m is chosen stage by stage so that Δ_m·φ_m is largest, since C̃₁ divides by the square of Δ₂φ₂
    and C̃₂ by that of Δ₁φ₁. C̃₂ divides by φ₂² too, so with a smaller Δ₂ a somewhat smaller q may do.

    Examples
    --------
    >>> from dtrbandit.environments import Synthetic
    >>> print(estimate_diversity(Synthetic(), np.random.default_rng(0), delta=(0.2, 2.0)))
    Diversity with Δ = 0.2, 2, from Synthetic()
      first, 1: best by the margin with probability 0.539 ± 0.004, smallest eigenvalue 0.00828 ± 9e-05
      first, 2: best by the margin with probability 0.245 ± 0.003, smallest eigenvalue 0.00125 ± 2e-05
      second, 1: best by the margin nowhere
      second, 2: best by the margin nowhere
    """
    evidence = evidence_of(source, rng, whole(units, "estimate_diversity: units", low=1))
    stages = len(evidence.design.stages)
    if delta is None:
        margins = widest(evidence)
    else:
        what = "estimate_diversity: delta"
        margins = spread(each(delta, what, positive), stages, what)
    regions = tuple(regions_of(evidence, m, margins) for m in range(stages))
    return Diversity(margins, regions, evidence.source, evidence.caveats, evidence)


def regions_of(evidence: Evidence, m: int, delta: tuple[float, ...]) -> tuple[Region, ...]:
    """Return the region of each arm of stage ``m``, given Δ of the stages up to it."""
    stage, nodes = evidence.design.stages[m], _nodes(evidence, m, delta)
    return tuple(
        Region(stage.name, label, _suboptimal(nodes, arm, delta[m]), *_moments(nodes, arm, delta[m], evidence.units))
        for arm, label in enumerate(stage.arms)
    )


def widest(evidence: Evidence) -> tuple[float, ...]:
    """Return the Δ_m, stage by stage, at which Δ_m·φ_m is largest."""
    delta: tuple[float, ...] = ()
    for m in range(len(evidence.design.stages)):
        tried = deltas(evidence, m)
        phi = profile(evidence, m, tried, delta)
        delta = (*delta, float(tried[int(np.argmax(tried * phi))]))
    return delta


def deltas(evidence: Evidence, m: int) -> Array:
    """Return values of Δ_m to try: up to the largest lead of any arm at the stage."""
    leads = [visit.lead[visit.reached] for visit in evidence.at_stage(m)]
    top = max((float(lead[np.isfinite(lead)].max(initial=0.0)) for lead in leads), default=0.0)
    return np.linspace(0.0, top or 1.0, STEPS + 1)[1:]


def profile(evidence: Evidence, m: int, tried: Array, before: tuple[float, ...]) -> Array:
    """Return φ_m for each Δ_m tried, with Δ of the stages before as given."""
    return np.array([min(r.eigenvalue for r in _required(regions_of(evidence, m, (*before, float(d))))) for d in tried])


def _required(stage: tuple[Region, ...]) -> tuple[Region, ...]:
    """Return the arms that the assumption is about: those not suboptimal, or all where all are."""
    return tuple(region for region in stage if not region.suboptimal) or stage


class Node(NamedTuple):
    """A visit with the leads of its arms, and which units ``arrived`` by arms that were each best by the margin."""

    visit: Visit
    lead: Array
    arrived: Mask


def _nodes(evidence: Evidence, m: int, delta: tuple[float, ...]) -> list[Node]:
    """Return the nodes of a stage."""
    nodes = []
    arrived: dict[Plan, Mask] = {(): np.ones(evidence.units, dtype=np.bool_)}
    for visit in evidence.visits:
        if len(visit.arms) > m:
            break
        node = Node(visit, visit.lead, arrived[visit.arms] & visit.reached)
        if len(visit.arms) == m:
            nodes.append(node)
        else:
            for arm in range(node.lead.shape[1]):
                arrived[(*visit.arms, arm)] = node.arrived & (node.lead[:, arm] > delta[len(visit.arms)])
    return nodes


def _suboptimal(nodes: list[Node], arm: int, delta: float) -> bool:
    leads = np.concatenate([node.lead[node.visit.reached, arm] for node in nodes])
    return bool(len(leads) and (leads < -delta).all())  # where nobody comes nothing is known


def _moments(nodes: list[Node], arm: int, delta: float, n: int) -> tuple[float, float, float, float]:
    """Return P(U) and λ_min E[ψψᵀ 1{U}], summed over nodes, each with its standard error.

    A simple eigenvalue moves, to first order, as the quadratic form of its eigenvector v does: the mean of (vᵀψ)² 1{U}.
    """
    regions = [node.arrived & (node.lead[:, arm] > delta) for node in nodes]
    rows = [node.visit.psi[inside] for node, inside in zip(nodes, regions, strict=True)]
    inside_any = np.concatenate([np.flatnonzero(inside) for inside in regions])
    psi = np.concatenate(rows)
    values, vectors = np.linalg.eigh(psi.T @ psi / n)
    shares = np.bincount(inside_any, minlength=n).astype(np.float64)
    forms = np.bincount(inside_any, weights=(psi @ vectors[:, 0]) ** 2, minlength=n).astype(np.float64)
    eigenvalue = float(values[0]) if values[0] > SINGULAR * values[-1] else 0.0
    return float(shares.mean()), _error(shares), eigenvalue, _error(forms)


def _error(values: Array) -> float:
    return float(values.std() / math.sqrt(len(values)))
