"""Values from outside: numbers as plain floats, and the text of a value for an error message."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable
from difflib import get_close_matches
from numbers import Real

import numpy as np

MOST_SHOWN = 200
NO_NUMBERS = (bool, np.timedelta64)  # though Python takes them for whole numbers


def as_float(value: object) -> float:
    """Return a real number as a plain float; NaN for anything else, infinity beyond the floats.

    Examples
    --------
    >>> as_float(3), as_float(True), as_float(10**400)
    (3.0, nan, inf)
    """
    if not isinstance(value, Real) or isinstance(value, NO_NUMBERS):
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return math.inf


def is_among(name: object, known: Collection[str]) -> bool:
    """Say whether something is one of these names. An array, which cannot be compared with one, is none.

    Examples
    --------
    >>> is_among("ssri", ("ssri", "other")), is_among(np.array(["ssri", "other"]), ("ssri", "other"))
    (True, False)
    """
    return isinstance(name, str) and name in known


def nearest(found: object, known: Iterable[str]) -> str | None:
    """Return the name that was probably meant, upper and lower case aside; None if none is near.

    Examples
    --------
    >>> nearest("y", ["Y", "age"]), nearest("outcom", ["Outcome", "age"]), nearest("z", ["age"])
    ('Y', 'Outcome', None)
    """
    by_lower = {name.lower(): name for name in known}
    near = get_close_matches(str(found).lower(), by_lower, n=1)
    return by_lower[near[0]] if near else None


def shown(value: object) -> str:
    """Return a value as an error message shows it: by ``repr``, shortened.

    Examples
    --------
    >>> shown("ssri"), len(shown([0] * 10**6))
    ("'ssri'", 201)
    """
    try:
        text = repr(value)
    except (RecursionError, ValueError):  # nested too deeply, or an integer of more digits than Python prints
        return f"something too large to show ({type(value).__name__})"
    return text if len(text) <= MOST_SHOWN else f"{text[:MOST_SHOWN]}…"
