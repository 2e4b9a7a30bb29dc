"""What people write: ids of units, names of sites, reasons."""

from __future__ import annotations

from unicodedata import normalize

from dtrbandit.design.values import shown
from dtrbandit.errors import ObservationError

LONGEST_ID, LONGEST_SITE, LONGEST_REASON = 200, 60, 2000


def is_unit_id(unit: object) -> bool:
    """Say whether a unit can have this id."""
    return isinstance(unit, str) and 0 < len(unit) <= LONGEST_ID and unit.isprintable() and unit.strip() == unit


def folded(unit: str) -> str:
    """Return an id without regard to case and to how Unicode writes its letters.

    Examples
    --------
    >>> folded("U1"), folded("Ame\u0301lie") == folded("AM\u00c9LIE")
    ('u1', True)
    """
    if unit.isascii():
        return unit.lower()
    return normalize("NFKC", normalize("NFKC", unit).casefold())


def accept_site(site: object) -> str | None:
    """Return the name of a site that can be recorded, None for none, or raise.

    Examples
    --------
    >>> accept_site("north")
    'north'
    """
    usual = type(site) is str and 0 < len(site) <= LONGEST_SITE and site.isprintable() and site.strip() == site
    if site is None or usual:
        return site  # type: ignore[return-value]  # a text
    raise ObservationError(
        f"the name of a site must be a printable text of 1 to {LONGEST_SITE} characters, found {shown(site)}; "
        "spaces before and after it must be taken away"
    )


def accept_reason(reason: object, unit: str) -> str:
    """Return a reason that can be recorded, or raise."""
    return accept_words(reason, f"unit {unit!r}")


def accept_words(reason: object, who: str) -> str:
    """Return a reason, given by or for ``who``, that can be recorded, or raise."""
    if not isinstance(reason, str) or not reason.strip() or len(reason) > LONGEST_REASON:
        raise ObservationError(f"{who}: a reason must be a text of 1 to {LONGEST_REASON} characters, found {reason!r}")
    return reason
