"""What the plain policies share."""

from __future__ import annotations

from typing import NamedTuple

from dtrbandit.kernels.arrays import Vector
from dtrbandit.policies.policy import Choice, feasible_arms
from dtrbandit.record.histories import History
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


def with_floor(favourite: int, history: History, reason: str, floor: float, u: float) -> Choice:
    """Return the favourite, or with probability ``floor`` each another feasible arm, the lowest for the lowest u."""
    others = [arm for arm in feasible_arms(history) if arm != favourite]
    chances = [0.0] * len(history.feasible)
    for arm in others:
        chances[arm] = floor
    chances[favourite] = 1 - floor * len(others)
    drawn = [arm for place, arm in enumerate(others) if place * floor <= u < (place + 1) * floor]
    return Choice(drawn[0], "explore", tuple(chances)) if drawn else Choice(favourite, reason, tuple(chances))
