"""Sites: who enrols units. A unit belongs to the site that enrolled it, for good."""

from __future__ import annotations

from dtrbandit.design.values import shown
from dtrbandit.errors import ObservationError, ProtocolError
from dtrbandit.record.histories import UnitRecord

LONGEST = 60


def accept_site(site: object) -> str | None:
    """Return the name of a site that can be recorded, None for none, or raise.

    Examples
    --------
    >>> accept_site("north")
    'north'
    """
    if site is None or (type(site) is str and 0 < len(site) <= LONGEST and site.isprintable() and site.strip() == site):
        return site
    raise ObservationError(
        f"the name of a site must be a printable text of 1 to {LONGEST} characters, found {shown(site)}; "
        "spaces before and after it must be taken away"
    )


def require_same_site(record: UnitRecord, site: str | None) -> None:
    """Refuse to enrol a unit again elsewhere. What is on record of it is not for another site."""
    if record.site != site:
        raise ProtocolError(
            f"unit {record.history.unit!r} is enrolled already, at another site than {site!r}; "
            "use another id for another unit"
            if site is not None
            else f"unit {record.history.unit!r} is enrolled already, at a site; repeat its enrolment with site="
        )
