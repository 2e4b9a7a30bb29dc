"""How likely the estimates are good: the propositions behind Theorem 1 (label "sec:upperboundanalysis").

A function gives the right-hand side as printed, even where it exceeds 1 and so says nothing.
"""

from __future__ import annotations

import math

from dtrbandit.design.parameters import positive, real, whole
from dtrbandit.theory.bounds import c_2
from dtrbandit.theory.constants import Constants


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
