"""Checks of the parameters of policies and environments. Errors say what was found and what is allowed."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from numbers import Integral
from typing import TypeVar

from dtrbandit.design.values import NO_NUMBERS, as_float, shown
from dtrbandit.errors import DesignError

Checked = TypeVar("Checked")


def whole(value: object, what: str, *, low: int, high: float = math.inf) -> int:
    """Return a whole number between the bounds, inclusive, as a plain int."""
    if not isinstance(value, Integral) or isinstance(value, NO_NUMBERS) or not low <= int(value) <= high:
        raise DesignError(f"{what} must be a whole number {_between(low, high)}, found {shown(value)}")
    return int(value)


def real(value: object, what: str, *, low: float = 0.0, high: float = math.inf) -> float:
    """Return a finite number between the bounds, inclusive, as a plain float."""
    number = as_float(value)
    if not (math.isfinite(number) and low <= number <= high):
        raise DesignError(f"{what} must be a finite number {_between(low, high)}, found {shown(value)}")
    return number


def positive(value: object, what: str) -> float:
    """Return a finite number above zero as a plain float."""
    number = as_float(value)
    if not (math.isfinite(number) and number > 0):
        raise DesignError(f"{what} must be a finite number above 0, found {shown(value)}")
    return number


def each(value: object, what: str, check: Callable[[object, str], Checked]) -> Checked | tuple[Checked, ...]:
    """Check a value, or a list of values one by one."""
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return tuple(check(part, f"{what}[{m}]") for m, part in enumerate(value))
    return check(value, what)


def spread(value: Checked | tuple[Checked, ...], count: int, what: str) -> tuple[Checked, ...]:
    """Return ``count`` values: those given, or the one given for all."""
    if not isinstance(value, tuple):
        return (value,) * count
    if len(value) != count:
        raise DesignError(f"{what} must be one value or {count}, found {len(value)}: {shown(value)}")
    return value


def tuples(value: object) -> object:
    """Return what a file gave with tuples in place of lists, at every depth: parameters do not change.

    Examples
    --------
    >>> tuples({"rule": [[1, 2], "a"]})
    {'rule': ((1, 2), 'a')}
    """
    if isinstance(value, Mapping):
        return {key: tuples(part) for key, part in value.items()}
    return tuple(tuples(part) for part in value) if isinstance(value, list) else value


def _between(low: float, high: float) -> str:
    return f"of at least {low:g}" if high == math.inf else f"from {low:g} to {high:,.10g}"
