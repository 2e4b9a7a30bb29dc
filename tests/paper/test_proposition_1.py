"""Proposition 1 (label "prop: expected regret") and the closed forms of section 5.2.

Bands are five standard errors: with a fixed seed they are met or not met for good, and a
true statement would miss one in about two million draws.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

import numpy as np
import pytest

from dtrbandit.environments import PotentialOutcomes, Synthetic
from dtrbandit.kernels.arrays import Array

Polynomial = Sequence[Fraction]  # coefficients of 1, x, x^2, ...

ONE = Fraction(1)
HALF = Fraction(1, 2)
CUT = Fraction(5, 14)
BETA: dict[tuple[int, int], Polynomial] = {  # densities on (0, 1)
    (4, 1): [Fraction(0), Fraction(0), Fraction(0), Fraction(4)],
    (1, 2): [Fraction(2), Fraction(-2)],
    (1, 4): [Fraction(4), Fraction(-12), Fraction(12), Fraction(-4)],
    (2, 1): [Fraction(0), Fraction(2)],
}
UNITS = 400_000
BAND = 5.0


def integral(polynomial: Polynomial, low: Fraction, high: Fraction) -> Fraction:
    terms = (c * (high ** (k + 1) - low ** (k + 1)) / (k + 1) for k, c in enumerate(polynomial))
    return sum(terms, Fraction(0))


def times_line(polynomial: Polynomial, intercept: int, slope: int) -> list[Fraction]:
    """Return (intercept + slope x) times the polynomial."""
    product = [intercept * c for c in polynomial] + [Fraction(0)]
    for k, c in enumerate(polynomial):
        product[k + 1] += slope * c
    return product


def best_second_value(density: Polynomial) -> Fraction:
    """Return the mean of max(1 + x, 3x), whose lines cross at 1/2."""
    return integral(times_line(density, 1, 1), Fraction(0), HALF) + integral(times_line(density, 0, 3), HALF, ONE)


def first_stage_lines() -> tuple[tuple[Fraction, Fraction], tuple[Fraction, Fraction]]:
    """Return intercept and slope of Q1(., 1) and Q1(., 2), by integrating the mixtures of section 5.2."""
    high, low = best_second_value(BETA[4, 1]), best_second_value(BETA[1, 2])
    first = (low, high - low)
    high, low = best_second_value(BETA[1, 4]), best_second_value(BETA[2, 1])
    return first, (low, high - low)


def column(contexts: Mapping[str, Array]) -> Array:
    (values,) = contexts.values()
    return values


def true_q(units: PotentialOutcomes) -> tuple[Array, ...]:
    assert units.q is not None
    return units.q


def within_band(sample: Array, expected: float) -> bool:
    return bool(abs(sample.mean() - expected) < BAND * sample.std() / np.sqrt(len(sample)))


@pytest.fixture(scope="module")
def drawn() -> PotentialOutcomes:
    return Synthetic().draw(UNITS, np.random.default_rng(52))


def test_the_first_stage_q_functions_have_the_closed_form() -> None:
    first, second = first_stage_lines()

    assert first == (Fraction(17, 12), Fraction(239, 240))
    assert second == (Fraction(25, 12), Fraction(-209, 240))


def test_the_first_stage_lines_cross_at_five_fourteenths() -> None:
    (intercept1, slope1), (intercept2, slope2) = first_stage_lines()

    cut = (intercept2 - intercept1) / (slope1 - slope2)

    assert cut == CUT


def test_the_optimal_value_is_6833_over_3360() -> None:
    first, second = first_stage_lines()

    value = integral(second, Fraction(0), CUT) + integral(first, CUT, ONE)

    assert value == Fraction(6833, 3360)


def test_the_environment_carries_the_true_q_functions(drawn: PotentialOutcomes) -> None:
    x1, x2 = column(drawn.contexts[0]), column(drawn.contexts[1])

    first, second = true_q(drawn)

    np.testing.assert_allclose(first[:, 0], 17 / 12 + 239 / 240 * x1, rtol=1e-12)
    np.testing.assert_allclose(first[:, 1], 25 / 12 - 209 / 240 * x1, rtol=1e-12)
    np.testing.assert_allclose(second[:, :, 0], 1 + x2, rtol=1e-12)
    np.testing.assert_allclose(second[:, :, 1], 3 * x2, rtol=1e-12)


@pytest.mark.parametrize("a1", [0, 1])
def test_the_drawn_second_contexts_have_the_mean_of_q1_at_every_first_context(
    drawn: PotentialOutcomes, a1: int
) -> None:
    x1, x2 = column(drawn.contexts[0]), column(drawn.contexts[1])
    residual = np.maximum(1 + x2[:, a1], 3 * x2[:, a1]) - true_q(drawn)[0][:, a1]

    tenths = [residual[(low <= x1) & (x1 < low + 0.1)] for low in np.arange(0.0, 1.0, 0.1)]

    assert all(within_band(tenth, 0.0) for tenth in tenths)


@pytest.mark.parametrize("a1", [0, 1])
@pytest.mark.parametrize("a2", [0, 1])
def test_the_drawn_outcomes_are_q2_plus_standard_normal_noise(drawn: PotentialOutcomes, a1: int, a2: int) -> None:
    noise = drawn.outcome[:, a1, a2] - true_q(drawn)[1][:, a1, a2]

    assert within_band(noise, 0.0)
    assert within_band(noise**2, 1.0)
    assert within_band(noise**4, 3.0)


def test_the_oracle_earns_the_optimal_value(drawn: PotentialOutcomes) -> None:
    rows = np.arange(UNITS)
    first = np.argmax(true_q(drawn)[0], axis=1)
    second = np.argmax(true_q(drawn)[1][rows, first], axis=1)

    earned = drawn.outcome[rows, first, second]

    assert within_band(earned, 6833 / 3360)


@pytest.mark.parametrize(("wrong_first", "wrong_second"), [(True, False), (False, True), (True, True)])
def test_regret_is_the_sum_of_the_q_differences(
    drawn: PotentialOutcomes, wrong_first: bool, wrong_second: bool
) -> None:
    rows, (q1, q2) = np.arange(UNITS), true_q(drawn)
    best_first = (column(drawn.contexts[0]) <= 5 / 14).astype(int)
    best_second = np.argmax(q2[rows, best_first], axis=1)
    first = 1 - best_first if wrong_first else best_first
    second = np.argmax(q2[rows, first], axis=1)
    second = 1 - second if wrong_second else second

    realised = drawn.outcome[rows, best_first, best_second] - drawn.outcome[rows, first, second]
    by_stage = q1.max(axis=1) - q1[rows, first] + q2[rows, first].max(axis=1) - q2[rows, first, second]

    assert within_band(realised - by_stage, 0.0)
    assert by_stage.mean() > 0.1
