"""Theorem 1 (label "thm: regret upper bound"): its constants and its bound, as printed and as proved.

Logarithms are natural. Where the printed theorem and its proof differ, the printed formula has the plain name and the
other ends in ``_as_proved``. ``docs/theory.md`` lists the differences.

At the end stands what delay adds (labels "section: delay" and "thm: delay").
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dtrbandit.design.values import positive, real, whole
from dtrbandit.environments.arrivals import ArrivalProcess, Duration, Exponential, Fixed, Gamma
from dtrbandit.errors import DesignError
from dtrbandit.theory.constants import Constants


class RegretTerms(NamedTuple):
    """The four terms of the bound, R⁽¹⁾ to R⁽⁴⁾ in label "sec:upperboundanalysis"."""

    exploring: float  # initialising, and forced
    failing: float  # 𝒢 or ℳ does not hold
    first: float  # wrong near the boundary at stage 1
    second: float  # and at stage 2


def c_tilde_1(constants: Constants) -> float:
    """Return C̃₁, the q that Q̃₂ needs."""
    c = constants
    noise = 128 * c.d * c.x_inf**2 * c.sigma**2 / (c.delta[1] ** 2 * c.phi[1])
    return 16 * (math.log(c.d) + 2) * c.x_max**2 * max(noise, 1.0) / c.phi[1]


def c_tilde_2(constants: Constants) -> float:
    """Return C̃₂, the q that Q̃₁ needs."""
    c = constants
    carried = max(1.0, 64 * c.x_max**4 / c.phi[1] ** 2)
    top = 512 * (math.log(c.d) + 2) * c.d * c.x_max**2 * c.x_inf**2 * c.sigma**2 * carried
    return top / (c.delta[0] ** 2 * c.phi[0] ** 2)


def c_tilde_3(constants: Constants) -> float:
    """Return 8(log d + 2)x²_max / φ₁: the q that lemma "positive defnite 1" needs, and the theorem leaves out."""
    c = constants
    return 8 * (math.log(c.d) + 2) * c.x_max**2 / c.phi[0]


def smallest_q(constants: Constants) -> int:
    """Return the smallest q for which Theorem 1 is stated: C̃₁ ∨ C̃₂."""
    return math.ceil(max(c_tilde_1(constants), c_tilde_2(constants)))


def smallest_q_as_proved(constants: Constants) -> int:
    """Return the smallest q for which all steps of the proof hold: C̃₁ ∨ C̃₂ ∨ C̃₃."""
    return max(smallest_q(constants), math.ceil(c_tilde_3(constants)))


def c_1(constants: Constants) -> float:
    """Return C₁, the rate at which Q̂₁ concentrates (label "prop: convergence of hat Q 1")."""
    c = constants
    own = c.phi[0] ** 2 / (128 * c.d * c.x_inf**2 * c.x_max**2 * c.sigma**2)
    carried = c.phi[0] ** 2 * c.phi[1] ** 2 / (2048 * c.d * c.x_inf**2 * c.x_max**6 * c.sigma**2)
    return min(own, carried)


def c_2(constants: Constants) -> float:
    """Return C₂, the rate at which Q̂₂ concentrates (label "prop: beta 2 hat convergence 2")."""
    c = constants
    return c.phi[1] ** 2 / (32 * c.d * c.x_max**2 * c.x_inf**2 * c.sigma**2)


def peeling_depth(alpha: float, d: int) -> int:
    """Return M = ⌊√((α + 4) log((α + 4) d))⌋: how many layers near the boundary are counted in full."""
    alpha, d = positive(alpha, "peeling_depth: alpha"), whole(d, "peeling_depth: d", low=1)
    return math.floor(math.sqrt((alpha + 4) * math.log((alpha + 4) * d)))


def f(alpha: float, T: int) -> float:
    """Return f(α): how regret near the boundary grows, T^{(1−α)/2}, log T or not at all."""
    T = whole(T, "f: T", low=1)
    if alpha == 1:
        return math.log(T)
    return 2 * T ** ((1 - alpha) / 2) / (1 - alpha) if alpha < 1 else 2 / (alpha - 1)


def f_as_proved(alpha: float, T: int) -> float:
    """Return ∫₁ᵀ t^{−(α+1)/2} dt, which f bounds: unlike f it is continuous at α = 1."""
    half = (1 - alpha) / 2
    return math.expm1(half * math.log(T)) / half if half else math.log(T)


def regret_terms(constants: Constants, T: int, q: int) -> RegretTerms:
    """Return the bound of Theorem 1 term by term, as printed (eq. "upperboundrate").

    It is proved for q of at least C̃₁ ∨ C̃₂. For a smaller q the number is that of the formula, and no bound.
    """
    T, q, c = whole(T, "regret_terms: T", low=1), whole(q, "regret_terms: q", low=1), constants
    M = peeling_depth(min(c.alpha), c.d) if min(c.alpha) < math.inf else 0
    growth = tuple(f(alpha, T) for alpha in c.alpha)
    return RegretTerms(_exploring(c, T, q), _failing(c, 49), _first(c, M, growth[0]), _second(c, M, growth[1]))


def regret_terms_as_proved(constants: Constants, T: int, q: int) -> RegretTerms:
    """Return what the proof gives: M of each stage's own α, the integral for f, and 18/t² for 𝒢 in place of 14/t².

    The proof counts P(𝒢ᶜ_{t,1}) ≤ 8/t² for one arm and without its design matrix; with both it is 12/t².
    """
    T, q, c = whole(T, "regret_terms: T", low=1), whole(q, "regret_terms: q", low=1), constants
    depth = [peeling_depth(alpha, c.d) if alpha < math.inf else 0 for alpha in c.alpha]
    growth = [f_as_proved(alpha, T) if alpha < math.inf else 0.0 for alpha in c.alpha]
    first, second = _first(c, depth[0], growth[0]), _second(c, depth[1], growth[1])
    return RegretTerms(_exploring(c, T, q), _failing(c, 63), first, second)


def regret_bound(constants: Constants, T: int, q: int) -> float:
    """Return the bound of Theorem 1 on the expected regret after ``T`` rounds, as printed."""
    return sum(regret_terms(constants, T, q))


def regret_bound_as_proved(constants: Constants, T: int, q: int) -> float:
    """Return the bound that the proof of Theorem 1 gives."""
    return sum(regret_terms_as_proved(constants, T, q))


def worst_regret(constants: Constants, T: int) -> float:
    """Return 4·b_max·x_max·T: no policy can lose more (step I of the proof; the outline's 6 is a slip)."""
    return 4 * constants.b_max * constants.x_max * T


def informative_from(constants: Constants, q: int) -> float:
    """Return the T, within 1 %, from which on Theorem 1 is below ``worst_regret``; ∞ if there is none."""
    low, high = 0.0, 600.0  # log T
    if regret_bound(constants, round(math.exp(high)), q) >= worst_regret(constants, round(math.exp(high))):
        return math.inf
    while high - low > 0.005:
        middle = (low + high) / 2
        T = max(1, round(math.exp(middle)))
        low, high = (low, middle) if regret_bound(constants, T, q) < worst_regret(constants, T) else (middle, high)
    return math.exp(high)


def _exploring(c: Constants, T: int, q: int) -> float:
    return 8 * q * c.b_max * c.x_max * (3 * math.log(T) + 128 * q)


def _failing(c: Constants, squares: int) -> float:
    """Return R⁽²⁾; 24·``squares`` is 4 times what Σ t⁻² is multiplied by."""
    singular = sum(16 * c.d * c.x_max**2 / phi for phi in c.phi)
    return 24 * c.b_max * c.x_max * (squares + singular)


def _first(c: Constants, M: int, growth: float) -> float:
    return _near_boundary(c.alpha[0], c.gamma[0], c_1(c), M, powers=(2, 6)) * growth if c.gamma[0] else 0.0


def _second(c: Constants, M: int, growth: float) -> float:
    return _near_boundary(c.alpha[1], c.gamma[1], c_2(c), M, powers=(3, 4)) * growth if c.gamma[1] else 0.0


def _near_boundary(alpha: float, gamma: float, rate: float, M: int, *, powers: tuple[int, int]) -> float:
    """Return 2^{α+i} γ C^{−(α+1)/2} ((M + 2)^{α+2} + 2^{α+j}) for powers (i, j): R⁽³⁾ or R⁽⁴⁾ without f."""
    layers: float = (M + 2) ** (alpha + 2) + 2 ** (alpha + powers[1])
    scale: float = 2 ** (alpha + powers[0]) * rate ** (-(alpha + 1) / 2)
    return scale * gamma * layers


class SubExponential(NamedTuple):
    """A mean μ and parameters (ν, b): E e^{λ(X − μ)} ≤ e^{ν²λ²/2} for |λ| < 1/b."""

    mean: float
    nu: float
    b: float


@dataclass(frozen=True)
class Delay:
    """I¹, the time between enrolments, and I², from enrolment to outcome, as the theorem on delay sees them."""

    between: SubExponential
    delay: SubExponential

    def __post_init__(self) -> None:
        for name, times in (("between", self.between), ("delay", self.delay)):
            for field, value in times._asdict().items():
                real(value, f"Delay: {field} of {name}")
        if self.between.mean == 0:
            raise DesignError("Delay: units that all enrol at the same time learn nothing; let between have a mean")


def sub_exponential(duration: Duration) -> SubExponential:
    """Return the mean, ν and b of a law of times, or say that its tail is too heavy.

    For gamma times with shape k, −λ − log(1 − λ) ≤ λ² for |λ| ≤ ½ gives ν = μ√(2/k) and b = 2μ/k; exponential is
    k = 1, fixed k = ∞.

    Examples
    --------
    >>> sub_exponential(Exponential(3.0)).b
    6.0
    """
    if not duration.sub_exponential:
        raise DesignError(
            f"{duration} is not sub-exponential, so the theorem on delay does not cover it; Fixed, Exponential and "
            "Gamma times are"
        )
    match duration:
        case Fixed(mean):
            return SubExponential(mean, 0.0, 0.0)
        case Exponential(mean):
            return SubExponential(mean, mean * math.sqrt(2), 2 * mean)
        case Gamma(mean, shape):
            return SubExponential(mean, mean * math.sqrt(2 / shape), 2 * mean / shape)
    raise DesignError(f"the ν and b of {duration} are not known here; write Delay(SubExponential(mean, nu, b), …)")


def delay_of(arrivals: ArrivalProcess, stages: int = 2) -> Delay:
    """Return the delay of an arrival process: responses and outcome together make I².

    Means and ν² of independent times add up, b is the largest.
    """
    waits = arrivals.response if isinstance(arrivals.response, tuple) else (arrivals.response,) * (stages - 1)
    terms = [sub_exponential(wait) for wait in (*waits, arrivals.outcome)]
    total = SubExponential(_total(terms, "mean", 1), _total(terms, "nu", 2), max(each.b for each in terms))
    return Delay(sub_exponential(arrivals.between), total)


def delay_penalty(delay: Delay) -> float:
    """Return max{ν₁⁴/μ₁⁴, b₁²/μ₁², ν₂⁴/μ₁⁴, b₂²/μ₁²} + μ₂/μ₁: what delay adds to the order of regret.

    It stands within an O(·) that hides constants (eq. "upperboundrate_delay"). So it serves to compare delays, and
    bounds nothing by itself.
    """
    mu, one, two = delay.between.mean, delay.between, delay.delay
    return max((one.nu / mu) ** 4, (one.b / mu) ** 2, (two.nu / mu) ** 4, (two.b / mu) ** 2) + two.mean / mu


def feedback_fails(delay: Delay, t: int) -> float:
    """Return the bound on P(𝒪ᶜ_t), that one of the first ⌊t/2⌋ outcomes comes after unit t (proof of "thm: delay").

    t·exp(−min{…}) for t ≥ 8μ₂/μ₁ + 2; before that the proof says nothing, so 1.
    """
    mu, one, two = delay.between.mean, delay.between, delay.delay
    if t < 8 * two.mean / mu + 2:
        return 1.0
    rates = (
        (mu**2 * t, 16 * one.nu**2), (mu * t, 8 * one.b), (mu**2 * t**2, 128 * two.nu**2), (mu * t, 16 * two.b),
    )  # fmt: skip
    return t * math.exp(-min((top / bottom for top, bottom in rates if bottom), default=math.inf))


def feedback_misses(times: NDArray[np.float64], t: int) -> bool:
    """Say whether 𝒪_t fails for units that enrol and complete at ``times``, (n, M + 1): round ``t`` comes too early."""
    return bool((times[: t // 2, -1] > times[t - 1, 0]).any())


def delay_cost(constants: Constants, delay: Delay, T: int) -> float:
    """Return Σ_t 4b_max·x_max·min(1, P(𝒪ᶜ_{t/2}) + P(𝒪ᶜ_t)) up to ``T``: the delay's term of the bound, with constants.

    The sketch of the proof adds the failure of 𝒪 at e_t ≥ t/2, for Q̃, and at t, for Q̂. The sum stays finite as T → ∞.
    The other terms keep their order, with about half the samples.
    """
    missed = [min(1.0, feedback_fails(delay, max(t // 2, 1)) + feedback_fails(delay, t)) for t in range(1, T + 1)]
    return worst_regret(constants, 1) * sum(missed)


def _total(terms: Sequence[SubExponential], field: str, power: int) -> float:
    return float(sum(getattr(each, field) ** power for each in terms) ** (1 / power))
