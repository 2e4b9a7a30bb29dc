"""What delay costs (labels "section: delay" and "thm: delay")."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dtrbandit.design.parameters import real
from dtrbandit.environments.arrivals import ArrivalProcess
from dtrbandit.environments.durations import Duration, Exponential, Fixed, Gamma
from dtrbandit.errors import DesignError
from dtrbandit.theory.bounds import worst_regret
from dtrbandit.theory.constants import Constants


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
