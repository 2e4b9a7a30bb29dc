"""The synthetic problem: its contexts have the distributions of section 5.2 (its values: tests/paper)."""

from __future__ import annotations

import numpy as np
import pytest

from dtrbandit.environments import Synthetic
from dtrbandit.errors import DesignError

UNITS = 200_000


@pytest.mark.parametrize(("arm", "first", "second"), [(0, (4, 1), (1, 2)), (1, (1, 4), (2, 1))])
def test_second_contexts_are_mixtures_of_beta_distributions(
    arm: int, first: tuple[int, int], second: tuple[int, int]
) -> None:
    """The distribution function given x₁ is x₁·F₁ + (1 − x₁)·F₂, on three thirds of x₁; five standard errors."""
    units = Synthetic().draw(UNITS, np.random.default_rng(1))
    x1, x2 = units.contexts[0]["x1"], units.contexts[1]["x2"][:, arm]

    for third in range(3):
        rows = (x1 * 3).astype(int) == third
        weight = x1[rows]
        for point in np.linspace(0.1, 0.9, 9):
            expected = weight * beta_below(point, *first) + (1 - weight) * beta_below(point, *second)
            off = (x2[rows] <= point) - expected
            assert abs(off.mean()) <= 5 * off.std() / np.sqrt(rows.sum())


def beta_below(x: float, a: int, b: int) -> float:
    """Return P(Beta(a, b) ≤ x) where a or b is 1."""
    return float(x**a if b == 1 else 1 - (1 - x) ** b)


def test_the_second_contexts_of_the_two_arms_are_independent_given_the_first() -> None:
    units = Synthetic().draw(UNITS, np.random.default_rng(2))
    x1, x2 = units.contexts[0]["x1"], units.contexts[1]["x2"]
    means = np.stack([x1 * 4 / 5 + (1 - x1) / 3, x1 / 5 + (1 - x1) * 2 / 3], axis=1)

    product = np.prod(x2 - means, axis=1)

    assert abs(product.mean()) <= 5 * product.std() / np.sqrt(UNITS)


def test_a_fractional_number_of_units_is_refused() -> None:
    with pytest.raises(DesignError, match=r"Synthetic: n must be a whole number of at least 0, found 1\.5"):
        Synthetic().draw(1.5, np.random.default_rng(0))  # type: ignore[arg-type]
