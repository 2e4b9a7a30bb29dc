"""Values from outside: checked, made plain, and shown in error messages.

Errors say what was found and what is allowed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from difflib import get_close_matches
from numbers import Integral, Real
from typing import TypeVar

import numpy as np

from dtrbandit.errors import DesignError

Checked = TypeVar("Checked")

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


# -- texts and tables ------------------------------------------------------------------------------------------


def label(text: object, what: str) -> str:
    """Return a short printable text as a plain str, or say what was found instead."""
    if not isinstance(text, str) or not text.strip() or not text.isprintable() or len(text) > 200:
        raise DesignError(f"{what} must be a printable text of 1 to 200 characters, found {shown(text)}")
    if text != text.strip():  # two labels that look the same would be two
        raise DesignError(f"{what} must not begin or end with a space, found {shown(text)}; write {text.strip()!r}")
    return str(text)


def labels(texts: object, what: str, *, least: int = 1, most: int | None = None) -> tuple[str, ...]:
    """Return a tuple of distinct labels, or say what is wrong with them."""
    if isinstance(texts, str) or not isinstance(texts, Sequence):
        raise DesignError(f"{what} must be a list of texts, found {shown(texts)}")
    if most is not None and len(texts) > most:
        raise DesignError(f"{what} may be {most} at most, found {len(texts)}")
    plain = tuple(label(text, f"{what}: each") for text in texts)
    if len(set(plain)) < len(plain) or len(plain) < least:
        raise DesignError(f"{what} must be at least {least} and all different, found {shown(list(plain))}")
    return plain


def require_keys(entries: object, *, required: Sequence[str], optional: Sequence[str], where: str) -> None:
    """Refuse anything but a table with exactly these keys."""
    if not isinstance(entries, Mapping):
        raise DesignError(f"{where} must be a table, found {shown(entries)}")
    for key in entries:
        if key not in required and key not in optional:
            raise DesignError(f"{where}: unknown key {shown(key)}; allowed are {', '.join((*required, *optional))}")
    for key in required:
        if key not in entries:
            raise DesignError(f"{where}: {key!r} is missing; needed are {', '.join(required)}")


# -- parameters of policies, environments and stages ----------------------------------------------------------


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


def check_fields(thing: object, check: Callable[[object, str], object], *names: str) -> None:
    """Replace fields of a frozen dataclass by what ``check`` makes of them; errors name the class and the field."""
    for name in names:
        object.__setattr__(thing, name, check(getattr(thing, name), f"{type(thing).__name__}: {name}"))


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
