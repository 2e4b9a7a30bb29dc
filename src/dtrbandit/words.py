"""Words for people: how many there are of something, and a number in few digits."""

from __future__ import annotations

import math


def counted(count: int, thing: str) -> str:
    """Return how many there are of a thing whose name takes an s.

    Examples
    --------
    >>> counted(1, "unit"), counted(0, "unit"), counted(12_000, "record")
    ('1 unit', '0 units', '12,000 records')
    """
    return f"{count:,} {thing}" if count == 1 else f"{count:,} {thing}s"


def short_number(value: float | None) -> str:
    """Return a number with about four digits, without exponents as far as possible."""
    if value is None:
        return "–"
    if value != 0 and not 1e-4 <= abs(value) < 1e9:
        return "0" if abs(value) < 1e-9 else f"{value:.3e}"
    return f"{value:,.{max(0, 3 - math.floor(math.log10(abs(value))) if value else 0)}f}"
