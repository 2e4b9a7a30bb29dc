"""The constants of the paper's assumptions, for two stages of two arms; for section 5.2 in closed form.

On the problem of section 5.2 (label "section: synthetic experiments") the gap at stage 1 is 28x₁/15 − 2/3, with x₁
uniform on (0, 1). At stage 2 it is 1 − 2x₂. The paper says that lemma "alpha is one" applies. It does not: ψ = (1, x)
lies on a line and has no density in ℝ². The margin condition holds all the same, with constants of its own.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.polynomial import Polynomial

from dtrbandit.design.values import positive, real, shown, whole
from dtrbandit.environments.synthetic import FIRST, SECOND
from dtrbandit.errors import DesignError

Pair = tuple[float, float]


@dataclass(frozen=True, kw_only=True)
class Constants:
    """What labels "assumption: bounded", "assumption: margin" and "assumption: diversity" suppose.

    Pairs are (stage 1, stage 2).

    Attributes
    ----------
    d
        The number of features; where the stages differ, the larger.
    x_max, x_inf
        Bounds on ‖ψ_m‖ and on ‖ψ_m‖_∞ (the latter enters with "prop: ols").
    b_max
        A bound on ‖β_{a,m}‖.
    sigma
        The residues η are σ-sub-Gaussian ("def: subgaussian").
    alpha, gamma
        P(0 < |Q_m(h, 1) − Q_m(h, 2)| ≤ κ) ≤ γ_m κ^{α_m}. γ_m = 0 says that this never happens; α_m is then ∞.
    delta, phi
        Δ_m, and the smallest eigenvalue φ_m of the design matrices where an arm is better by more than Δ_m.

    Examples
    --------
    >>> from dtrbandit.theory import synthetic_constants
    >>> synthetic_constants(delta=(0.3, 0.3)).gamma
    (1.0714285714285714, 1.0)
    """

    d: int
    x_max: float
    x_inf: float
    b_max: float
    sigma: float
    alpha: Pair
    gamma: Pair
    delta: Pair
    phi: Pair

    def __post_init__(self) -> None:
        whole(self.d, "Constants: d", low=1)
        for name in ("x_max", "x_inf", "b_max", "sigma"):
            positive(getattr(self, name), f"Constants: {name}")
        for name in ("alpha", "gamma", "delta", "phi"):
            _check_pair(name, getattr(self, name))
        for alpha, gamma in zip(self.alpha, self.gamma, strict=True):
            if (alpha == math.inf) != (gamma == 0):
                raise DesignError(f"Constants: α = inf goes with γ = 0, found α = {alpha:g} with γ = {gamma:g}")

    @property
    def p(self) -> Pair:
        """The p and p′ of lemma "probability bound" that φ guarantees where both stages have d features.

        φ_m ≤ E[‖ψ‖² 1{U}] / d_m ≤ x_max² P(U) / d_m, so a stage of fewer features has less.
        """
        first, second = (self.d * phi / self.x_max**2 for phi in self.phi)
        return first, second


def _check_pair(name: str, pair: object) -> None:
    if not isinstance(pair, tuple) or len(pair) != 2:
        raise DesignError(f"Constants: {name} must be a pair, one number per stage, found {shown(pair)}")
    for m, value in enumerate(pair, 1):
        if name == "gamma":
            real(value, f"Constants: {name} of stage {m}")
        elif not (name == "alpha" and value == math.inf):
            positive(value, f"Constants: {name} of stage {m}")


GAMMA: Pair = (15 / 14, 1.0)
BOUNDARY, STEEPNESS = 5 / 14, 28 / 15  # of the gap at stage 1
LARGEST_DELTA: Pair = (2 / 3, 1.0)  # beyond these an arm is best by the margin nowhere

X = Polynomial([0.0, 1.0])
COMPONENTS = (  # densities of x₂(a₁) where the mixture takes its first and its second component
    (4 * X**3, 2 * (1 - X)),
    (4 * (1 - X) ** 3, 2 * X),
)


def synthetic_gap(stage: int, kappa: float) -> float:
    """Return P(|Q_m(h, 1) − Q_m(h, 2)| ≤ κ), m = ``stage`` from 0.

    Stage 1: κ·15/14 until the interval around 5/14 meets an end of (0, 1), then less: α₁ = 1 with γ₁ = 15/14. Stage 2:
    either arm leads to 2x³ + 1 − x or its mirror image as density of x₂, so ¾κ + ¼κ³ up to κ = 1: α₂ = 1 with γ₂ = 1.

    Examples
    --------
    >>> synthetic_gap(1, 0.5) == 0.75 * 0.5 + 0.25 * 0.5**3
    True
    """
    if stage == 0:
        half = kappa / STEEPNESS
        return min(BOUNDARY + half, 1.0) - max(BOUNDARY - half, 0.0)
    kappa = min(kappa, 1.0)
    return 0.75 * kappa + 0.25 * kappa**3


def synthetic_phi(delta: Pair) -> Pair:
    """Return φ₁ and φ₂ exactly (eqs "assumption3: 1" and "assumption3: 2")."""
    first, second = ([_smallest(*_moments(stage, arm, delta)) for arm in (0, 1)] for stage in (0, 1))
    return min(first), min(second)


def synthetic_p(delta: Pair) -> Pair:
    """Return p and p′ exactly (label "lemma: probability bound")."""
    first, second = ([_moments(stage, arm, delta)[0] for arm in (0, 1)] for stage in (0, 1))
    return min(first), min(second)


def synthetic_constants(delta: Pair) -> Constants:
    """Return the constants of section 5.2 for Δ₁ < 2/3 and Δ₂ < 1.

    σ = 1: outcomes are normal with variance 1 around Q₂, and max Q₂ lies in [1, 3], an interval of half-length 1
    (Hoeffding). ‖ψ‖ ≤ √2, and b_max = 3 is the length of (0, 3).
    """
    for m, (value, largest) in enumerate(zip(delta, LARGEST_DELTA, strict=True), 1):
        if positive(value, f"synthetic_constants: Δ of stage {m}") >= largest:
            raise DesignError(f"synthetic_constants: Δ of stage {m} must be below {largest:.3g}, found {value:g}")
    b_max = float(max(np.linalg.norm(row) for row in (*FIRST, *SECOND)))
    return Constants(
        d=2, x_max=math.sqrt(2), x_inf=1.0, b_max=b_max, sigma=1.0,
        alpha=(1.0, 1.0), gamma=GAMMA, delta=delta, phi=synthetic_phi(delta),
    )  # fmt: skip


def _moments(stage: int, arm: int, delta: Pair) -> tuple[float, float, float]:
    """Return ∫ 1, ∫ x and ∫ x² over U_{a,m}; at stage 2 summed over the first arm, where that was best by Δ₁."""
    first = [_interval(0, a, delta[0]) for a in (0, 1)]
    if stage == 0:
        return _integrals(Polynomial([1.0]), *first[arm])
    density = Polynomial([0.0])
    for (low, high), (with_x, without) in zip(first, COMPONENTS, strict=True):
        weight = (high**2 - low**2) / 2  # ∫ x₁ over the interval: how often the first component is taken
        density = density + weight * with_x + (high - low - weight) * without
    return _integrals(density, *_interval(1, arm, delta[1]))


def _interval(stage: int, arm: int, delta: float) -> Pair:
    """Return the x where an arm is better by more than Δ; empty ones have length 0."""
    if stage == 0:
        reach = delta / STEEPNESS
        return (min(BOUNDARY + reach, 1.0), 1.0) if arm == 0 else (0.0, max(BOUNDARY - reach, 0.0))
    return (0.0, max((1 - delta) / 2, 0.0)) if arm == 0 else (min((1 + delta) / 2, 1.0), 1.0)


def _integrals(density: Polynomial, low: float, high: float) -> tuple[float, float, float]:
    primitives = [(density * X**power).integ() for power in range(3)]
    zeroth, mean, square = (float(primitive(high) - primitive(low)) for primitive in primitives)
    return zeroth, mean, square


def _smallest(zeroth: float, mean: float, square: float) -> float:
    """Return the smaller eigenvalue of ((zeroth, mean), (mean, square)), as det / larger: no cancellation."""
    larger = (zeroth + square) / 2 + math.hypot((zeroth - square) / 2, mean)
    return (zeroth * square - mean**2) / larger if larger else 0.0
