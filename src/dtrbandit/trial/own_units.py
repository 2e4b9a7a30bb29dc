"""A site acts on its own units, and on no others.

To a site, a unit of another site and one that does not exist look alike: otherwise it could try ids, and count.
"""

from __future__ import annotations

from dtrbandit.design.values import shown
from dtrbandit.errors import NotAllowed
from dtrbandit.record.commands import Command, Enroll
from dtrbandit.record.units import Histories


def require_own(histories: Histories, command: Command, site: str) -> None:
    """Refuse a command that is not about a unit of a site. Whether it can enrol a unit is left to the session."""
    if isinstance(command, Enroll):
        if command.site != site:
            raise NotAllowed(f"a key of site {site!r} enrols units of that site, found {shown(command.site)}")
        return
    unit = getattr(command, "unit", None)
    if not isinstance(unit, str):
        raise NotAllowed(f"{type(command).__name__} is about the trial as a whole, and a site acts on its own units")
    require_unit_of(histories, unit, site)


def require_unit_of(histories: Histories, unit: str, site: str) -> None:
    """Refuse a unit that a site has not enrolled, without a word about whether another one has."""
    record = histories.get(histories.known_id(unit))
    if record is None or record.site != site:
        raise NotAllowed(f"unit {unit!r} is not one of site {site!r}; look at the id, or ask the site that enrolled it")
