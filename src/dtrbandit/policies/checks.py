"""Checks of policies' parameters: what was found, what is allowed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from numbers import Integral

from dtrbandit.design.values import as_float, shown
from dtrbandit.errors import DesignError

LARGEST_INTEGER = 1_000_000


def positive_integer(value: object, what: str) -> int:
    """Return 1, 2, 3 and so on, up to a million, as a plain int."""
    if not isinstance(value, Integral) or isinstance(value, bool) or not 1 <= int(value) <= LARGEST_INTEGER:
        raise DesignError(f"{what} must be a positive whole number up to {LARGEST_INTEGER}, found {shown(value)}")
    return int(value)


def real(value: object, what: str, *, low: float, high: float = math.inf) -> float:
    """Return a finite number between the bounds, inclusive."""
    number = as_float(value)
    if not math.isfinite(number) or not low <= number <= high:
        allowed = f"at least {low:g}" if high == math.inf else f"between {low:g} and {high:g}"
        raise DesignError(f"{what} must be a finite number {allowed}, found {shown(value)}")
    return number


def positive_per_stage(value: object, what: str) -> float | tuple[float, ...]:
    """Return a positive number, or one per stage as a tuple."""
    if isinstance(value, Sequence) and not isinstance(value, str) and value:
        return tuple(positive(each, f"{what}[{m}]") for m, each in enumerate(value))
    return positive(value, what)


def positive(value: object, what: str) -> float:
    """Return a finite number above zero."""
    number = as_float(value)
    if not (math.isfinite(number) and number > 0):
        raise DesignError(f"{what} must be a finite number above 0, found {shown(value)}")
    return number
