"""A problem's constants, estimated from drawn units."""

from __future__ import annotations

import numpy as np
import pytest

import dtrbandit as dtr
from dtrbandit import theory
from dtrbandit.environments import (
    Linear,
    OneStage,
    Synthetic,
)
from dtrbandit.theory.instance import Instance, sub_gaussian
from theory.cases import Curved


@pytest.mark.parametrize(
    ("law", "sigma"),
    [
        (lambda rng, n: rng.standard_normal(n), 1.0),
        (lambda rng, n: rng.choice([-1.0, 1.0], n), 1.0),  # cosh s ≤ e^{s²/2}: sharp as s → 0
        (lambda rng, n: rng.uniform(-1, 1, n), 3**-0.5),
        (lambda rng, n: 0 * rng.random(n), 0.0),
    ],
)
def test_sub_gaussian_constants_are_found(law: object, sigma: float) -> None:
    """40,000 values: 3 % is allowed."""
    values = law(np.random.default_rng(0), 40_000)  # type: ignore[operator]

    assert sub_gaussian(values) == pytest.approx(sigma, rel=0.03)


def test_an_environment_that_does_not_know_its_q_is_refused() -> None:
    from dtrbandit.environments import Tabulated

    units = Synthetic().draw(100, np.random.default_rng(0))._replace(q=None)

    with pytest.raises(dtr.DesignError, match="does not know its Q-functions"):
        theory.report(Tabulated(units, replace=True), q=1, delta=0.2, horizon=10, units=50)


@pytest.fixture(scope="module")
def section_5_2() -> Instance:
    return Instance.of(Synthetic(), np.random.default_rng(0), delta=(0.2, 0.2), units=20_000)


def test_the_constants_of_section_5_2_are_found(section_5_2: Instance) -> None:
    """20,000 units: coefficients are exact, x_max and σ to a percent, φ to ten."""
    exact = theory.synthetic_constants((0.2, 0.2))

    found = section_5_2.constants

    assert found is not None
    assert (found.d, found.delta) == (2, (0.2, 0.2))
    assert found.b_max == pytest.approx(exact.b_max)
    assert (found.x_max, found.sigma) == pytest.approx((exact.x_max, exact.sigma), rel=0.02)
    assert found.phi == pytest.approx(exact.phi, rel=0.1)
    for rows, truth in zip(section_5_2.coefficients, Synthetic().coefficients, strict=True):
        assert rows == pytest.approx(truth)


def test_with_the_widest_only_delta_changes(section_5_2: Instance) -> None:
    best = section_5_2.with_widest()

    assert best.evidence is section_5_2.evidence
    assert best.coefficients is section_5_2.coefficients
    for m in (0, 1):
        wide, given = (each.diversity.delta[m] * each.diversity.phi[m] for each in (best, section_5_2))
        assert wide >= given


def test_constants_are_for_two_stages_of_two_arms_with_diversity() -> None:
    rng = np.random.default_rng(1)

    three_arms = Instance.of(Linear(arms=3), rng, delta=0.3, units=2_000)
    too_wide = Instance.of(Synthetic(), rng, delta=10.0, units=2_000)

    assert three_arms.constants is None
    assert too_wide.constants is None
    assert not three_arms.two_by_two
    assert too_wide.two_by_two


def test_what_is_not_linear_or_not_bounded_is_seen() -> None:
    rng = np.random.default_rng(2)

    curved = Instance.of(Curved(), rng, delta=0.2, units=2_000)
    unbounded = Instance.of(OneStage(), rng, delta=0.2, units=2_000)

    assert not curved.linear
    assert curved.bounded
    assert unbounded.linear
    assert not unbounded.bounded
