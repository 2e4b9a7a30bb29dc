"""The margin: the lemma on α = 1 and its caveats, and estimates that find known exponents."""

from __future__ import annotations

import math

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


def test_the_picture_shows_each_stage_with_its_power_law() -> None:
    import matplotlib.pyplot as plt

    margin = theory.estimate_margin(Synthetic(), np.random.default_rng(0), units=2000)
    ax = plt.subplots()[1]

    assert margin.plot(ax) is ax
    first, second = margin.stages
    assert ax.get_legend_handles_labels()[1] == [
        "first: 1 and 2",
        f"bound γκ^α of {first}",
        "second: 1 and 2 after 1",
        "second: 1 and 2 after 2",
        f"bound γκ^α of {second}",
    ]
    assert len({(line.get_color(), line.get_linestyle()) for line in ax.lines}) == len(ax.lines) == 5
    assert ax.get_xscale() == ax.get_yscale() == "log"
    plt.close("all")
