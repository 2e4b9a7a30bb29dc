"""Checks of policies' parameters: what was found, what is allowed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from numbers import Integral, Real

from dtrbandit.errors import DesignError


def positive_integer(value: object, what: str) -> None:
    """Refuse anything but 1, 2, 3 and so on."""
    if not isinstance(value, Integral) or isinstance(value, bool) or value < 1:
        raise DesignError(f"{what} must be a positive whole number, found {value!r}")


def real(value: object, what: str, *, low: float, high: float = math.inf) -> float:
    """Return a finite number between the bounds, inclusive."""
    number = float(value) if isinstance(value, Real) and not isinstance(value, bool) else math.nan
    if not math.isfinite(number) or not low <= number <= high:
        allowed = f"at least {low:g}" if high == math.inf else f"between {low:g} and {high:g}"
        raise DesignError(f"{what} must be a finite number {allowed}, found {value!r}")
    return number


def positive_per_stage(value: object, what: str) -> float | tuple[float, ...]:
    """Return a positive number, or one per stage as a tuple."""
    if isinstance(value, Sequence) and not isinstance(value, str) and value:
        return tuple(positive(each, f"{what}[{m}]") for m, each in enumerate(value))
    return positive(value, what)


def positive(value: object, what: str) -> float:
    """Return a finite number above zero."""
    number = float(value) if isinstance(value, Real) and not isinstance(value, bool) else math.nan
    if not (math.isfinite(number) and number > 0):
        raise DesignError(f"{what} must be a finite number above 0, found {value!r}")
    return number
