"""The theorem on delay, by hand and by simulation."""

from __future__ import annotations

from math import exp, sqrt

import numpy as np
import pytest

import dtrbandit as dtr
from dtrbandit import theory
from dtrbandit.environments import ArrivalProcess, Exponential, Fixed, Gamma, LogNormal
from dtrbandit.environments.durations import Duration
from dtrbandit.theory.delay import feedback_misses
from theory.cases import CASE


@pytest.mark.parametrize(
    ("duration", "shape"),
    [(Exponential(3.0), 1.0), (Gamma(3.0, 4.0), 4.0), (Gamma(3.0, 0.5), 0.5), (Fixed(3.0), np.inf)],
)
def test_nu_and_b_bound_the_moment_generating_function(duration: Duration, shape: float) -> None:
    """In closed form: E e^{λX} = (1 − λμ/k)^{−k} for gamma times; equality at λ = 0 only."""
    mean, nu, b = theory.sub_exponential(duration)

    for share in np.linspace(-0.999, 0.999, 41):
        s = share / b if b else share
        log_mgf = -s * mean - shape * np.log1p(-s * mean / shape) if np.isfinite(shape) else 0.0
        assert log_mgf <= nu**2 * s**2 / 2 + 1e-12


def test_the_delay_of_an_arrival_process_adds_up_response_and_outcome() -> None:
    arrivals = ArrivalProcess(between=Fixed(2.0), response=Exponential(3.0), outcome=Gamma(4.0, 2.0))

    delay = theory.delay_of(arrivals)

    # ν² = 2·9 + 4²·2/2 = 34, b = max(6, 4)
    assert delay.between == (2.0, 0.0, 0.0)
    assert delay.delay == pytest.approx((7.0, sqrt(34), 6.0))


def test_the_penalty_by_hand() -> None:
    one, two = theory.SubExponential(2.0, 1.0, 4.0), theory.SubExponential(10.0, 6.0, 5.0)

    # (1/2)⁴, (4/2)² = 4, (6/2)⁴ = 81, (5/2)² = 6.25; and 10/2
    assert theory.delay_penalty(theory.Delay(one, two)) == pytest.approx(86.0)


def test_the_bound_on_late_outcomes_by_hand() -> None:
    one, two = theory.SubExponential(2.0, 1.0, 4.0), theory.SubExponential(10.0, 6.0, 5.0)
    delay = theory.Delay(one, two)

    # t ≥ 8·10/2 + 2 = 42; at 80: 4·80/16 = 20, 160/32 = 5, 4·6400/(128·36) = 5.56, 160/80 = 2
    assert theory.feedback_fails(delay, 41) == 1.0
    assert theory.feedback_fails(delay, 80) == pytest.approx(80 * exp(-2))


@pytest.mark.parametrize("t", [40, 100, 400])
def test_outcomes_are_late_no_more_often_than_the_bound_says(t: int) -> None:
    """With means 1 and 2 the bound is 100·e^{−3.1} > 1 at t = 100, and 400·e^{−6.25} = 0.77 at 400."""
    arrivals, rng = ArrivalProcess(between=Exponential(1.0), response=Gamma(2.0, 8.0)), np.random.default_rng(0)
    bound = theory.feedback_fails(theory.delay_of(arrivals), t)

    late = np.mean([feedback_misses(arrivals.draw(t, 2, rng).times, t) for _ in range(200)])

    assert late <= min(bound, 1)
    assert bound < 1 or t < 400


def test_late_means_that_one_of_the_first_half_comes_after_the_unit() -> None:
    times = np.array([[1.0, 1.0, 5.0], [2.0, 2.0, 2.0], [3.0, 3.0, 9.0], [4.0, 4.0, 9.0], [5.0, 5.0, 9.0]])

    assert feedback_misses(times, 4)  # unit 1 completes at 5, unit 4 enrols at 4
    assert not feedback_misses(times, 5)  # at 5, when unit 5 enrols, units 1 and 2 are through


def test_the_cost_of_delay_is_finite_and_grows_with_delay() -> None:
    def cost(mean: float, T: int) -> float:
        return theory.delay_cost(CASE, theory.delay_of(ArrivalProcess(response=Exponential(mean))), T)

    # at T = 30,000 both sums have ended: what is left is below e^{−30,000 / 2·16·2·10}
    assert cost(1.0, 30_000) < cost(10.0, 30_000) < theory.worst_regret(CASE, 30_000)
    assert cost(10.0, 60_000) == pytest.approx(cost(10.0, 30_000), rel=1e-6)


def test_the_cost_of_delay_by_hand() -> None:
    """At once, 𝒪₁ alone has the bound 1: it enters at t = 1 (twice, but no more than 1), 2 and 3, for e_t ≥ t/2."""
    at_once = theory.delay_of(ArrivalProcess(between=Fixed(1.0)))

    # 4·5·2 a round
    assert [theory.delay_cost(CASE, at_once, T) for T in (1, 2, 3, 4, 50)] == [40, 80, 120, 120, 120]


def test_without_delay_nothing_is_late_but_the_first_rounds() -> None:
    delay = theory.delay_of(ArrivalProcess(between=Fixed(1.0)))

    assert [theory.feedback_fails(delay, t) for t in (1, 2, 100)] == [1.0, 0.0, 0.0]


def test_heavy_tails_are_refused() -> None:
    with pytest.raises(dtr.DesignError, match=r"LogNormal\(mean=1.0, sigma=1.0\) is not sub-exponential"):
        theory.sub_exponential(LogNormal(1.0, 1.0))


def test_a_duration_of_ones_own_needs_its_parameters() -> None:
    class Halves:
        mean, sub_exponential = 0.5, True

        def draw(self, size: object, rng: np.random.Generator) -> np.ndarray:
            raise NotImplementedError

    with pytest.raises(dtr.DesignError, match=r"write Delay\(SubExponential"):
        theory.sub_exponential(Halves())


def test_units_that_all_enrol_at_once_are_refused() -> None:
    with pytest.raises(dtr.DesignError, match="all enrol at the same time"):
        theory.delay_of(ArrivalProcess(between=Fixed(0.0)))
