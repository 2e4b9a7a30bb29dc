"""Words for people: how many there are of something."""

from __future__ import annotations


def counted(count: int, thing: str) -> str:
    """Return how many there are of a thing whose name takes an s.

    Examples
    --------
    >>> counted(1, "unit"), counted(0, "unit"), counted(12_000, "record")
    ('1 unit', '0 units', '12,000 records')
    """
    return f"{count:,} {thing}" if count == 1 else f"{count:,} {thing}s"
