"""What the plain policies share."""

from __future__ import annotations

from typing import NamedTuple

from dtrbandit.design.formula import Vector
from plain.backward_induction import Coefficients, Fits

Numbers = tuple[float | None, ...]


class Estimates(NamedTuple):
    """Coefficients per stage (K_m, d_m), NaN where there are none, and the least-squares fits behind them, if any."""

    hat: Coefficients
    tilde: Coefficients | None = None
    hat_fits: Fits | None = None
    tilde_fits: Fits | None = None


def best(values: Vector, arms: tuple[int, ...]) -> int:
    """Return the arm with the largest value: the lowest of equals, and of all if none has a value."""
    known = [arm for arm in arms if values[arm] == values[arm]]
    return max(known, key=lambda arm: (values[arm], -arm)) if known else arms[0]


def numbers(values: Vector) -> Numbers:
    """Return values as floats, None in place of NaN."""
    return tuple(value if value == value else None for value in values.tolist())
