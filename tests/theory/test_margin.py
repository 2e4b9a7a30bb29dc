"""The margin: closed forms of section 5.2, the lemma on α = 1 and its caveats, and estimates that find them."""

from __future__ import annotations

import math
from fractions import Fraction

import matplotlib as mpl
import numpy as np
import pytest

import dtrbandit as dtr
from dtrbandit import theory
from dtrbandit.environments import Linear, OneStage, Synthetic
from dtrbandit.theory.evidence import Evidence, Visit

mpl.use("Agg")


def gaps_of(values: np.ndarray) -> Evidence:
    """Return evidence of a one-stage problem whose two arms differ by ``values``."""
    design = dtr.Design([dtr.Stage("only", ("a", "b"), "1")])
    q = np.column_stack([values, np.zeros(len(values))])
    visit = Visit((), np.ones((len(values), 1)), q, np.ones(len(values), dtype=bool))
    return Evidence(design, len(values), (visit,), "made-up gaps")


# -- section 5.2 in closed form -------------------------------------------------------------------------------


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


# -- lemma "alpha is one" -------------------------------------------------------------------------------------


@pytest.mark.parametrize("radius", [1.0, 3.0])
def test_lemma_alpha_is_one_holds_for_a_uniform_law_on_a_disc(radius: float) -> None:
    """ψ uniform on a disc, slope s: P(|s·ψ₁| ≤ κ) ≤ 2κ·2r / (s·πr²) = 4κ / (πrs), reached as κ → 0."""
    density, slope = 1 / (math.pi * radius**2), 2.0
    exact = 4 / (math.pi * radius * slope)

    printed = theory.alpha_is_one(density=density, x_max=radius, d=2, slope=slope)
    proved = theory.alpha_is_one_as_proved(density=density, x_max=radius, d=2, slope=slope)

    assert proved == pytest.approx(exact)
    assert proved <= 12 * density * radius / slope
    assert proved <= printed


def test_lemma_alpha_is_one_as_printed_fails_for_small_features() -> None:
    """ψ uniform on [−r, r] with r = 1/10, d = 1, slope 1: P(|ψ| ≤ κ) = 10κ, and 12·5·(1/10)¹ = 6 is less."""
    printed = theory.alpha_is_one(density=5.0, x_max=0.1, d=1, slope=1.0)
    proved = theory.alpha_is_one_as_proved(density=5.0, x_max=0.1, d=1, slope=1.0)

    assert printed == pytest.approx(6.0)
    assert proved == pytest.approx(10.0)


def test_the_lemma_would_be_wrong_for_features_with_an_intercept() -> None:
    """Were the density of x₁, 1, taken for that of (1, x₁), the ball's dimension and slope would be other numbers."""
    slope = float(np.linalg.norm(np.subtract(*Synthetic().coefficients[0])))

    pretended = theory.alpha_is_one_as_proved(density=1.0, x_max=math.sqrt(2), d=1, slope=slope)

    assert pretended < 15 / 14  # 2 / √((2/3)² + (28/15)²) = 1.009: below the smallest γ there is


# -- estimates ------------------------------------------------------------------------------------------------


def test_estimates_find_the_constants_of_section_5_2() -> None:
    """Within three standard errors; γ₁ is a largest value of noisy ones, so one more is allowed upwards."""
    margin = theory.estimate_margin(Synthetic(), np.random.default_rng(1), units=40_000, alpha=1.0)

    for stage, gamma in zip(margin.stages, (15 / 14, 1.0), strict=True):
        assert stage.alpha == pytest.approx(1.0, abs=3 * stage.alpha_error)
        assert stage.likely_one
        assert gamma - 3 * stage.gamma_error - 1e-9 <= stage.gamma <= gamma + 4 * stage.gamma_error + 0.01


@pytest.mark.parametrize("alpha", [0.5, 1.0, 2.0])
def test_estimates_find_the_exponent_of_a_linear_problem(alpha: float) -> None:
    """P(gap ≤ κ) = κ^α exactly; the smallest of up to two nodes counts, so three standard errors."""
    problem = Linear(margin=alpha, arms=3, suboptimal=1)

    margin = theory.estimate_margin(problem, np.random.default_rng(2), alpha=alpha, between="best")

    for stage in margin.stages:
        assert stage.alpha == pytest.approx(alpha, abs=3 * stage.alpha_error)
        assert 0.99 <= stage.gamma <= 1 + 4 * stage.gamma_error + 0.01


