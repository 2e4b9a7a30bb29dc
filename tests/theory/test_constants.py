"""The constants of the assumptions: what φ guarantees, and constants that cannot be."""

from __future__ import annotations

from dataclasses import replace
from math import inf

import pytest

import dtrbandit as dtr
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
