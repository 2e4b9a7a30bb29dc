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


def elsewhere(record: UnitRecord, site: str | None) -> ProtocolError:
    """Return the refusal to enrol a unit that another site has. What is on record of it is not for this one."""
    told = f"unit {record.history.unit!r} is enrolled already, at "
    if site is None:
        return ProtocolError(f"{told}a site; repeat its enrolment with site=")
    return ProtocolError(f"{told}another site than {site!r}; use another id for another unit")
