"""The margin: every claim can fail."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from dtrbandit.reproduce.extensions import margin
from reproduce.extension_studies import by_law, free_rounds, held, verdicts_on
from reproduce.impostors import AT_MOST, LINE, LOGARITHM, POWER_03, ROOT, Law


@pytest.mark.parametrize(
    ("exponents", "cost", "verdicts"),
    [
        ((0.25, 0.0, -0.5), 1.0, "✓✓✓✓✓"),
        ((0.6, 0.0, -0.5), 1.0, "✗✓✓✓✓"),
        ((0.25, 0.3, -0.5), 1.0, "✓✗✓✗✓"),
        ((0.25, 0.0, 0.05), 1.0, "✓✓✗✗✗"),
        ((0.1, 0.2, -0.5), 1.0, "✓✓✓✗✓"),
        ((0.25, 0.0, -0.5), 0.001, "✓✓✓✓✗"),
    ],
)
def test_free_rounds_grow_as_the_margin_says(exponents: tuple[float, float, float], cost: float, verdicts: str) -> None:
    assert verdicts_on("margin", free_rounds(margin.SETTINGS, exponents, forced=cost)) == verdicts


EVEN: Law = lambda t: 20 * np.log1p(t)  # noqa: E731 (every decade costs as much, from the first on)
BOUNDED: Law = lambda t: 20 * (1 - (1 + t) ** -0.1)  # noqa: E731 (its exponent is −0.1)


@pytest.mark.full
@pytest.mark.parametrize(
    ("laws", "places"),
    [
        ((ROOT, POWER_03, LOGARITHM), [0, 1, 2]),
        ((BOUNDED, EVEN, EVEN), [0, 2, 3, 4]),
        ((LINE, LINE, LINE), [0, 1, 2, 3, 4]),
    ],
)
def test_no_claim_about_the_margin_holds_of_an_impostor(laws: tuple[Law, Law, Law], places: list[int]) -> None:
    named = dict(zip(margin.SETTINGS, laws, strict=True))

    assert max(held("margin", lambda rng: by_law(named, rng, horizon=2_000))[places]) <= AT_MOST


def test_margins_are_in_the_order_the_claims_take_them() -> None:
    alphas = list(margin.MARGINS.values())

    assert all(low < high for low, high in pairwise(alphas))
    assert alphas[0] < 1 == alphas[1] < alphas[2]