def test_every_pair_of_arms_counts_unless_the_best_two_are_asked_for() -> None:
    """Arms at 0, x and x + 10 with x uniform: the first two cross at 0, the best two are never closer than 10."""
    x = np.random.default_rng(0).random(5000)
    design = dtr.Design([dtr.Stage("only", ("a", "b", "c"), "1")])
    visit = Visit((), np.ones((5000, 1)), np.column_stack([0 * x, x, x + 10]), np.ones(5000, dtype=bool))
    evidence = Evidence(design, 5000, (visit,), "three arms")

    pairs, best = (theory.estimate_margin(evidence, between=which).stages[0] for which in ("pairs", "best"))

    assert pairs.alpha == pytest.approx(1.0, abs=3 * pairs.alpha_error)
    assert best.alpha == math.inf


def test_arms_that_are_alike_are_never_near_a_boundary() -> None:
    """ "0 < gap" in the assumption: in the embedding of section 4, α₂ = ∞."""
    margin = theory.estimate_margin(OneStage(second_arms=2), np.random.default_rng(0))

    assert margin.stages[1].alpha == math.inf
    assert margin.stages[1].gamma == 0
    assert "no unit is ever near a boundary" in str(margin)


def test_standard_errors_are_those_of_a_share_and_of_a_mean_of_logarithms() -> None:
    """300 of 1000 gaps are ½, the rest 10: γ = 0.3 / ½, with relative error √(0.7 / 300). Hill's is α/√k, k = 100."""
    stage = theory.estimate_margin(gaps_of(np.repeat([0.5, 10.0], [300, 700])), alpha=1.0).stages[0]
    uniform = theory.estimate_margin(gaps_of(np.random.default_rng(0).random(1000)), alpha=1.0).stages[0]

    assert stage.gamma == pytest.approx(0.6)
    assert stage.gamma_error == pytest.approx(0.6 * math.sqrt(0.7 / 300))
    assert uniform.alpha_error == pytest.approx(uniform.alpha / 10)


def test_few_gaps_give_no_exponent() -> None:
    margin = theory.estimate_margin(gaps_of(np.arange(1.0, 11.0)), alpha=1.0)

    assert math.isnan(margin.stages[0].alpha)
    assert margin.stages[0].gamma == pytest.approx(0.1)  # i / 10 units with gap i at most


def test_what_is_not_known_is_not_called_infinite_or_nan() -> None:
    few, nobody = (str(theory.estimate_margin(gaps_of(np.arange(1.0, 1.0 + n))).stages[0]) for n in (10, 0))

    assert few == "only: α and γ are unknown, from so few units"
    assert nobody == "only: no unit comes there, so nothing is known"


def test_the_picture_shows_each_stage_with_its_power_law() -> None:
    import matplotlib.pyplot as plt

    margin = theory.estimate_margin(Synthetic(), np.random.default_rng(0), units=2000)
    ax = plt.subplots()[1]

    assert margin.plot(ax) is ax
    assert ax.get_legend_handles_labels()[1] == [str(stage) for stage in margin.stages]
    assert len(ax.lines) == 6  # one node at stage 1, two at stage 2, each with its power law
    assert ax.get_xscale() == ax.get_yscale() == "log"
    plt.close("all")


@pytest.mark.parametrize(
    ("options", "found"),
    [
        ({"between": "all"}, "between must be 'pairs' or 'best'"),
        ({"alpha": 0.0}, "alpha must be a finite number above 0"),
        ({"alpha": (1.0, 1.0, 1.0)}, "alpha must be one value or 2"),
        ({"units": 0}, "units must be a whole number"),
        ({"rng": None}, "give rng="),
    ],
)
def test_impossible_requests_are_refused(options: dict[str, object], found: str) -> None:
    with pytest.raises(dtr.DesignError, match=found):
        theory.estimate_margin(Synthetic(), **{"rng": np.random.default_rng(0), **options})  # type: ignore[arg-type]
