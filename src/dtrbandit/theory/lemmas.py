"""The lemmas behind Theorem 1: how often an arm is forced, and how likely the estimates are good.

Forced pulls are counted exactly, and bounded as the paper does (label "lemma: forced pull numbers"). A function for a
probability (label "sec:upperboundanalysis") gives the right-hand side as printed, even where it exceeds 1 and so says
nothing.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from dtrbandit.design.feasibility import Plan
from dtrbandit.design.schedule import place
from dtrbandit.design.spec import Design
from dtrbandit.design.values import positive, real, whole
from dtrbandit.theory.bounds import c_2
from dtrbandit.theory.constants import Constants


class Bounds(NamedTuple):
    """A lower and an upper bound."""

    low: float
    high: float


class ForcedPulls(NamedTuple):
    """|𝒯_{a,m}(t)|, with bounds for any plans, and those of the lemma where it speaks of this design and round."""

    stage: str
    arm: str
    pulls: int
    bounds: Bounds
    lemma: Bounds | None


def forced_pulls(t: int, plans: tuple[Plan, ...], *, q: int, stage: int, arm: int) -> int:
    """Return |𝒯_{a,m}(t)|: in how many rounds up to ``t`` the schedule forces an arm at a stage.

    Of P plans, p have the arm. Block 2ⁿ − 1 of P·q rounds is forced and gives it q·p times (eq. "forced samples K";
    docs/readings.md, 14), so by round t there are ⌊log₂(b + 1)⌋ + 1 such blocks, b = ⌊(t − 1) / (P·q)⌋, of which the
    last may have only begun.

    Examples
    --------
    >>> two_by_two = ((0, 0), (0, 1), (1, 0), (1, 1))
    >>> [forced_pulls(t, two_by_two, q=1, stage=0, arm=1) for t in (2, 3, 4, 8, 28, 32)]
    [0, 1, 2, 4, 6, 8]
    """
    t, q = whole(t, "forced_pulls: t", low=0), whole(q, "forced_pulls: q", low=1)
    if t == 0:
        return 0
    forced, latest, offset = place(t, len(plans), q)
    having = [number for number, plan in enumerate(plans) if plan[stage] == arm]
    if not forced:
        return (latest + 1) * q * len(having)
    begun = sum(min(max(offset + 1 - number * q, 0), q) for number in having)
    return latest * q * len(having) + begun


def forced_pull_bounds(t: int, plans: tuple[Plan, ...], *, q: int, stage: int, arm: int) -> Bounds:
    """Return bounds on |𝒯_{a,m}(t)| for any plans: p·q·log₂(t / Pq) and p·q·⌈log₂(1 + t / Pq)⌉.

    Blocks 0, …, 2ⁿ − 1 are over by round 2ⁿ·P·q, and the last of them begins after round (2ⁿ − 1)·P·q.
    """
    t, q = whole(t, "forced_pull_bounds: t", low=0), whole(q, "forced_pull_bounds: q", low=1)
    blocks, having = t / (len(plans) * q), sum(plan[stage] == arm for plan in plans)
    return Bounds(
        having * q * max(math.log2(blocks), 0.0) if t else 0.0, float(having * q * math.ceil(math.log2(1 + blocks)))
    )


def forced_pull_lemma(t: int, *, q: int) -> Bounds:
    """Return q·log t and 3q·log t: for two by two arms and t ≥ 64q² (lemma "forced pull numbers")."""
    t, q = whole(t, "forced_pull_lemma: t", low=1), whole(q, "forced_pull_lemma: q", low=1)
    return Bounds(q * math.log(t), 3 * q * math.log(t))


def forced_pull_table(t: int, design: Design, *, q: int) -> tuple[ForcedPulls, ...]:
    """Return the forced pulls of every arm of a design by round ``t``; ``pandas.DataFrame`` takes it as it is."""
    plans = design.arm_plans
    lemma = design.arm_counts == (2, 2) and len(plans) == 4 and t >= 64 * q**2
    return tuple(
        ForcedPulls(
            each.name,
            label,
            forced_pulls(t, plans, q=q, stage=m, arm=arm),
            forced_pull_bounds(t, plans, q=q, stage=m, arm=arm),
            forced_pull_lemma(t, q=q) if lemma else None,
        )
        for m, each in enumerate(design.stages)
        for arm, label in enumerate(each.arms)
    )


def ols_tail(chi: float, *, phi: float, n: int, d: int, x_inf: float, sigma: float, error: float = 0.0) -> float:
    """Return the bound on P(‖β̂ − β‖ ≥ χ, λ_min(Σ̂) ≥ φ) of ordinary least squares on n rows (label "prop: ols").

    Rows may be collected adaptively. ``phi`` bounds the eigenvalues of the sum Σ̂, not of a mean; ``error`` is the
    probability P(Σ|δ_i| ≥ χφ / 2x_max) that measurement errors are large, 0 if there are none.

    Examples
    --------
    >>> round(ols_tail(0.5, phi=20.0, n=100, d=2, x_inf=1.0, sigma=0.5), 4)
    3.1152
    """
    for name, value in (("chi", chi), ("phi", phi), ("x_inf", x_inf), ("sigma", sigma)):
        positive(value, f"ols_tail: {name}")
    n, d = whole(n, "ols_tail: n", low=1), whole(d, "ols_tail: d", low=1)
    error = real(error, "ols_tail: error", high=1.0)
    return 2 * d * math.exp(-(chi**2) * phi**2 / (8 * n * d * x_inf**2 * sigma**2)) + error


def tilde_fails(stage: int, t: int) -> float:
    """Return the bound on P(𝒢ᶜ_{t,m}), m = ``stage`` from 0: 8/t² and 6/t² (label "prop: convergence of Tilde Q").

    It holds for q of at least C̃₁ ∨ C̃₂ and t ≥ 64q².
    """
    return _inverse_square((8, 6), stage, t)


def tilde_fails_as_proved(stage: int, t: int) -> float:
    """Return 12/t² and 6/t²: the first with both arms and their design matrices counted."""
    return _inverse_square((12, 6), stage, t)


def design_fails(constants: Constants, t: int) -> float:
    """Return the bound on P(ℳᶜ_t) (label "lemma: prob on mt c"), for t ≥ 256q² that is not within a forced block."""
    return _singular(constants, t) + 280 / t**2


def design_fails_as_proved(constants: Constants, t: int) -> float:
    """Return the bound on P(ℳᶜ_t) with 18/t² for 𝒢: 18·(4² + 2²) = 360."""
    return _singular(constants, t) + 360 / t**2


def hat_fails(constants: Constants, t: int) -> float:
    """Return a bound on P(ℒᶜ_t), where no arm is suboptimal everywhere.

    The paper says O(t⁻²) and no more (label "section: k arms"). With ‖β̂ − β‖ > Δ₂ / 2x_max in eq. "useful", for two
    arms, it is 4d·exp(−C₂(Δ₂/2)²t) + P(ℳᶜ_t).
    """
    c = constants
    return 4 * c.d * math.exp(-c_2(c) * (c.delta[1] / 2) ** 2 * t) + design_fails(c, t)


def _inverse_square(tops: tuple[int, int], stage: int, t: int) -> float:
    return tops[whole(stage, "tilde_fails: stage", low=0, high=1)] / whole(t, "tilde_fails: t", low=1) ** 2


def _singular(c: Constants, t: int) -> float:
    return sum(2 * c.d * math.exp(-phi * t / (48 * c.x_max**2)) for phi in c.phi)
