"""Theorem 1 by hand.

The arithmetic below is written out from the printed formulas with the numbers of ``CASE``: d = 3, x_max = 2, x_∞ = 1,
b_max = 5, σ = ½, Δ = (½, ¼), φ = (1/10, 1/5). No function of the package takes part in it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import ceil, exp, floor, inf, log, sqrt

import numpy as np
import pytest

import dtrbandit as dtr
from dtrbandit import theory
from dtrbandit.environments import ArrivalProcess, Exponential, Fixed, Gamma, LogNormal
from dtrbandit.environments.arrivals import Duration
from dtrbandit.theory.bounds import feedback_misses
from theory.cases import CASE

LOG3 = 1.0986122886681098


def test_c_tilde_1_by_hand() -> None:
    # 128·3·1·¼ / (1/16 · 1/5) = 96 / 0.0125 = 7680, above 1; 16(log 3 + 2)·4·7680 / (1/5) = 2,457,600 (log 3 + 2)
    assert theory.c_tilde_1(CASE) == pytest.approx(2_457_600 * (LOG3 + 2), rel=1e-12)


def test_c_tilde_1_has_a_floor_where_there_is_little_noise() -> None:
    # σ = 1/1000: 128·3·1e-6 / 0.0125 < 1, so 16(log 3 + 2)·4 / (1/5) = 320 (log 3 + 2)
    assert theory.c_tilde_1(replace(CASE, sigma=0.001)) == pytest.approx(320 * (LOG3 + 2), rel=1e-12)


def test_c_tilde_2_by_hand() -> None:
    # 1 ∨ 64·16 / (1/25) = 25,600; 512·3·4·1·¼·25,600 = 39,321,600; ∕ (¼ · 1/100) = 15,728,640,000, times log 3 + 2
    assert theory.c_tilde_2(CASE) == pytest.approx(15_728_640_000 * (LOG3 + 2), rel=1e-12)


def test_the_q_that_the_proof_needs_besides_by_hand() -> None:
    # 8(log 3 + 2)·4 / (1/10) = 320 (log 3 + 2); with little noise it is more than C̃₁ ∨ C̃₂ when φ₂ is larger
    quiet = replace(CASE, sigma=1e-7, phi=(0.1, 0.4))

    assert theory.c_tilde_3(CASE) == pytest.approx(320 * (LOG3 + 2), rel=1e-12)
    assert theory.smallest_q(CASE) == theory.smallest_q_as_proved(CASE) == ceil(15_728_640_000 * (LOG3 + 2))
    assert theory.smallest_q(quiet) == 496  # 16·4·3.0986 / 0.4 = 495.8
    assert theory.smallest_q_as_proved(quiet) == 992


def test_c_1_is_the_smaller_of_two_by_hand() -> None:
    # own: 0.01 / (128·3·1·4·¼) = 0.01 / 384; carried: 0.01·0.04 / (2048·3·1·64·¼) = 0.0004 / 98,304, the smaller
    assert theory.c_1(CASE) == pytest.approx(0.0004 / 98_304, rel=1e-12)
    # φ₂ = 20, x_max = 2: 0.01·400 / 98,304 = 4.07e-5 is larger than 0.01 / 384 = 2.6e-5
    assert theory.c_1(replace(CASE, phi=(0.1, 20.0))) == pytest.approx(0.01 / 384, rel=1e-12)


def test_c_2_by_hand() -> None:
    # 0.04 / (32·3·4·1·¼) = 0.04 / 96
    assert theory.c_2(CASE) == pytest.approx(0.04 / 96, rel=1e-12)


@pytest.mark.parametrize(
    ("alpha", "d", "depth"),
    [(1.0, 2, 3), (1.0, 3, 3), (0.5, 2, 3), (3.0, 2, 4), (3.0, 50, 6)],
)  # √(5·log 10) = 3.39, √(5·log 15) = 3.68, √(4.5·log 9) = 3.14, √(7·log 14) = 4.30, √(7·log 350) = 6.40
def test_m_by_hand(alpha: float, d: int, depth: int) -> None:
    assert theory.peeling_depth(alpha, d) == depth


def test_f_by_hand() -> None:
    assert theory.f(0.5, 10_000) == pytest.approx(2 * 10 / 0.5)  # 10⁴ to the power ¼ is 10
    assert theory.f(1.0, 10_000) == pytest.approx(9.210340371976184)
    assert theory.f(3.0, 10_000) == 1.0


@pytest.mark.parametrize("alpha", [0.3, 0.999999, 1.0, 1.000001, 2.5])
def test_f_bounds_the_integral_it_stands_for(alpha: float) -> None:
    T, steps = 1000, 200_000
    grid = [1 + (T - 1) * (k + 0.5) / steps for k in range(steps)]

    integral = sum(t ** (-(alpha + 1) / 2) for t in grid) * (T - 1) / steps

    assert theory.f_as_proved(alpha, T) == pytest.approx(integral, rel=1e-4)
    assert theory.f_as_proved(alpha, T) <= theory.f(alpha, T)


def test_the_bound_by_hand() -> None:
    """T = e¹⁰ rounded, q = 7, α = 1 at both stages, so M = ⌊√(5 log 15)⌋ = 3."""
    T, q = 22_026, 7
    log_t = log(22_026)
    exploring = 8 * 7 * 5 * 2 * (3 * log_t + 896)
    failing = 24 * 5 * 2 * (49 + 16 * 3 * 4 / 0.1 + 16 * 3 * 4 / 0.2)  # 240·(49 + 1920 + 960) = 702,960
    first = 2**3 * 1.5 / (0.0004 / 98_304) * (5**3 + 2**7) * log_t
    second = 2**4 * 0.75 / (0.04 / 96) * (5**3 + 2**5) * log_t

    terms = theory.regret_terms(CASE, T, q)

    assert failing == pytest.approx(702_960)
    assert terms == pytest.approx((exploring, failing, first, second), rel=1e-12)
    assert theory.regret_bound(CASE, T, q) == pytest.approx(exploring + failing + first + second, rel=1e-12)


def test_the_bound_by_hand_where_the_stages_have_their_own_alpha() -> None:
    """α = (½, 6), d = 3: printed M = ⌊√(4.5·log 13.5)⌋ = 3 for both, the proof needs ⌊√(10·log 30)⌋ = 5 at stage 2."""
    case, T = replace(CASE, alpha=(0.5, 6.0)), 10_000
    rate = 0.04 / 96
    printed = 2**9 * 0.75 * rate**-3.5 * (5**8 + 2**10) * (2 / 5)
    proved = 2**9 * 0.75 * rate**-3.5 * (7**8 + 2**10) * (1 - T**-2.5) * (2 / 5)
    first = 2**2.5 * 1.5 * (0.0004 / 98_304) ** -0.75 * (5**2.5 + 2**6.5) * (2 * 10 / 0.5)

    assert floor(sqrt(4.5 * log(13.5))) == 3
    assert floor(sqrt(10 * log(30))) == 5
    assert theory.regret_terms(case, T, 1).first == pytest.approx(first, rel=1e-12)
    assert theory.regret_terms(case, T, 1).second == pytest.approx(printed, rel=1e-12)
    assert theory.regret_terms_as_proved(case, T, 1).second == pytest.approx(proved, rel=1e-9)


def test_the_proof_needs_a_deeper_m_than_the_smaller_alpha_gives() -> None:
    """r² − (α + 3) log r − log d ≥ 0 must hold for all r > M; with the M of a smaller α it can fail."""
    alpha, d = 30.0, 2
    own, other = theory.peeling_depth(alpha, d), theory.peeling_depth(0.5, d)

    def suffices(M: int) -> bool:
        return all(r**2 - (alpha + 3) * log(r) - log(d) >= 0 for r in range(M + 1, 60))

    assert suffices(own)
    assert not suffices(other)


def test_what_fails_is_counted_in_full_in_the_bound_as_proved() -> None:
    # P(𝒢ᶜ) ≤ (12 + 6)/t² instead of 14/t², so ℳ has 18·(16 + 4) = 360: 378 in all, and 4·378 = 24·63
    by_hand = 24 * 5 * 2 * (63 + 1920 + 960)

    assert theory.regret_terms_as_proved(CASE, 100, 1).failing == pytest.approx(by_hand)


def test_a_stage_where_no_unit_is_near_a_boundary_costs_nothing_there() -> None:
    case = replace(CASE, alpha=(1.0, inf), gamma=(1.5, 0.0))

    assert theory.regret_terms(case, 100, 1).second == 0
    assert theory.regret_terms_as_proved(case, 100, 1).second == 0
    assert theory.regret_terms(case, 100, 1).first == theory.regret_terms(CASE, 100, 1).first


def test_the_bound_says_something_from_the_round_on_at_which_it_falls_below_the_worst() -> None:
    since = theory.informative_from(CASE, 1)

    before, after = int(since * 0.98), int(since * 1.02)

    assert theory.regret_bound(CASE, before, 1) > theory.worst_regret(CASE, before)
    assert theory.regret_bound(CASE, after, 1) < theory.worst_regret(CASE, after)


@pytest.mark.parametrize(
    ("ask", "found"),
    [
        (lambda: theory.f(0.5, 0), "f: T must be a whole number of at least 1, found 0"),
        (lambda: theory.peeling_depth(0.0, 2), "alpha must be a finite number above 0"),
        (lambda: theory.tilde_fails(2, 10), "stage must be a whole number from 0 to 1, found 2"),
        (lambda: theory.tilde_fails(-1, 10), "stage must be a whole number from 0 to 1, found -1"),
        (lambda: theory.tilde_fails_as_proved(0, 0), "t must be a whole number of at least 1"),
        (lambda: theory.ols_tail(0.5, phi=1.0, n=0, d=2, x_inf=1.0, sigma=1.0), "n must be a whole number"),
        (lambda: theory.ols_tail(0.5, phi=0.0, n=9, d=2, x_inf=1.0, sigma=1.0), "phi must be a finite number above 0"),
        (lambda: theory.ols_tail(0.5, phi=1.0, n=9, d=2, x_inf=1.0, sigma=1.0, error=2.0), "error must be .* 0 to 1"),
        (lambda: theory.alpha_is_one(density=1.0, x_max=1.0, d=1, slope=0.0), "slope must be a finite number above 0"),
        (lambda: theory.alpha_is_one_as_proved(density=1.0, x_max=1.0, d=0, slope=1.0), "d must be a whole number"),
        (lambda: theory.forced_pull_bounds(9, ((0,),), q=0, stage=0, arm=0), "q must be a whole number of at least 1"),
        (lambda: theory.forced_pull_lemma(0, q=1), "t must be a whole number of at least 1"),
        (lambda: theory.report(3, q=1, delta=0.2), "needs an environment such as .* found 3"),  # type: ignore[arg-type]
        (lambda: theory.event_rates(3, q=1, delta=0.2, at=[9]), "needs an environment"),  # type: ignore[arg-type]
    ],
)
def test_numbers_that_mean_nothing_are_refused(ask: Callable[[], object], found: str) -> None:
    with pytest.raises(dtr.DesignError, match=found):
        ask()


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
