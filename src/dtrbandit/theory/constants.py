"""The constants of the paper's assumptions, for two stages of two arms."""

from __future__ import annotations

import math
from dataclasses import dataclass

from dtrbandit.design.parameters import positive, real, whole
from dtrbandit.design.values import shown
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
