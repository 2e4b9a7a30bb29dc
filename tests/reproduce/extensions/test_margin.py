"""The margin: every claim can fail."""

from __future__ import annotations

from itertools import pairwise

import pytest

from dtrbandit.reproduce.extensions import margin
from reproduce.extension_studies import failures, free_rounds


@pytest.mark.parametrize(
    ("exponents", "cost", "failing"),
    [
        ((0.25, 0.0, -0.5), 1.0, []),
        ((0.6, 0.0, -0.5), 1.0, [0]),
        ((0.25, 0.3, -0.5), 1.0, [1, 3]),
        ((0.25, 0.0, 0.05), 1.0, [2, 3, 4]),
        ((0.1, 0.1, -0.5), 1.0, [3]),
        ((0.25, 0.0, -0.5), 0.001, [4]),
    ],
)
def test_free_rounds_grow_as_the_margin_says(
    exponents: tuple[float, float, float], cost: float, failing: list[int]
) -> None:
    assert failures("margin", free_rounds(margin.SETTINGS, exponents, forced=cost)) == failing


def test_margins_are_in_the_order_the_claims_take_them() -> None:
    alphas = list(margin.MARGINS.values())

    assert all(low < high for low, high in pairwise(alphas))
    assert alphas[0] < 1 == alphas[1] < alphas[2]
