"""Diversity: estimates that find the exact values of section 5.2."""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
import pytest

import dtrbandit as dtr
from dtrbandit import theory
from dtrbandit.environments import Linear, Synthetic
from dtrbandit.theory.evidence import Evidence, Visit

mpl.use("Agg")


def test_estimates_find_phi_and_p_of_section_5_2() -> None:
    """Within four standard errors of the exact values."""
    delta = (0.2, 0.3)

    found = theory.estimate_diversity(Synthetic(), np.random.default_rng(5), delta=delta, units=40_000)

    assert found.holds == (True, True)
    for m, regions in enumerate(found.regions):
        smallest = min(regions, key=lambda region: region.eigenvalue)
        assert found.phi[m] == pytest.approx(theory.synthetic_phi(delta)[m], abs=4 * smallest.eigenvalue_error)
        rarest = min(regions, key=lambda region: region.probability)
        assert found.p[m] == pytest.approx(theory.synthetic_p(delta)[m], abs=4 * rarest.probability_error)


def test_the_standard_error_of_phi_is_that_of_repeated_estimates() -> None:
    """60 repetitions: the spread of a standard deviation is about 9 %; 30 % is allowed."""
    rng = np.random.default_rng(6)
    found = [theory.estimate_diversity(Synthetic(), rng, delta=(0.2, 0.2), units=2000) for _ in range(60)]

    for m in (0, 1):
        spread = np.std([each.regions[m][0].eigenvalue for each in found])
        claimed = np.mean([each.regions[m][0].eigenvalue_error for each in found])
        assert claimed == pytest.approx(spread, rel=0.3)


def test_the_chosen_delta_makes_delta_times_phi_largest() -> None:
    """Stage 1 of section 5.2, on a fine grid of exact values; the estimate tries 40 values."""
    chosen = theory.estimate_diversity(Synthetic(), np.random.default_rng(7), units=40_000).delta[0]

    fine = np.linspace(0.01, 0.66, 200)
    best = max(value * theory.synthetic_phi((value, 0.1))[0] for value in fine)

    assert chosen * theory.synthetic_phi((chosen, 0.1))[0] > 0.97 * best


def test_arms_worse_everywhere_are_excused_and_arms_best_nowhere_are_not() -> None:
    problem = Linear(arms=3, suboptimal=1)
    excused = theory.estimate_diversity(problem, np.random.default_rng(0), delta=0.5)
    beyond = theory.estimate_diversity(problem, np.random.default_rng(0), delta=1.5)

    assert [sum(region.suboptimal for region in stage) for stage in excused.regions] == [1, 1]
    assert excused.holds == (True, True)
    assert min(excused.phi) > 0
    assert beyond.phi == (0.0, 0.0)  # no gap is larger than 1
    assert beyond.holds == (False, False)
    assert "best by the margin nowhere" in str(beyond)


def test_a_stage_with_one_arm_asks_only_that_its_features_span() -> None:
    design = dtr.Design([dtr.Stage("only", ("a",), "1 + x")])
    psi = np.array([[1.0, 0.0], [1.0, 2.0]])
    evidence = Evidence(design, 2, (Visit((), psi, np.zeros((2, 1)), np.ones(2, dtype=bool)),), "two units")

    found = theory.estimate_diversity(evidence, delta=0.5)

    assert found.p == (1.0,)
    assert found.phi[0] == pytest.approx((3 - np.sqrt(5)) / 2)  # of ((1, 1), (1, 2))


def test_arms_of_a_stage_that_nobody_reaches_are_not_excused() -> None:
    """Nothing is known of them: "worse everywhere" would be true of no unit at all."""
    design = dtr.Design([dtr.Stage("only", ("a", "b"), "1 + x")])
    visit = Visit((), np.ones((3, 2)), np.zeros((3, 2)), np.zeros(3, dtype=bool))

    found = theory.estimate_diversity(Evidence(design, 3, (visit,), "nobody"), delta=0.5)

    assert [region.suboptimal for region in found.regions[0]] == [False, False]
    assert found.holds == (False,)
    assert "best by the margin nowhere" in str(found)


def test_features_that_do_not_span_have_phi_zero() -> None:
    design = dtr.Design([dtr.Stage("only", ("a", "b"), "1 + x")])
    psi = np.ones((100, 2))  # x is always 1
    sign = np.where(np.arange(100) % 2, 1.0, -1.0)
    visit = Visit((), psi, np.column_stack([sign, -sign]), np.ones(100, dtype=bool))

    found = theory.estimate_diversity(Evidence(design, 100, (visit,), "a line"), delta=0.5)

    assert found.p == (0.5,)
    assert found.phi[0] == pytest.approx(0.0, abs=1e-12)
    assert found.holds == (False,)


def test_the_picture_shows_phi_against_delta() -> None:
    import matplotlib.pyplot as plt

    found = theory.estimate_diversity(Synthetic(), np.random.default_rng(0), delta=0.2, units=2000)
    ax = found.plot()

    curves, dots = ax.lines[::2], ax.lines[1::2]
    assert [line.get_label() for line in curves] == ["first", "second"]
    assert [float(np.ravel(line.get_ydata())[0]) for line in dots] == list(found.phi)
    assert [line.get_label() for line in dots] == [
        f"{name} at Δ = 0.2: φ = {phi:.2g}" for name, phi in zip(("first", "second"), found.phi, strict=True)
    ]
    assert len(ax.get_legend_handles_labels()[1]) == len(ax.lines)
    assert all(float(np.max(line.get_ydata())) > phi for line, phi in zip(curves, found.phi, strict=True))
    plt.close("all")
