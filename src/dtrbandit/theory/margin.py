"""The margin condition (label "assumption: margin"): how rarely units are near a decision boundary.

P(0 < |Q_m(h, i) − Q_m(h, j)| ≤ κ) ≤ γ_m κ^{α_m} for all κ > 0, whatever the earlier arms and, with more than two arms,
for every pair of them (label "assumption: margin k arms").
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from itertools import combinations
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from dtrbandit.design.feasibility import Plan
from dtrbandit.design.spec import Design
from dtrbandit.design.values import each, positive, spread, whole
from dtrbandit.environments.potential_outcomes import Environment
from dtrbandit.errors import DesignError
from dtrbandit.kernels.arrays import Array
from dtrbandit.plots import COLOURS, colour_of, legend_above, plain_axes
from dtrbandit.theory.evidence import UNITS, Evidence, Visit, evidence_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

NEAR = 0.1  # of the gaps: those that α is estimated from
NEAREST = 0.02  # of the gaps: those below any κ at which γ is judged, since fewer say little
LARGEST = 4.0  # α that γ is estimated for: a larger one makes bounds no better, and any smaller than the true α holds
UNBROKEN = "-", "-.", ":"  # lines of the laws of gaps; bounds are broken lines
SAME = 1e-12  # gaps below this share of the largest |Q| are rounding errors of 0

Between = Literal["pairs", "best"]


class Gaps(NamedTuple):
    """The positive gaps between arms at a node, in ascending order, and the number of units there."""

    before: Plan
    pair: tuple[int, ...]  # of arms, or () for the best two
    values: Array
    units: int

    def named(self, design: Design) -> str:
        """Return in words between which arms, by their labels, and after which."""
        labels = [stage.arms for stage in design.stages]
        earlier = ", ".join(labels[m][arm] for m, arm in enumerate(self.before))
        own = labels[len(self.before)]
        between = f"{own[self.pair[0]]} and {own[self.pair[1]]}" if self.pair else "the best two"
        return f"{between}{f' after {earlier}' if earlier else ''}"

    def probability(self, kappa: float) -> float:
        """Return the share of units with 0 < gap ≤ κ."""
        return float(np.searchsorted(self.values, kappa, side="right") / self.units)


class StageMargin(NamedTuple):
    """α_m and γ_m of a stage with their standard errors; γ goes with ``power``, the α asked for or the estimate.

    Where no unit is ever near a boundary α is ∞ and γ is 0.
    """

    stage: str
    alpha: float
    alpha_error: float
    gamma: float
    gamma_error: float
    power: float
    units: int

    @property
    def likely_one(self) -> bool:
        """Whether α = 1 is within two standard errors."""
        return abs(self.alpha - 1) <= 2 * self.alpha_error

    def __str__(self) -> str:
        if self.units == 0:
            return f"{self.stage}: no unit comes there, so nothing is known"
        if math.isnan(self.power):
            return f"{self.stage}: α and γ are unknown, from so few units"
        if self.gamma == 0:
            return f"{self.stage}: no unit is ever near a boundary (α = ∞)"
        alpha, gamma = f"{self.alpha:.3g} ± {self.alpha_error:.2g}", f"{self.gamma:.3g} ± {self.gamma_error:.2g}"
        with_power = "" if self.power == self.alpha else f" with α = {self.power:g}"
        if math.isnan(self.alpha):
            alpha = "unknown, from so few units"
        return f"{self.stage}: α = {alpha}; γ = {gamma}{with_power}"


@dataclass(frozen=True)
class Margin:
    """Estimates of the margin, stage by stage; ± is one standard error."""

    stages: tuple[StageMargin, ...]
    source: str
    caveats: tuple[str, ...]
    gaps: tuple[tuple[Gaps, ...], ...] = field(repr=False)
    design: Design = field(repr=False)

    @property
    def alpha(self) -> float:
        """The smallest α_m."""
        return min(stage.alpha for stage in self.stages)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw P(0 < gap ≤ κ) against κ on logarithmic scales, with γκ^α: a straight line of slope α."""
        own_picture, drawn = ax is None, 0
        ax = plain_axes(ax, "κ (log scale)", "P(0 < gap ≤ κ) (log scale)")
        for stage, gaps in zip(self.stages, self.gaps, strict=True):
            known, first = [own for own in gaps if len(own.values)], drawn
            for own in known:
                below = np.unique(np.geomspace(1, len(own.values), 200).astype(int))
                colour, dash = colour_of(drawn), UNBROKEN[drawn // len(COLOURS) % len(UNBROKEN)]
                label = f"{stage.stage}: {own.named(self.design)}"
                ax.plot(own.values[below - 1], below / own.units, dash, color=colour, linewidth=1.5, label=label)
                drawn += 1
            if known and np.isfinite(stage.power):
                ends = min(own.values[0] for own in known), max(own.values[-1] for own in known)
                kappa = np.geomspace(*ends, 200)
                bound = np.minimum(stage.gamma * kappa**stage.power, 1)
                ax.plot(kappa, bound, "--", color=colour_of(first), lw=1, label=f"bound γκ^α of {stage}")
        ax.set_xscale("log")
        ax.set_yscale("log")
        if ax.lines:
            legend_above(ax, own_picture)
        return ax

    def __str__(self) -> str:
        lines = [f"Margin, from {self.source}", *(f"  {stage}" for stage in self.stages)]
        return "\n".join([*lines, *(f"  Caveat: {caveat}." for caveat in self.caveats)])


def estimate_margin(
    source: Environment | Evidence,
    rng: np.random.Generator | None = None,
    *,
    units: int = UNITS,
    alpha: float | tuple[float, ...] | None = None,
    between: Between = "pairs",
) -> Margin:
    """Estimate α_m and γ_m of each stage from an environment, or from evidence such as ``from_session(session)``.

    Parameters
    ----------
    rng, units
        To draw from an environment, and how many.
    alpha
        The α that γ goes with, one or one per stage; by default the estimate, at most 4. γ depends much on it, so give
        it where it is known.
    between
        ``"pairs"``: the gap between any two arms, as the assumption is printed. ``"best"``: between the best and the
        second-best, which is all that a decision has to tell apart. With two arms they are the same.

    Notes
    -----
    α is the slope of log P(gap ≤ κ) at small κ: the inverse of the mean of log(g_{(k+1)} / g_{(i)}) over the k smallest
    gaps (Hill's estimate, standard error α/√k), k a tenth of them. γ is the largest P(gap ≤ κ) / κ^α over all κ with
    at least 2 % of the gaps below. At a stage the smallest α and the largest γ of all nodes and pairs count.

    Examples
    --------
    >>> from dtrbandit.environments import Linear
    >>> margin = estimate_margin(Linear(margin=0.5), np.random.default_rng(0), alpha=0.5)
    >>> print(margin.stages[0])
    stage1: α = 0.508 ± 0.011; γ = 1.03 ± 0.019 with α = 0.5
    """
    if between not in ("pairs", "best"):
        raise DesignError(f"estimate_margin: between must be 'pairs' or 'best', found {between!r}")
    evidence = evidence_of(source, rng, whole(units, "estimate_margin: units", low=1))
    powers = _powers(alpha, len(evidence.design.stages))
    gaps = tuple(
        tuple(own for visit in evidence.at_stage(m) for own in _gaps(visit, between))
        for m in range(len(evidence.design.stages))
    )
    names = [stage.name for stage in evidence.design.stages]
    stages = tuple(_stage_margin(*own) for own in zip(names, gaps, powers, strict=True))
    return Margin(stages, evidence.source, evidence.caveats, gaps, evidence.design)


def hill(gaps: Array) -> tuple[float, float]:
    """Return α and its standard error from positive gaps in ascending order.

    NaN from fewer than 20 gaps; ∞ if the smallest are all equal.
    """
    k = int(NEAR * len(gaps))
    if k < 2:
        return math.nan, math.nan
    excess = float(np.mean(np.log(gaps[k] / gaps[:k])))
    if excess < SAME:  # the smallest gaps are all the same: far from 0, any α will do
        return math.inf, 0.0
    return 1 / excess, 1 / excess / math.sqrt(k)


def smallest_gamma(gaps: Gaps, alpha: float) -> tuple[float, float]:
    """Return the smallest γ that does for this α, the largest P(gap ≤ κ) / κ^α, and its standard error.

    Only κ with enough gaps below them count.
    """
    first = int(NEAREST * len(gaps.values))
    share, kappa = np.arange(first + 1, len(gaps.values) + 1) / gaps.units, gaps.values[first:]
    ratio = share / kappa**alpha
    best = int(np.argmax(ratio))
    return float(ratio[best]), float(ratio[best] * math.sqrt((1 - share[best]) / (gaps.units * share[best])))


def alpha_is_one(*, density: float, x_max: float, d: int, slope: float) -> float:
    """Return γ = 12μ_max·x_max^d / ‖β₁ − β₂‖, with which α = 1, as lemma "alpha is one" prints it.

    ``density`` is μ_max, a bound on the density of ψ; ``slope`` is ‖β₁ − β₂‖. Two caveats: ψ = (1, x) has no density
    in ℝ², so the lemma does not cover designs with an intercept, section 5.2 among them (``synthetic_gap`` has its own
    constants); and for x_max < 1 the power must be d − 1 (``alpha_is_one_as_proved``).
    """
    _require_positive(density=density, x_max=x_max, slope=slope)
    return 12 * density * x_max ** whole(d, "alpha_is_one: d", low=1) / slope


def alpha_is_one_as_proved(*, density: float, x_max: float, d: int, slope: float) -> float:
    """Return γ = 2μ_max·V_{d−1}(x_max) / ‖β₁ − β₂‖, what the lemma's proof gives.

    A slab of thickness κ / ‖β₁ − β₂‖ cuts from the ball at most its (d − 1)-dimensional section. Since V_{d−1}(x) ≤
    6x^{d−1}, it is at most 12μ_max·x_max^{d−1} / ‖β₁ − β₂‖.
    """
    _require_positive(density=density, x_max=x_max, slope=slope)
    d = whole(d, "alpha_is_one: d", low=1)
    section: float = math.pi ** ((d - 1) / 2) / math.gamma((d + 1) / 2) * x_max ** (d - 1)
    return 2 * density * section / slope


def _require_positive(**values: float) -> None:
    for name, value in values.items():
        positive(value, f"alpha_is_one: {name}")


def _gaps(visit: Visit, between: Between) -> list[Gaps]:
    """Return the gaps at a node, of the pairs of feasible arms or of the best two."""
    q = visit.q[visit.reached]
    feasible = [arm for arm in range(q.shape[1]) if len(q) and not np.isnan(q[:, arm]).all()]
    if between == "best" and len(feasible) > 1:
        ordered = np.sort(q[:, feasible], axis=1)
        return [_positive(visit.arms, (), ordered[:, -1] - ordered[:, -2], q)]
    return [_positive(visit.arms, (i, j), np.abs(q[:, i] - q[:, j]), q) for i, j in combinations(feasible, 2)]


def _positive(before: Plan, pair: tuple[int, ...], gap: Array, q: Array) -> Gaps:
    return Gaps(before, pair, np.sort(gap[gap > SAME * np.nanmax(np.abs(q))]), len(gap))


def _powers(alpha: float | tuple[float, ...] | None, stages: int) -> tuple[float | None, ...]:
    if alpha is None:
        return (None,) * stages
    what = "estimate_margin: alpha"
    return spread(each(alpha, what, positive), stages, what)


def _stage_margin(name: str, gaps: tuple[Gaps, ...], power: float | None) -> StageMargin:
    known = [own for own in gaps if len(own.values)]
    units = max((own.units for own in gaps), default=0)
    if not known:
        return StageMargin(name, math.inf, 0.0, 0.0, 0.0, math.inf, units)
    slopes = [slope for slope in map(hill, (own.values for own in known)) if slope[0] == slope[0]]
    alpha, alpha_error = min(slopes, default=(math.nan, math.nan))
    own_power = min(alpha, LARGEST) if power is None else power
    gamma, gamma_error = max(smallest_gamma(own, own_power) for own in known)
    return StageMargin(name, alpha, alpha_error, gamma, gamma_error, own_power, units)
