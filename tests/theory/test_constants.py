"""The constants of the assumptions: what φ guarantees, and constants that cannot be."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import inf

import numpy as np
import pytest

import dtrbandit as dtr
from dtrbandit import theory
from dtrbandit.environments import Synthetic
from theory.cases import CASE


def test_phi_guarantees_a_probability() -> None:
    # 3·0.1 / 4 and 3·0.2 / 4
    assert pytest.approx((0.075, 0.15)) == CASE.p


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ({"d": 0}, "d must be a whole number of at least 1"),
        ({"x_max": 0.0}, "x_max must be a finite number above 0"),
        ({"phi": (0.1, 0.0)}, "phi of stage 2 must be a finite number above 0"),
        ({"alpha": 1.0}, "alpha must be a pair"),
        ({"gamma": (-1.0, 1.0)}, "gamma of stage 1 must be a finite number of at least 0"),
        ({"alpha": (inf, 1.0)}, "α = inf goes with γ = 0"),
    ],
)
def test_impossible_constants_are_refused(change: dict[str, object], found: str) -> None:
    with pytest.raises(dtr.DesignError, match=found):
        replace(CASE, **change)  # type: ignore[arg-type]


def test_gamma_1_of_section_5_2_is_15_over_14() -> None:
    """Q₁(x, 1) − Q₁(x, 2) = 28x/15 − 2/3: the coefficients as fractions, and the length of an interval."""
    first, second = Synthetic().coefficients[0]
    intercept, slope = (Fraction(float(a - b)).limit_denominator(1000) for a, b in zip(first, second, strict=True))

    assert (intercept, slope) == (Fraction(-2, 3), Fraction(28, 15))
    assert theory.synthetic_constants((0.1, 0.1)).gamma[0] == float(2 / slope) == 15 / 14
    for kappa in (0.01, 0.3, 2 / 3):
        assert theory.synthetic_gap(0, kappa) == pytest.approx(2 * kappa / float(slope))
    assert theory.synthetic_gap(0, 1.0) == pytest.approx(5 / 14 + 15 / 28)  # the interval has met 0, not 1
    assert theory.synthetic_gap(0, 1.3) == 1.0


def test_gamma_2_of_section_5_2_is_1() -> None:
    """Given x₁ uniform, x₂(1) has density ½·4x³ + ½·2(1 − x); |1 − 2x| ≤ κ is an interval around ½."""
    x = (np.arange(100_000) + 0.5) / 100_000
    density = 2 * x**3 + 1 - x

    for kappa in (0.1, 0.5, 0.9, 1.0):
        inside = np.abs(1 - 2 * x) <= kappa
        for law in (density, density[::-1]):
            assert theory.synthetic_gap(1, kappa) == pytest.approx(law[inside].mean() * inside.mean(), abs=2e-5)
        assert theory.synthetic_gap(1, kappa) <= theory.synthetic_constants((0.1, 0.1)).gamma[1] * kappa
    assert theory.synthetic_gap(1, 1.0) == theory.synthetic_gap(1, 2.0) == 1.0


def test_drawn_units_have_the_closed_form_gaps() -> None:
    """40,000 units: a share has a standard error below 0.0025; four of them are allowed."""
    units = Synthetic().draw(40_000, np.random.default_rng(3))
    assert units.q is not None
    first, second = np.abs(np.diff(units.q[0], axis=1)), np.abs(np.diff(units.q[1], axis=2))

    for kappa in (0.05, 0.3, 0.8):
        assert np.mean(first <= kappa) == pytest.approx(theory.synthetic_gap(0, kappa), abs=0.01)
        for arm in (0, 1):
            assert np.mean(second[:, arm] <= kappa) == pytest.approx(theory.synthetic_gap(1, kappa), abs=0.01)


def moments_by_grid(stage: int, arm: int, delta: tuple[float, float]) -> np.ndarray:
    """Return E[ψψᵀ 1{U}] of section 5.2 by a midpoint rule on (x₁, x₂), from the densities as the paper prints them."""
    x = (np.arange(1000) + 0.5) / 1000
    gap = 28 * x / 15 - 2 / 3
    best = [gap > delta[0], -gap > delta[0]]
    if stage == 0:
        weight = best[arm] / 1000
    else:
        laws = [
            np.outer(x, 4 * x**3) + np.outer(1 - x, 2 * (1 - x)),
            np.outer(x, 4 * (1 - x) ** 3) + np.outer(1 - x, 2 * x),
        ]
        inside = (1 - 2 * x if arm == 0 else 2 * x - 1) > delta[1]
        weight = sum(law[first].sum(axis=0) for law, first in zip(laws, best, strict=True)) * inside / 1000**2
    psi = np.column_stack([np.ones(1000), x])
    return (psi * weight[:, None]).T @ psi


@pytest.mark.parametrize("delta", [(0.05, 0.1), (0.3, 0.25), (0.6, 0.9)])
def test_phi_and_p_of_section_5_2_are_the_integrals(delta: tuple[float, float]) -> None:
    for stage in (0, 1):
        grids = [moments_by_grid(stage, arm, delta) for arm in (0, 1)]

        phi, p = min(np.linalg.eigvalsh(grid)[0] for grid in grids), min(grid[0, 0] for grid in grids)

        assert theory.synthetic_phi(delta)[stage] == pytest.approx(phi, rel=0.02, abs=2e-6)
        assert theory.synthetic_p(delta)[stage] == pytest.approx(p, rel=0.01)


def test_phi_guarantees_no_more_than_the_true_probability() -> None:
    delta = (0.2, 0.2)

    assert all(low <= p for low, p in zip(theory.synthetic_constants(delta).p, theory.synthetic_p(delta), strict=True))


def test_constants_of_section_5_2_need_a_delta_below_the_largest_gap() -> None:
    with pytest.raises(dtr.DesignError, match=r"Δ of stage 1 must be below 0\.667"):
        theory.synthetic_constants((0.7, 0.2))
    with pytest.raises(dtr.DesignError, match="delta must be one value or 2"):
        theory.estimate_diversity(Synthetic(), np.random.default_rng(0), delta=(0.1, 0.1, 0.1))
